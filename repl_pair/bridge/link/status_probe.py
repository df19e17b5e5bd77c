"""The status of kernels, read without attaching: nothing is put into them."""

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import zmq.asyncio
from jupyter_client.connect import ConnectionFileMixin

from repl_pair.bridge.kernel_info import KernelInfo, KernelStatus, ProbedKernel
from repl_pair.bridge.kernels.discover import FoundKernel
from repl_pair.bridge.link.client import is_in
from repl_pair.bridge.link.line import ConnectionLost, Line
from repl_pair.bridge.link.link import Link
from repl_pair.wire import REPLY, REQUEST, Request, View, raise_for_error

CONTROL_S = 0.4
"""How long a kernel's control thread may take to answer."""
QUIET_S = 0.2
"""A main thread that stays silent this long is busy."""
REPEAT_S = 60.0
"""When a request that waits behind a cell is sent again: a kernel that restarted has lost it."""


@dataclass(frozen=True, kw_only=True)
class _ShellRequest:
    """A request on shell and when it was sent; the task ends with the answer."""

    answer: asyncio.Task[None]
    sent: float


class StatusProbe:
    """Reads the status of kernels, on one event loop.

    A busy kernel answers on shell only when its cell ends. So at most one request waits there,
    however often its status is read.
    """

    def __init__(self) -> None:
        self._context = zmq.asyncio.Context()
        self._waiting: dict[tuple[str, int | None], _ShellRequest] = {}

    async def read(self, found: Sequence[FoundKernel]) -> list[ProbedKernel]:
        """Return the kernels with their status: living ones first, then by their last activity.

        All are asked at once; takes at most `CONTROL_S` and `QUIET_S`.
        """
        kernels = [each.kernel for each in found]
        self._forget({_key(kernel) for kernel in kernels if kernel.alive})
        statuses = await asyncio.gather(*(self._read(each) for each in found))
        return sorted(zip(kernels, statuses, strict=True), key=_order)

    async def read_link(self, link: Link) -> ProbedKernel:
        """Return the kernel of a link with its status; the link attaches."""
        reply = await link.request("ping", {}, view=View())
        return link.kernel, _from_ping(raise_for_error(reply))

    async def close(self) -> None:
        """Drop every request that waits."""
        self._forget(set())
        self._context.destroy(linger=0)

    async def _read(self, found: FoundKernel) -> KernelStatus:
        if not found.kernel.alive:
            return KernelStatus(state=None if found.kernel.pid is None else "unknown")
        runtime, ping = await _ask_control(found.connection)
        if ping is not None:
            return _from_ping(ping)
        hosted = found.hosted
        if hosted is not None and hosted.state in ("busy", "idle"):
            active = hosted.active
            active_s = None if active is None else round(max(0.0, time.time() - active), 1)
            return KernelStatus(
                state=hosted.state,
                since_s=active_s if hosted.state == "idle" else None,
                last_activity_s=active_s,
                runtime=runtime,
            )
        if runtime is None:
            return KernelStatus(state="unknown")
        answered = await self._answers_on_shell(found)
        return KernelStatus(state="idle" if answered else "busy", runtime=runtime)

    async def _answers_on_shell(self, found: FoundKernel) -> bool:
        key, now = _key(found.kernel), time.monotonic()
        waiting = self._waiting.pop(key, None)
        if waiting is not None and now - waiting.sent > REPEAT_S:
            waiting.answer.cancel()
            waiting = None
        if waiting is None or waiting.answer.done():
            answer = asyncio.ensure_future(_ask_shell(self._context, found.connection))
            waiting = _ShellRequest(answer=answer, sent=now)
        self._waiting[key] = waiting
        await asyncio.wait({waiting.answer}, timeout=QUIET_S)
        answer = waiting.answer
        return answer.done() and not answer.cancelled() and answer.exception() is None

    def _forget(self, kept: set[tuple[str, int | None]]) -> None:
        for key in self._waiting.keys() - kept:
            self._waiting.pop(key).answer.cancel()


def _from_ping(answer: Mapping[str, Any]) -> KernelStatus:
    state = "busy" if answer["busy"] else "idle"
    since_s = answer[f"{state}_s"]
    active_s = 0.0 if answer["busy"] else since_s
    return KernelStatus(state=state, since_s=since_s, last_activity_s=active_s, runtime=True)


async def _ask_control(
    connection: Mapping[str, Any],
) -> tuple[bool | None, Mapping[str, Any] | None]:
    """Return whether the runtime is in, None where nothing answers, and its answer to a ping."""
    runtime: bool | None = None
    line = Line(connection)
    try:
        async with asyncio.timeout(CONTROL_S):
            runtime = await is_in(line)
            if runtime:
                ping = Request(op="ping", call=uuid.uuid4().hex, view=View()).to_wire()
                return runtime, (await line.ask(REQUEST, ping, answer=REPLY)).get("result")
    except (TimeoutError, ConnectionLost):
        pass  # what was read until then counts
    finally:
        line.close()
    return runtime, None


async def _ask_shell(context: zmq.asyncio.Context, connection: Mapping[str, Any]) -> None:
    """Send a request that every main thread answers between cells; return with the answer."""
    file: Any = ConnectionFileMixin(context=context)
    file.load_connection_info(dict(connection))
    socket: Any = file.connect_shell()
    try:
        message = file.session.msg("kernel_info_request", {})
        await socket.send_multipart(file.session.serialize(message))
        await socket.recv_multipart()
    finally:
        socket.close(linger=0)


def _key(kernel: KernelInfo) -> tuple[str, int | None]:
    return kernel.path, kernel.pid


def _order(probed: ProbedKernel) -> tuple[bool, float, float, str]:
    kernel, status = probed
    active = 0.0 if status.state == "busy" else status.last_activity_s
    return (
        not kernel.alive,
        float("inf") if active is None else active,
        -(kernel.began or 0.0),
        kernel.id,
    )
