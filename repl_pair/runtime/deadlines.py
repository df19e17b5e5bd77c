"""When a job is answered for: its wait, its time, and its grace once it was told to stop."""

from collections.abc import Callable

from repl_pair.runtime.jobs import Job
from repl_pair.runtime.stopping import Stop
from repl_pair.runtime.stuck import STUCK
from repl_pair.runtime.timers import Timers
from repl_pair.wire import View

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
        job.when_told = lambda: self._insist_in(AGAIN_S, job)
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
        """Give the thread up as soon as no job needs it."""
        self._timers.close()

    def _insist_in(self, delay_s: float, job: Job) -> None:
        self._timers.after(delay_s, lambda: self._insist(job))

    def _insist(self, job: Job) -> None:
        if job.ended:
            return
        overdue = (job.told_s or 0.0) >= GRACE_S
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
