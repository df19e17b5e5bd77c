"""How assertions come from what stands at a path to a verdict."""

from collections.abc import Callable
from typing import Any

from repl_pair.runtime.compare import difference
from repl_pair.runtime.outcomes import Verdict
from repl_pair.runtime.paths import format_path, parse_path
from repl_pair.runtime.settled import NOTHING, Missed, Path, Settled
from repl_pair.runtime.shapes import is_map, is_row
from repl_pair.wire import REDACTED

Why = Callable[[Any, str], str | None]
"""Says what is wrong with a value at a path; nothing if it is as expected."""


def judge_at(
    settled: Settled, path: Path, expected: Any, why: Why, *, facing: Any = NOTHING
) -> Verdict:
    """Judge the value at a path; a path that leads nowhere fails and names what is near."""
    try:
        actual = settled.at(path, facing=facing)
    except Missed as miss:
        return Verdict(passed=False, expected=expected, reason=str(miss))
    reason = why(actual, format_path(parse_path(path)))
    return Verdict(passed=not reason, expected=expected, actual=actual, reason=reason or "")


def judge_equal(settled: Settled, path: Path, expected: Any) -> Verdict:
    """Judge whether the value at a path equals the expected one, by content."""

    def why(actual: Any, where: str) -> str | None:
        return difference(unmasked(settled, path, expected, actual), actual, where)

    return judge_at(settled, path, expected, why, facing=expected)


def has_marker(expected: Any) -> bool:
    """Tell whether a `[redacted]` marker stands anywhere in what is expected."""
    if isinstance(expected, str):
        return REDACTED in expected
    if is_map(expected):
        return any(has_marker(item) for item in expected.values())
    return is_row(expected) and any(has_marker(item) for item in expected)


def unmasked(settled: Settled, path: Path, expected: Any, actual: Any) -> Any:
    """Give what is expected with its `[redacted]` markers held against what would be redacted."""
    if not has_marker(expected):
        return expected
    # Only plays that expect a marker pay for the walk of what would leave.
    from repl_pair.runtime.redaction import reveal, shown_at

    if settled.declares(path):
        return reveal(expected, actual, REDACTED)
    return reveal(expected, actual, shown_at(parse_path(path), actual, settled.secrets)[0])
