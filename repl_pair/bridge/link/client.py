"""One link's stay in kernels: begun by attaching, ended by leaving."""

import asyncio
import uuid

from repl_pair.bridge.link.line import Line, Lost
from repl_pair.bridge.link.link import Left
from repl_pair.bridge.link.shell_path import ShellPath
from repl_pair.errors import KernelError
from repl_pair.runtime.clients.clients import this_process
from repl_pair.wire import FEATURE, LEAVE, REPLY

LEAVE_S = 0.2
"""What a kernel gets to answer that a client leaves."""


class Visit:
    """What one link is to kernels: a client, which may be in the one that `line` leads to."""

    def __init__(self, principal: str, *, inject: bool = False) -> None:
        self.inject = inject
        self.client = {"id": uuid.uuid4().hex, "principal": principal} | this_process()
        self.line: Line | None = None
        self.path: ShellPath | None = None
        self._refusal: tuple[Line, KernelError] | None = None

    @property
    def refused_on(self) -> Line | None:
        """The line of a kernel that refused the visit, while that very process lives.

        On it the kernel is asked again without running anything there.
        """
        refusal = self._refusal
        return None if refusal is None or refusal[0].lost.is_set() else refusal[0]

    def take_refusal(self, line: Line, error: KernelError) -> None:
        """Note that the person wants no visit to the process that a line leads to."""
        self.line, self._refusal = None, (line, error)

    def check_refusal(self, line: Line) -> None:
        """Raise the refusal that came on a line, if one did."""
        if self._refusal is not None and self._refusal[0] is line:
            raise self._refusal[1]

    def end(self) -> None:
        """Leave without waiting; nothing is sent where nothing can have been let in."""
        line, self.line = self.line, None
        path, self.path = self.path, None
        if path is not None:
            path.say_leave(self.client["id"])
        elif line is not None:
            line.tell(LEAVE, {"client": self.client["id"]})

    async def leave(self) -> Left:
        """Leave, and wait 0.2 s for the kernel to say who remains."""
        if self.line is None or self.line.lost.is_set():
            return Left(detached=False)
        try:
            async with asyncio.timeout(LEAVE_S):
                return await self._leave(self.line)
        except (TimeoutError, Lost):
            return Left(detached=True)
        finally:
            self.end()

    async def _leave(self, line: Line) -> Left:
        if self.path is not None:
            path, self.line, self.path = self.path, None, None
            return Left(detached=True, **await path.leave(self.client["id"]))
        inside = await is_in(line)
        self.line = None
        if not inside:
            return Left(detached=False)
        answer = await line.ask(LEAVE, {"client": self.client["id"]}, answer=REPLY)
        return Left(detached=True, **answer["result"])


async def is_in(line: Line) -> bool:
    """Ask whether our handlers are in, without running anything of the person's."""
    info = await line.ask("kernel_info_request", {}, answer="kernel_info_reply")
    return FEATURE in info.get("supported_features", ())
