"""The host inside an ipykernel: handlers on its control channel, which answer while cells run."""

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from repl_pair.records import record
from repl_pair.runtime import capture
from repl_pair.runtime.cells import CELLS
from repl_pair.runtime.courtesy import Courtesy
from repl_pair.runtime.host import Host
from repl_pair.runtime.kernel_lanes import KernelLanes
from repl_pair.runtime.loops import PRIVATE
from repl_pair.runtime.main_loop import MAIN_LOOP
from repl_pair.runtime.outbox import Outbox
from repl_pair.runtime.quiet_status import keep_quiet
from repl_pair.wire import (
    ATTACH,
    CANCEL,
    EVENT,
    FEATURE,
    LEAVE,
    PROGRESS,
    REPLY,
    REQUEST,
    Reply,
    ok_reply,
)

Undo = Callable[[], None]

NEEDED = (
    "control_handlers",
    "control_thread",
    "io_loop",
    "iopub_socket",
    "iopub_thread",
    "_main_asyncio_lock",
    "_publish_status",
)
"""What this module leans on in a kernel; some of it is private and may be gone one day."""


@record
class Door:
    """Who lets clients in and out: called on the control thread, where nothing else happens then.

    `let_go` gives how many clients remain; `look_after` takes everything out if none does.
    """

    take_in: Callable[[Mapping[str, Any]], Reply]
    let_go: Callable[[str], int]
    look_after: Callable[[], None]


class ControlHost:
    """Speaks with the bridge for one kernel; lives on its control thread."""

    def __init__(self, kernel: Any, door: Door) -> None:
        self._kernel = kernel
        self._door = door
        self._callers: dict[str, tuple[bytes, ...]] = {}
        self._courtesy = Courtesy()
        schedule = kernel.iopub_thread.io_loop.add_callback
        outbox = Outbox(schedule=schedule, send=self._send_events)
        self.host = Host(lanes=KernelLanes(kernel), publish=outbox.put)
        with ExitStack() as undo:
            undo.callback(PRIVATE.close_idle)
            capture.put_in()
            undo.callback(capture.take_out)
            undo.callback(MAIN_LOOP.watch(kernel.io_loop.add_callback))
            undo.callback(CELLS.watch(is_taken=lambda: kernel._main_asyncio_lock.locked()))
            for name, handler in self._handlers().items():
                undo.callback(_handle(kernel, name, handler))
            undo.callback(keep_quiet(kernel))
            self._undo = undo.pop_all()
        self._is_in = True

    def greeting(self) -> dict[str, Any]:
        """Say who answers here, where events come from, and which Python this is."""
        return self.host.greeting() | {
            "ident": self._kernel.ident,
            "control_tid": self._kernel.control_thread.native_id,
            "executable": sys.executable,
        }

    def take_out(self, why: str) -> None:
        """Take out what was put in; who waits for an answer is told why."""
        self._is_in = False
        with self._undo:
            self.host.close(why)

    def _handlers(self) -> dict[str, Callable[[Any, Any, Mapping[str, Any]], None]]:
        return {
            "kernel_info_request": self._on_kernel_info,
            ATTACH: self._on_attach,
            LEAVE: self._on_leave,
            REQUEST: self._on_request,
            CANCEL: self._on_cancel,
        }

    def _on_kernel_info(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        """Answer as the kernel does, and that it answers agents."""
        known: dict[str, Any] = self._kernel.kernel_info
        features = [*known.get("supported_features", ()), *([FEATURE] if self._is_in else [])]
        content = {"status": "ok"} | known | {"supported_features": features}
        self._send(stream, "kernel_info_reply", content, parent, ident)

    def _on_attach(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        self._send(stream, REPLY, self._door.take_in(parent["content"]), parent, ident)

    def _on_leave(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        """Stop the calls of a client that leaves, and take everything out behind the last one."""
        for call_id, caller in list(self._callers.items()):
            if caller == tuple(ident):
                self.host.drop(call_id, "its caller left the kernel")
        remaining = self._door.let_go(str(parent["content"].get("client")))
        answer = ok_reply({"remaining_clients": remaining})
        self._send(stream, REPLY, answer, parent, ident)

    def _on_request(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        if not self._is_in:
            # Somebody wrapped the handlers, so they could not be taken out.
            return
        content = parent["content"]
        call_id = str(content.get("call"))
        self._callers[call_id] = tuple(ident)

        def reply(answer: Reply) -> None:
            self._callers.pop(call_id, None)
            self._send(stream, REPLY, answer, parent, ident)

        def progress(told: dict[str, Any]) -> None:
            self._send(stream, PROGRESS, told, parent, ident)

        self._courtesy.give_way()
        self.host.submit(content, reply, progress)
        self._courtesy.note_answer()
        self._door.look_after()

    def _on_cancel(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        self.host.cancel(str(parent["content"].get("call")))

    def _send(
        self, stream: Any, type_: str, content: dict[str, Any], parent: Any, ident: Any
    ) -> None:
        """Send on the control thread only: its socket is not safe from any other."""
        control = self._kernel.control_thread

        def send() -> None:
            self._kernel.session.send(stream, type_, content, parent, ident=ident)

        if threading.get_ident() == control.ident:
            send()
        else:
            control.io_loop.add_callback(send)

    def _send_events(self, content: dict[str, Any]) -> None:
        kernel = self._kernel
        topic = f"kernel.{kernel.ident}.{EVENT}".encode()
        kernel.session.send(kernel.iopub_socket, EVENT, content, parent={}, ident=topic)


def _handle(kernel: Any, name: str, fn: Callable[..., None]) -> Undo:
    """Put a handler into the control channel; the undo puts back what stood there."""
    handlers: dict[str, Any] = kernel.control_handlers
    before = handlers.get(name)
    handlers[name] = fn

    def undo() -> None:
        if handlers.get(name) is not fn:
            return
        if before is None:
            del handlers[name]
        else:
            handlers[name] = before

    return undo
