"""Operators and membership, for values of any kind."""

import math
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

from repl_pair.errors import did_you_mean
from repl_pair.runtime.assertions.coercion import Leaves, coerce, key_finder, plain_scalar
from repl_pair.runtime.assertions.comparison import equal, short
from repl_pair.runtime.assertions.tables import plain_items
from repl_pair.runtime.assertions.verdicts import has_marker, shown_at, unmasked
from repl_pair.runtime.assertions.view import RunView
from repl_pair.runtime.values.classes import (
    is_array_scalar,
    is_map,
    is_polars,
    is_row,
    is_set,
    is_table,
    kind_of,
    real_class,
)
from repl_pair.runtime.values.library import exact_columns
from repl_pair.runtime.values.paths import parse_path
from repl_pair.runtime.values.value_parts import plain_array


def unlike(actual: Any, op: str, x: Any, where: str) -> str | None:
    """Report that a value does not stand to another as an operator asks; nothing if it does."""
    if op not in _OPERATORS:
        return f"there is no operator {op!r}.{did_you_mean(op, OPERATORS)} There are {_NAMES}."
    try:
        holds = _holds(actual, op, x)
    except Exception as error:  # noqa: BLE001  operators are code of the values' classes
        return f"{where}: {short(actual)} {op} {short(x)} raised {type(error).__name__}"
    if holds is None:
        return f"{where}: {short(actual)} has no element that is {op} {short(x)}"
    return None if holds else f"{where}: expected a value {op} {short(x)}, got {short(actual)}"


def _holds(actual: Any, op: str, x: Any) -> bool | None:
    """Return whether an operator holds, of a table for each element; None where it has none."""
    compare = _OPERATORS[op]
    if op in _OF_ELEMENTS and is_table(actual) and not (is_table(x) or _is_many(x)):
        columns = _columns(actual)
        found = (compare(one, x) for column in columns for one in _elements(column, op, x))
        return all(found) if any(map(len, columns)) else None
    holds = compare(actual, x)
    if kind_of(holds) in ("frame", "series") or is_polars(holds):
        fill = holds.fill_null if is_polars(holds) else holds.fillna
        holds = fill(False).to_numpy()
    if not kind_of(holds):
        return bool(holds)
    return bool(holds.all()) if holds.size else None


def _columns(table: Any) -> list[Any]:
    """Return the elements of an array or a table as lists and flat arrays."""
    if is_polars(table):
        return [items for _, _, items in exact_columns(table)]
    if kind_of(table) == "frame":
        return [part for at in range(table.shape[1]) for part in _columns(table.iloc[:, at])]
    if kind_of(table) == "array":
        return [sys.modules["numpy"].ravel(plain_array(table))]
    return [table.to_numpy() if table.dtype.kind in _NUMBERS else table.tolist()]


def _elements(column: Any, op: str, x: Any) -> list[Any]:
    """Return the elements to ask; for `!=` those that may equal the value, each once."""
    if kind_of(column):
        is_number = type(x) is float or (type(x) is int and x.bit_length() < 64)
        if op == "!=" and is_number and column.dtype.kind in _NUMBERS:
            column = column[column == x if x == x else column != column]
        column = plain_items(column)
    if op != "!=":
        return column
    try:
        leaves = Leaves(column)
        return [leaves.find(x), *leaves.others(x)]
    except Exception:  # noqa: BLE001  hashing is code of the values' classes
        return column


def lacks(settled: RunView, actual: Any, item: Any, where: str) -> str | None:
    """Report that a value does not hold an item; nothing if it does."""
    if isinstance(actual, str):
        is_there = _in_text(settled, actual, item, where)
    elif is_map(actual):
        is_there = key_finder(actual)(item) in actual
    elif (items := _items(actual)) is None:
        return f"{where}: a {type(actual).__name__} holds no items"
    else:
        is_there = any(
            equal(unmasked(settled, f"{where}[{at}]", item, one), one)
            for at, one in enumerate(items)
        )
    return None if is_there else f"{where}: {short(item)} is not in it"


def _in_text(settled: RunView, actual: str, item: Any, where: str) -> bool:
    if not isinstance(item, str):
        return False
    if not has_marker(item):
        return item in actual
    shown, hidden = shown_at(parse_path(where), actual, settled.secrets)
    return bool(hidden) and isinstance(shown, str) and item in shown and item not in actual


def _items(value: Any) -> Iterable[Any] | None:
    kind = kind_of(value)
    if is_polars(value):
        return value.columns if is_polars(value, "DataFrame") else value.to_list()
    if kind == "array":
        return plain_array(value).ravel().tolist()
    if kind is not None:
        return list(value.columns) if kind == "frame" else value.tolist()
    cls = real_class(value)
    return value if hasattr(cls, "__iter__") and hasattr(cls, "__len__") else None


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda actual, x: compare(plain_scalar(actual), _rounded(coerce(x, actual), actual))


def _rounded(x: Any, actual: Any) -> Any:
    """Return a value to order by; a float as the short floats of numpy hold it, that can."""
    if type(x) is float and is_array_scalar(actual) and actual.dtype.char in "ef":
        most = float(sys.modules["numpy"].finfo(actual.dtype).max)
        x = type(actual)(x) if abs(x) <= most else x
    return plain_scalar(x)


def _is_many(value: Any) -> TypeGuard[Iterable[Any]]:
    return is_row(value) or is_set(value) or is_map(value)


def _is_in(actual: Any, x: Any) -> bool:
    if isinstance(x, str):
        return isinstance(actual, str) and actual in x
    if not _is_many(x):
        raise TypeError(f"a {type(x).__name__} holds no items")
    return any(equal(item, actual) for item in x)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "!=": lambda actual, x: not equal(x, actual),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "in": _is_in,
    "not_in": lambda actual, x: not _is_in(actual, x),
    "is_close": lambda actual, x: math.isclose(actual, coerce(x, actual)),
}
_OF_ELEMENTS = ("!=", "is_close")
"""The operators that do not take a table themselves."""
_NUMBERS = "iuf"
"""The kinds of the numbers of numpy that have an order."""
OPERATORS = ("==", *_OPERATORS)
_NAMES = ", ".join(OPERATORS)
