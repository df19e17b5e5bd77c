"""The files and cells that code stands in: whose they are, their names, lines and code."""

import linecache
import os
import re
import tokenize
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from inspect import CO_ITERABLE_COROUTINE
from stat import S_ISREG
from types import CodeType, FunctionType
from typing import Any

from repl_pair.runtime.ipython import known_shells
from repl_pair.runtime.values.classes import INSTALLED, LIBRARY

LONGEST_SOURCE = 1_000_000
"""Of a file or cell whose lines are read: bytes, characters."""
_PACKAGE = os.path.join(__file__.rpartition(f"{os.sep}runtime{os.sep}")[0], "")
_LOOPS = tuple(f"{LIBRARY}{name}{os.sep}" for name in ("asyncio", "concurrent"))
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
    if filename.startswith((LIBRARY, "<frozen ")):
        return filename.removeprefix(LIBRARY)
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


def is_imported(function: FunctionType) -> bool:
    """Return whether a plain import of its file loaded a function, so that code can be compared."""
    space, file = function.__globals__, function.__code__.co_filename
    return type(space.get("__loader__")) is SourceFileLoader and space.get("__file__") == file


def has_other_code(function: FunctionType, *, or_place: bool = False) -> bool:
    """Return whether the file of a function was edited since, where a plain import loaded it.

    With `or_place` also where the same code stands on other lines now.
    """
    code = read_code(function.__code__.co_filename) if is_imported(function) else None
    own = function.__code__
    if own.co_flags & CO_ITERABLE_COROUTINE:  # `types.coroutine` sets it, and no compiler
        own = own.replace(co_flags=own.co_flags & ~CO_ITERABLE_COROUTINE)
    if code is None or own in code:
        return False
    return or_place or _without_place(own) not in _all_without_place(code)


@lru_cache(maxsize=64)
def _all_without_place(code: frozenset[CodeType]) -> frozenset[CodeType]:
    return frozenset(map(_without_place, code))


def _without_place(code: CodeType) -> CodeType:
    """Return code without its lines and what it stands in: `%autoreload` compiles it on its own."""
    parts = (
        _without_place(part) if isinstance(part, CodeType) else part for part in code.co_consts
    )
    return code.replace(
        co_firstlineno=1, co_linetable=b"", co_qualname=code.co_name, co_consts=tuple(parts)
    )


def read_code(filename: str) -> frozenset[CodeType] | None:
    """Return the code of all functions of a file as it is now; None where there is no file.

    None of it is run. What does not compile has no code.
    """
    try:
        found = os.stat(filename)
    except OSError:
        return None
    return _compile_version(filename, found.st_mtime_ns, found.st_size)


class _Reader(SourceFileLoader):
    """Reads the code of a file, from its bytecode where that is of the same version."""

    def set_data(self, path: str, data: Any, *, _mode: int = 0) -> None:
        """Write no bytecode: nothing is imported."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        """Compile without warnings: the import of the file has shown them, or will."""
        filters: Any = warnings.filters
        # `catch_warnings` would undo what another thread does to the filters at that moment.
        filters.insert(0, _QUIET)
        try:
            return compile(data, _READ_NAME, "exec", dont_inherit=True, optimize=_optimize)
        finally:
            with suppress(ValueError):  # another thread has put other filters there
                filters.remove(_QUIET)


_READ_NAME = "<read by repl_pair>"
_QUIET = ("ignore", None, Warning, re.compile(re.escape(_READ_NAME)), 0)


@lru_cache(maxsize=256)
def _compile_version(filename: str, _changed_ns: int, _size: int) -> frozenset[CodeType]:
    try:
        waiting = [_Reader("", filename).get_code("")]
    except (SyntaxError, ValueError, OSError):
        return frozenset()
    found = set[CodeType]()
    while waiting:
        if (code := waiting.pop()) is not None:
            found.add(code)
            waiting.extend(part for part in code.co_consts if isinstance(part, CodeType))
    return frozenset(found)
