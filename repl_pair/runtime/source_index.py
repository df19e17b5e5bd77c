"""Sources parsed once, and the definitions that stand in them."""

import ast
import linecache
from functools import lru_cache
from typing import Any, TypeAlias

from repl_pair.records import record

PARSE_TRIES = 5
_MAX_FILES = 256

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@record
class Index:
    """Definitions of one source: functions by first line and name, classes by qualified name.

    Among the classes stand the calls that make one, such as `Point = namedtuple(...)`.
    """

    functions: dict[tuple[int, str], list[ast.AST]]
    classes: dict[str, list[ast.stmt]]


_SOURCES: dict[str, tuple[list[str], str]] = {}
"""Files by name: the lines as linecache holds them, and their text."""


def index_of(filename: str, space: dict[str, Any]) -> Index:
    """Index a file or cell as it is now; `space` is the namespace of its module."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, space)
    known = _SOURCES.get(filename)
    if known is None or known[0] is not lines:
        if len(_SOURCES) >= _MAX_FILES:
            _SOURCES.clear()
        known = _SOURCES[filename] = lines, "".join(lines)
    return index(known[1])


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


def _strip_docstring(node: _Function | ast.ClassDef) -> None:
    match node.body[0]:
        case ast.Expr(value=ast.Constant(value=str())):
            node.body[:1] = [] if node.body[1:] else [ast.Pass()]
        case _:
            pass
