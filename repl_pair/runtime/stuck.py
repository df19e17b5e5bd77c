"""What was told to stop and has not ended, for all who ask how the kernel is."""

from typing import Any

from repl_pair.runtime.jobs import Job
from repl_pair.runtime.registry import REGISTRY
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
        """Tell whether a job is among those that do not end."""
        return job.call.id in self._jobs

    def report(self, view: View) -> dict[str, Any]:
        """Give `{"count", "runs", "ended_late"}` without what is 0; the longest told come first."""
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
        "told_to_stop_s": round(job.told_s or 0.0, 1),
        "reason": "" if job.stop_wanted is None else job.stop_wanted.reason,
    }


STUCK = Stuck()
"""What does not end in this process."""
