"""The names that code reads from around it, by its syntax."""

import ast
from collections.abc import Iterable

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
    outside = (child for child in ast.iter_child_nodes(node) if child not in inside)
    read = set[str]().union(*map(free_names, inside))
    if inside:
        read -= _bound_in(node, inside)
    return read.union(*map(free_names, outside))


def _bound_in(scope: ast.AST, inside: Iterable[ast.AST]) -> set[str]:
    every = [each for node in inside for each in ast.walk(node)]
    stored = {n.id for n in every if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    shared = {name for n in every if isinstance(n, ast.Global) for name in n.names}
    params = {n.arg for n in ast.walk(scope) if isinstance(n, ast.arg)}
    return (stored - shared) | params
