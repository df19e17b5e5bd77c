"""Deadlines of jobs: the wait for a lane, the run, the grace after a stop."""

import heapq
import itertools
import logging
import threading
from _queue import Empty, SimpleQueue  # gevent replaces that of `queue`
from collections.abc import Callable

from repl_pair.records import Undo, mutable
from repl_pair.runtime.capture.own_threads import ServiceThread
from repl_pair.runtime.kernel.jobs import STUCK, Job
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.wire import View, monotonic

MAX_CANCELLED = 64
"""How many timers that were cancelled are kept beside as many as are due."""
LINGER_S = 0.5
"""How long the idle thread of timers stays: a short wait costs less than a new thread."""

TICK_S = 1.0
"""How often a caller that waits for the main lane gets a progress message."""
GRACE_S = 1.0
"""How long a stopped job may take to end, before its caller is answered without it."""
ON_ITS_WAY_S = 0.5
"""How long past its wait a job may take to the main lane that nothing holds."""
_BUSY = "the main lane is busy"
AGAIN_S, LATER_S = 0.05, 1.0
"""How often a stop is repeated, within the grace and after it."""

_log = logging.getLogger(__name__)


@mutable
class _Entry:
    at: float
    fn: Callable[[], None] | None


class Timers:
    """Calls functions later, on one thread that ends when idle; a signal handler may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread = ServiceThread(self._serve, "timers")
        self._count = itertools.count()
        self._due = 0
        self._linger_s = LINGER_S
        self._new_entries: SimpleQueue[_Entry | None] = SimpleQueue()

    def after(self, delay_s: float, fn: Callable[[], None]) -> Undo:
        """Call `fn` once after `delay_s` seconds; the undo cancels it."""
        entry = _Entry(at=monotonic() + delay_s, fn=fn)
        with self._lock:
            self._thread.start()
            self._due += 1
        self._new_entries.put(entry)
        return lambda: self._claim(entry)

    def every(self, period_s: float, fn: Callable[[], None]) -> Undo:
        """Call `fn` each `period_s` seconds until the undo."""
        ended = threading.Event()
        pending: list[Undo] = []

        def tick() -> None:
            fn()
            pending[:] = [self.after(period_s, tick)]
            if ended.is_set():
                undo()

        def undo() -> None:
            ended.set()
            for cancel in pending:
                cancel()

        pending.append(self.after(period_s, tick))
        return undo

    def close(self) -> None:
        """Let the thread end as soon as nothing is due."""
        self._linger_s = 0.0
        self._new_entries.put(None)

    def _claim(self, entry: _Entry) -> Callable[[], None] | None:
        """Return the function to call, to the first caller only."""
        with self._lock:
            fn, entry.fn = entry.fn, None
            self._due -= fn is not None
            return fn

    def _serve(self) -> None:
        waiting: list[tuple[float, int, _Entry]] = []
        until = monotonic() + self._linger_s
        while self._goes_on(until):
            while waiting and waiting[0][0] <= monotonic():
                self._call(heapq.heappop(waiting)[2])
            wait_s = (waiting[0][0] if waiting else until) - monotonic()
            try:
                wait_s = max(0.0, min(wait_s, self._linger_s or LINGER_S))
                entry = self._new_entries.get(timeout=wait_s)
            except Empty:
                continue
            if len(waiting) > MAX_CANCELLED + 2 * self._due:
                waiting = [one for one in waiting if one[2].fn is not None]
                heapq.heapify(waiting)
            if entry is not None:
                heapq.heappush(waiting, (entry.at, next(self._count), entry))
                until = monotonic() + self._linger_s

    def _call(self, entry: _Entry) -> None:
        # In a call of its own: what the function holds, such as a run's args, goes when it ends.
        fn = self._claim(entry)
        try:
            if fn is not None:
                fn()
        except Exception:  # noqa: BLE001  all later deadlines need this thread
            _log.exception("a timer's function failed")

    def _goes_on(self, until: float) -> bool:
        with self._lock:
            if self._due or (self._linger_s and monotonic() < until):
                return True
            self._thread.end()
            return False


class Deadlines:
    """Answers each job in its time, and repeats its stop until it has ended.

    `blocked_by` describes to a view what holds the main lane. `give_up` answers a job that did not
    begin, with a reason; `answer_for` answers one that runs on, unless it is answered.
    """

    def __init__(
        self,
        *,
        blocked_by: Callable[[View], str | None],
        give_up: Callable[[Job, str], None],
        answer_for: Callable[[Job], None],
    ) -> None:
        self._timers = Timers()
        self._blocked_by = blocked_by
        self._give_up = give_up
        self._answer_for = answer_for

    def watch(self, job: Job) -> None:
        """Begin the deadlines of a job; call it before the job goes to its lane."""
        job.on_stop = lambda: self._timers.after(AGAIN_S, lambda: self._repeat_stop(job))
        if job.lane == "main":
            job.at_answer(self._timers.every(TICK_S, lambda: self._report_waiting(job)))
            job.at_answer(self._timers.after(job.wait_s, lambda: self._end_wait(job)))
        elif job.lane != "inline":
            self.start(job)

    def start(self, job: Job) -> None:
        """Begin the time that a job may run."""
        limit = job.op.deadline(job.args)
        if limit is not None:
            may_ask = {"timeout_s"} & (job.op.fn.__annotations__.keys() - job.args.keys())
            more = "; with timeout_s it may take longer" * len(may_ask)
            stop = Stop("error", f"not done within {limit:g} s{more}")
            job.at_answer(self._timers.after(limit, lambda: self.stop(job, stop)))

    def stop(self, job: Job, stop: Stop) -> None:
        """Stop a job; the stop is repeated until the job has ended."""
        job.call.cancel()
        job.stop(stop)

    def close(self) -> None:
        """End the thread as soon as no job needs it."""
        self._timers.close()

    def _repeat_stop(self, job: Job) -> None:
        if job.ended:
            return
        overdue = (job.stopping_s or 0.0) >= GRACE_S
        if overdue:
            STUCK.add(job)
            self._answer_for(job)
        job.stop_again()
        delay_s = LATER_S if overdue else AGAIN_S
        self._timers.after(delay_s, lambda: self._repeat_stop(job))

    def _report_waiting(self, job: Job) -> None:
        if not job.begun:
            job.call.progress(f"waiting: {self._blocked_by(job.call.view) or _BUSY}")

    def _end_wait(self, job: Job, *, is_late: bool = False) -> None:
        if job.begun:
            return
        holder = None if job.has_turn else self._blocked_by(job.call.view)
        if holder is None and not is_late:  # it is on its way to the main thread
            later = self._timers.after(ON_ITS_WAY_S, lambda: self._end_wait(job, is_late=True))
            job.at_answer(later)
            return
        self._give_up(job, f"not started within {job.wait_s:g} s: {holder or _BUSY}")
