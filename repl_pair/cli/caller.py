"""One command's calls: they show their progress, print replies and give the exit code."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from repl_pair.cli.answers import answer
from repl_pair.cli.options import Choice, open_session
from repl_pair.cli.progress import show_progress
from repl_pair.errors import ReplPairError
from repl_pair.wire import Reply, error_reply

if TYPE_CHECKING:
    from repl_pair.bridge.session import Session


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Calls the ops of a session for one command."""

    session: "Session"
    as_json: bool

    async def call(self, op: str, args: Mapping[str, Any]) -> Reply:
        """Call an op; print progress on stderr if it takes longer than a second."""
        about = next((str(args[name]) for name in args if name.endswith("_id")), "")
        async with show_progress(f"{op} {about}".rstrip()) as on_progress:
            return await self.session.call(op, args, on_progress=on_progress)

    async def show(self, op: str, args: Mapping[str, Any], show: Callable[[Any], None]) -> int:
        """Call an op, print its reply and return the exit code."""
        return answer(await self.call(op, args), show, as_json=self.as_json)

    def descriptors(self) -> Sequence[Mapping[str, Any]]:
        """Return the ops that may be called."""
        return self.session.descriptors()


def run_command(choice: Choice, ask: Callable[[Caller], Awaitable[int]]) -> NoReturn:
    """Open the session, await `ask`, and end the process with the exit code that it returns."""
    try:
        code = asyncio.run(_ask(choice, ask))
    except ReplPairError as error:
        code = answer(error_reply(error), print, as_json=choice.as_json)
    sys.exit(code)


async def _ask(choice: Choice, ask: Callable[[Caller], Awaitable[int]]) -> int:
    session = open_session(choice)
    try:
        return await ask(Caller(session=session, as_json=choice.as_json))
    finally:
        await session.close()
