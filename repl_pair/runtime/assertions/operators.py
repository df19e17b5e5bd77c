"""Operators and membership, for values of any kind."""

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, cast

from repl_pair.errors import did_you_mean
from repl_pair.runtime.assertions.coercion import coerce, key_finder, plain_scalar
from repl_pair.runtime.assertions.comparison import equal, short
from repl_pair.runtime.assertions.verdicts import has_marker, shown_at, unmasked
from repl_pair.runtime.assertions.view import RunView
from repl_pair.runtime.values.classes import (
    is_map,
    is_polars,
    is_row,
    is_set,
    kind_of,
    real_class,
)
from repl_pair.runtime.values.paths import parse_path
from repl_pair.runtime.values.value_parts import plain_array


def unlike(actual: Any, op: str, x: Any, where: str) -> str | None:
    """Report that a value does not stand to another as an operator asks; nothing if it does."""
    if op not in _OPERATORS:
        return f"there is no operator {op!r}.{did_you_mean(op, OPERATORS)} There are {_NAMES}."
    try:
        holds = _OPERATORS[op](actual, x)
        if kind_of(holds) in ("frame", "series") or is_polars(holds):
            fill = holds.fill_null if is_polars(holds) else holds.fillna
            holds = fill(op == "!=").to_numpy()  # what is missing differs, as NaN does
        if kind_of(holds) and not holds.size:
            return f"{where}: {short(actual)} has no element that is {op} {short(x)}"
        holds = bool(holds.all()) if kind_of(holds) else bool(holds)
    except Exception as error:  # noqa: BLE001  operators are code of the values' classes
        return f"{where}: {short(actual)} {op} {short(x)} raised {type(error).__name__}"
    return None if holds else f"{where}: expected a value {op} {short(x)}, got {short(actual)}"


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
    return lambda actual, x: compare(plain_scalar(actual), plain_scalar(coerce(x, actual)))


def _differs(actual: Any, x: Any) -> Any:
    """Compare each element of an array or a column with one value, as the orders do."""
    is_whole = is_row(x) or is_map(x) or is_set(x) or kind_of(x) or is_polars(x)
    if is_whole or not (kind_of(actual) or is_polars(actual)):
        return not equal(x, actual)
    return actual != coerce(x, actual)


def _is_in(actual: Any, x: Any) -> bool:
    if isinstance(x, str):
        return isinstance(actual, str) and actual in x
    if not (is_row(x) or is_set(x) or is_map(x)):
        raise TypeError(f"a {type(x).__name__} holds no items")
    return any(equal(item, actual) for item in cast("Iterable[Any]", x))


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "!=": _differs,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "in": _is_in,
    "not_in": lambda actual, x: not _is_in(actual, x),
    "is_close": lambda actual, x: math.isclose(actual, coerce(x, actual)),
}
OPERATORS = ("==", *_OPERATORS)
_NAMES = ", ".join(OPERATORS)
