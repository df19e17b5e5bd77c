"""Progress on stderr while a call takes longer than a second."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import click

from repl_pair.cli.tables import escape

AFTER_S = 1.0
REDRAWN_S = 0.2


@asynccontextmanager
async def show_progress(what: str) -> AsyncGenerator[Callable[[Mapping[str, Any]], None]]:
    """Show what is waited for, once it takes longer than a second; yields a callback for progress.

    A spinner on a terminal, else a line after 1, 2, 4, … seconds.
    """
    line = [what]

    def on_progress(progress: Mapping[str, Any]) -> None:
        line[0] = escape(f"{what}: {progress.get('message', '')}")

    printing = asyncio.create_task(_print(line))
    try:
        yield on_progress
    finally:
        printing.cancel()
        await asyncio.wait([printing])


async def _print(line: list[str]) -> None:
    await asyncio.sleep(AFTER_S)
    if sys.stderr.isatty():
        from rich import console, text  # 25 ms that only a slow call on a terminal needs

        with console.Console(stderr=True).status(text.Text(line[0])) as status:
            while True:
                await asyncio.sleep(REDRAWN_S)
                status.update(text.Text(line[0]))
    pause_s = AFTER_S
    while True:
        click.echo(f"… {line[0]}", err=True)
        await asyncio.sleep(pause_s)
        pause_s *= 2
