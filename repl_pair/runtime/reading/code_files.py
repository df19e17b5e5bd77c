"""The files and cells that code stands in: whose they are, how they are named, and their lines."""

import linecache
import os
import tokenize
import traceback
from collections.abc import Sequence
from functools import lru_cache
from stat import S_ISREG
from typing import Any

from repl_pair.runtime.ipython import known_shells
from repl_pair.runtime.values.classes import INSTALLED

LONGEST_SOURCE = 1_000_000
"""Of a file or cell whose lines are read: bytes, characters."""
_PACKAGE = os.path.join(__file__.rpartition(f"{os.sep}runtime{os.sep}")[0], "")
_LIBRARY = str(traceback.__file__).removesuffix("traceback.py")
"""Where the standard library is."""
_LOOPS = tuple(f"{_LIBRARY}{name}{os.sep}" for name in ("asyncio", "concurrent"))
_COMPILED = (".pyx", ".pxi", ".pxd")


def is_engine(filename: str) -> bool:
    """Return whether a file is of what runs variants: this package, or asyncio below it."""
    return filename.startswith((_PACKAGE, *_LOOPS))


def library_path(filename: str) -> str | None:
    """Return the path of a library's file from its package on, None of the person's own code."""
    parts = filename.replace("\\", "/").split("/")
    installed = [at for at, part in enumerate(parts) if part in INSTALLED]
    if installed:
        return "/".join(parts[installed[-1] + 1 :])
    if filename.startswith((_LIBRARY, "<frozen ")):
        return filename.removeprefix(_LIBRARY)
    # What Cython compiled names its source, which is not there.
    return filename if filename.endswith(_COMPILED) else None


def shown_place(filename: str) -> str:
    """Return a cell by its number, as tracebacks in the notebook do; files as they are."""
    return cell_of(filename) or filename


def cell_of(filename: str) -> str | None:
    """Return the name of the cell that a file name stands for, `In[3]`; None for any other."""
    for shell in known_shells():
        name = getattr(getattr(shell, "compile", None), "format_code_name", None)
        found = None if name is None else name(filename)
        if found is not None:
            return str(found[1])
    return None


def read_lines(filename: str, *, as_run: bool = False) -> Sequence[str]:
    """Return the lines of a cell, or of a file as it is now, with their ends; none of a long file.

    With `as_run`, those of a file as `linecache` has it: a traceback put it there when it ran.
    Nothing is put there, and no loader of the person's is asked.
    """
    entry: Any = linecache.cache.get(filename, ())
    if is_cell(entry) or (as_run and len(entry) > 1):  # a shorter one only names a loader
        return entry[2]
    try:
        found = os.stat(filename)
        is_read = S_ISREG(found.st_mode) and found.st_size <= LONGEST_SOURCE
        return _read_version(filename, found.st_mtime_ns, found.st_size) if is_read else ()
    except (OSError, SyntaxError, ValueError):
        return ()


def is_cell(entry: Any) -> bool:
    """Return whether an entry of `linecache` is of code that no file has."""
    return len(entry) == 4 and entry[1] is None


@lru_cache(maxsize=32)
def _read_version(filename: str, _changed_ns: int, _size: int) -> Sequence[str]:
    with tokenize.open(filename) as file:
        return tuple(file)
