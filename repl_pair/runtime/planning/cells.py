"""The notebook's cells, the latest run first, as the Python that they ran in its namespace."""

import ast
import linecache
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

from repl_pair.runtime.ipython import ipython_module, known_shells
from repl_pair.runtime.planning.source_index import MAX_CELLS, parse
from repl_pair.runtime.reading.code_files import is_cell

_IN_NAMESPACE = frozenset({"time", "capture", "prun"})
"""Magics whose text runs as a cell does; `%%timeit` runs it in a function."""
_MOST_OPTIONS = 12
"""Words of options, with their values, before what a magic of one line runs."""


def cells() -> Iterator[str]:
    """Return the notebook's cells, the latest run first, then those that left no history."""
    for shell in known_shells():
        yield from map(without_magics, reversed(shell.history_manager.input_hist_parsed))
    entries: list[Any] = list(linecache.cache.values())
    for entry in filter(is_cell, reversed(entries)):
        yield without_magics("".join(entry[2]))


def run_in(space: dict[str, Any]) -> bool:
    """Return whether cells run in a namespace."""
    is_main = space.get("__name__") == "__main__" and "__file__" not in space
    return is_main or any(space is shell.user_ns for shell in known_shells())


@lru_cache(maxsize=MAX_CELLS)
def without_magics(source: str) -> str:
    """Return a cell with the text that a magic such as `%%time` runs in the place of its call."""
    if "get_ipython().run_" not in source:
        return source
    try:
        return ast.unparse(_Expander().visit(parse(source)))
    except (SyntaxError, ValueError, RecursionError):  # a number may be too long to be written
        return source


def _body_of(text: str, *, options: bool) -> list[ast.stmt]:
    """Return what a magic runs, behind its `options`; nothing of what does not parse."""
    machinery = ipython_module("core.inputtransformer2")
    words = text.split(" ", _MOST_OPTIONS) if options and text.startswith("-") else [text]
    for at in range(len(words)):
        code = " ".join(words[at:])
        with suppress(SyntaxError, ValueError, RuntimeError):  # of too many magics to be expanded
            if machinery is not None:
                code = machinery.TransformerManager().transform_cell(code)
            return cast("ast.Module", parse(without_magics(code))).body
    return []


class _Expander(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Call(
                func=ast.Attribute(attr="run_cell_magic" | "run_line_magic" as run),
                args=[ast.Constant(value=name), *_, ast.Constant(value=str(text))],
            ) if name in _IN_NAMESPACE:
                return _body_of(text, options=run == "run_line_magic") or node
            case _:
                return node
