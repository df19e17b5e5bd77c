"""One link as a client of kernels: attached to at most one, until it leaves."""

import asyncio
import uuid
from typing import cast

from repl_pair.bridge.link.line import ConnectionLost, Line
from repl_pair.bridge.link.link import Detachment
from repl_pair.bridge.link.shell_path import ShellPath
from repl_pair.errors import KernelError
from repl_pair.runtime.clients.clients import this_process
from repl_pair.wire import FEATURE, LEAVE, REPLY, ClientContent

LEAVE_S = 0.2
"""How long a kernel may take to answer that a client leaves."""


class Client:
    """One link as a client: `line` leads to the kernel that it is attached to, or may be.

    `info` is the content of the message that attaches. `shell_path` is set where requests go on
    shell. `refusal` came from a kernel that the person detached clients from, on that line.
    """

    def __init__(self, principal: str, *, inject: bool = False) -> None:
        self.inject = inject
        own = {"id": uuid.uuid4().hex, "principal": principal}
        self.info = cast("ClientContent", own | this_process())
        self.line: Line | None = None
        self.shell_path: ShellPath | None = None
        self.refusal: tuple[Line, KernelError] | None = None

    @property
    def refused_line(self) -> Line | None:
        """The line to a kernel that refused this client, while that kernel's process lives.

        On it the kernel can be asked again without running anything there.
        """
        line = self.refusal and self.refusal[0]
        return None if line is None or line.closed.is_set() else line

    def leave_at_once(self) -> None:
        """Leave without waiting; sends nothing unless the kernel may have attached this client."""
        line, self.line = self.line, None
        path, self.shell_path = self.shell_path, None
        if path is not None:
            path.send_leave(self.info["id"])
        elif line is not None:
            line.send(LEAVE, {"client": self.info["id"]})

    async def leave(self) -> Detachment:
        """Leave, and wait at most `LEAVE_S` for the number of clients that remain."""
        line = self.line
        if line is None or line.closed.is_set():
            return {"detached": False}
        try:
            async with asyncio.timeout(LEAVE_S):
                if self.shell_path is not None:
                    path, self.line, self.shell_path = self.shell_path, None, None
                    left = await path.leave(self.info["id"])
                    return cast("Detachment", {"detached": True, **left})
                inside = await is_in(line)
                self.line = None
                if not inside:
                    return {"detached": False}
                answer = await line.ask(LEAVE, {"client": self.info["id"]}, answer=REPLY)
                return cast("Detachment", {"detached": True, **answer["result"]})
        except (TimeoutError, ConnectionLost):
            return {"detached": True}
        finally:
            self.leave_at_once()


async def is_in(line: Line) -> bool:
    """Return whether the handlers are in the kernel; runs no code of the person's."""
    return FEATURE in await line.features()
