"""What was expected against what came, as lines to print; both are data without secrets."""

from collections.abc import Sequence
from difflib import unified_diff
from pprint import pformat
from typing import Any

from repl_pair.runtime.reading.bounded import equal_head

MAX_LINES = 60
"""How many lines of one difference are shown."""
LONGEST_LINE = 200
_BEFORE = 60
"""How many equal characters of long lines are shown before those that differ."""
_WIDTH = 88


def describe_difference(expected: Any, actual: Any, reason: str) -> Sequence[str]:
    """Return both values where each is one line that `reason` lacks, else a diff of their lines."""
    before, after = (_text(one).splitlines() or [""] for one in (expected, actual))
    if before == after:
        return []
    if len(before) == len(after) == 1:
        is_given = all(str(one) in reason or repr(one) in reason for one in (expected, actual))
        old, new = _around(before[0], after[0])
        return [] if is_given else [f"expected: {old}", f"actual:   {new}"]
    lines = list(unified_diff(before, after, "expected", "actual", lineterm="", n=2))
    more = [f"… {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return [*(_window(line, 0) for line in lines[:MAX_LINES]), *more]


def _text(value: Any) -> str:
    return value if isinstance(value, str) and "\n" in value else pformat(value, width=_WIDTH)


def _around(old: str, new: str) -> tuple[str, str]:
    start = max(0, equal_head(old, new) - _BEFORE)
    return _window(old, start), _window(new, start)


def _window(line: str, start: int) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    end = start + LONGEST_LINE
    return f"{'…' * (start > 0)}{line[start:end]}{'…' * (len(line) > end)}"
