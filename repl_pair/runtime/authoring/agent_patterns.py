"""Regular expressions from an agent: those that could hold the interpreter for minutes."""

import re
from collections.abc import Iterator
from typing import Any

from repl_pair.runtime.values.classes import is_map, is_row

MOST_CHARS = 200
_NAMED = ("match", "pattern")
_REPEATS = "*+{"
_LITERAL = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?", re.DOTALL)
"""An escape, or a class with all that it holds."""


def pattern_faults(data: Any, where: str) -> list[str]:
    """Return what is wrong with the patterns in the words of a step.

    A repeated group that repeats or chooses inside may take exponential time, in which nothing else
    of the process runs.
    """
    return [
        f"{where}: the pattern {pattern[:60]!r} {fault}; write a plainer one."
        for pattern in _patterns(data)
        if (fault := _fault(pattern))
    ]


def _fault(pattern: str) -> str:
    if len(pattern) > MOST_CHARS:
        return f"is over {MOST_CHARS} characters long"
    return "repeats a group that repeats or chooses inside" if _is_explosive(pattern) else ""


def _patterns(data: Any) -> Iterator[str]:
    if is_map(data):
        for key, value in data.items():
            if key in _NAMED and isinstance(value, str):
                yield value
            elif key == "patternProperties" and is_map(value):
                yield from (name for name in value if isinstance(name, str))
        data = list(data.values())
    for item in data if is_row(data) else ():
        yield from _patterns(item)


def _is_explosive(pattern: str) -> bool:
    """Return whether some group is repeated and holds a repetition or a choice, at any depth."""
    wild = [False]
    plain = _LITERAL.sub("x", pattern)
    for token, following in zip(plain, [*plain[1:], " "], strict=False):
        if token == "(":
            wild.append(False)
        elif token == ")" and len(wild) > 1:
            inside = wild.pop()
            if inside and following in _REPEATS:
                return True
            wild[-1] = wild[-1] or inside or following in _REPEATS
        elif token in "*+{|":
            wild[-1] = True
    return False
