"""One command's calls: they show their progress, print replies and give the exit code."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from repl_pair.cli.answers import Show, answer, report_refusal
from repl_pair.cli.options import Choice, open_session, session_options
from repl_pair.cli.tables import escape
from repl_pair.wire import Args, Reply

if TYPE_CHECKING:
    from repl_pair.bridge.session import Session

AFTER_S = 1.0
REDRAWN_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Calls the ops of a session for one command."""

    session: "Session"
    choice: Choice

    async def call(self, op: str, args: Args) -> Reply:
        """Call an op; print progress on stderr if it takes longer than a second."""
        about = next((str(args[name]) for name in args if name.endswith("_id")), "")
        async with _show_progress(f"{op} {about}".rstrip()) as on_progress:
            return await self.session.call(op, args, on_progress=on_progress)

    async def show(self, op: str, args: Args, show: Show) -> int:
        """Call an op, print its reply and return the exit code."""
        return self.print(await self.call(op, args), show)

    def print(self, reply: Reply, show: Show) -> int:
        """Print a reply, as an envelope where JSON is asked for, and return the exit code."""
        return answer(reply, show, as_json=self.choice.as_json)


@asynccontextmanager
async def open_caller(choice: Choice) -> AsyncGenerator[Caller]:
    """Open the session that the options ask for, for a block."""
    session = open_session(choice)
    try:
        yield Caller(session=session, choice=choice)
    finally:
        await session.close()


def session_command(**which: bool) -> Callable[[Callable[..., Awaitable[int]]], Any]:
    """Make a command of a coroutine: it gets a `Caller` of the session that the options ask for.

    `which` are the arguments of `session_options`. The process ends with the exit code that the
    coroutine returns.
    """

    def decorate(ask: Callable[..., Awaitable[int]]) -> Any:
        @session_options(**which)
        @wraps(ask)
        def command(choice: Choice, **given: Any) -> None:
            async def run() -> int:
                async with open_caller(choice) as caller:
                    return await ask(caller, **given)

            with report_refusal(as_json=choice.as_json):
                sys.exit(asyncio.run(run()))

        return command

    return decorate


@asynccontextmanager
async def _show_progress(what: str) -> AsyncGenerator[Callable[[Mapping[str, Any]], None]]:
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
