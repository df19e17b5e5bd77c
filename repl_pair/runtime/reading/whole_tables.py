"""Arrays and frames opened whole: as rows, with their labels, or the secret columns alone."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from repl_pair.runtime.reading.parts import KeyNames
from repl_pair.runtime.reading.table_names import hide_beside, hide_labelled, is_open
from repl_pair.runtime.reading.tables import items_of, named_fields
from repl_pair.runtime.values.classes import is_polars, kind_of
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.library import columns_of
from repl_pair.runtime.values.marks import is_secret_label
from repl_pair.runtime.values.value_parts import plain_array


def as_rows(table: Any) -> Any:
    """Return an array or series as its items, a frame as one mapping a row."""
    if is_polars(table, "DataFrame"):
        return table.rows(named=True)
    if kind_of(table) != "frame":
        return _items(table)
    names, columns, labels = _column_names(table), _columns(table), table.columns.tolist()
    if names != [str(label) for label in labels]:  # a row has one of two that are called alike
        columns = hide_beside(labels, columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def as_columns(table: Any) -> Any:
    """Return what stands in a table and its labels, whole."""
    if is_polars(table, "DataFrame"):
        listed = hide_beside(table.columns, [items for _, _, items in columns_of(table)])
        return {"columns": _items_by_name(table.columns, listed)}
    if kind_of(table) != "frame":
        labels = {"index": _labels(table.index)} if kind_of(table) == "series" else {}
        return {"items": _items(table)} | labels
    columns = hide_beside(table.columns.tolist(), _columns(table))
    columns = _items_by_name(_column_names(table), columns)
    return {"columns": columns, "index": _labels(table.index)}


def _columns(frame: Any) -> list[list[Any]]:
    columns = [frame.iloc[:, at].tolist() for at in range(len(frame.columns))]
    return hide_labelled(columns, frame)


def _items_by_name(names: Sequence[str], columns: list[list[Any]]) -> dict[str, Any]:
    named = zip(names, columns, strict=True)
    return {name: {"items": i} for name, i in named if not (is_secret_label(name) and _are_open(i))}


def _are_open(items: list[Any]) -> bool:
    return all(map(is_open, items))


def secret_columns(table: Any) -> Any:
    """Return the rows of the columns of a frame that are named as secrets; a series whole."""
    if kind_of(table) == "series" or is_polars(table, "Series"):
        return as_rows(table)
    if kind_of(table) in ("array", "index"):
        return []
    names = [name for name in table.columns if is_secret_label(name)]
    return as_rows(table[names]) if names else []


def _column_names(table: Any) -> list[str]:
    """Return the names of the columns of a frame, each once, as in what leaves."""
    names = KeyNames(sys.maxsize)
    return [names.fit(str(name)) for name in table.columns]


def _items(table: Any) -> Any:
    if kind_of(table) == "index":
        return _labels(table)
    if kind_of(table) == "array":
        return each_row(plain_array(table), named_fields(table.dtype))
    items = table.to_list() if is_polars(table) else table.tolist()
    if is_secret_label(table.name) and not _are_open(items):
        return Secret(items)
    return items if is_polars(table) else hide_labelled([items], table)[0]


def each_row(array: Any, read: Callable[[Any], Any] | None) -> Any:
    """Return the items of an array as lists; `read`, if there is one, gets each row of fields."""
    return items_of(array) if read is None else _each(items_of(array), array.ndim, read)


def _each(items: Any, depth: int, read: Callable[[Any], Any]) -> Any:
    return [_each(one, depth - 1, read) for one in items] if depth else read(items)


def _labels(index: Any) -> Any:
    labels = index.tolist()
    return Secret(labels) if any(map(is_secret_label, index.names)) else labels
