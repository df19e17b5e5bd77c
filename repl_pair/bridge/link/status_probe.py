"""The status of kernels, read without attaching: nothing is put into them."""

import asyncio
import math
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, cast

from repl_pair.bridge.kernel_info import KernelInfo, KernelStatus, ProbedKernel, known_only
from repl_pair.bridge.kernels.discovery import FoundKernel, discover_kernels, read_connection
from repl_pair.bridge.kernels.heartbeat import Connection
from repl_pair.bridge.link.client import is_in
from repl_pair.bridge.link.line import ConnectionLost, Line
from repl_pair.bridge.link.link import Link
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
        self._waiting: dict[str, asyncio.Task[bool]] = {}

    async def find(
        self,
        choose: Callable[[Sequence[KernelInfo]], Sequence[KernelInfo]],
        *,
        own: Sequence[KernelInfo],
    ) -> list[ProbedKernel]:
        """Return the chosen ones of this machine's kernels, and a session's own, as `read` does."""
        found = await asyncio.to_thread(discover_kernels)
        chosen = choose([one.kernel for one in found])
        started = (
            FoundKernel(kernel=each, connection=read_connection(each.path) or {}, hosted=None)
            for each in own
        )
        return await self.read([*(one for one in found if one.kernel in chosen), *started])

    async def read(self, found: Sequence[FoundKernel]) -> list[ProbedKernel]:
        """Return the kernels with their status: living ones first, then by their last activity.

        All are asked at once; takes at most `CONTROL_S` and `QUIET_S`.
        """
        kernels = [each.kernel for each in found]
        self._forget({kernel.path for kernel in kernels if kernel.alive})
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
            return {} if found.kernel.pid is None else {"state": "unknown"}
        runtime, ping = await _ask_control(found.connection)
        if ping is not None:
            return _from_ping(ping)
        hosted = found.hosted
        if hosted is not None and hosted.state in ("busy", "idle"):
            active = hosted.active
            active_s = None if active is None else round(max(0.0, time.time() - active), 1)
            since_s = active_s if hosted.state == "idle" else None
            return _make_status(hosted.state, since_s, active_s, runtime)
        if runtime is None:
            return {"state": "unknown"}
        answered = await self._answers_on_shell(found)
        return {"state": "idle" if answered else "busy", "runtime": runtime}

    async def _answers_on_shell(self, found: FoundKernel) -> bool:
        path = found.kernel.path
        answer = self._waiting.get(path)
        if answer is None or answer.done():
            answer = self._waiting[path] = asyncio.create_task(_ask_shell(found.connection))
        await asyncio.wait({answer}, timeout=QUIET_S)
        return answer.done() and not answer.cancelled() and answer.result()

    def _forget(self, kept: set[str]) -> None:
        for path in self._waiting.keys() - kept:
            self._waiting.pop(path).cancel()


def _from_ping(answer: Mapping[str, Any]) -> KernelStatus:
    state = "busy" if answer["busy"] else "idle"
    since_s = answer[f"{state}_s"]
    return _make_status(state, since_s, 0.0 if answer["busy"] else since_s, runtime=True)


def _make_status(
    state: str, since_s: float | None, active_s: float | None, runtime: bool | None
) -> KernelStatus:
    known = {"since_s": since_s, "last_activity_s": active_s, "runtime": runtime}
    return cast("KernelStatus", {"state": state, **known_only(known)})


async def _ask_control(connection: Connection) -> tuple[bool | None, Mapping[str, Any] | None]:
    """Return whether the runtime is in, None where nothing answers, and its answer to a ping."""
    runtime: bool | None = None
    with closing(Line(connection)) as line, suppress(TimeoutError, ConnectionLost):
        async with asyncio.timeout(CONTROL_S):
            runtime = await is_in(line)
            if runtime:
                ping = Request(op="ping", call=uuid.uuid4().hex, view=View()).to_wire()
                return runtime, (await line.ask(REQUEST, ping, answer=REPLY)).get("result")
    return runtime, None


async def _ask_shell(connection: Connection) -> bool:
    """Return whether the main thread answered, between its cells, before the kernel ended."""
    with closing(Line(connection)) as line, suppress(ConnectionLost):
        await line.features("shell")
        return True
    return False


def _order(probed: ProbedKernel) -> tuple[bool, float, float, str]:
    kernel, status = probed
    active_s = 0.0 if status.get("state") == "busy" else status.get("last_activity_s", math.inf)
    return not kernel.alive, active_s, -(kernel.began or 0.0), kernel.id
