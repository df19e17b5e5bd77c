"""Which cell gave a name its value last: the same cell, run again, may give it another."""

import ast
from collections.abc import Iterable
from typing import Any

from repl_pair.runtime.ipython import known_shells
from repl_pair.runtime.planning.cells import without_magics
from repl_pair.runtime.planning.source_index import index_cell
from repl_pair.runtime.planning.targets import is_definition_of

_SEEN: dict[tuple[int, str], tuple[int, int]] = {}
"""By shell and name: how many cells were looked at, and the latest of them that gave the name."""


def bound_at(name: str) -> int:
    """Return a number that is another once a cell gave the name a value that may be another.

    An import, a constant, and a function without defaults are the same whenever their cell runs.
    """
    return sum(_last_cell(shell, name) for shell in known_shells())


def _last_cell(shell: Any, name: str) -> int:
    cells: list[str] = shell.history_manager.input_hist_parsed
    size = len(cells)  # another thread may run a cell meanwhile
    seen, last = _SEEN.get((id(shell), name), (0, 0))
    seen, last = (seen, last) if seen <= size else (0, 0)  # the history was reset
    found = (at for at in range(size - 1, seen - 1, -1) if name in cells[at])
    value = shell.user_ns.get(name)
    last = next((at for at in found if _may_change(name, value, without_magics(cells[at]))), last)
    _SEEN[id(shell), name] = size, last
    return last


def _may_change(name: str, value: Any, cell: str) -> bool:
    # What a decorator such as `story` gives back as it was has nothing around it.
    is_bare = is_definition_of(value, name)
    nodes = index_cell(cell).assignments.get(name, ())
    return any(_is_evaluated(node, is_bare=is_bare) for node in nodes)


def _is_evaluated(node: ast.AST, *, is_bare: bool = False) -> bool:
    """Return whether a statement computes something of other names where it runs."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return False
        case ast.Assign(value=ast.Name()) if is_bare:  # a definition gets its own name again
            return False
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            given = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            return _reads(given if is_bare else [*node.decorator_list, *given])
        case ast.ClassDef():
            given = [*node.decorator_list, *node.bases, *node.keywords]
            return _reads(given) or any(map(_is_evaluated, node.body))
        case ast.AnnAssign():
            return node.value is not None and _reads([node.target, node.value])
        case _:
            return isinstance(node, ast.AugAssign) or _reads([node])


def _reads(nodes: Iterable[ast.AST]) -> bool:
    parts = (part for node in nodes for part in ast.walk(node))
    return any(isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) for part in parts)
