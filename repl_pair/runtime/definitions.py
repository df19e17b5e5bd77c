"""Functions and classes under their wrappers, and where the source of each stands."""

import ast
import inspect
import linecache
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from types import FunctionType, MethodType
from typing import Any, TypeAlias

from repl_pair.runtime.source_index import index, index_of

_MAX_WRAPPERS = 50

Target: TypeAlias = FunctionType | type[Any]

_INSIDE: dict[type[Any], str] = {
    partial: "func",
    cached_property: "func",
    MethodType: "__func__",
    staticmethod: "__func__",
    classmethod: "__func__",
    property: "fget",
}


_PLAIN = frozenset((type(None), bool, int, float, str, bytes, tuple, list, dict, set, frozenset))


def unwrap(value: object) -> Target | None:
    """Give the function or class under wrappers and methods; none of their own code runs."""
    if type(value) in _PLAIN:
        return None
    for _ in range(_MAX_WRAPPERS):
        if name := _INSIDE.get(type(value)):
            value = getattr(value, name)
        elif type(value) is FunctionType and not value.__dict__:
            break
        elif (inner := inspect.getattr_static(value, "__wrapped__", None)) is not None:
            value = inner
        else:
            break
    return value if isinstance(value, FunctionType | type) else None


def definitions_of(target: Target) -> Sequence[ast.AST]:
    """Give the definition of `target`; several for lambdas of one line; none without source."""
    if isinstance(target, type):
        return next(filter(None, _class_definitions(target)), ())
    code = target.__code__
    known = index_of(code.co_filename, target.__globals__)
    return known.functions.get((code.co_firstlineno, code.co_name), [])


def _class_definitions(cls: type[Any]) -> Iterator[Sequence[ast.AST]]:
    """Try the file of a method, the file of the module, then the cells, the latest run first."""
    for method in own_functions(cls):
        code = method.__code__
        known = index_of(code.co_filename, method.__globals__)
        yield _around(code.co_firstlineno, known.classes.get(cls.__qualname__, []))
    space = module_namespace(cls)
    yield index_of(space.get("__file__") or "", space).classes.get(cls.__qualname__, [])[-1:]
    if cls.__module__ == "__main__":
        for source in _cells():
            if cls.__name__ in source:
                yield index(source).classes.get(cls.__qualname__, [])[-1:]


def _around(line: int, nodes: Iterable[ast.stmt]) -> Sequence[ast.AST]:
    return [node for node in nodes if node.lineno <= line <= (node.end_lineno or 0)]


def own_functions(cls: type[Any]) -> Iterator[FunctionType]:
    """Give the functions that the body of a class defines."""
    for member in vars(cls).values():
        function = unwrap(member)
        if isinstance(function, FunctionType) and function.__module__ == cls.__module__:
            yield function


def module_namespace(cls: type[Any]) -> dict[str, Any]:
    """Give the namespace of the module that a class is of, empty where there is none."""
    module = sys.modules.get(cls.__module__)
    return vars(module) if module else {}


def _cells() -> Iterator[str]:
    """Give the notebook's cells, the latest run first, then those that left no history."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell is not None:
        yield from reversed(shell.history_manager.input_hist_parsed)
    for entry in reversed(list(linecache.cache.values())):
        match entry:
            case (_, None, lines, _):
                yield "".join(lines)
            case _:
                pass
