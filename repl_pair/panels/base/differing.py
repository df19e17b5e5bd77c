"""How what was expected differs from what came: by number, by line and word, by cell, by path."""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, NotRequired, TypedDict

from repl_pair.panels.base.describing import Places, literal, to_json
from repl_pair.panels.base.tables import TableDifference, as_table, table_difference
from repl_pair.runtime.reading.bounded import MISSING, Change, changes_between
from repl_pair.runtime.values.paths import below, parse_path
from repl_pair.wire import Json

MAX_LINES = 2_000
"""How many lines of each text are compared."""
MAX_CHANGES = 200
MAX_WORDS = 400
"""How many words two lines may have together for their words to be compared."""
AROUND = 3
"""How many equal lines are shown around a change."""

Part = tuple[str, bool]
"""A piece of a line, and whether it is part of what changed."""


class LineSide(TypedDict):
    """A line of one text by its number from 1, in pieces, each with whether it changed."""

    line: int
    parts: Sequence[tuple[str, bool]]


class LinePair(TypedDict):
    """Two lines that belong together; a side that has no line is None."""

    same: bool
    left: LineSide | None
    right: LineSide | None


class SkippedLines(TypedDict):
    """How many equal lines are left out."""

    skip: int


class TextDifference(TypedDict):
    """`cut` where the texts go on, `ends` where only the ends of their lines differ."""

    kind: str
    rows: Sequence[LinePair | SkippedLines]
    cut: bool
    ends: bool


class NumberDifference(TypedDict):
    """Actual less expected, and over expected; None where it cannot be computed."""

    kind: str
    delta: Json
    ratio: Json


class ShownChange(TypedDict):
    """One change in Python's form: what is not there has no slot, numbers have a `delta`."""

    path: str
    before: NotRequired[str]
    after: NotRequired[str]
    delta: NotRequired[Json]


class ValuesDifference(TypedDict):
    """Changes by path; `more` are left out."""

    kind: str
    changes: Sequence[ShownChange]
    more: int


Difference = TextDifference | NumberDifference | TableDifference | ValuesDifference
"""`kind` is `text`, `number`, `table` or `values`, and `same` where nothing differs."""


def difference(expected: Any, actual: Any) -> Difference:
    """Compare two values by what both are."""
    if isinstance(expected, str) and isinstance(actual, str):
        return text_difference(expected, actual)
    if _is_number(expected) and _is_number(actual):
        delta, ratio = _compute(lambda: actual - expected), _compute(lambda: actual / expected)
        return {"kind": _kind("number", expected != actual), "delta": delta, "ratio": ratio}
    tables = as_table(expected), as_table(actual)
    if tables[0] is not None and tables[1] is not None:
        return table_difference(tables[0], tables[1])
    return values_difference(to_json(expected), to_json(actual))


def values_difference(before: Json, after: Json) -> ValuesDifference:
    """Compare two JSON values by path."""
    changes = list(changes_between(before, after))
    shown = [change_json(change) for change in changes[:MAX_CHANGES]]
    kind = _kind("values", bool(changes))
    return {"kind": kind, "changes": shown, "more": len(changes) - len(shown)}


def change_json(change: Change, secret: Places = ()) -> ShownChange:
    """Return one change in Python's form, what is `secret` in it hidden."""
    for key in parse_path(change.path) if secret and change.path else ():
        secret = [()] if () in secret else below(secret, key)
    shown: ShownChange = {"path": change.path}
    for name in ("before", "after"):
        if (side := getattr(change, name)) is not MISSING:
            shown[name] = literal(to_json(side, secret=secret))
    if () not in secret and _is_number(change.before) and _is_number(change.after):
        shown["delta"] = _compute(lambda: change.after - change.before)
    return shown


def text_difference(before: str, after: str) -> TextDifference:
    """Compare two texts: pairs of lines, and how many equal ones are left out."""
    left, right = before.splitlines()[:MAX_LINES], after.splitlines()[:MAX_LINES]
    cut = max(before.count("\n"), after.count("\n")) >= MAX_LINES
    matcher = SequenceMatcher(None, left, right, autojunk=len(left) + len(right) > MAX_LINES)
    pairs = [pair for code in matcher.get_opcodes() for pair in _pairs(code, left, right)]
    ends = before != after and not cut and all(pair["same"] for pair in pairs)
    kind = _kind("text", before != after)
    return {"kind": kind, "rows": list(_folded(pairs)), "cut": cut, "ends": ends}


def _kind(kind: str, differs: bool) -> str:
    return kind if differs else "same"


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _compute(number: Callable[[], float]) -> Json:
    try:
        return to_json(number())
    except (OverflowError, ZeroDivisionError):
        return None


def _pairs(
    code: tuple[str, int, int, int, int], left: Sequence[str], right: Sequence[str]
) -> Iterator[LinePair]:
    """Return the pairs of lines of one opcode."""
    what, a, to_a, b, to_b = code
    for at in range(max(to_a - a, to_b - b)):
        old = left[a + at] if a + at < to_a else None
        new = right[b + at] if b + at < to_b else None
        parts = _words(old, new) if what == "replace" else (_whole(old), _whole(new))
        yield {
            "same": what == "equal",
            "left": None if old is None else {"line": a + at + 1, "parts": parts[0]},
            "right": None if new is None else {"line": b + at + 1, "parts": parts[1]},
        }


def _whole(line: str | None) -> list[Part]:
    return [] if line is None else [(line, False)]


def _words(old: str | None, new: str | None) -> tuple[list[Part], list[Part]]:
    if old is None or new is None:
        return _whole(old), _whole(new)
    left, right = (re.findall(r"\w+|\s+|[^\w\s]", line) for line in (old, new))
    if len(left) + len(right) > MAX_WORDS:
        return _whole(old), _whole(new)
    codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return (
        [("".join(left[a:to]), what != "equal") for what, a, to, _, _ in codes if to > a],
        [("".join(right[b:to]), what != "equal") for what, _, _, b, to in codes if to > b],
    )


def _folded(pairs: Sequence[LinePair]) -> Iterator[LinePair | SkippedLines]:
    changed = [at for at, pair in enumerate(pairs) if not pair["same"]]
    near = {n for at in changed for n in range(at - AROUND, at + AROUND + 1)}
    for is_shown, run in groupby(range(len(pairs)), lambda at: at in near or not changed):
        places = list(run)
        yield from [pairs[at] for at in places] if is_shown else [SkippedLines(skip=len(places))]
