"""The names in tables: which cells are secrets by a label, or by a name in the cell beside them.

Names and values may stand in two columns, fields or rows: `name` and `value`.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, cast

from repl_pair.runtime.reading.tables import (
    column_names,
    is_null,
    is_plain,
    is_plain_table,
    label_positions,
)
from repl_pair.runtime.values.classes import is_genuine, is_of, is_polars, real_class
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.library import columns_of
from repl_pair.runtime.values.marks import NAME_SLOTS, is_secret_label, names_secret

MAX_NAMES = 100_000
"""Of a table that has names beside values, how many different ones are looked at."""
A_SECRET = "secret"
"""Stands for names that were not looked at: each may be that of a secret."""


def secret_cells(value: Any, rows: int) -> list[Any]:
    """Return what stands at the names of secrets in the first rows of a plain table."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy and real_class(value) is numpy.ndarray and value.dtype.names:
        fields, plain = value.dtype.names, value.ravel()[:rows]
        cells = [cell for field in _secret_fields(plain) for cell in field.ravel().tolist()]
        return cells + _cells_beside(fields, [plain[name].tolist() for name in fields])
    if is_polars(value):
        columns = [cells for _, _, cells in columns_of(value.head(rows))]
        names = value.columns if is_polars(value, "DataFrame") else [value.name]
        return _cells_under(names, columns) + _cells_beside(names, columns)
    if not is_plain_table(value) or (pandas and is_of(value, pandas.Index)):
        return []
    first = value.iloc[:rows]
    labels: list[Any] = first.index.tolist()
    labelled = [at for at, label in enumerate(labels) if is_secret_label(label)]
    named: list[Any] = labels if any(map(is_secret_label, first.index.names)) else []
    if pandas and real_class(value) is pandas.Series:
        cells = first.tolist()
        return named + (cells if is_secret_label(value.name) else [cells[at] for at in labelled])
    names = first.columns.tolist()
    slots = _slots_of_names(names)
    places = [at for at, name in enumerate(names) if is_secret_label(name) or _is_value(name)]
    names = [names[at] for at in (*slots, *places)]
    columns = [first.iloc[:, at].tolist() for at in (*slots, *places)]
    of_rows = [cell for at in labelled for cell in first.iloc[at].tolist()]
    return named + of_rows + _cells_under(names, columns) + _cells_beside(names, columns)


def _cells_under(names: Sequence[Any], columns: Sequence[list[Any]]) -> list[Any]:
    named = zip(names, columns, strict=True)
    return [cell for name, cells in named if is_secret_label(name) for cell in cells]


def _cells_beside(names: Sequence[Any], columns: Sequence[list[Any]]) -> list[Any]:
    hidden = chain.from_iterable(hide_beside(names, columns))
    return [cell.value for cell in hidden if type(cell) is Secret]


def _secret_fields(array: Any) -> Iterator[Any]:
    for name in array.dtype.names or ():
        yield from [array[name]] if is_secret_label(name) else _secret_fields(array[name])


def hide_labelled(columns: list[list[Any]], table: Any, part: slice = slice(None)) -> list[Any]:
    """Return the first columns of a frame of pandas, or the one of a series, in a part of its rows.

    Cells are Secrets by the label of their row; in rows `value` by a name in the same column.
    """
    labels: list[Any] = table.index[part].tolist()
    rows = {at for at, label in enumerate(labels) if is_secret_label(label)}
    values = {at for at, label in enumerate(labels) if _is_value(label)}
    named = [any(map(names_secret, names)) for names in names_of_rows(table)] if values else []
    hidden = [rows | values if is_named else rows for is_named in named] or [rows] * len(columns)
    return [_hide_at(some, cells) for some, cells in zip(hidden, columns, strict=False)]


def hide_beside(names: Sequence[Any], columns: Sequence[list[Any]]) -> list[list[Any]]:
    """Return the columns of a frame: cells of `value` are Secrets by a name in the same row."""
    slots = [columns[at] for at in _slots_of_names(names)]
    rows = enumerate(zip(*slots, strict=True))
    secret = {at for at, cells in rows if any(map(names_secret, cells))}
    named = zip(names, columns, strict=True)
    return [_hide_at(secret, cells) if _is_value(name) else cells for name, cells in named]


def _hide_at(rows: set[int], cells: list[Any]) -> list[Any]:
    if not rows:
        return cells
    return [Secret(c) if at in rows and not is_open(c) else c for at, c in enumerate(cells)]


def is_open(cell: Any) -> bool:
    """Return whether a cell is no secret whatever its name: what is missing, or true or false."""
    if is_genuine(real_class(cell), "numpy"):
        cell = cell.item() if is_of(cell, sys.modules["numpy"].generic) else cell
    return cell is True or cell is False or is_null(cell)


def _is_value(label: Any) -> bool:
    return _slot_of(label) == "value"


def _slot_of(label: Any) -> str:
    """Return what a label may be a slot of names or values by: the last of its levels."""
    last = cast("tuple[Any, ...]", label)[-1:] if type(label) is tuple else (label,)
    return last[0] if last and type(last[0]) is str else ""


def names_of_values(table: Any) -> list[Any]:
    """Return the names in a table that has their values in another column, field or row."""
    columns = names_of_rows(table) if is_plain(table, "DataFrame", "Series") else []
    if is_plain(table, "ndarray", "void"):
        fields, plain = table.dtype.names or (), sys.modules["numpy"].asarray(table)
        columns = [plain[fields[at]].ravel().tolist() for at in _slots_of_names(fields)]
    elif names := column_names(table):
        columns += [_texts_at(table, at) for at in _slots_of_names(names)]
    return _distinct(chain.from_iterable(columns))


def _distinct(cells: Iterable[Any]) -> list[Any]:
    """Return each text among cells once, and what else may be a name; A_SECRET for too many."""
    found = dict[Any, Any]()
    for cell in cells:
        if type(cell) is str or is_of(cell, str, tuple):
            found[cell if type(cell) is str else id(cell)] = cell
        if len(found) > MAX_NAMES:
            return [A_SECRET]
    return [*found.values()]


def _texts_at(frame: Any, at: int) -> list[Any]:
    """Return the cells of a column: texts once each; of objects the hash may be the person's."""
    column = frame.to_series(at) if is_polars(frame) else frame.iloc[:, at]
    once = column.unique() if str(column.dtype) in ("str", "string", "String") else column
    return once.to_list() if is_polars(frame) else once.tolist()


def shown_columns(names: Sequence[Any], most: int) -> list[int]:
    """Return where the columns stand that are shown, and behind them others that name values."""
    shown = range(min(most, len(names)))
    return [*shown, *(at for at in _slots_of_names(names) if at >= most)]


def _slots_of_names(labels: Sequence[Any]) -> list[int]:
    texts = [_slot_of(label) for label in labels]
    return [at for at, text in enumerate(texts) if text in NAME_SLOTS] if "value" in texts else []


def names_of_rows(table: Any) -> list[list[Any]]:
    """Return the names in each column of a table of pandas that has their values in another row."""
    slots = [at for slot in NAME_SLOTS for at in label_positions(table.index, slot)]
    if not slots or not label_positions(table.index, "value"):
        return []
    width = 1 if table.ndim == 1 else table.shape[1]
    if len(slots) * width > MAX_NAMES:
        return [[A_SECRET]] * width
    cells = table.iloc[slots].to_numpy(dtype=object)
    return [cells.tolist()] if table.ndim == 1 else cells.T.tolist()
