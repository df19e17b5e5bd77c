"""Typed builders of the assertions that a play may hold; each returns a plain list."""

from collections.abc import Sequence
from typing import Any

from repl_pair.runtime.model import Step

Path = str | Sequence[str | int]
"""Dotted text such as `result.lines[0].sku`, or a list of keys, over args, result, last, state,
effects, events, stdout, warnings, logs."""


def path_equals(path: Path, expected: Any) -> Step:
    """Expect the value at a path; JSON is taken to the actual value's type before comparing."""
    return ["path_equals", path if isinstance(path, str) else list(path), expected]


def no_warnings() -> Step:
    """Expect that the run warned of nothing; takes lane main, where warnings can be recorded."""
    return ["no_warnings"]


def raises(exception: str | type[BaseException], *, match: str | None = None) -> Step:
    """Expect that the component raised; the exception is consumed.

    `exception` is a class or its name, with or without its module, and covers subclasses; `match`
    is a regular expression searched in the message.
    """
    name = exception if isinstance(exception, str) else exception.__name__
    return ["raises", name] if match is None else ["raises", name, {"match": match}]
