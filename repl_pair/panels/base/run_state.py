"""How a run ended, in short: what the panels show of the last run of a variant."""

from collections.abc import Sequence
from typing import TypedDict

from repl_pair.runtime.results.last import is_stale
from repl_pair.runtime.results.record import RunRecord


class RunState(TypedDict, total=False):
    """How a run ended; without any slot where nothing was run."""

    status: str
    reason: str
    stale: bool
    total: int
    passed: int
    modes: Sequence[str]
    elapsed_ms: float


def run_state(run: RunRecord | None) -> RunState:
    """Return how a run ended."""
    if run is None:
        return {}
    return {
        "status": run.status,
        "reason": run.reason,
        "stale": is_stale(run),
        "total": run.total,
        "passed": sum(outcome.passed for outcome in run.assertions),
        "modes": list(run.active_modes),
        "elapsed_ms": run.elapsed_ms,
    }
