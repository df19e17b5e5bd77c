"""Code identity: one short text for the source of functions and of what they reach by name."""

import ast
import inspect
import linecache
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from types import FunctionType, MethodType
from typing import Any, TypeAlias

from repl_pair.records import record
from repl_pair.runtime import canonical

SCHEME = "rc1:"
UNKNOWN = "unknown"
MAX_REACHED = 200
PARSE_TRIES = 5
_MAX_WRAPPERS = 50
_MAX_FILES = 256

_NONE: Mapping[str, Any] = {}

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Target: TypeAlias = FunctionType | type[Any]


def code_hash(
    functions: Sequence[Callable[..., Any]], *, named: Mapping[str, Callable[..., Any]] = _NONE
) -> str:
    """Hash the syntax of functions and classes, and of those of the same module that they reach.

    Docstrings, comments, positions and formatting do not show; bodies, defaults, decorators and
    annotations do. What is `named` is reached by its name as a text. At most MAX_REACHED
    definitions are followed, nearest first. The hash is UNKNOWN if the source of one of them is not
    to be had; it is comparable within one minor version of Python. The source is what is on disk or
    in the cell, so a module that was edited and not reloaded counts as changed.
    """
    roots = [_unwrapped(function) for function in functions]
    waiting = deque(root for root in roots if root is not None)
    found: dict[_Target, str] = {}
    while waiting and len(found) < MAX_REACHED:
        target = waiting.popleft()
        if target in found:
            continue
        nodes = _definitions(target)
        if not nodes:
            return UNKNOWN
        found[target] = " ".join(map(_syntax, nodes))
        waiting.extend(_reached(target, nodes))
        for text in _texts(nodes, named):
            other = _unwrapped(named[text])
            if other is None:
                return UNKNOWN
            waiting.append(other)
    return UNKNOWN if None in roots else _digest(roots, found)


def _digest(roots: Iterable[_Target | None], found: Mapping[_Target, str]) -> str:
    digest = sha256()
    named = sorted([target.__qualname__, syntax] for target, syntax in found.items())
    canonical.write([[root and root.__qualname__ for root in roots], named], digest.update)
    return SCHEME + digest.hexdigest()


_INSIDE: dict[type[Any], str] = {
    partial: "func",
    cached_property: "func",
    MethodType: "__func__",
    staticmethod: "__func__",
    classmethod: "__func__",
    property: "fget",
}


def _unwrapped(value: object) -> _Target | None:
    """Give the function or class under wrappers and methods; none of their own code runs."""
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


# What a definition reaches.


def _reached(target: _Target, nodes: Iterable[ast.AST]) -> Iterator[_Target]:
    space = _namespace(target)
    for name in sorted({name for node in nodes for name in _names_read(node)}):
        other = _unwrapped(space.get(name))
        if other is not None and _lives_in(other, space):
            yield other


def _texts(nodes: Iterable[ast.AST], named: Mapping[str, Any]) -> Sequence[str]:
    if not named:
        return ()
    return sorted({text for node in nodes for text in _texts_in(node)} & named.keys())


def _lives_in(target: _Target, space: Mapping[str, Any]) -> bool:
    if isinstance(target, type):
        return target.__module__ == space.get("__name__")
    return target.__globals__.get("__name__") == space.get("__name__")


def _namespace(target: _Target) -> Mapping[str, Any]:
    if isinstance(target, type):
        own = next(_own_functions(target), None)
        return own.__globals__ if own else _module_namespace(target)
    cells = zip(target.__code__.co_freevars, target.__closure__ or (), strict=True)
    return {**target.__globals__, **{name: _contents(cell) for name, cell in cells}}


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the enclosing function has not bound the name yet
        return None


@lru_cache(maxsize=2048)
def _names_read(node: ast.AST) -> frozenset[str]:
    names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return frozenset(name.id for name in names if isinstance(name.ctx, ast.Load))


@lru_cache(maxsize=2048)
def _texts_in(node: ast.AST) -> frozenset[str]:
    constants = (each for each in ast.walk(node) if isinstance(each, ast.Constant))
    return frozenset(str(each.value) for each in constants if isinstance(each.value, str))


