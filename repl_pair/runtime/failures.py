"""Where in a run something was raised: what ran then, and the line of the person's code."""

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from repl_pair.runtime.origin import interactive_shell
from repl_pair.runtime.telling import text_of, told

_HERE = __file__.removesuffix("failures.py")
_INSTALLED = ("site-packages", "dist-packages")


def as_raised(error: BaseException) -> BaseException:
    """Give the StopIteration that a coroutine of ours had to pass on as another exception."""
    cause = error.__cause__
    if type(error) is RuntimeError and isinstance(cause, StopIteration | StopAsyncIteration):
        return cause
    return error


def told_in(error: BaseException, doing: Mapping[str, Any]) -> str:
    """Give an exception behind what ran when it was raised: `play 'buy', step 2, event 'add'`."""
    words = [f"{word} {value!r}" for word, value in doing.items() if word in _NAMED]
    return f"{', '.join(words)}: {told(error)}" if words else told(error)


def describe(error: BaseException, doing: Mapping[str, Any]) -> dict[str, Any]:
    """Give what was raised, what ran, and the last line of the person's own on its way."""
    where = _place(error.__traceback__)
    return {"type": type(error).__name__, "message": text_of(error), **doing, **where}


_NAMED = ("play", "step", "event", "loader", "derived", "decorator", "patch")


def _place(at: TracebackType | None) -> dict[str, Any]:
    """Name the last line that is neither ours nor a library's, else the last that is not ours."""
    own = beside = None
    while at is not None:
        filename = at.tb_frame.f_code.co_filename
        if not filename.startswith(_HERE):
            beside = filename, at.tb_lineno
            own = own if _is_library(filename) else beside
        at = at.tb_next
    found = own or beside
    return {} if found is None else {"file": _shown(found[0]), "line": found[1]}


def _is_library(filename: str) -> bool:
    return filename.startswith((_LIBRARY, "<frozen ")) or any(
        f"/{name}/" in filename.replace("\\", "/") for name in _INSTALLED
    )


def _shown(filename: str) -> str:
    """Give a cell by its number, as tracebacks in the notebook do; files as they are."""
    compiler = getattr(interactive_shell(), "compile", None)
    name = getattr(compiler, "format_code_name", None)
    found = None if name is None else name(filename)
    return filename if found is None else str(found[1])


_LIBRARY = str(sys.modules["traceback"].__file__).removesuffix("traceback.py")
"""Where the standard library is."""
