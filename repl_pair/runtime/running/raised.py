"""What a run raised, in words and as data: its text, what ran, and the person's own line."""

import os
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from repl_pair.errors import error_text, message_of
from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.secrets.known import NEEDLES

LONGEST = 1_900
"""How many characters of a reason are kept: as many as an answer shows."""
_HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""The folder of the runtime: what is raised in it is not the person's."""
_PACKAGE = os.path.dirname(os.path.dirname(_HERE)) + os.sep
_LIBRARY = str(sys.modules["traceback"].__file__).removesuffix("traceback.py")
"""Where the standard library is."""
_LOOPS = tuple(f"{_LIBRARY}{name}{os.sep}" for name in ("asyncio", "concurrent"))
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def as_raised(error: BaseException) -> BaseException:
    """Return the StopIteration that a coroutine of this package passed on as another exception."""
    cause = error.__cause__
    if type(error) is RuntimeError and isinstance(cause, StopIteration | StopAsyncIteration):
        return cause
    return error


def is_engine(filename: str) -> bool:
    """Return whether a file is of what runs variants: this package, or asyncio below it."""
    return filename.startswith((_PACKAGE, *_LOOPS))


def text_in(error: BaseException, doing: Mapping[str, Any]) -> str:
    """Return an exception behind what ran when it was raised: `play 'buy', step 2, event 'add'`."""
    words = [f"{word} {value!r}" for word, value in doing.items() if word in _NAMED]
    return f"{', '.join(words)}: {error_text(error)}" if words else error_text(error)


def bounded(text: str) -> str:
    """Return the head of a text that is too long for a reason, without the secrets in it."""
    if len(text) <= LONGEST:
        return text
    # Half a secret at the end would not be known as one.
    return f"{NEEDLES.scrub(text, LONGEST)[0]}… ({len(text):,} characters)"


def describe(error: BaseException, doing: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was raised, what ran, and the last line of the person's own on its way."""
    where = _place(error.__traceback__)
    return {"type": type(error).__name__, "message": message_of(error), **doing, **where}


_NAMED = ("play", "step", "event", "loader", "derived", "decorator", "patch")


def _place(at: TracebackType | None) -> dict[str, Any]:
    """Name the last line of the person's own, else the last that is not of this package."""
    own = beside = None
    while at is not None:
        filename = at.tb_frame.f_code.co_filename
        folders = filename.replace("\\", "/").split("/")
        is_library = filename.startswith((_LIBRARY, "<frozen ")) or not _INSTALLED.isdisjoint(
            folders
        )
        if not filename.startswith(_HERE):
            beside = filename, at.tb_lineno
            own = own if is_library else beside
        at = at.tb_next
    found = own or beside
    return {} if found is None else {"file": _shown(found[0]), "line": found[1]}


def _shown(filename: str) -> str:
    """Return a cell by its number, as tracebacks in the notebook do; files as they are."""
    compiler = getattr(interactive_shell(), "compile", None)
    name = getattr(compiler, "format_code_name", None)
    found = None if name is None else name(filename)
    return filename if found is None else str(found[1])
