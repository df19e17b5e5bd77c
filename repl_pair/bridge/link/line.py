"""One connection to one process of a kernel: its sockets, messages and their answers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import zmq
import zmq.asyncio
from jupyter_client.connect import ConnectionFileMixin
from zmq.utils.monitor import recv_monitor_message

from repl_pair.errors import error_text
from repl_pair.wire import FEATURE, PROGRESS, USERNAME

_log = logging.getLogger(__name__)
_WAKE_S = 1.0

T = TypeVar("T")
Channel: TypeAlias = Literal["control", "shell"]


def now() -> float:
    """Return the time of the event loop that runs here, in seconds."""
    return asyncio.get_running_loop().time()


class ConnectionLost(Exception):
    """The connection ended; what was sent over it may or may not have been done."""


@dataclass(frozen=True, kw_only=True)
class _Waiter:
    answer: asyncio.Future[dict[str, Any]]
    kind: str
    progress: Callable[[Mapping[str, Any]], None] | None


class Line:
    """Sockets to a kernel, signed as the connection file says, that never reconnect.

    `in_turn_since` is when a caller began to wait on shell for the kernel to be free, `probed_at`
    when the last probe was sent. The socket itself reports the end of the kernel: then `closed` is
    set, what waits raises `ConnectionLost`, and the sockets are closed with all that was still
    queued in them. Must be made, used and closed on one event loop.
    """

    def __init__(self, info: Mapping[str, Any]) -> None:
        context = zmq.asyncio.Context()
        context.setsockopt(zmq.RECONNECT_IVL, -1)
        self.closed = asyncio.Event()
        self.received = now()
        self._context = context
        self._file: Any = ConnectionFileMixin(context=context)
        self._file.load_connection_info(dict(info))
        self._session: Any = self._file.session
        self._session.username = USERNAME
        # Against replays: an answer to nobody is dropped, and so is a second one to anybody.
        self._session.digest_history_size = 1_000
        self.in_turn_since: float | None = None
        self.probed_at = self.received
        self._probing: asyncio.Future[Collection[str]] | None = None
        self._control: Any = self._file.connect_control()
        self._control.linger = 0
        self._monitor: zmq.asyncio.Socket = self._control.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._waiting: dict[str, _Waiter] = {}
        self._tasks: set[asyncio.Future[Any]] = set()
        self._shell: Any = None
        self.start(self._take_answers(self._control))
        self.start(self._watch())

    async def ask(
        self,
        kind: str,
        content: Mapping[str, Any],
        *,
        answer: str,
        progress: Callable[[Mapping[str, Any]], None] | None = None,
        channel: Channel = "control",
    ) -> dict[str, Any]:
        """Send one message and return the content of its answer of kind `answer`.

        Has no timeout. The answer to a cancelled one is dropped.
        """
        if self.closed.is_set():
            raise ConnectionLost
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        message = self._session.msg(kind, dict(content))
        self._waiting[message["msg_id"]] = _Waiter(answer=future, kind=answer, progress=progress)
        try:
            self._send_message(message, channel)
            if channel == "shell":
                await self._wake_until(future)
            return await future
        finally:
            self._waiting.pop(message["msg_id"], None)

    async def features(self, channel: Channel = "control") -> Collection[str]:
        """Return FEATURE where the handlers are in the kernel; runs no code of the person's.

        On shell, the kernel has then run all that its front ends sent before. It is no kernel_info:
        for each one of those IPython draws the tip in its banner from the person's `random`.
        """
        content = {"target_name": FEATURE}
        reply = await self.ask(
            "comm_info_request", content, answer="comm_info_reply", channel=channel
        )
        return reply.get("comms") or ()

    def probe(self) -> "asyncio.Future[Collection[str]]":
        """Return what `features` on control will; while one probe is unanswered, that one.

        What is sent to a kernel that hardly runs delays all that comes after. The end of the line
        cancels it.
        """
        if self._probing is None or self._probing.done():
            self.probed_at = now()
            self._probing = self.start(self.features())
        return self._probing

    def send(self, kind: str, content: Mapping[str, Any], *, channel: Channel = "control") -> None:
        """Send one message without waiting for an answer; nothing if the line is closed."""
        if not self.closed.is_set():
            self._send_message(self._session.msg(kind, dict(content)), channel)

    def connect_iopub(self) -> Any:
        """Return a new socket for what the kernel publishes, with no subscription yet."""
        socket: Any = self._file.connect_iopub()
        socket.linger = 0
        socket.unsubscribe(b"")
        return socket

    def read(self, frames: list[bytes]) -> dict[str, Any] | None:
        """Read a signed message; None, with a line in the log, for what is not one."""
        try:
            _, parts = self._session.feed_identities(frames)
            return self._session.deserialize(parts)
        except (ValueError, TypeError, KeyError) as error:
            _log.warning("dropped a message that is not of this kernel: %s", error)
            return None

    def close(self, *, linger_s: float = 0.0) -> None:
        """Close the sockets; what waits raises `ConnectionLost`.

        The last messages are still sent where that takes at most `linger_s`, which blocks.
        """
        if self.closed.is_set():
            return
        self.closed.set()
        for waiter in self._waiting.values():
            if not waiter.answer.done():
                waiter.answer.set_exception(ConnectionLost())
        for task in self._tasks:
            task.cancel()
        self._control.disable_monitor()
        self._context.destroy(linger=int(linger_s * 1000))

    def _send_message(self, message: dict[str, Any], channel: Channel) -> None:
        frames: list[bytes] = self._session.serialize(message)
        socket = self._control if channel == "control" else self._connect_shell()
        self.start(socket.send_multipart(frames))

    async def _wake_until(self, answer: asyncio.Future[dict[str, Any]]) -> None:
        """Connect to shell at intervals until an answer is there.

        The asyncio loop of xeus can miss that a message came and then waits for a new connection.
        """
        await asyncio.wait({answer}, timeout=_WAKE_S)
        while not answer.done():
            with self._file.connect_shell():
                await asyncio.wait({answer}, timeout=_WAKE_S)

    def start(self, work: Awaitable[T]) -> "asyncio.Future[T]":
        """Begin work that ends with the line; where it fails, the line is closed."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Future[Any]) -> None:
        """Close the line where a task of it failed: what waits must not wait for a dead reader."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.closed.is_set():
            _log.error("the connection to the kernel is closed: %s", error_text(error))
            self.close()

    def _connect_shell(self) -> Any:
        if self._shell is None:
            self._shell = self._file.connect_shell()
            self._shell.linger = 0
            self.start(self._take_answers(self._shell))
        return self._shell

    async def _watch(self) -> None:
        await recv_monitor_message(self._monitor)
        self.close()

    async def _take_answers(self, socket: Any) -> None:
        while True:
            message = self.read(await socket.recv_multipart())
            if message is None:
                continue
            self.received = now()
            # xeus gives no parent to what it sends unasked.
            parent: Mapping[str, Any] = message["parent_header"] or {}
            waiter = self._waiting.get(parent.get("msg_id", ""))
            if waiter is None or waiter.answer.done():
                continue
            if message["msg_type"] == waiter.kind:
                waiter.answer.set_result(message["content"])
            elif message["msg_type"] == PROGRESS and waiter.progress:
                waiter.progress(message["content"])
