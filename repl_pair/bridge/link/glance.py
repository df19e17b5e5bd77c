"""How a kernel is, asked without attaching: nothing of ours is put into it."""

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import zmq.asyncio
from jupyter_client.connect import ConnectionFileMixin

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discover import Sighting
from repl_pair.bridge.kernels.servers import Hosted
from repl_pair.bridge.link.client import is_in
from repl_pair.bridge.link.line import Line, Lost
from repl_pair.wire import REPLY, REQUEST, Request, View

CONTROL_S = 0.4
"""How long a kernel's control thread may take to answer."""
QUIET_S = 0.2
"""A main thread that stays silent this long is busy."""
ASKED_ANEW_S = 60.0
"""When a question that waits behind a cell is put again: a kernel that restarted has lost it."""


@dataclass(frozen=True, kw_only=True)
class Glance:
    """How one kernel was a moment ago; what nobody knows is None.

    `state` is `busy`, `idle`, or `unknown` of a process that does not answer; `runtime` says
    whether ours is in. Both times are seconds before now.
    """

    state: str | None = None
    since_s: float | None = None
    last_activity_s: float | None = None
    runtime: bool | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON form, without what is not known."""
        return {name: value for name, value in asdict(self).items() if value is not None}


Seen: TypeAlias = tuple[KernelInfo, Glance]


@dataclass(frozen=True, kw_only=True)
class _Question:
    """A request on shell and when it was put; its end is the answer."""

    answer: asyncio.Task[None]
    asked: float


class Glances:
    """Looks at kernels, on one event loop.

    A busy kernel keeps what it is asked on shell until its cell ends. So one question waits there
    at most, however often it is looked at.
    """

    def __init__(self) -> None:
        self._context = zmq.asyncio.Context()
        self._waiting: dict[tuple[str, int | None], _Question] = {}

    async def look(self, sightings: Sequence[Sighting]) -> list[Seen]:
        """Return the kernels with how they are: living ones first, then by their last activity.

        All are asked at once; takes `CONTROL_S` and `QUIET_S` at most.
        """
        self._forget({_key(s.kernel) for s in sightings if s.kernel.alive})
        glances = await asyncio.gather(*(self._look_at(sighting) for sighting in sightings))
        seen = zip((sighting.kernel for sighting in sightings), glances, strict=True)
        return sorted(seen, key=_order)

    async def close(self) -> None:
        """Let every question go."""
        self._forget(set())
        self._context.destroy(linger=0)

    async def _look_at(self, sighting: Sighting) -> Glance:
        if not sighting.kernel.alive:
            return Glance(state=None if sighting.kernel.pid is None else "unknown")
        runtime, ping = await _ask_control(sighting.connection)
        if ping is not None:
            return read_ping(ping)
        hosted = sighting.hosted
        if hosted is not None and hosted.state in ("busy", "idle"):
            return _read_hosted(hosted, runtime)
        if runtime is None:
            return Glance(state="unknown")
        answered = await self._answers_on_shell(sighting)
        return Glance(state="idle" if answered else "busy", runtime=runtime)

    async def _answers_on_shell(self, sighting: Sighting) -> bool:
        key, now = _key(sighting.kernel), time.monotonic()
        waiting = self._waiting.pop(key, None)
        if waiting is not None and now - waiting.asked > ASKED_ANEW_S:
            waiting.answer.cancel()
            waiting = None
        if waiting is None or waiting.answer.done():
            answer = asyncio.ensure_future(_ask_shell(self._context, sighting.connection))
            waiting = _Question(answer=answer, asked=now)
        self._waiting[key] = waiting
        await asyncio.wait({waiting.answer}, timeout=QUIET_S)
        answer = waiting.answer
        return answer.done() and not answer.cancelled() and answer.exception() is None

    def _forget(self, kept: set[tuple[str, int | None]]) -> None:
        for key in self._waiting.keys() - kept:
            self._waiting.pop(key).answer.cancel()


def read_ping(said: Mapping[str, Any]) -> Glance:
    """Read what a runtime says of the kernel that it is in."""
    if said["busy"]:
        return Glance(state="busy", since_s=said["busy_s"], last_activity_s=0.0, runtime=True)
    idle_s = said["idle_s"]
    return Glance(state="idle", since_s=idle_s, last_activity_s=idle_s, runtime=True)


def _read_hosted(hosted: Hosted, runtime: bool | None) -> Glance:
    active_s = None if hosted.active is None else round(max(0.0, time.time() - hosted.active), 1)
    return Glance(
        state=hosted.state,
        since_s=active_s if hosted.state == "idle" else None,
        last_activity_s=active_s,
        runtime=runtime,
    )


async def _ask_control(
    connection: Mapping[str, Any],
) -> tuple[bool | None, Mapping[str, Any] | None]:
    """Return whether our runtime is in, None where nothing answers, and what that runtime says."""
    runtime: bool | None = None
    line = Line(connection)
    try:
        async with asyncio.timeout(CONTROL_S):
            runtime = await is_in(line)
            if runtime:
                ping = Request(op="ping", call=uuid.uuid4().hex, view=View()).to_wire()
                return runtime, (await line.ask(REQUEST, ping, answer=REPLY)).get("result")
    except (TimeoutError, Lost):
        pass  # what was learned until then counts
    finally:
        line.close()
    return runtime, None


async def _ask_shell(context: zmq.asyncio.Context, connection: Mapping[str, Any]) -> None:
    """Put a question that every main thread answers between cells; return with the answer."""
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


def _order(seen: Seen) -> tuple[bool, float, float, str]:
    kernel, glance = seen
    active = 0.0 if glance.state == "busy" else glance.last_activity_s
    return (
        not kernel.alive,
        float("inf") if active is None else active,
        -(kernel.began or 0.0),
        kernel.id,
    )
