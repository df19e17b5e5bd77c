"""Sources parsed once, and where the definition of a function or class stands in them."""

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache, partial
from importlib.machinery import SourceFileLoader
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, TypeAlias, cast

from repl_pair.records import record
from repl_pair.runtime.ipython import known_shells
from repl_pair.runtime.reading.code_files import read_code

PARSE_TRIES = 5
_MAX_FILES = 256


@record
class Index:
    """Definitions of one source: functions by first line and name, classes by qualified name.

    Among the classes stand the calls that make one, such as `Point = namedtuple(...)`.
    """

    functions: dict[tuple[int, str], list[ast.AST]]
    classes: dict[str, list[ast.stmt]]


_SOURCES: dict[str, tuple[list[str], str]] = {}
"""Files by name: the lines as linecache holds them, and their text."""


def _index_of(filename: str, space: dict[str, Any], indexes: dict[str, Index]) -> Index:
    """Index a file or cell as it is now; `space` is the namespace of its module."""
    if (found := indexes.get(filename)) is not None:
        return found
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, space)
    known = _SOURCES.get(filename)
    if known is None or known[0] is not lines:
        if len(_SOURCES) >= _MAX_FILES:
            _SOURCES.clear()
        known = _SOURCES[filename] = lines, "".join(lines)
    indexes[filename] = found = index(known[1])
    return found


@lru_cache(maxsize=_MAX_FILES)
def index(source: str) -> Index:
    """Index a source without its docstrings; what does not parse defines nothing."""
    found = Index(functions={}, classes={})
    try:
        tree = _parse(source)
    except SyntaxError:
        return found
    _fill(found, tree, "")
    return found


def _parse(source: str) -> ast.Module:
    """Parse again where CPython 3.11 lost count: two threads that parse at once share a counter."""
    for _ in range(PARSE_TRIES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


def _fill(into: Index, parent: ast.AST, prefix: str) -> None:
    for node in ast.iter_child_nodes(parent):
        inner = prefix
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                _strip_docstring(node)
                first = min(each.lineno for each in (node, *node.decorator_list))
                into.functions.setdefault((first, node.name), []).append(node)
                inner = f"{prefix}{node.name}.<locals>."
            case ast.ClassDef():
                _strip_docstring(node)
                into.classes.setdefault(prefix + node.name, []).append(node)
                inner = f"{prefix}{node.name}."
            case ast.Lambda():
                into.functions.setdefault((node.lineno, "<lambda>"), []).append(node)
                inner = f"{prefix}<lambda>.<locals>."
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
                into.classes.setdefault(prefix + name, []).append(node)
            case _:
                pass
        _fill(into, node, inner)


def _strip_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body[:1] = [] if node.body[1:] else [ast.Pass()]


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
_DATACLASS_PARAMS: type[Any] = cast("Any", type(vars(Index)["__dataclass_params__"]))
_WRAPS_NOTHING: frozenset[type] = frozenset(
    (
        *(type(None), bool, int, float, str, bytes, tuple, list, dict, set, frozenset),
        *(ModuleType, BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType),
        _DATACLASS_PARAMS,
    )
)


def unwrap(value: object) -> Target | None:
    """Return the function or class under wrappers and methods; none of their own code runs."""
    if type(value) in _WRAPS_NOTHING:
        return None
    for _ in range(_MAX_WRAPPERS):
        if name := _INSIDE.get(type(value)):
            value = getattr(value, name)
        elif type(value) is FunctionType and not value.__dict__:
            break
        elif (inner := _wrapped(value)) is not None:
            value = inner
        else:
            break
    return value if isinstance(value, FunctionType | type) else None


def _wrapped(value: Any) -> Any:
    if type(value) is not type:
        return inspect.getattr_static(value, "__wrapped__", None)
    spaces = map(vars, value.__mro__)  # the same in a tenth of the time
    return next((space["__wrapped__"] for space in spaces if "__wrapped__" in space), None)


def definitions_of(target: Target, indexes: dict[str, Index]) -> Sequence[ast.AST]:
    """Return the definition of `target`; several for lambdas of one line; none without source.

    None also where `is_edited`: its file has the source of other code than what runs. `indexes`
    keeps the index of each file from one call to the next.
    """
    if is_edited(target):
        return ()
    if isinstance(target, type):
        return next(filter(None, _class_definitions(target, indexes)), ())
    code = target.__code__
    known = _index_of(code.co_filename, target.__globals__, indexes)
    return known.functions.get((code.co_firstlineno, code.co_name), [])


def _class_definitions(cls: type[Any], indexes: dict[str, Index]) -> Iterator[Sequence[ast.AST]]:
    """Try the file of a method, the file of the module, then the cells, the latest run first."""
    for method in own_functions(cls):
        code = method.__code__
        found = _index_of(code.co_filename, method.__globals__, indexes).classes
        known, line = found.get(cls.__qualname__, []), code.co_firstlineno
        yield [node for node in known if node.lineno <= line <= (node.end_lineno or 0)]
    space = module_namespace(cls)
    found = _index_of(space.get("__file__") or "", space, indexes).classes
    yield found.get(cls.__qualname__, [])[-1:]
    if cls.__module__ == "__main__":
        for source in _cells():
            if cls.__name__ in source:
                yield index(source).classes.get(cls.__qualname__, [])[-1:]


def is_edited(target: Target) -> bool:
    """Return whether the file of a function, or of a method of a class, has other code by now.

    Only what the plain import of a file made is judged: who rewrites code at import (pytest), or
    runs a file in another way, keeps no trace of it. Defaults, decorators and what else the body of
    a module or class computes are not in the code that is compared.
    """
    functions = own_functions(target) if isinstance(target, type) else iter((target,))
    return any(_has_other_code(function) for function in functions)


def _has_other_code(function: FunctionType) -> bool:
    space, file = function.__globals__, function.__code__.co_filename
    if type(space.get("__loader__")) is not SourceFileLoader or space.get("__file__") != file:
        return False
    code = read_code(file)
    return code is not None and function.__code__ not in code


def own_functions(cls: type[Any]) -> Iterator[FunctionType]:
    """Return the functions that the body of a class defines."""
    for member in vars(cls).values():
        function = unwrap(member)
        if isinstance(function, FunctionType) and function.__module__ == cls.__module__:
            yield function


def module_namespace(cls: type[Any]) -> dict[str, Any]:
    """Return the namespace of the module that a class is of, empty where there is none."""
    module = sys.modules.get(cls.__module__)
    return vars(module) if module else {}


def _cells() -> Iterator[str]:
    """Return the notebook's cells, the latest run first, then those that left no history."""
    for shell in known_shells():
        yield from reversed(shell.history_manager.input_hist_parsed)
    for entry in reversed(list(linecache.cache.values())):
        if len(entry) == 4 and entry[1] is None:
            yield "".join(entry[2])
