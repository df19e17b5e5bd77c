"""When a job is answered for: its wait, its time, its grace, and what has not ended since."""

from collections.abc import Callable
from typing import Any

from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.stopping.timers import Timers
from repl_pair.wire import View

SHOWN = 10


class Stuck:
    """The jobs that do not end, and how many ended too late; see `STUCK`."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self.ended_late = 0

    def add(self, job: Job) -> None:
        """Note that a job did not end in its time; it is forgotten when it has."""
        if not self.holds(job):
            self._jobs[job.call.id] = job
            job.at_end(lambda: self._forget(job))

    def holds(self, job: Job) -> bool:
        """Return whether a job is among those that do not end."""
        return job.call.id in self._jobs

    def report(self, view: View) -> dict[str, Any]:
        """Get `{"count", "runs", "ended_late"}` without what is 0; the longest told come first."""
        jobs = list(self._jobs.values())
        slots = {
            "count": len(jobs),
            "runs": [_line(job, view) for job in jobs[:SHOWN]],
            "ended_late": self.ended_late,
        }
        return {name: value for name, value in slots.items() if value}

    def _forget(self, job: Job) -> None:
        if self._jobs.pop(job.call.id, None) is not None:
            self.ended_late += 1


def name_of(job: Job, view: View) -> str:
    """Name what a job runs, its variant only to a view that may see that."""
    id = job.args.get("variant_id")
    entry = None if view.tier is None or id is None else REGISTRY.find("variant", id)
    hidden = id is None or (view.tier is not None and (entry is None or entry.tier != view.tier))
    return f"a call of {job.op.name}" if hidden else f"a run of {id}"


def _line(job: Job, view: View) -> dict[str, Any]:
    return {
        "what": name_of(job, view),
        "lane": job.lane,
        "told_to_stop_s": round(job.stopping_s or 0.0, 1),
        "reason": "" if job.requested_stop is None else job.requested_stop.reason,
    }


STUCK = Stuck()
"""What does not end in this process."""


TICK_S = 1.0
"""How often a caller that waits for the main lane is told so."""


GRACE_S = 1.0
"""What a job gets to end after it was told to, before its caller is answered for it."""


AGAIN_S, LATER_S = 0.05, 1.0
"""How often a job is told to stop that has not ended, within its grace and after it."""


class Deadlines:
    """Sees to it that each job is answered in its time, and told to stop until it has ended.

    `blocked_by` says to a view what holds the main lane. `give_up` answers for a job that no lane
    has taken up, for the reason given; `answer_for` for one that goes on, unless that is done.
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
        """Follow a job that is about to go into its lane."""
        job.on_stop = lambda: self._insist_in(AGAIN_S, job)
        if job.lane == "main":
            job.at_answer(self._timers.every(TICK_S, lambda: self._say_waiting(job)))
            job.at_answer(self._timers.after(job.wait_s, lambda: self._end_wait(job)))
        elif job.lane == "worker":
            self.start(job)

    def start(self, job: Job) -> None:
        """Let the time that a job may take begin."""
        limit = job.op.deadline(job.args)
        if limit is not None:
            stop = Stop("error", f"not done within {limit:g} s")
            job.at_answer(self._timers.after(limit, lambda: self.stop(job, stop)))

    def stop(self, job: Job, stop: Stop) -> None:
        """Tell a job to stop, and go on telling it."""
        job.call.cancel()
        job.stop(stop)

    def close(self) -> None:
        """Return the thread up as soon as no job needs it."""
        self._timers.close()

    def _insist_in(self, delay_s: float, job: Job) -> None:
        self._timers.after(delay_s, lambda: self._insist(job))

    def _insist(self, job: Job) -> None:
        if job.ended:
            return
        overdue = (job.stopping_s or 0.0) >= GRACE_S
        if overdue:
            STUCK.add(job)
            self._answer_for(job)
        job.stop_again()
        self._insist_in(LATER_S if overdue else AGAIN_S, job)

    def _say_waiting(self, job: Job) -> None:
        if not job.begun:
            job.call.progress(f"waiting: {self._holder(job)}")

    def _end_wait(self, job: Job) -> None:
        if not job.begun:
            self._give_up(job, f"not started within {job.wait_s:g} s: {self._holder(job)}")

    def _holder(self, job: Job) -> str:
        return self._blocked_by(job.call.view) or "the main lane is busy"
