"""The assertions on stored outputs and on secrets in what a run put out."""

from repl_pair.runtime.assertions.view import RunView
from repl_pair.runtime.registry.outcomes import Verdict
from repl_pair.runtime.snapshots.judge import judge_snapshot, secret_places


def matches_snapshot(
    settled: RunView, name: str = "", *, tolerance: float | None = None
) -> Verdict:
    """`[name?, {tolerance}]`: result and outputs are as in the stored snapshot of this variant.

    A missing one fails; the person accepts what the last run gave. `tolerance` is the share of an
    image's pixels, 0 to 1, that may look different.
    """
    return judge_snapshot(settled, name, tolerance)


def no_secret(settled: RunView) -> Verdict:
    """`[]`: no known secret stands in anything that the run put out; the places are told.

    That is result, outputs, stdout, stderr, logs, warnings and effects.
    """
    found = secret_places(settled)
    reason = f"a secret stands at {', '.join(found)}" if found else ""
    return Verdict(passed=not found, expected=[], actual=found, reason=reason)
