"""One sweep: what came of each run, counted, and when it is over."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.results.forms import MAX_LINES, Report, clean_text, in_modes, run_line
from repl_pair.runtime.results.last_results import keep_in_modes, keep_result
from repl_pair.runtime.results.notebook_results import RunResult
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.running.runner import execute
from repl_pair.runtime.stopping.loops import WaitFor
from repl_pair.runtime.sweeps.matrix import Pairing
from repl_pair.wire import PERSON

STATUSES = ("pass", "fail", "error", "cannot_run")
NOTHING = "no variant is chosen, so nothing is shown to pass"
FAILED_FAST = "stopped after the first run that did not pass"


@record
class SweepRow:
    """What came of one run of a sweep; `total` counts its assertions."""

    variant_id: str
    modes: tuple[str, ...]
    status: str
    reason: str = ""
    total: int = 0
    elapsed_ms: float = 0.0
    content_hash: str = ""


@record
class Sweep(Report):
    """What came of all runs of a sweep; `total` counts those that were chosen.

    `status` is `pass` only if there was a run and each passed; else `fail`, `error` or
    `cannot_run`, the first of these that a run has. `rows` are in the order of the matrix; what was
    never begun is `cannot_run` there, and `not_run` in `counts`.
    """

    status: str
    total: int
    counts: Mapping[str, int]
    rows: tuple[SweepRow, ...] = ()
    reason: str = ""
    elapsed_ms: float = 0.0

    __repr__ = Report.__repr__

    @property
    def failing(self) -> tuple[SweepRow, ...]:
        """Return the rows that did not pass."""
        return tuple(row for row in self.rows if row.status != "pass")

    def lines(self) -> list[RunResult]:
        """Return a line for each run."""
        return [
            run_line(r.variant_id, r.modes, r.status, r.total, [r.reason], r.content_hash)
            for r in self.rows
        ]

    def totals(self) -> Sequence[str]:
        """Count the runs, and those that the text leaves out."""
        counted = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count)
        left_out = len(self.rows) - MAX_LINES
        more = [f"… {left_out} more; all stand in .rows"] if left_out > 0 else []
        head = f"Sweep of {self.total}: {self.status} ({counted or 'nothing was run'})"
        return (*more, head, *([clean_text(self.reason)] if self.reason else []))

    def summary(self) -> str:
        """Name the first runs that did not pass."""
        ids = [f"{row.variant_id}{in_modes(row.modes)}" for row in self.failing]
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        listed = f": {', '.join(ids[:5])}{more}" if ids else f". {self.reason}"
        return f"{len(ids)} of {self.total} runs did not pass{listed}"


OnRow = Callable[[int, int, SweepRow], object]
"""Called after each run: how many are done, of how many, and the row of this one."""


class SweepState:
    """The rows of a sweep so far, which come in any order, and why no further run is begun."""

    def __init__(
        self, pairings: Sequence[Pairing], *, fail_fast: bool = False, on_row: OnRow | None = None
    ) -> None:
        self.pairings = pairings
        self.stop_reason = ""
        """Empty as long as runs are begun."""
        self._fail_fast = fail_fast
        self._on_row = on_row
        self._rows: dict[int, SweepRow] = {}
        self._since = time.perf_counter()

    @property
    def done(self) -> int:
        """Count the runs that are over."""
        return len(self._rows)

    def remaining(self) -> Iterator[tuple[int, Pairing]]:
        """Return what is to be run, with its place, until there is a reason to stop."""
        for place, pairing in enumerate(self.pairings):
            if self.stop_reason:
                return
            yield place, pairing

    def add(self, place: int, run: RunRecord) -> None:
        """Add the row of one run; one without modes becomes its variant's last result."""
        if run.identity is not None and not run.what_if:
            (keep_in_modes if run.active_modes else keep_result)(run)
        row = SweepRow(
            variant_id=run.variant_id,
            modes=self.pairings[place].modes,
            status=run.status,
            reason=run.reason,
            total=run.total,
            elapsed_ms=run.elapsed_ms,
            content_hash=run.identity.content_hash if run.identity else "",
        )
        self._rows[place] = row
        if self._fail_fast and row.status != "pass":
            self.stop_reason = self.stop_reason or FAILED_FAST
        if self._on_row is not None:
            self._on_row(len(self._rows), len(self.pairings), row)

    def summarize(self) -> Sweep:
        """Return the sweep as it stands now."""
        begun = self._rows.values()
        counts = {status: sum(row.status == status for row in begun) for status in STATUSES}
        missing = len(self.pairings) - len(begun)
        failed = next((status for status in ("fail", "error") if counts[status]), "")
        is_passed = counts["pass"] and not counts["cannot_run"] and not missing
        not_started: Any = {"status": "cannot_run", "reason": f"not begun: {self.stop_reason}"}
        return Sweep(
            status=failed or ("pass" if is_passed else "cannot_run"),
            total=len(self.pairings),
            counts=counts | {"not_run": missing},
            rows=tuple(
                self._rows.get(n) or SweepRow(variant_id=p.variant_id, modes=p.modes, **not_started)
                for n, p in enumerate(self.pairings)
            ),
            reason=self.stop_reason or ("" if self.pairings else NOTHING),
            elapsed_ms=round((time.perf_counter() - self._since) * 1e3, 3),
        )


async def run_one(
    pairing: Pairing,
    *,
    wait_for: WaitFor,
    exclusive: bool = True,
    plays: Sequence[str] | None = None,
    caller: str = PERSON,
    check: Callable[[Plan], None] = lambda _plan: None,
    records_stops: bool = False,
) -> RunRecord:
    """Run one pairing; what is refused, by the planner or by `check`, is a record too.

    `plays` names those to run instead of the automatic ones; `caller` chose the modes.
    A stop is raised, unless it is recorded as well.
    """
    try:
        plan = plan_pairing(pairing, plays=plays, caller=caller)
        check(plan)
    except RequestError as error:
        return refused_run(pairing, error)
    return await execute(plan, wait_for=wait_for, exclusive=exclusive, records_stops=records_stops)


def plan_pairing(
    pairing: Pairing, *, plays: Sequence[str] | None = None, caller: str = PERSON
) -> Plan:
    """Plan one run of a sweep; RequestError `cannot_run` where it cannot be."""
    if pairing.refusal:
        raise RequestError("cannot_run", pairing.refusal)
    return plan_variant(pairing.variant_id, modes=pairing.modes, plays=plays, caller=caller)


def refused_run(pairing: Pairing, error: RequestError) -> RunRecord:
    """Return the record of a run that could not be attempted, whatever the refusal."""
    return RunRecord(
        variant_id=pairing.variant_id,
        status="cannot_run",
        reason=error.message,
        active_modes=pairing.modes,
    )
