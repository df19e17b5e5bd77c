"""What is known of arrays and frames without running code of the person's: shape, labels, secrets.

numpy, pandas and polars are found through `sys.modules`; nothing is imported.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from repl_pair.runtime.values.classes import is_exactly, is_genuine, is_of, is_polars, real_class
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.library import columns_of
from repl_pair.runtime.values.marks import NAME_SLOTS, is_secret_label, names_secret

_TABLES, _OF_NUMPY = ("numpy", "pandas"), ("ndarray", "void")
_WIDTH = re.compile(r"(?<=[<>|=][SUV])\d+")
_MOMENT = re.compile(r"-?[0-9]+(-[0-9]{2}){0,2}([T ][0-9:.]*)?")
"""What numpy reads without a warning in the person's kernel: no zone."""
MAX_NAMES = 100_000
"""Of a table that has names beside values, how many different ones are looked at."""
A_SECRET = "secret"
"""Stands for names that were not looked at: each may be that of a secret."""


def is_null(value: Any) -> bool:
    """Return whether a cell holds nothing: None, NaN, or a mark of pandas that it is missing."""
    if value is None or is_exactly(value, float, str, int):
        return value is None or value != value
    pandas = sys.modules.get("pandas")
    return any(value is getattr(pandas, mark, is_null) for mark in ("NaT", "NA"))


def is_plain_table(value: Any) -> bool:
    """Return whether a value is a frame, series or index all of whose parts are the libraries'.

    What is in its cells and labels may be anything. Of any other table, methods of the person's
    classes would run: of a subclass, of their index or array, of a name, which pandas hashes.
    """
    cls = real_class(value)
    if not is_genuine(cls, "pandas"):
        return False
    pandas = sys.modules["pandas"]
    if is_of(value, pandas.Index) and not all(map(_is_plain_name, value.names)):
        return False
    if is_of(value, pandas.MultiIndex):
        return all(map(is_plain_table, value.levels))
    if is_of(value, pandas.Index):  # of a range, the array would be made
        return cls is pandas.RangeIndex or is_genuine(real_class(value.array), *_TABLES)
    if cls is pandas.Series and not _is_plain_name(value.name):
        return False
    if cls is not pandas.DataFrame and cls is not pandas.Series:
        return False
    arrays, axes = value._mgr.arrays, value._mgr.axes
    plain = (is_genuine(real_class(part), *_TABLES) for part in arrays)
    return all(plain) and all(map(is_plain_table, axes))


def _is_plain_name(name: Any) -> bool:
    cls = real_class(name)
    if cls is tuple:
        return all(map(_is_plain_name, name))
    return name is None or is_genuine(cls, "builtins", "datetime", *_TABLES)


def shape_of_table(value: Any) -> list[int] | None:
    """Return the shape of an array or table, None for what is none or has code of its own."""
    numpy = sys.modules.get("numpy")
    for base in () if numpy is None else (numpy.ndarray, numpy.generic):
        if is_of(value, base):
            return list(base.shape.__get__(value))
    return list(value.shape) if is_polars(value) or is_plain_table(value) else None


def masked_cells(value: Any) -> Any:
    """Return which cells of an array are masked, of rows of fields those with any; else None."""
    numpy, masked = sys.modules["numpy"], sys.modules.get("numpy.ma")
    if masked is None or real_class(value) is not masked.MaskedArray:
        return None  # of a subclass, code of the person's would run
    mask: Any = numpy.asarray(masked.getmaskarray(value))
    if mask.dtype.names:
        mask = numpy.logical_or.reduce([mask[name] for name in mask.dtype.names])
    return mask if mask.any() else None


