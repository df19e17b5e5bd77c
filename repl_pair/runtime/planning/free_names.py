"""The names that code reads from around it, by its syntax."""

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress

from repl_pair.runtime.planning.source_index import bound_name, parse

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def free_names(node: ast.AST) -> set[str]:
    """Return the names that code reads and that no function or comprehension in it binds."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    inside: set[ast.AST] = set()
    if isinstance(node, _FUNCTIONS):
        inside = set(node.body if isinstance(node.body, list) else [node.body])
    elif isinstance(node, _COMPREHENSIONS):
        inside = set(ast.iter_child_nodes(node))
    hints = (getattr(node, slot, None) for slot in ("annotation", "returns"))
    quoted = set[str]().union(*map(_names_quoted, filter(None, hints)))
    outside = [child for child in ast.iter_child_nodes(node) if child not in inside]
    if isinstance(node, _COMPREHENSIONS):
        outside.append(node.generators[0].iter)
    read = set[str]().union(*map(free_names, inside))
    if inside:
        read -= _bound_in(node, inside)
    return read.union(quoted, *map(free_names, outside))


def _names_quoted(hint: ast.AST) -> set[str]:
    """Return the names in the texts of a hint, such as `list["Order"]`."""
    found = set[str]()
    for node in ast.walk(hint):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            with suppress(SyntaxError, ValueError):  # it is a description
                found |= free_names(parse(node.value, "eval"))
    return found


def _bound_in(scope: ast.AST, inside: Iterable[ast.AST]) -> set[str]:
    """Return what a function or comprehension binds itself, not what those within it bind."""
    every = [each for node in inside for each in _in_scope(node)]
    stored = {n.id for n in every if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    stored.update(filter(None, map(bound_name, every)))
    shared = {name for n in every if isinstance(n, ast.Global) for name in n.names}
    args = getattr(scope, "args", None)
    params = {n.arg for n in ast.iter_child_nodes(args) if isinstance(n, ast.arg)} if args else ()
    return (stored - shared).union(params)


def _in_scope(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)):
        for child in ast.iter_child_nodes(node):
            yield from _in_scope(child)
