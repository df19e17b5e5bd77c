"""One command's talk with its session: calls that show their progress, and the exit code."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from repl_pair.cli.answers import answer
from repl_pair.cli.options import Choice, open_session
from repl_pair.cli.waiting import waiting
from repl_pair.errors import ReplPairError
from repl_pair.wire import Reply, error_reply

if TYPE_CHECKING:
    from repl_pair.bridge.session import Session


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Where a command asks."""

    session: "Session"
    as_json: bool

    async def call(self, op: str, args: Mapping[str, Any]) -> Reply:
        """Call an op and say on stderr what is waited for when that takes long."""
        about = next((str(args[name]) for name in args if name.endswith("_id")), "")
        async with waiting(f"{op} {about}".rstrip()) as hear:
            return await self.session.call(op, args, on_progress=hear)

    async def show(self, op: str, args: Mapping[str, Any], show: Callable[[Any], None]) -> int:
        """Call an op, print its reply and give the exit code."""
        return answer(await self.call(op, args), show, as_json=self.as_json)

    def descriptors(self) -> Sequence[Mapping[str, Any]]:
        """Return the ops that may be called."""
        return self.session.descriptors()


def converse(choice: Choice, talk: Callable[[Desk], Awaitable[int]]) -> NoReturn:
    """Open the session, talk, and end the process with the exit code that the talk gives."""
    try:
        code = asyncio.run(_talk(choice, talk))
    except ReplPairError as error:
        code = answer(error_reply(error), print, as_json=choice.as_json)
    sys.exit(code)


async def _talk(choice: Choice, talk: Callable[[Desk], Awaitable[int]]) -> int:
    session = open_session(choice)
    try:
        return await talk(Desk(session=session, as_json=choice.as_json))
    finally:
        await session.close()
