"""What is shown of an array or frame: its shape, and rows of both ends with their labels."""

import sys
from collections.abc import Callable
from typing import Any

from repl_pair.runtime.reading.fields import Pairs
from repl_pair.runtime.reading.table_names import hide_beside, hide_labelled, shown_columns
from repl_pair.runtime.reading.tables import (
    column_names,
    dtype_text,
    is_null,
    is_plain,
    is_plain_table,
    masked_cells,
    named_fields,
    shape_of_table,
)
from repl_pair.runtime.values.classes import is_of, is_polars, name_of, real_class
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.library import columns_of
from repl_pair.runtime.values.marks import is_secret_label

END_ROWS = 5
"""Rows, or items, that are shown of each end; of no more than two ends of it, all."""
_MAX_CELLS = 400
"""Cells, or items, that are shown where more is asked for."""
SHOWN_COLUMNS, OUTLINED_COLUMNS = 20, 12


def show_array(value: Any, rows: int = END_ROWS) -> dict[str, Any]:
    """Return what is shown of an array of numpy: of a grid its rows, else its items."""
    base = sys.modules["numpy"].ndarray
    plain = base.view(value, base)
    name_fields = named_fields(plain.dtype)
    is_grid = plain.ndim == 2 and not name_fields
    mask = masked_cells(value)

    def cut(array: Any, part: slice) -> Any:
        return array[part, :SHOWN_COLUMNS] if is_grid else array.flat[part]

    def read(part: slice) -> Any:
        some = cut(plain, part)
        if plain.dtype.kind == "M":  # of nanoseconds, a list of it would hold whole numbers
            texts = sys.modules["numpy"].datetime_as_string(some).astype(object)
            texts[sys.modules["numpy"].isnat(some)] = None
            some = texts
        if name_fields:
            rows = [name_fields(row) for row in some.tolist()]
            hidden = [False] * len(rows) if mask is None else cut(mask, part).tolist()
            return [None if is_hidden else row for row, is_hidden in zip(rows, hidden, strict=True)]
        if mask is not None:
            some = some.astype(object)
            some[cut(mask, part)] = None
        return [list(map(_cell, row)) if is_grid else _cell(row) for row in some.tolist()]

    out = {"type": "ndarray", "dtype": dtype_text(plain.dtype), "shape": list(plain.shape)}
    return out | _ends(len(plain) if is_grid else plain.size, read, rows)


def show_frame(value: Any, rows: int = END_ROWS) -> Any:
    """Return what is shown of a frame of pandas: its first columns, index and rows."""
    if not is_plain_table(value):
        return f"<{name_of(real_class(value))}>"
    small = value.iloc[:, shown_columns(value.columns.tolist(), SHOWN_COLUMNS)]
    names = small.columns.tolist()
    labels = names[:SHOWN_COLUMNS]

    def read(part: slice) -> Any:
        some = small.iloc[part]
        columns = [list(map(_cell, some.iloc[:, at].tolist())) for at in range(len(names))]
        return _rows(names, hide_labelled(columns, value, part))

    out: dict[str, Any] = {"type": "DataFrame", "shape": list(value.shape), "columns": labels}
    more = {"more_columns": left} if (left := value.shape[1] - len(labels)) else {}
    return (
        out | more | _show_index(value.index, rows) | _ends(len(value) if labels else 0, read, rows)
    )


def show_series(value: Any, rows: int = END_ROWS) -> Any:
    """Return what is shown of a series or index of pandas."""
    if not is_plain_table(value):
        return f"<{name_of(real_class(value))}>"
    is_index = is_of(value, sys.modules["pandas"].Index)
    names = value.names if is_index else [value.name]
    is_secret = any(map(is_secret_label, names))

    def read(part: slice) -> Any:
        some = value[part] if is_index else value.iloc[part]
        items = list(map(_cell, some.tolist()))
        if is_secret:
            return Secret(items)
        return items if is_index else hide_labelled([items], value, part)[0]

    out = {"type": name_of(real_class(value)), "dtype": dtype_text(value.dtype)}
    out |= {"shape": [len(value)]} | ({} if value.name is None else {"name": value.name})
    return (
        out | ({} if is_index else _show_index(value.index, rows)) | _ends(len(value), read, rows)
    )


