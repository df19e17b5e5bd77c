"""The host in an ipykernel: handlers on its control channel, which answer while cells run."""

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import Undo
from repl_pair.runtime.capture import capture
from repl_pair.runtime.capture.own_threads import TURNS
from repl_pair.runtime.clients.clients import CLIENTS
from repl_pair.runtime.kernel.host import Host, Outbox, refuse_defect
from repl_pair.runtime.kernel.kernel_lanes import MAIN_LOOP, KernelLanes
from repl_pair.runtime.kernel.turns import Turns, header_of
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.stopping.loops import PRIVATE
from repl_pair.wire import (
    ATTACH,
    CANCEL,
    EVENT,
    FEATURE,
    LEAVE,
    PROGRESS,
    REPLY,
    REQUEST,
    Greeting,
    Reply,
    error_reply,
    ok_reply,
)

_MESSAGES = frozenset({ATTACH, CANCEL, LEAVE, REQUEST})
Send = Callable[[str, Mapping[str, Any]], None]
"""Sends a message of a kind and content to the caller of a handler."""


def suppress_status(kernel: Any, observe: Callable[[str, str, Mapping[str, Any]], None]) -> Undo:
    """Publish no status for control messages of repl_pair, until the undo.

    `observe` is called with each status, its channel and the header of its message.

    Front ends and servers take each status for that of the person's cell: an `idle` in the middle
    of a cell lets Jupyter's culler end the kernel. The message that installs this while a cell
    runs ends without its `idle` too.
    """
    publish = kernel._publish_status
    is_busy = kernel._main_asyncio_lock.locked()
    installing = header_of(kernel, "control").get("msg_id") if is_busy else None

    def publish_others(status: str, channel: str, parent: Any = None) -> None:
        header = header_of(kernel, channel)
        observe(status, channel, header)
        is_installing = installing is not None and header.get("msg_id") == installing
        is_own = is_installing or header.get("msg_type") in _MESSAGES
        if channel != "control" or not is_own:
            publish(status, channel, parent)

    kernel._publish_status = publish_others

    def restore() -> None:
        # If other code wrapped this function meanwhile, the wrapper stays.
        if kernel.__dict__.get("_publish_status") is publish_others:
            del kernel._publish_status

    # Later, for the message that uninstalls this ends with an `idle` of its own.
    return lambda: kernel.control_thread.io_loop.add_callback(restore)


NEEDED = (
    "control_handlers",
    "control_thread",
    "io_loop",
    "iopub_socket",
    "iopub_thread",
    "_main_asyncio_lock",
    "_publish_status",
)
"""What this module needs of a kernel; some of it is private and may change."""


