"""Where a function or class is defined, and the lines there; neither is asked."""

import ast
import inspect
import linecache
import re
import sys
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache, partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from repl_pair.runtime.reading.code_files import cell_of, has_other_code, is_cell, read_lines
from repl_pair.runtime.reading.stored_fields import stored_fields
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_of,
    module_of,
    name_of,
    qualname_of,
    real_class,
    space_of,
)

MAX_LINES = 1_000
"""Lines that are read of one definition."""
_MAX_WRAPPERS = 20
_INSIDE: dict[int, str] = {
    id(partial): "func",
    id(property): "fget",
    id(staticmethod): "__func__",
    id(classmethod): "__func__",
    id(MethodType): "__func__",
}
_DEFINED = re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)")
_WRAPPING = (FunctionType, real_class(lru_cache(int)))
"""Classes whose instances `functools.wraps` gives what they stand for."""


class Definition(NamedTuple):
    """A file or cell by the name that code has of it, and a line from 1; 0 where it has none."""

    filename: str
    line: int

    def as_where(self) -> dict[str, Any]:
        """Return it as an answer has it: a cell by its number, a file by its path."""
        cell = cell_of(self.filename)
        at = {"file": self.filename} if cell is None else {"cell": cell}
        return at | ({"line": self.line} if self.line else {})


def function_in(value: Any) -> FunctionType | None:
    """Return the function that a method, property or wrapper stands for; None of what is none."""
    met: FunctionType | None = None
    for _ in range(_MAX_WRAPPERS):
        met = value if is_exactly(value, FunctionType) else met
        if name := _INSIDE.get(id(real_class(value))):
            value = getattr(value, name)
        elif is_exactly(value, cached_property):
            value = stored_fields(value).get("func")
        elif is_exactly(value, *_WRAPPING) and "__wrapped__" in (stored := stored_fields(value)):
            value = stored["__wrapped__"]
        else:
            break
    return value if is_exactly(value, FunctionType) else met


def place_of(value: Any) -> Definition | None:
    """Return where a module, a class or the function in a value is defined; None if unknown."""
    if is_of(value, ModuleType):
        file = stored_fields(value).get("__file__")
        return Definition(file, 0) if type(file) is str else None
    if is_of(value, type):
        return _place_of_class(value)
    function = function_in(value)
    if function is None or type(function.__code__.co_filename) is not str:
        return None
    return Definition(function.__code__.co_filename, function.__code__.co_firstlineno)


def source_of(value: Any) -> str:
    """Return the lines that define a class or function, at most `MAX_LINES`; else nothing."""
    lines, first, count = block_of(value)
    return textwrap.dedent("".join(lines[first : first + count]))


def block_of(value: Any) -> tuple[Sequence[str], int, int]:
    """Return the lines of a file, and which of them define a class or function, from 0; or none.

    Where the file was edited since it was loaded, what stands there is not what runs: then none.
    """
    place = None if is_of(value, ModuleType) else place_of(value)
    lines = () if place is None else read_lines(place.filename)
    if place is None or not 0 < place.line <= len(lines):
        return (), 0, 0
    first = place.line - 1
    rest = lines[first : first + MAX_LINES]
    try:
        block = inspect.getblock(rest)
    except (tokenize.TokenError, SyntaxError):  # it ends beyond what is read
        block = rest
    function = None if is_of(value, type) else function_in(value)
    if function is not None:
        is_there = _may_define(block, function.__code__.co_name)
        if not is_there or has_other_code(function, or_place=True):
            return (), 0, 0
    return lines, first, len(block)


def _may_define(block: Sequence[str], name: str) -> bool:
    if name == "<lambda>":
        return True
    named = next(filter(None, map(_DEFINED.match, block)), None)
    begins = block[:1] and (block[0].lstrip().startswith("@") or _DEFINED.match(block[0]))
    return bool(begins and named and named[1] == name)


def definition_of(value: Any) -> ast.stmt | None:
    """Return the definition of a class or function as parsed; None where it is not all there."""
    try:
        return next(iter(ast.parse(source_of(value)).body), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _place_of_class(cls: type[Any]) -> Definition | None:
    name = re.compile(rf"\s*class\s+{re.escape(name_of(cls))}\b")
    first = space_of(cls).get("__firstlineno__")
    for filename, before in _files_of_class(cls):
        lines = read_lines(filename)
        if type(first) is int and 0 < first <= len(lines):
            return Definition(filename, first)
        found = [at for at, line in enumerate(lines, 1) if name.match(line)]
        if found:
            above = [line for line in found if line < before]
            return Definition(filename, above[-1] if before and above else found[-1])
    return None


def _files_of_class(cls: type[Any]) -> Iterator[tuple[str, int]]:
    """Yield the file of a method, with its line, that of the module, and cells, latest first."""
    inside = f"{qualname_of(cls)}."
    for member in space_of(cls).values():
        function = function_in(member)
        if function is not None and str.startswith(function.__qualname__, inside):
            code = function.__code__
            if type(code.co_filename) is str and code.co_filename[:1] != "<":
                yield code.co_filename, code.co_firstlineno
                break
    module = sys.modules.get(module_of(cls))
    file = None if module is None else stored_fields(module).get("__file__")
    if type(file) is str:
        yield file, 0
    if module_of(cls) == "__main__":
        cells = [name for name, entry in linecache.cache.copy().items() if is_cell(entry)]
        yield from ((name, 0) for name in reversed(cells))
