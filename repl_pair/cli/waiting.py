"""What is said on stderr while a call takes longer than a second."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import click

from repl_pair.cli.tables import say_plainly

PATIENCE_S = 1.0
REDRAWN_S = 0.2


@asynccontextmanager
async def waiting(what: str) -> AsyncGenerator[Callable[[Mapping[str, Any]], None]]:
    """Describe what is waited for, once it takes longer than a second; gives what takes progress.

    A spinner on a terminal, else a line after 1, 2, 4, … seconds.
    """
    line = [what]

    def hear(told: Mapping[str, Any]) -> None:
        line[0] = say_plainly(f"{what}: {told.get('message', '')}")

    teller = asyncio.create_task(_tell(line))
    try:
        yield hear
    finally:
        teller.cancel()
        await asyncio.wait([teller])


async def _tell(line: list[str]) -> None:
    await asyncio.sleep(PATIENCE_S)
    if sys.stderr.isatty():
        await _spin(line)
    pause_s = PATIENCE_S
    while True:
        click.echo(f"… {line[0]}", err=True)
        await asyncio.sleep(pause_s)
        pause_s *= 2


async def _spin(line: list[str]) -> None:
    from rich.console import Console  # 25 ms that only a slow call on a terminal needs
    from rich.text import Text

    with Console(stderr=True).status(Text(line[0])) as status:
        while True:
            await asyncio.sleep(REDRAWN_S)
            status.update(Text(line[0]))