def label_positions(labels: Any, key: Any) -> list[int]:
    """Return where a key stands in the index of a plain table; no label is hashed or compared."""
    if getattr(labels, "tz", None) is None and labels.dtype.kind == "M" and type(key) is str:
        if (moment := _moment(key)) is None:
            return []
        numpy = sys.modules["numpy"]
        unit, _ = numpy.datetime_data(moment.dtype)  # a day or month is all that stands in it
        at = numpy.asarray(labels).astype(f"datetime64[{unit}]") == moment
        return at.nonzero()[0].tolist()
    if is_genuine(real_class(labels.dtype), "numpy") and labels.dtype.kind in "iufbM":
        if type(key) is not int or labels.dtype.kind not in "iu":
            return []
        return (sys.modules["numpy"].asarray(labels) == key).nonzero()[0].tolist()
    return [at for at, one in enumerate(labels.tolist()) if type(one) is type(key) and one == key]


def _moment(text: str) -> Any:
    try:
        return sys.modules["numpy"].datetime64(text) if _MOMENT.fullmatch(text) else None
    except ValueError:
        return None


def dtype_text(dtype: Any) -> str:
    """Return a dtype as text; without the width of texts and bytes, the length of the longest."""
    if names := getattr(dtype, "names", None):
        return ", ".join(f"{name}: {dtype_text(dtype.fields[name][0])}" for name in names)
    return _WIDTH.sub("", str(dtype))


def secret_cells(value: Any, rows: int) -> list[Any]:
    """Return what stands under the names of secrets in the first rows of a plain table."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy and real_class(value) is numpy.ndarray and value.dtype.names:
        return [cell for field in _secret_fields(value) for cell in field.ravel()[:rows].tolist()]
    if is_polars(value):
        columns = columns_of(value.head(rows))
        return [cell for name, _, items in columns if is_secret_label(name) for cell in items]
    if not is_plain_table(value) or (pandas and is_of(value, pandas.Index)):
        return []
    first = value.iloc[:rows]
    labels: list[Any] = first.index.tolist()
    labelled = [at for at, label in enumerate(labels) if is_secret_label(label)]
    named: list[Any] = labels if any(map(is_secret_label, first.index.names)) else []
    if pandas and real_class(value) is pandas.Series:
        cells = first.tolist()
        return named + (cells if is_secret_label(value.name) else [cells[at] for at in labelled])
    names = enumerate(first.columns.tolist())
    columns = [first.iloc[:, at].tolist() for at, label in names if is_secret_label(label)]
    rows_of = [first.iloc[at].tolist() for at in labelled]
    return [cell for cells in (named, *columns, *rows_of) for cell in cells]


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


def hide_beside(names: Sequence[Any], columns: list[list[Any]]) -> list[list[Any]]:
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
    return cell is True or cell is False or is_null(cell)


def _is_value(label: Any) -> bool:
    return type(label) is str and label == "value"


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


def _slots_of_names(labels: Sequence[Any]) -> list[int]:
    texts = [label if type(label) is str else "" for label in labels]
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


def named_fields(row: Any, dtype: Any) -> Any:
    """Return a row of an array as a dict where its dtype has names, and so what stands in it."""
    if not dtype.names:
        return row
    named = zip(dtype.names, row, strict=True)
    return {name: named_fields(cell, dtype.fields[name][0]) for name, cell in named}


def is_plain(value: Any, *names: str) -> bool:
    """Return whether a value is exactly an `ndarray`, a `DataFrame` or such, all the library's."""
    name = next((name for name in names if real_class(value) is _class_of(name)), "")
    return name in _OF_NUMPY or (bool(name) and is_plain_table(value))


def is_plain_index(value: Any) -> bool:
    """Return whether a value is an index of pandas, all the library's."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and is_of(value, pandas.Index) and is_plain_table(value)


def column_names(value: Any) -> list[Any]:
    """Return the labels of the columns of a frame; none of any other value."""
    if is_polars(value, "DataFrame"):
        return value.columns
    return value.columns.tolist() if is_plain(value, "DataFrame") else []


def _class_of(name: str) -> Any:
    return getattr(sys.modules.get("numpy" if name in _OF_NUMPY else "pandas"), name, _class_of)
