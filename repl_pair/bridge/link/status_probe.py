"""The status of kernels, read without attaching: nothing is put into them."""

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from repl_pair.bridge.kernel_info import KernelInfo, KernelStatus, ProbedKernel
from repl_pair.bridge.kernels.discover import FoundKernel
from repl_pair.bridge.link.client import is_in
from repl_pair.bridge.link.line import ConnectionLost, Line
from repl_pair.bridge.link.link import Link
from repl_pair.bridge.link.silent_execute import until_free
from repl_pair.wire import REPLY, REQUEST, Request, View, raise_for_error

CONTROL_S = 0.4
"""How long a kernel's control thread may take to answer."""
QUIET_S = 0.2
"""A main thread that stays silent this long is busy."""


class StatusProbe:
    """Reads the status of kernels, on one event loop.

    A busy kernel answers on shell only when its cell ends. So at most one request waits there,
    however often its status is read.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, int | None], asyncio.Task[bool]] = {}

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
        waiting = list(self._waiting.values())
        self._forget(set())
        await asyncio.gather(*waiting, return_exceptions=True)

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
        key = _key(found.kernel)
        answer = self._waiting.get(key)
        if answer is None or answer.done():
            answer = self._waiting[key] = asyncio.create_task(_ask_shell(found.connection))
        await asyncio.wait({answer}, timeout=QUIET_S)
        return answer.done() and not answer.cancelled() and answer.result()

    def _forget(self, kept: set[tuple[str, int | None]]) -> None:
        for key in self._waiting.keys() - kept:
            self._waiting.pop(key).cancel()


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


async def _ask_shell(connection: Mapping[str, Any]) -> bool:
    """Return whether the main thread answered, between its cells, before the kernel ended."""
    line = Line(connection)
    try:
        await until_free(line)
        return True
    except ConnectionLost:
        return False
    finally:
        line.close()


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
