"""The usual way to send requests to a kernel: on control, while a cell runs."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.bridge.link.iopub import listen
from repl_pair.bridge.link.line import Line
from repl_pair.bridge.link.link import OnProgress
from repl_pair.records import Undo
from repl_pair.wire import CANCEL, EVENT, REPLY, REQUEST, Reply, Request

OnContent = Callable[[Mapping[str, Any]], None]
"""Takes the content of an event."""


class ControlPath:
    """The handlers on the control channel: they answer while a cell runs and push events.

    `ident` is the kernel's iopub topic.
    """

    def __init__(self, line: Line, ident: str) -> None:
        self._line = line
        self._ident = ident

    async def carry(self, request: Request, on_progress: OnProgress | None) -> Reply:
        """Return the reply to a request that names its boot and call; ConnectionLost: it may run.

        Has no timeout. Cancelling the task that awaits it cancels the call.
        """
        content = request.to_wire()
        try:
            return await self._line.ask(REQUEST, content, answer=REPLY, progress=on_progress)
        except asyncio.CancelledError:
            self._line.send(CANCEL, {"call": request.call})
            raise

    async def listen(self, fn: OnContent) -> Undo:
        """Call `fn` with the content of each event, until the line ends; returns once they come."""

        def take(content: Mapping[str, Any]) -> None:
            for event in content["events"]:
                fn(event)

        await listen(self._line, self._ident, EVENT, take)
        return lambda: None
