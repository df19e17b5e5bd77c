"""Why a kernel does not answer: the states, and how readings determine them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import psutil

State: TypeAlias = Literal[
    "slow_op",
    "no_replies",
    "cell_runs",
    "gone",
    "stopped",
    "out_of_files",
    "starved",
    "gil_held",
    "gil_held_or_blocked",
    "control_blocked",
    "unknown",
]

LOCK_WAITS = 20
"""Least wake-ups during the readings of a thread that waits for the interpreter lock: it asks for
the lock each 5 ms."""
LOCK_BUSY = 0.3
"""Most that such a thread uses of a processor."""
COMPUTING = 0.5
"""A thread computes if it uses or waits for a processor at least this share of the time."""
QUEUEING = 0.5
"""A thread is kept from running if it waits for a processor at least this share of the time."""
RUNNING = 0.3
"""A process runs if a thread of it uses at least this share of a processor."""
FEW_FILES = 4
"""With fewer files left a process may be unable to take a connection."""
PAGING = 10
"""A process is busy reading pages back from disk if it read at least so many."""
ENDED = ("gone", "zombie", "dead")
IN_A_CELL = "runs the person's cell, and this kernel answers only between cells"
_SINCE = "{since}"
_TOO_MANY_FILES = ": its process has too many open files"


@dataclass(frozen=True, kw_only=True)
class ThreadReading:
    """What one thread did during the readings; `state` is the letter that Linux uses.

    `busy` and `queueing` are shares of a processor used and waited for, 0 to 1.
    """

    tid: int
    state: str
    waits: int
    busy: float
    queueing: float

    @property
    def demand(self) -> float:
        """The share of the time that it used or wanted a processor."""
        return self.busy + self.queueing


@dataclass(frozen=True, kw_only=True)
class Readings:
    """What was read of a kernel; None where it could not be read.

    `answers`: it answered on control what was sent at `probed_at`; `heartbeat`: its heartbeat did,
    which needs no Python; `welcomes`: its iopub thread took a subscription, which needs the
    interpreter lock; `status`: what psutil calls the state of its process, `gone` where there is
    none; `files_left`: how many more it may open; `threads`: empty where the system does not show
    them.
    """

    answers: bool = False
    probed_at: float = 0.0
    heartbeat: bool = True
    welcomes: bool | None = None
    status: str | None = None
    files_left: int | None = None
    pages_read: int = 0
    threads: tuple[ThreadReading, ...] = ()
    main_tid: int | None = None
    control_tid: int | None = None


@dataclass(frozen=True, kw_only=True)
class Silence:
    """Why a kernel does not answer, as a clause, and for how many seconds at least, if known."""

    state: State
    since_s: float | None
    why: str


def judge(readings: Readings, since_s: float | None) -> Silence:
    """Return the state that readings show; `since_s` is how long nothing has come."""
    state, why = _judge(readings)
    since = "" if since_s is None else f" for {since_s:.1f} s"
    since_s = None if since_s is None else round(since_s, 1)
    return Silence(state=state, since_s=since_s, why=why.replace(_SINCE, since))


def judge_by_process(process: psutil.Process | None, *, connected: bool = False) -> Silence:
    """Return the state of a kernel whose heartbeat is silent, judged by its process alone.

    None is a process that does not exist, or for a `connected` kernel one of another machine.
    """
    status = status_of(process) or (None if connected else "gone")
    left = files_left(process)
    return judge(Readings(heartbeat=False, status=status, files_left=left), None)


def judge_slow(process: psutil.Process | None, waited_s: float, *, answers_others: bool) -> Silence:
    """Return the state of a kernel that answers probes, for a caller that has waited in vain."""
    since_s = round(waited_s, 1)
    if answers_others:
        return Silence(state="slow_op", since_s=since_s, why="answers other calls")
    why = f"no reply of repl_pair has come for {since_s:.1f} s, while its control channel answers"
    if _lacks_files(files_left(process)):
        return Silence(state="out_of_files", since_s=since_s, why=f"{why}{_TOO_MANY_FILES}")
    return Silence(state="no_replies", since_s=since_s, why=why)


def find_process(pid: int | None, tid: int | None = None) -> psutil.Process | None:
    """Return the process of that pid now, if there is one, and if the thread `tid` is one of it.

    The pid of a kernel in a container is that of another process here.
    """
    threads = Path(f"/proc/{pid}/task")
    if tid is not None and threads.is_dir() and not (threads / str(tid)).exists():
        return None
    try:
        return None if pid is None else psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def is_ipykernel(process: psutil.Process | None) -> bool:
    """Return whether a process was started as an ipykernel, which runs Python."""
    try:
        return process is not None and "ipykernel_launcher" in process.cmdline()
    except psutil.Error:
        return False


def status_of(process: psutil.Process | None) -> str | None:
    """Return what psutil calls the state of this very process, `gone` if it has ended."""
    try:
        if process is None:
            return None
        return process.status() if process.is_running() else "gone"
    except psutil.NoSuchProcess:
        return "gone"
    except psutil.AccessDenied:
        return None


def files_left(process: psutil.Process | None) -> int | None:
    """Return how many more files a process may open; None where the system does not show it."""
    try:
        limit, _ = process.rlimit(psutil.RLIMIT_NOFILE) if process else (-1, -1)
        return limit - process.num_fds() if process and limit >= 0 else None
    except (AttributeError, psutil.Error):
        return None


def _judge(readings: Readings) -> tuple[State, str]:
    if readings.answers:
        return "slow_op", "the kernel answers, and is at work on the call"
    if readings.status in ENDED:
        if not readings.heartbeat:
            return "gone", "its process has ended"
        why = "its earlier process has ended, and what has its ports now has not answered"
        return "unknown", f"{why}{_SINCE}"
    if readings.status in ("stopped", "tracing-stop"):
        by = "a debugger" if readings.status == "tracing-stop" else "a signal, Ctrl-Z for one"
        return "stopped", f"its process has been stopped{_SINCE} ({by})"
    if not readings.heartbeat:
        return _judge_without_heartbeat(readings)
    if readings.welcomes:
        return "control_blocked", f"its control channel has been blocked{_SINCE}{_keeper(readings)}"
    # The heartbeat answers, while no Python was seen to run.
    if not readings.threads:
        return (
            "gil_held_or_blocked",
            f"its threads have waited for the interpreter lock{_SINCE}, or its control channel is "
            "blocked: this system does not show which",
        )
    if _waiters(readings):
        why = f"its threads have waited for the interpreter lock{_SINCE}{_holder(readings)}"
        return "gil_held", why
    if reason := _starving(readings):
        return "starved", f"its process has hardly got time to run{_SINCE}{reason}"
    return "unknown", f"it has been silent{_SINCE}, and nothing shows why"


def _judge_without_heartbeat(readings: Readings) -> tuple[State, str]:
    if _lacks_files(readings.files_left):
        return "out_of_files", f"it has taken no connection{_SINCE}{_TOO_MANY_FILES}"
    if any(thread.busy >= RUNNING for thread in readings.threads):
        return "unknown", f"its heartbeat has been silent{_SINCE}, while its process runs"
    return "starved", f"its process has got no time to run{_SINCE}{_starving(readings)}"


def _lacks_files(left: int | None) -> bool:
    return left is not None and left < FEW_FILES


def _waiters(readings: Readings) -> list[ThreadReading]:
    """Return the threads that ask for the interpreter lock: the control thread, if it is known."""
    return [
        thread
        for thread in readings.threads
        if readings.control_tid in (None, thread.tid) and _asks_for_lock(thread)
    ]


def _asks_for_lock(thread: ThreadReading) -> bool:
    return thread.waits >= LOCK_WAITS and thread.busy <= LOCK_BUSY


def _holder(readings: Readings) -> str:
    # On a busy machine a thread that asks for the lock wants the processor too.
    others = (thread for thread in readings.threads if not _asks_for_lock(thread))
    busiest = max(others, key=lambda thread: thread.demand, default=None)
    if busiest is None or busiest.demand < COMPUTING:
        return " (in a call that sleeps or waits)"
    which = "the main thread" if busiest.tid == readings.main_tid else "another thread"
    return f" ({which} computes)"


def _keeper(readings: Readings) -> str:
    control = next((t for t in readings.threads if t.tid == readings.control_tid), None)
    if control is None:
        return " by a handler of it"
    how = "computes" if control.demand >= COMPUTING else "sleeps or waits"
    return f" by a handler that {how}"


def _starving(readings: Readings) -> str:
    if readings.pages_read >= PAGING:
        return " (it reads its memory back from disk: swapped out)"
    if readings.status == "disk-sleep" or any(thread.state == "D" for thread in readings.threads):
        return " (it waits for a disk or file server)"
    if any(thread.queueing >= QUEUEING for thread in readings.threads):
        return " (other processes have the processors)"
    return "" if readings.heartbeat else " (frozen, as in a paused container, or swapped out)"
