"""Readings of a kernel that does not answer: its sockets, its process and its threads."""

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import psutil

from repl_pair.bridge.kernels.discovery import heartbeat_answers
from repl_pair.bridge.link.iopub import is_welcomed
from repl_pair.bridge.link.line import ConnectionLost, Line
from repl_pair.bridge.silence.states import Readings, ThreadReading, files_left, status_of

ANSWER_S = 0.2
"""How long a kernel may take to answer before more is read."""
AGAIN_S = 0.1
"""How long it may take to answer once its Python was seen to run."""
BEAT_S = 0.3
"""How long its heartbeat and its iopub thread may take then."""
_NS = 1e9


@dataclass(frozen=True, kw_only=True)
class _Counters:
    """What Linux counts of one thread since it began, read `at` that time; times in seconds."""

    at: float
    state: str
    waits: int
    busy_s: float
    queueing_s: float
    pages_read: int


_ByThread: TypeAlias = Mapping[int, _Counters]


async def take_readings(
    line: Line, info: Mapping[str, Any], process: psutil.Process | None, control_tid: int | None
) -> tuple[Readings, frozenset[str]]:
    """Read a kernel for about half a second; return the readings and the features it named.

    `info` is the content of its connection file. `ConnectionLost` if the line ends meanwhile.
    """
    pid = process.pid if process else None
    answer, probed_at = line.probe(), line.probed_at
    before = await asyncio.to_thread(_count, pid)
    await asyncio.wait({answer}, timeout=ANSWER_S)
    if not answer.done():
        welcomed, heartbeat = await asyncio.gather(
            is_welcomed(line, BEAT_S),
            asyncio.to_thread(heartbeat_answers, info, timeout_s=BEAT_S),
        )
        after = await asyncio.to_thread(_count, pid)
        if welcomed:
            # Its Python runs now, perhaps again: then the answer comes next.
            await asyncio.wait({answer}, timeout=AGAIN_S)
        if not answer.done():
            seen = Readings(heartbeat=heartbeat, welcomes=welcomed, control_tid=control_tid)
            return _compare(seen, process, before, after), frozenset()
    if answer.cancelled():
        raise ConnectionLost
    return Readings(answers=True, probed_at=probed_at), frozenset(answer.result())


def _compare(
    seen: Readings, process: psutil.Process | None, before: _ByThread, after: _ByThread
) -> Readings:
    both = [tid for tid in after if tid in before]
    return replace(
        seen,
        status=status_of(process),
        files_left=files_left(process),
        pages_read=sum(after[tid].pages_read - before[tid].pages_read for tid in both),
        threads=tuple(_compare_thread(tid, before[tid], after[tid]) for tid in both),
        main_tid=process.pid if process else None,
    )


def _compare_thread(tid: int, past: _Counters, now: _Counters) -> ThreadReading:
    seconds = max(now.at - past.at, 0.001)
    return ThreadReading(
        tid=tid,
        state=now.state,
        waits=now.waits - past.waits,
        busy=round((now.busy_s - past.busy_s) / seconds, 2),
        queueing=round((now.queueing_s - past.queueing_s) / seconds, 2),
    )


def _count(pid: int | None) -> _ByThread:
    """Read the counters of a process's threads; none where the system does not show them."""
    folder = Path(f"/proc/{pid}/task")
    try:
        tids = os.listdir(folder)
    except OSError:
        return {}
    counted = ((int(tid), _count_thread(folder / tid)) for tid in tids)
    return {tid: found for tid, found in counted if found}


def _count_thread(folder: Path) -> _Counters | None:
    at = time.monotonic()
    try:
        stat = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        status = (folder / "status").read_text(errors="replace")  # a thread's name may be cut
    except OSError:
        return None
    busy_s, queueing_s = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"), 0.0
    with suppress(OSError, ValueError):  # not every system counts what is finer than a tick
        ran, waited, _ = (folder / "schedstat").read_text().split()
        busy_s, queueing_s = int(ran) / _NS, int(waited) / _NS
    _, _, switches = status.partition("\nvoluntary_ctxt_switches:")
    return _Counters(
        at=at,
        state=stat[0],
        waits=int(switches.partition("\n")[0] or 0),
        busy_s=busy_s,
        queueing_s=queueing_s,
        pages_read=int(stat[9]),
    )
