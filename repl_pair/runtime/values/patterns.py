"""Patterns that assertions look for: an agent's run on an engine whose time grows with the text."""

import importlib
import re
from functools import lru_cache
from typing import Any

from repl_pair.errors import RequestError

MAX_CHARS = 200
_NO_ENGINE = (
    "the pattern of an agent needs the library google-re2 in the kernel's environment: "
    "pip install google-re2"
)


def finds(pattern: str, text: str, *, by_agent: bool) -> bool:
    """Return whether a pattern is found in a text; ValueError or `re.error` for one that is none.

    The standard library's engine may take exponential time, in which nothing else of the process
    runs: what an agent wrote never goes to it. RequestError `cannot_run` without the other one.
    """
    if not by_agent:
        try:
            return re.search(pattern, text) is not None
        except (OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from None
    if fault := pattern_fault(pattern):
        raise RequestError("cannot_run", f"the pattern {pattern[:60]!r} {fault}.")
    return _compile(pattern).search(text) is not None


def pattern_fault(pattern: str) -> str:
    """Describe why a pattern may not come from an agent; nothing if it may."""
    if len(pattern) > MAX_CHARS:
        return f"is over {MAX_CHARS} characters long"
    try:
        _compile(pattern)
    except ImportError:
        return f"is not run: {_NO_ENGINE}"
    except Exception as error:  # noqa: BLE001  the engine's error class stands in its module
        why = error.args[0] if error.args else ""
        why = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
        return f"is not a pattern of RE2, which has no lookaround and no backreferences: {why}"
    return ""


@lru_cache(maxsize=64)
def _compile(pattern: str) -> Any:
    re2: Any = importlib.import_module("re2")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    return re2.compile(pattern, options)