def show_polars(value: Any, rows: int = END_ROWS) -> Any:
    """Return what is shown of a frame or series of polars."""
    if not is_polars(value):
        return f"<{name_of(real_class(value))}>"
    out: dict[str, Any] = {"type": name_of(real_class(value)), "shape": list(value.shape)}

    def read_items(part: slice) -> Any:
        items = [_cell(c) for c in value[part].to_list()]
        return Secret(items) if is_secret_label(value.name) else items

    if is_polars(value, "Series"):
        out |= {"dtype": str(value.dtype), "name": value.name}
        return out | _ends(len(value), read_items, rows)
    names = value.columns[:SHOWN_COLUMNS]
    small = value[:, shown_columns(value.columns, SHOWN_COLUMNS)]

    def read_rows(part: slice) -> Any:
        columns = [list(map(_cell, one)) for _, _, one in columns_of(small[part])]
        return _rows(small.columns, columns)

    more = {"more_columns": left} if (left := value.shape[1] - len(names)) else {}
    return out | {"columns": names} | more | _ends(len(value), read_rows, rows)


def _rows(names: list[Any], columns: list[list[Any]]) -> list[Pairs]:
    """Return the rows of the columns that are shown; the others name what stands in these."""
    rows = zip(*hide_beside(names, columns), strict=True)
    return [Pairs(list(zip(names[:SHOWN_COLUMNS], row, strict=False))) for row in rows]


def show_more(value: Any) -> dict[str, Any] | None:
    """Return what is shown of a table where more than usual is asked for; None of what is none."""
    shape = shape_of_table(value)
    if not shape:
        return None
    columns = min(shape[1], SHOWN_COLUMNS) if len(shape) == 2 else 1
    rows = max(END_ROWS, _MAX_CELLS // max(1, columns) // 2)
    if is_polars(value):
        return show_polars(value, rows)
    if is_plain_table(value):
        return (show_frame if is_plain(value, "DataFrame") else show_series)(value, rows)
    return show_array(value, rows)


def outline(value: Any) -> Any:
    """Return what a list shows of a table: the columns of a frame, else the dtype.

    Any other value is given as it is.
    """
    if names := column_names(value):
        more = len(names) - OUTLINED_COLUMNS
        return {"columns": names[:OUTLINED_COLUMNS]} | ({"more_columns": more} if more > 0 else {})
    is_series = is_polars(value, "Series") or is_plain(value, "Series", "ndarray")
    return {"dtype": dtype_text(value.dtype)} if is_series else value


def _ends(size: int, read: Callable[[slice], Any], rows: int) -> dict[str, Any]:
    if size <= 2 * rows:
        return {"head": read(slice(None))}
    return {"head": read(slice(rows)), "tail": read(slice(size - rows, size))}


def _show_index(index: Any, rows: int) -> dict[str, Any]:
    """Return the labels of the rows that are shown; nothing where they are the positions."""
    pandas = sys.modules["pandas"]
    is_range = is_of(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1)
    if is_range and index.name is None:
        return {}
    is_multi = is_of(index, pandas.MultiIndex)
    names = list(index.names)

    def read(part: slice) -> Any:
        labels = [_cell(label) for label in index[part].tolist()]
        return Secret(labels) if any(map(is_secret_label, names)) else labels

    named = {"names": names} if is_multi else {"name": index.name} if names != [None] else {}
    return {"index": {"dtype": dtype_text(index.dtype)} | named | _ends(len(index), read, rows)}


def _cell(value: Any) -> Any:
    return None if is_null(value) else value