@lru_cache(maxsize=2048)
def _syntax(node: ast.AST) -> str:
    return ast.dump(node)


# Where a definition stands.


def _definitions(target: _Target) -> Sequence[ast.AST]:
    """Give the definition of `target`; several for lambdas of one line; none without source."""
    if isinstance(target, type):
        return next(filter(None, _class_definitions(target)), ())
    code = target.__code__
    index = _index_of(code.co_filename, target.__globals__)
    return index.functions.get((code.co_firstlineno, code.co_name), [])


def _class_definitions(cls: type[Any]) -> Iterator[Sequence[ast.AST]]:
    """Try the file of a method, the file of the module, then the cells, the latest run first."""
    for method in _own_functions(cls):
        code = method.__code__
        index = _index_of(code.co_filename, method.__globals__)
        yield _around(code.co_firstlineno, index.classes.get(cls.__qualname__, []))
    space = _module_namespace(cls)
    yield _index_of(space.get("__file__") or "", space).classes.get(cls.__qualname__, [])[-1:]
    if cls.__module__ == "__main__":
        for source in _cells():
            if cls.__name__ in source:
                yield _parsed(source).classes.get(cls.__qualname__, [])[-1:]


def _around(line: int, nodes: Iterable[ast.stmt]) -> Sequence[ast.AST]:
    return [node for node in nodes if node.lineno <= line <= (node.end_lineno or 0)]


def _own_functions(cls: type[Any]) -> Iterator[FunctionType]:
    for member in vars(cls).values():
        function = _unwrapped(member)
        if isinstance(function, FunctionType) and function.__module__ == cls.__module__:
            yield function


def _module_namespace(cls: type[Any]) -> dict[str, Any]:
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


# Parsed sources.


@record
class _Index:
    """Definitions of one source: functions by first line and name, classes by qualified name.

    Among the classes stand the calls that make one, such as `Point = namedtuple(...)`.
    """

    functions: dict[tuple[int, str], list[ast.AST]]
    classes: dict[str, list[ast.stmt]]


_SOURCES: dict[str, tuple[list[str], str]] = {}
"""Files by name: the lines as linecache holds them, and their text."""


def _index_of(filename: str, space: dict[str, Any]) -> _Index:
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, space)
    known = _SOURCES.get(filename)
    if known is None or known[0] is not lines:
        if len(_SOURCES) >= _MAX_FILES:
            _SOURCES.clear()
        known = _SOURCES[filename] = lines, "".join(lines)
    return _parsed(known[1])


@lru_cache(maxsize=_MAX_FILES)
def _parsed(source: str) -> _Index:
    """Index a source without its docstrings; what does not parse defines nothing."""
    index = _Index(functions={}, classes={})
    try:
        tree = _parse(source)
    except SyntaxError:
        return index
    _fill(index, tree, "")
    return index


def _parse(source: str) -> ast.Module:
    """Parse again where CPython 3.11 lost count: two threads that parse at once share a counter."""
    for _ in range(PARSE_TRIES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


def _fill(index: _Index, parent: ast.AST, prefix: str) -> None:
    for node in ast.iter_child_nodes(parent):
        inner = prefix
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                _strip_docstring(node)
                first = min(each.lineno for each in (node, *node.decorator_list))
                index.functions.setdefault((first, node.name), []).append(node)
                inner = f"{prefix}{node.name}.<locals>."
            case ast.ClassDef():
                _strip_docstring(node)
                index.classes.setdefault(prefix + node.name, []).append(node)
                inner = f"{prefix}{node.name}."
            case ast.Lambda():
                index.functions.setdefault((node.lineno, "<lambda>"), []).append(node)
                inner = f"{prefix}<lambda>.<locals>."
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
                index.classes.setdefault(prefix + name, []).append(node)
            case _:
                pass
        _fill(index, node, inner)


def _strip_docstring(node: _Function | ast.ClassDef) -> None:
    match node.body[0]:
        case ast.Expr(value=ast.Constant(value=str())):
            node.body[:1] = [] if node.body[1:] else [ast.Pass()]
        case _:
            pass
