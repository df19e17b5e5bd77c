"""The text of a stored result as data that the panel compares: tables, and images in mappings."""

import ast
from typing import Any

from repl_pair.wire import REDACTED

_NUMBERS = {"nan": float("nan"), "inf": float("inf")}


def parse_result(text: str) -> Any:
    """Return the data in the text of a result, calls as their own text; None where it is none."""
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _read(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=[ast.Name(id="redacted")]):
            return REDACTED
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_read(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {
                str(_read(key)): _read(part)
                for key, part in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name(id=name) if name in _NUMBERS:
            return _NUMBERS[name]
        case ast.Call(func=ast.Name(id="DataFrame" | "Series"), args=columns):
            index = [word.value for word in node.keywords if word.arg == "index"]
            return _table(columns, index)
        case _:
            return ast.unparse(node)


def _table(columns: list[ast.expr], index: list[ast.expr]) -> Any:
    """Return the columns of a table by their names, and its labels."""
    held = {name: {"dtype": dtype, "items": items} for name, dtype, items in map(_column, columns)}
    levels = index[0].args if index and isinstance(index[0], ast.Call) else []
    labels = [_column(level)[2] for level in levels]
    rows: Any = labels[0] if len(labels) == 1 else list(zip(*labels, strict=True))
    return {"columns": held, "index": rows}


def _column(node: ast.expr) -> tuple[str, Any, Any]:
    if not isinstance(node, ast.Call) or len(node.args) != 3:
        raise ValueError("no column")
    name, dtype, items = map(_read, node.args)
    return str(name), dtype, items
