"""What a source defines: its functions, classes and assignments, parsed once."""

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.reading.code_files import is_cell

PARSE_TRIES = 5
_TARGETS = (ast.Name, ast.Subscript, ast.Attribute)
_IMPORTS = (ast.Import, ast.ImportFrom)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MAX_FILES, _MAX_CELLS = 256, 4096
"""A notebook of more cells is parsed again for each hash."""


@record
class Index:
    """Definitions of one source: functions by first line and name, classes by qualified name.

    `named` has the functions that are no lambdas by qualified name. Among the classes stand the
    calls that make one, such as `Point = namedtuple(...)`. The assignments are the statements
    outside functions and classes that bind a name, set its fields or call its methods, with the
    tests and loops above them, by that name; `rebound` has the names that a function binds in the
    function around it.
    """

    functions: dict[tuple[int, str], list[ast.AST]]
    named: dict[str, list[ast.AST]]
    classes: dict[str, list[ast.stmt]]
    assignments: dict[str, list[ast.AST]]
    rebound: set[str]


_FILES: dict[str, tuple[list[str], Index]] = {}
"""Files by name: the lines as linecache holds them, and their index, until they are edited."""


def index_of(filename: str, space: dict[str, Any], indexes: dict[str, Index]) -> Index:
    """Index a file or cell as it is now; `space` is the namespace of its module."""
    if (found := indexes.get(filename)) is not None:
        return found
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, space)
    is_of_cell = is_cell(linecache.cache.get(filename, ()))
    found = index_cell("".join(lines)) if is_of_cell else _index_file(filename, lines)
    indexes[filename] = found
    return found


def _index_file(filename: str, lines: list[str]) -> Index:
    known = _FILES.get(filename)
    if known is None or (known[0] is not lines and known[0] != lines):
        if len(_FILES) >= _MAX_FILES:
            _FILES.clear()
        known = _FILES[filename] = lines, index("".join(lines))
    return known[1]


def index(source: str) -> Index:
    """Index a source without its docstrings; what does not parse defines nothing."""
    found = Index(functions={}, named={}, classes={}, assignments={}, rebound=set())
    try:
        tree = parse(source)
    except SyntaxError:
        return found
    _fill(found, tree)
    imported = set[str]()
    for statement, tests in _statements(tree):
        bound = [*_bound_by(statement)]
        if isinstance(statement, _IMPORTS):
            imported.update(bound)
        # A call of what is imported, such as `rp.variant(…)`, changes nothing of it.
        on = _called_on(statement)
        called = [on] if on in found.assignments and on not in imported else []
        for name in dict.fromkeys(bound + called):
            known = found.assignments.setdefault(name, [])
            known += [*(test for test in tests if test not in known), statement]
    return found


index_cell = lru_cache(maxsize=_MAX_CELLS)(index)
"""Indexes the source of a cell, which many hashes read."""


def parse(source: str, mode: str = "exec") -> ast.AST:
    """Parse again where CPython 3.11 lost count: two threads that parse at once share a counter."""
    for _ in range(PARSE_TRIES - 1):
        try:
            return ast.parse(source, mode=mode)
        except SystemError:
            continue
    return ast.parse(source, mode=mode)


def _fill(into: Index, tree: ast.AST) -> None:
    waiting = [(tree, "")]  # a long `elif` or sum is nested deeper than calls may be
    while waiting:
        node, prefix = waiting.pop()
        inner = prefix
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                _strip_docstring(node)
                first = min(each.lineno for each in (node, *node.decorator_list))
                into.functions.setdefault((first, node.name), []).append(node)
                into.named.setdefault(prefix + node.name, []).append(node)
                inner = f"{prefix}{node.name}.<locals>."
            case ast.ClassDef():
                _strip_docstring(node)
                into.classes.setdefault(prefix + node.name, []).append(node)
                inner = f"{prefix}{node.name}."
            case ast.Lambda():
                into.functions.setdefault((node.lineno, "<lambda>"), []).append(node)
                inner = f"{prefix}<lambda>.<locals>."
            case ast.Nonlocal():
                into.rebound.update(node.names)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
                into.classes.setdefault(prefix + name, []).append(node)
            case _:
                pass
        waiting += [(child, inner) for child in reversed([*ast.iter_child_nodes(node)])]


def _statements(tree: ast.AST) -> Iterator[tuple[ast.stmt, tuple[ast.expr, ...]]]:
    """Return the statements of a module, of loops the head only, and the tests above each."""
    waiting: list[tuple[ast.AST, tuple[ast.expr, ...]]] = [(tree, ())]
    while waiting:
        node, tests = waiting.pop()
        match node:
            case ast.Import():
                yield from ((ast.Import([one]), tests) for one in node.names)
            case ast.ImportFrom():
                for one in node.names:
                    yield ast.ImportFrom(node.module, [one], node.level), tests
            case ast.For() | ast.AsyncFor():
                yield ast.For(node.target, node.iter, [], []), tests
                tests = (*tests, node.iter)
            case ast.With() | ast.AsyncWith():
                yield ast.With(node.items, []), tests
            case ast.If() | ast.While():
                yield ast.Expr(node.test), tests
                tests = (*tests, node.test)
            case ast.stmt() if isinstance(node, _DEFINITIONS) or not any(_blocks(node)):
                yield node, tests
                continue
            case _:
                pass
        waiting += reversed([(block, tests) for block in _blocks(node)])


def _blocks(node: ast.AST) -> Iterator[ast.AST]:
    parts = (ast.stmt, ast.ExceptHandler, ast.match_case)
    return (each for each in ast.iter_child_nodes(node) if isinstance(each, parts))


def bound_name(node: ast.AST) -> str | None:
    """Return the name that a definition, an import, a handler or a pattern binds."""
    match node:
        case ast.alias():
            return node.asname or node.name.split(".")[0]
        case ast.MatchMapping():
            return node.rest
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            return node.name
        case _:
            return None


def _bound_by(statement: ast.AST) -> Iterator[str]:
    """Return the names that a statement binds, or whose items and fields it sets."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, _TARGETS) and isinstance(node.ctx, ast.Store):
            while isinstance(node, ast.Subscript | ast.Attribute):
                node = node.value
            yield from [node.id] if isinstance(node, ast.Name) else ()
        elif name := bound_name(node):
            yield name


def _called_on(statement: ast.stmt) -> str:
    """Return the name that a statement such as `R.append(1)` calls a method of, else ""."""
    node = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(node, ast.Call):
        return ""
    while isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
        if not isinstance(node, ast.Call):
            node = node.value
        elif isinstance(node.func, ast.Name):
            return ""
        else:
            node = node.func
    return node.id if isinstance(node, ast.Name) else ""


def _strip_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body[:1] = [] if node.body[1:] else [ast.Pass()]