class ControlHost:
    """Answers the bridge for one kernel, on its control thread.

    `admit` attaches a client. `release` detaches one, and returns how many remain.
    `close_if_unused` removes the host if none does. All are called on the control thread.
    """

    def __init__(
        self,
        kernel: Any,
        *,
        admit: Callable[[Mapping[str, Any]], Reply],
        release: Callable[[str], int],
        close_if_unused: Callable[[], None],
    ) -> None:
        self._kernel = kernel
        self._admit, self._release, self._close_if_unused = admit, release, close_if_unused
        self._callers: dict[str, tuple[bytes, ...]] = {}
        outbox = Outbox(schedule=kernel.iopub_thread.io_loop.add_callback, send=self._send_events)
        self._lanes = lanes = KernelLanes(kernel)
        self.host = Host(lanes=lanes, publish=outbox.put)
        self.turns = Turns(kernel, lambda: self.host.works_beside)
        with ExitStack() as undo:
            undo.callback(PRIVATE.close_idle)
            capture.install()
            undo.callback(capture.uninstall)
            undo.callback(MAIN_LOOP.watch(kernel.io_loop.add_callback))
            undo.callback(CELLS.track(is_taken=lambda: kernel._main_asyncio_lock.locked()))
            undo.callback(CELLS.at_end(TURNS.restore))
            undo.callback(TURNS.restore)
            own = kernel.control_handlers["comm_info_request"]
            handlers: dict[str, Callable[..., Any]] = {
                "comm_info_request": partial(self._on_comm_info, own),
                ATTACH: partial(self._answer, self._on_attach),
                LEAVE: partial(self._answer, self._on_leave),
                REQUEST: partial(self._answer, self._on_request),
                CANCEL: self._on_cancel,
            }
            for name, handler in handlers.items():
                undo.callback(_handle(kernel, name, handler))
            undo.callback(suppress_status(kernel, self._on_status))
            undo.callback(lanes.cells.track())
            self._undo = undo.pop_all()
        self._is_installed = True

    def greeting(self) -> Greeting:
        """Describe this kernel to a client."""
        return {
            **self.host.greeting(),
            "ident": self._kernel.ident,
            "control_tid": self._kernel.control_thread.native_id,
            "executable": sys.executable,
        }

    def take_out(self, why: str) -> None:
        """Remove what was installed; calls in progress are answered with the reason."""
        self._is_installed = False
        with self._undo:
            self.host.close(why)

    def _answer(
        self, handler: Callable[..., None], stream: Any, ident: Any, parent: Mapping[str, Any]
    ) -> None:
        send = partial(self._send, stream, ident, parent)
        try:
            handler(send, ident, parent["content"])
        except RequestError as error:
            send(REPLY, error_reply(error))
        except Exception as error:  # noqa: BLE001  the caller must get an answer even then
            send(REPLY, refuse_defect(parent["header"]["msg_type"], error))

    def _on_comm_info(self, own: Any, stream: Any, ident: Any, parent: Mapping[str, Any]) -> Any:
        if not self._is_installed or parent["content"].get("target_name") != FEATURE:
            return own(stream, ident, parent)
        content = {"status": "ok", "comms": {FEATURE: {"target_name": FEATURE}}}
        return self._send(stream, ident, parent, "comm_info_reply", content)

    def _on_attach(self, send: Send, _ident: Any, content: Mapping[str, Any]) -> None:
        send(REPLY, self._admit(content))

    def _on_leave(self, send: Send, ident: Any, content: Mapping[str, Any]) -> None:
        for call_id, caller in self._callers.copy().items():
            if caller == tuple(ident):
                self.host.drop(call_id, "its caller left the kernel")
        remaining = {"remaining_clients": self._release(str(content.get("client")))}
        send(REPLY, ok_reply(remaining))

    def _on_request(self, send: Send, ident: Any, content: Mapping[str, Any]) -> None:
        if not self._is_installed:
            return  # other code wrapped the handlers, so they could not be removed
        CLIENTS.check_attached(content.get("client"))
        call_id = str(content.get("call"))
        self._callers[call_id] = tuple(ident)

        def reply(answer: Reply) -> None:
            self._callers.pop(call_id, None)
            send(REPLY, answer)
            self.turns.end_call()

        self.turns.throttle.give_way()
        self.host.submit(content, reply, partial(send, PROGRESS))
        self.turns.throttle.note_answer()
        self._close_if_unused()

    def _on_status(self, status: str, channel: str, header: Mapping[str, Any]) -> None:
        self.turns.note_status(status, channel, header)
        if channel == "shell":
            self._lanes.note_status(status, header)

    def _on_cancel(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        self.host.cancel(str(parent["content"].get("call")))

    def _send(
        self, stream: Any, ident: Any, parent: Any, type_: str, content: Mapping[str, Any]
    ) -> None:
        """Send on the control thread only: its socket is not safe from any other."""
        control = self._kernel.control_thread
        pack = partial(self._kernel.session.send, _Copying(stream), type_)

        def send() -> None:
            try:
                pack(content, parent, ident)
            except Exception as error:
                if type_ != REPLY:
                    raise
                pack(refuse_defect("the packing of a reply", error), parent, ident)

        if threading.get_ident() == control.ident:
            send()
        else:
            control.io_loop.add_callback(send)

    def _send_events(self, content: dict[str, Any]) -> None:
        kernel = self._kernel
        topic = f"kernel.{kernel.ident}.{EVENT}".encode()
        to = _Copying(kernel.iopub_socket)
        kernel.session.send(to, EVENT, content, parent={}, ident=topic)


class _Copying:
    """Copies all that it sends through a stream.

    For a message of over 64 kB that is not copied, pyzmq starts threads and opens files, for good.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def send_multipart(self, frames: Any, copy: bool = True) -> None:
        """Send a message of several frames."""
        self._stream.send_multipart(frames, copy=True)


def _handle(kernel: Any, name: str, fn: Callable[..., None]) -> Undo:
    handlers: dict[str, Any] = kernel.control_handlers
    before = handlers.get(name)
    handlers[name] = fn

    def undo() -> None:
        if handlers.get(name) is fn and before is None:
            del handlers[name]
        elif handlers.get(name) is fn:
            handlers[name] = before

    return undo
