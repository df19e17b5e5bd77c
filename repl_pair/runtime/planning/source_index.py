"""What a source defines: its functions, classes and assignments, parsed once."""

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from operator import is_
from typing import Any, TypeAlias, cast

from repl_pair.records import record
from repl_pair.runtime.reading.code_files import is_cell

PARSE_TRIES = 5
_Path: TypeAlias = tuple[ast.AST, ...]
_Part: TypeAlias = tuple[_Path, dict[str, None], dict[str, None]]
_END = ast.Interactive(body=[])
"""Ends a branch; no source has such a node."""
_TARGETS = (ast.Name, ast.Subscript, ast.Attribute)
_IMPORTS = (ast.Import, ast.ImportFrom)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MAX_FILES, MAX_CELLS = 256, 4096
"""A notebook of more cells is parsed again for each hash."""


@record
class Index:
    """Definitions of one source: functions by first line and name, classes by qualified name.

    `named` has the functions that are no lambdas by qualified name. Among the classes stand the
    calls that make one, such as `Point = namedtuple(...)`. The assignments are the statements
    outside functions and classes that bind a name, set or delete its parts or call its methods, by
    that name, with the branches of each `if` around them; a loop, `with`, `try` or `match` counts
    whole, but for the definitions in it. `rebound` has the names that a function binds in the
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
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    _fill(found, tree)
    imported, bound = set[str](), set[str]()
    counted = list[_Part]()
    for path, whole in _statements(tree):
        names = dict.fromkeys(_bound_by(path[-1]))
        bound.update(names)
        if isinstance(path[-1], _IMPORTS):
            imported.update(names)
        # A call of what is imported, such as `rp.variant(…)`, changes nothing of it.
        if (on := _called_on(path[-1])) in bound and on not in imported:
            names[on] = None
        whole.update(names)
        counted.append((path, names, whole))
    last: dict[str, _Path] = {}
    for _, parts in groupby(counted, key=lambda each: id(each[2])):
        for path, names in _wholes([*parts]):
            for name in names:
                found.assignments.setdefault(name, []).extend(_pieces(last.get(name, ()), path))
                last[name] = path
    return found


def _wholes(parts: list[_Part]) -> Iterator[tuple[_Path, dict[str, None]]]:
    """Return what counts whole as one node, which its names share, and each definition in it."""
    (head, _, whole), *others = parts
    if not others:
        yield head, whole
        return
    block, last = list[ast.AST](), ()
    bound = {n for path, ns, _ in parts if not isinstance(path[-1], _DEFINITIONS) for n in ns}
    for path, names, _ in parts:
        if isinstance(path[-1], _DEFINITIONS) and bound.isdisjoint(names):
            yield path, names
        else:
            block += _pieces(last, path)
            last = path
    yield (*head[:-1], ast.Interactive(cast("list[ast.stmt]", block[len(head) - 1 :]))), whole


def _pieces(before: _Path, path: _Path) -> Iterator[ast.AST]:
    """Return what of a path is not on the one before, behind the end of each branch left."""
    same = sum(takewhile(bool, map(is_, before, path)))
    yield from [_END] * (len(before) - 1 - same)
    yield from path[same:]


index_cell = lru_cache(maxsize=MAX_CELLS)(index)
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


def _statements(tree: ast.AST) -> Iterator[tuple[_Path, dict[str, None]]]:
    """Return the statements and heads of a module, each below the heads and blocks around it.

    Beside it stands the dict for the names of all that counts whole with it.
    """
    waiting: list[tuple[ast.AST, _Path, dict[str, None] | None]]
    waiting = [(each, (), None) for each in reversed([*ast.iter_child_nodes(tree)])]
    while waiting:
        node, above, whole = waiting.pop()
        blocks = {} if isinstance(node, _DEFINITIONS) else dict(_blocks(node))
        if blocks and whole is None and not isinstance(node, ast.If):
            whole = {}
        parts = _parts(node, blocks)
        yield from (((*above, part), {} if whole is None else whole) for part in parts)
        for name, block in reversed(blocks.items()):
            path = (*above, *parts, ast.Constant(node._fields.index(name)))
            waiting += [(each, path, whole) for each in reversed(block)]


def _parts(node: ast.AST, blocks: Mapping[str, Sequence[ast.AST]]) -> Sequence[ast.AST]:
    """Return a statement, one for each name of an import, or the head of one with blocks."""
    match node:
        case ast.Import():
            return [ast.Import([one]) for one in node.names]
        case ast.ImportFrom():
            return [ast.ImportFrom(node.module, [one], node.level) for one in node.names]
        case _ if blocks:
            return [type(node)(**dict(ast.iter_fields(node)) | {name: [] for name in blocks})]
        case _:
            return [node]


def _blocks(node: ast.AST) -> Iterator[tuple[str, list[ast.AST]]]:
    parts = (ast.stmt, ast.ExceptHandler, ast.match_case)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], parts):
            yield name, cast("list[ast.AST]", value)


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
    """Return the names that a statement binds or deletes, or whose items and fields it does."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, _TARGETS) and not isinstance(node.ctx, ast.Load):
            while isinstance(node, ast.Subscript | ast.Attribute):
                node = node.value
            yield from [node.id] if isinstance(node, ast.Name) else ()
        elif name := bound_name(node):
            yield name


def _called_on(statement: ast.AST) -> str:
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
