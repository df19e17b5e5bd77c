"""One command's calls: they show their progress, print replies and give the exit code."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from repl_pair.cli.answers import answer
from repl_pair.cli.options import Choice, open_session, session_options
from repl_pair.cli.progress import show_progress
from repl_pair.errors import ReplPairError
from repl_pair.wire import Reply, error_reply

if TYPE_CHECKING:
    from repl_pair.bridge.session import Session


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Calls the ops of a session for one command."""

    session: "Session"
    choice: Choice

    async def call(self, op: str, args: Mapping[str, Any]) -> Reply:
        """Call an op; print progress on stderr if it takes longer than a second."""
        about = next((str(args[name]) for name in args if name.endswith("_id")), "")
        async with show_progress(f"{op} {about}".rstrip()) as on_progress:
            return await self.session.call(op, args, on_progress=on_progress)

    async def show(self, op: str, args: Mapping[str, Any], show: Callable[[Any], None]) -> int:
        """Call an op, print its reply and return the exit code."""
        return answer(await self.call(op, args), show, as_json=self.choice.as_json)


def session_command(**which: bool) -> Callable[[Callable[..., Awaitable[int]]], Any]:
    """Make a command of a coroutine: it gets a `Caller` of the session that the options ask for.

    `which` are the arguments of `session_options`. The process ends with the exit code that the
    coroutine returns.
    """

    def decorate(ask: Callable[..., Awaitable[int]]) -> Any:
        @session_options(**which)
        @wraps(ask)
        def command(choice: Choice, **given: Any) -> None:
            try:
                code = asyncio.run(_ask(choice, lambda caller: ask(caller, **given)))
            except ReplPairError as error:
                code = answer(error_reply(error), print, as_json=choice.as_json)
            sys.exit(code)

        return command

    return decorate


async def _ask(choice: Choice, ask: Callable[[Caller], Awaitable[int]]) -> int:
    session = open_session(choice)
    try:
        return await ask(Caller(session=session, choice=choice))
    finally:
        await session.close()
