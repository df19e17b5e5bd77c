"""One call in the kernel: begun once, answered once, stopped until it has ended, or stuck."""

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import WAIT_S, Op
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.stopping.stop import Section, Stop
from repl_pair.wire import Reply, View, monotonic

MAX_JOBS = 10

_log = logging.getLogger(__name__)


class Job:
    """The state of one call; every method may be called from any thread."""

    def __init__(
        self,
        *,
        op: Op,
        args: Mapping[str, Any],
        call: Call,
        reply: Callable[[Reply], None],
        begin_by: float | None = None,
        admit: Callable[[], object] = lambda: None,
    ) -> None:
        self.op = op
        self.args = args
        self.call = call
        self.lane = op.lane
        self.wait_s = float(args.get("wait_s", WAIT_S))
        """How long the call waits for the main lane, in seconds."""
        self.since = monotonic()
        self._begin_by = begin_by
        self.admit = admit
        """Called when the call begins, perhaps long after it came; may refuse it."""
        self.on_stop: Callable[[], object] = lambda: None
        """Called at the first stop, possibly in a signal handler."""
        self._reply = reply
        self._lock = threading.Lock()
        self.has_turn = False
        """It has the main lane, and begins once what has arrived meanwhile was read."""
        self.begun = False
        self.answered = False
        self.ended = False
        """Nothing runs for the call any more, and nothing will."""
        self._stopped_at: float | None = None
        self._section = Section()
        self._at_answer: list[Callable[[], object]] = []
        self._at_end: list[Callable[[], object]] = []

    @property
    def stopping_s(self) -> float | None:
        """Return how many seconds ago the job was first stopped, None if it was not."""
        return None if self._stopped_at is None else monotonic() - self._stopped_at

    @property
    def requested_stop(self) -> Stop | None:
        """Return the first stop that was requested."""
        return self._section.wanted

    def begin(self) -> bool:
        """Begin the call; False if it was answered or is overdue, and must not run."""
        with self._lock:
            overdue = self._begin_by is not None and monotonic() > self._begin_by
            self.begun = not (self.answered or overdue)
            return self.begun

    def run_in(self, section: Section) -> None:
        """Set where the call runs; an earlier stop is delivered once the section is live."""
        section.when_stopped = self._note_stop
        with self._lock:
            before, self._section = self._section, section
            section.wanted = section.wanted or before.wanted

    def stop(self, stop: Stop) -> None:
        """Stop what runs for this call; no effect once it has ended."""
        with self._lock:
            section = self._section
            section.wanted = section.wanted or stop
        section.send()
        self._note_stop()

    def stop_again(self) -> None:
        """Send the stop once more."""
        self._section.send()

    def at_answer(self, fn: Callable[[], object]) -> None:
        """Call `fn` when the caller is answered; at once if it is."""
        with self._lock:
            if not self.answered:
                self._at_answer.append(fn)
                return
        fn()

    def at_end(self, fn: Callable[[], object]) -> None:
        """Call `fn` when nothing runs for the call any more; at once if that is so."""
        with self._lock:
            if not self.ended:
                self._at_end.append(fn)
                return
        fn()

    def answer(self, reply: Reply, *, not_started: bool = False) -> bool:
        """Answer the caller; False, and nothing is sent, if it was answered before.

        With `not_started`, answer only a call that has not begun, and now never will.
        """
        with self._lock:
            if self.answered or (not_started and self.begun):
                return False
            self.answered = True
        try:
            for fn in self._at_answer:
                self._follow(fn)
        finally:
            self._follow(partial(self._reply, reply))
        if not self.begun:
            self.end()
        return True

    def _follow(self, fn: Callable[[], object]) -> None:
        try:
            fn()
        except Exception:  # noqa: BLE001  the others follow all the same, and the job ends
            _log.exception("what follows the reply to %s failed", self.op.name)

    def end(self) -> None:
        """Report that nothing runs for the call any more."""
        with self._lock:
            fns, self._at_end, self.ended = self._at_end, [], True
        for fn in fns:
            fn()

    def _note_stop(self) -> None:
        # No lock: this may be a signal handler, and its own thread may hold the lock.
        if self._stopped_at is None and not self.ended:
            self._stopped_at = monotonic()
            self.on_stop()


class Stuck:
    """The jobs that do not end after a stop, and how many ended late; see `STUCK`."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self.ended_late = 0

    def add(self, job: Job) -> None:
        """Add a job that did not end in its time; it is removed when it ends."""
        if not self.holds(job):
            self._jobs[job.call.id] = job
            job.at_end(lambda: self._forget(job))

    def holds(self, job: Job) -> bool:
        """Return whether a job is among those that do not end."""
        return job.call.id in self._jobs

    def report(self, view: View) -> dict[str, Any]:
        """Return `{"count", "runs", "ended_late"}` without empty slots, the oldest jobs first."""
        jobs = list(self._jobs.values())
        slots = {
            "count": len(jobs),
            "runs": [
                {
                    "what": name_of(job, view),
                    "lane": job.lane,
                    "stopping_s": round(job.stopping_s or 0.0, 1),
                    "reason": "" if job.requested_stop is None else job.requested_stop.reason,
                }
                for job in jobs[:MAX_JOBS]
            ],
            "ended_late": self.ended_late,
        }
        return {name: value for name, value in slots.items() if value}

    def _forget(self, job: Job) -> None:
        if self._jobs.pop(job.call.id, None) is not None:
            self.ended_late += 1


STUCK = Stuck()
"""The jobs of this process that do not end."""


def name_of(job: Job, view: View) -> str:
    """Describe what a job runs; its variant or function is named to a view that may see it."""
    for slot, kind, what in (("variant_id", "variant", "run"), ("function", "function", "call")):
        id = job.args.get(slot)
        entry = None if id is None else REGISTRY.find(kind, id)
        if entry is not None and is_seen(view, entry):
            return f"a {what} of {id}"
    return f"a call of {job.op.name}"


def describe_holder(holder: Job | None, view: View) -> str | None:
    """Describe the job whose turn it is, to a view; None where there is none, or it just ends."""
    if holder is None:
        return None
    if not STUCK.holds(holder):
        return None if holder.answered else f"another call of {holder.op.name} is running"
    return (
        f"{name_of(holder, view)} that was asked to stop {holder.stopping_s:.0f} s ago still "
        "runs; Stop (the square) or a restart ends it"
    )
