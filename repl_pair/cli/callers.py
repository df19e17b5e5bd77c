"""One command's calls of ops: a session for each, with progress while they take long."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from repl_pair.cli.answers import Show, answer, ignore, report_refusal
from repl_pair.cli.options import Choice, open_session, session_options
from repl_pair.cli.tables import escape
from repl_pair.wire import Args, Reply

if TYPE_CHECKING:
    from repl_pair.bridge.session import Session

T = TypeVar("T")
PAGE = 200
"""How many items of a list are asked for at once."""
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

    async def call_all(self, op: str, args: Args) -> Reply:
        """Call an op that lists, page after page; return a reply with all items, or a refusal."""
        items: list[Any] = []
        reply = await self.call(op, {"limit": PAGE, **args})
        while reply["ok"]:
            items += reply["result"]["items"]
            cursor = reply["result"].get("cursor")
            if cursor is None:
                return {**reply, "result": {"items": items, "total": len(items)}}
            reply = await self.call(op, {"limit": PAGE, **args, "cursor": cursor})
        return reply

    async def show(self, op: str, args: Args, show: Show) -> int:
        """Call an op, print its reply and return the exit code."""
        return self.print(await self.call(op, args), show)

    def print(self, reply: Reply, show: Show) -> int:
        """Print a reply, as an envelope where JSON is asked for, and return the exit code."""
        return answer(reply, show, as_json=self.choice.as_json, here=self.choice.here)


def run_session(choice: Choice, ask: Callable[[Caller], Awaitable[T]]) -> T:
    """Return what a coroutine gives with a caller of the session that the options ask for.

    With `--here` this thread loads the project's code and runs it, as under pytest, with the
    settings of its ini file.
    """
    if not choice.here:
        return asyncio.run(_ask(open_session(choice), choice, ask))
    from repl_pair.cli.beside import run_beside  # the runtime, which no kernel's command needs
    from repl_pair.cli.project_code import own_stdout, rules_here
    from repl_pair.runtime.kernel.lanes import LocalLanes

    lanes = LocalLanes(own_thread=False)
    session = open_session(choice, lanes=lanes)
    with own_stdout(), rules_here():
        return run_beside(lanes, _ask(session, choice, ask))


async def _ask(session: "Session", choice: Choice, ask: Callable[[Caller], Awaitable[T]]) -> T:
    try:
        return await ask(Caller(session=session, choice=choice))
    finally:
        await session.close()


def session_command(
    note: Callable[..., None] = ignore, **which: bool
) -> Callable[[Callable[..., Awaitable[int]]], Any]:
    """Make a command of a coroutine: it gets a `Caller` of the session that the options ask for.

    `which` are the arguments of `session_options`. The process ends with the exit code that the
    coroutine returns. `note` gets a refusal, and the command's own options.
    """

    def decorate(ask: Callable[..., Awaitable[int]]) -> Any:
        @session_options(**which)
        @wraps(ask)
        def command(choice: Choice, **given: Any) -> None:
            noted = partial(note, **given)
            with report_refusal(as_json=choice.as_json, here=choice.here, note=noted):
                sys.exit(run_session(choice, partial(ask, **given)))

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
