"""The host in an ipykernel: handlers on its control channel, which answer while cells run."""

import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import Undo
from repl_pair.runtime.capture import capture
from repl_pair.runtime.capture.own_threads import TURNS, travel_s
from repl_pair.runtime.clients.clients import CLIENTS
from repl_pair.runtime.kernel.host import Host, Outbox, refuse_defect
from repl_pair.runtime.kernel.kernel_lanes import MAIN_LOOP, KernelLanes
from repl_pair.runtime.op_base.modules import hold_modules
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
    USERNAME,
    Greeting,
    ProgressContent,
    Reply,
    error_reply,
    monotonic,
    ok_reply,
)

NAP_S = 0.01
"""How long the control thread sleeps; it may delay an interrupt by as much."""
CROWDED_S = 0.004
"""A request that follows an answer sooner than this comes from agents that make no pause.

Beside a busy cell the next request of eight agents takes longer than a millisecond to arrive.
"""
RECENT_S = 0.1
"""How long after a cell another one of the person is expected."""


class Throttle:
    """Slows down agents that send requests without a pause while the person needs the kernel."""

    def __init__(self) -> None:
        self._answered = 0.0

    def travel_s(self, sent: object) -> float:
        """Return how long a request took to arrive, or how long ago the answer before it was."""
        return min(travel_s(sent), monotonic() - self._answered)

    def give_way(self) -> None:
        """Release the interpreter lock for a moment, before a request, if the person needs it."""
        if monotonic() - self._answered >= CROWDED_S:
            return
        idle_s = CELLS.idle_s()
        if CELLS.current is not None or (idle_s is not None and idle_s <= RECENT_S):
            time.sleep(NAP_S)

    def note_answer(self) -> None:
        """Remember when a request was answered."""
        self._answered = monotonic()


_MESSAGES = frozenset({ATTACH, CANCEL, LEAVE, REQUEST})


def suppress_status(kernel: Any, observe: Callable[[str, str, Mapping[str, Any]], None]) -> Undo:
    """Publish no status for control messages of repl_pair, until the undo.

    `observe` is called with each status, its channel and the header of its message.

    Front ends and servers take each status for that of the person's cell: an `idle` in the middle
    of a cell lets Jupyter's culler end the kernel. The message that installs this while a cell
    runs ends without its `idle` too.
    """
    publish = kernel._publish_status
    is_busy = kernel._main_asyncio_lock.locked()
    installing = _header(kernel, "control").get("msg_id") if is_busy else None

    def publish_others(status: str, channel: str, parent: Any = None) -> None:
        header = _header(kernel, channel)
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


def _header(kernel: Any, channel: str) -> Mapping[str, Any]:
    return kernel.get_parent(channel).get("header", {})


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
        self._handles = self._waits_to_restore = False
        self._throttle = Throttle()
        outbox = Outbox(schedule=kernel.iopub_thread.io_loop.add_callback, send=self._send_events)
        self._lanes = lanes = KernelLanes(kernel)
        self.host = Host(lanes=lanes, publish=outbox.put)
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

    def shorten_turns(self) -> None:
        """Take short turns for the rest of the message that installed this beside a cell."""
        if CELLS.is_busy():
            self._shorten_turns(_header(self._kernel, "control"))

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
        try:
            handler(stream, ident, parent)
        except Exception as error:  # noqa: BLE001  the caller must get an answer even then
            answer = refuse_defect(parent["header"]["msg_type"], error)
            self._send(stream, REPLY, answer, parent, ident)

    def _on_comm_info(self, own: Any, stream: Any, ident: Any, parent: Mapping[str, Any]) -> Any:
        if not self._is_installed or parent["content"].get("target_name") != FEATURE:
            return own(stream, ident, parent)
        content = {"status": "ok", "comms": {FEATURE: {"target_name": FEATURE}}}
        return self._send(stream, "comm_info_reply", content, parent, ident)

    def _on_attach(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        self._send(stream, REPLY, self._admit(parent["content"]), parent, ident)

    def _on_leave(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        for call_id, caller in self._callers.copy().items():
            if caller == tuple(ident):
                self.host.drop(call_id, "its caller left the kernel")
        remaining = {"remaining_clients": self._release(str(parent["content"].get("client")))}
        self._send(stream, REPLY, ok_reply(remaining), parent, ident)

    def _on_request(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        if not self._is_installed:
            return  # other code wrapped the handlers, so they could not be removed
        content = parent["content"]
        try:
            CLIENTS.check_attached(content.get("client"))
        except RequestError as error:
            self._send(stream, REPLY, error_reply(error), parent, ident)
            return
        call_id = str(content.get("call"))
        self._callers[call_id] = tuple(ident)

        def reply(answer: Reply) -> None:
            self._callers.pop(call_id, None)
            self._send(stream, REPLY, answer, parent, ident)
            if not self._handles:
                self._kernel.control_thread.io_loop.add_callback(self._relax)

        def report(progress: ProgressContent) -> None:
            self._send(stream, PROGRESS, progress, parent, ident)

        self._throttle.give_way()
        self.host.submit(content, reply, report)
        self._throttle.note_answer()
        self._close_if_unused()

    def _on_status(self, status: str, channel: str, header: Mapping[str, Any]) -> None:
        """Take short turns where a cell meets a control message, until all is flushed."""
        if channel == "control":
            self._handles = status == "busy"
            if not self._handles:
                self._relax()
            elif header.get("username") == USERNAME and CELLS.is_busy():
                self._shorten_turns(header)
        elif channel == "shell" and status == "busy":
            hold_modules()
            if self._handles:
                self._shorten_turns({})
            self._lanes.cells.begin(header.get("msg_id", ""))

    def _shorten_turns(self, header: Mapping[str, Any]) -> None:
        """Take short turns, at most until what has the main thread now has ended."""
        TURNS.shorten(self._throttle.travel_s(header.get("date")))
        if not self._waits_to_restore:
            self._waits_to_restore = True
            self._kernel.io_loop.add_callback(self._restore_turns)

    async def _restore_turns(self) -> None:
        async with self._kernel._main_asyncio_lock:
            self._waits_to_restore = False
        TURNS.restore()

    def _relax(self) -> None:
        if not (self._handles or self.host.works_beside):
            TURNS.relax()

    def _on_cancel(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        self.host.cancel(str(parent["content"].get("call")))

    def _send(
        self, stream: Any, type_: str, content: Mapping[str, Any], parent: Any, ident: Any
    ) -> None:
        """Send on the control thread only: its socket is not safe from any other."""
        control = self._kernel.control_thread
        to, session = _Copying(stream), self._kernel.session

        def send() -> None:
            try:
                session.send(to, type_, content, parent, ident=ident)
            except Exception as error:
                if type_ != REPLY:
                    raise
                refusal = refuse_defect("the packing of a reply", error)
                session.send(to, type_, refusal, parent, ident=ident)

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
