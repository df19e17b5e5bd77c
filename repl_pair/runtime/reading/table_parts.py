"""Steps of an agent's path into arrays and frames: columns, rows by label or position, slices.

Labels are never hashed, nor compared with one of another class: they may be the person's objects.
"""

from collections import deque
from typing import Any, NamedTuple

from repl_pair.runtime.reading.table_names import A_SECRET, names_of_values
from repl_pair.runtime.reading.table_views import END_ROWS, SHOWN_COLUMNS
from repl_pair.runtime.reading.tables import (
    column_names,
    dtype_text,
    is_plain,
    is_plain_index,
    label_positions,
    shape_of_table,
)
from repl_pair.runtime.values.classes import is_exactly, is_polars
from repl_pair.runtime.values.paths import Cut, Key, whole_slice

MISSING: Any = object()
"""Stands for a part that is not there."""


class Indexer(NamedTuple):
    """What `frame.loc` and `frame.iloc` are in a path: the next step is a label or a position."""

    table: Any
    by: str


def read_part(value: Any, key: Key | Cut) -> Any:
    """Return the column, row or slice of an array or frame at a key; MISSING where it has none."""
    try:
        if _is_pandas(value):
            return _read_pandas(value, key)
        if is_polars(value):
            return _read_polars(value, key)
        if is_plain_index(value):
            cut = whole_slice(key)
            return value[key if cut is None else cut] if cut or _is_inside(value, key) else MISSING
        return _read_array(value, key) if is_plain(value, "ndarray", "void") else MISSING
    except Exception:  # noqa: BLE001  labels and columns may be objects of the person's
        return MISSING


def read_facet(value: Any, key: Key | Cut) -> Any:
    """Return `loc`, `iloc`, `columns`, `dtypes`, `index` or `shape` of a frame, or what is at one.

    MISSING where a column has that name, and for any other value or key.
    """
    if type(value) is Indexer:
        return _read_indexed(value, key if isinstance(key, tuple) else (key,))
    if not isinstance(key, str) or read_part(value, key) is not MISSING:
        return MISSING
    is_pandas = _is_pandas(value)
    if key in ("loc", "iloc") and is_pandas:
        return Indexer(value, key)
    if key == "index" and is_pandas:
        return value.index
    if key == "shape" and (is_pandas or is_polars(value) or is_plain(value, "ndarray")):
        return list(value.shape)
    names = column_names(value)
    if key == "columns" and names:
        return names
    if key == "dtypes" and names:
        return list(zip(names, map(dtype_text, value.dtypes), strict=True))
    return MISSING


def why_missing(value: Any) -> str:
    """Return why no label leads on from a table, or its `loc`: they have several levels there."""
    table, by = value if type(value) is Indexer else (value, "")
    if by == "iloc" or not _is_pandas(table):
        return ""
    axes = [table.columns] if table.ndim == 2 else []
    axes += [table.index] if by or not axes else []
    several = any(labels.nlevels > 1 for labels in axes)
    return "labels of several levels are read by position, with iloc" if several else ""


def has_slices(value: Any) -> bool:
    """Return whether parts of a value can be read by a slice: of a row or table, all the library's.

    A text has none: what is cut out of it might be a part of a secret.
    """
    if is_exactly(value, list, tuple, deque, Indexer) or _is_pandas(value):
        return True
    return is_polars(value) or is_plain_index(value) or is_plain(value, "ndarray")


def labels_beside(value: Any, key: Key | Cut) -> list[Any]:
    """Return the names of the part at a key that are not the key: of its row, column or series."""
    try:
        if type(value) is Indexer:
            labels = _labels_indexed(value, key if isinstance(key, tuple) else (key,))
            return [*labels, *names_of_values(value.table)]
        if is_plain_index(value):
            return list(value.names)
        if is_polars(value, "Series"):
            return [value.name]
        # A row of an array or of polars has its names in it.
        is_row = is_polars(value) or is_plain(value, "ndarray")
        if not is_row and not is_plain(value, "void", "DataFrame", "Series"):
            return []
        may_be_value = key == "value" or not (is_row or type(key) is str)
        names = names_of_values(value) if may_be_value else []
        if is_plain(value, "Series"):
            is_position = type(key) is int and as_read(value, key)[0] == "iloc"
            return [*names, value.name, *([value.index[key]] if is_position else [])]
        if type(key) is not int:
            return names
        if is_plain(value, "DataFrame"):
            return [*names, *value.index.names]
        return [*names, value.dtype.names[key]] if is_plain(value, "void") else names
    except Exception:  # noqa: BLE001  labels may be objects of the person's
        return [A_SECRET]


def parts_to_read(value: Any) -> list[str]:
    """Return the ends of paths to what comes after the rows that are shown, and to all columns."""
    shape = shape_of_table(value) or []
    is_long = bool(shape) and shape[0] > 2 * END_ROWS
    rows = f"[{END_ROWS}:{END_ROWS + 10}]"
    more = [f".iloc{rows}" if _is_pandas(value) else rows] if is_long else []
    return [*more, ".columns"] if len(column_names(value)) > SHOWN_COLUMNS else more


def as_read(value: Any, key: Key | Cut) -> tuple[Key | Cut, ...]:
    """Return the steps that say what a key meant: a row by its label, or by its position."""
    if type(value) is Indexer:
        return (key if isinstance(key, tuple) else (key,),)
    if type(key) is int and _is_pandas(value):
        labels = value.columns if is_plain(value, "DataFrame") else value.index
        is_label = bool(label_positions(labels, key))
        if not is_label or is_plain(value, "Series"):
            return ("loc" if is_label else "iloc", key)
    return (key,)


def _is_pandas(value: Any) -> bool:
    return is_plain(value, "DataFrame", "Series")


def _read_pandas(value: Any, key: Key | Cut) -> Any:
    if isinstance(key, tuple):
        cut = whole_slice(key)
        return MISSING if cut is None else value.iloc[cut]
    is_frame = is_plain(value, "DataFrame")
    at = label_positions(value.columns if is_frame else value.index, key)
    if at:
        of = at[0] if len(at) == 1 else at
        return value.iloc[:, of] if is_frame else value.iloc[of]
    return value.iloc[key] if _is_inside(value, key) else MISSING


def _read_polars(value: Any, key: Key | Cut) -> Any:
    if isinstance(key, tuple):
        cut = whole_slice(key)
        return MISSING if cut is None else value[cut]
    if is_polars(value, "Series"):
        return value[key] if _is_inside(value, key) else MISSING
    if key in value.columns:
        return value.get_column(key)
    return value.row(key, named=True) if _is_inside(value, key) else MISSING


def _read_array(value: Any, key: Key | Cut) -> Any:
    if isinstance(key, tuple):
        is_numbered = not any(isinstance(part, str) for part in key) and len(key) <= value.ndim
        return value[key] if is_numbered else MISSING
    named = isinstance(key, str) and key in (value.dtype.names or ())
    indexed = value.ndim > 0 and _is_inside(value, key)
    return value[key] if named or indexed else MISSING


def _is_inside(value: Any, key: Key | Cut) -> bool:
    return isinstance(key, int) and -len(value) <= key < len(value)


def _read_indexed(indexer: Indexer, parts: Cut) -> Any:
    """Read a row, or a row and a column, by labels or positions; the column comes first."""
    table, by = indexer
    try:
        if len(parts) > table.ndim:
            return MISSING
        if len(parts) == 2:
            at = _positions(table.columns, parts[1], by)
            table = MISSING if at is MISSING else table.iloc[:, at]
        if table is MISSING:
            return MISSING
        at = _positions(table.index, parts[0], by)
        return MISSING if at is MISSING else table.iloc[at]
    except Exception:  # noqa: BLE001  labels may be objects of the person's
        return MISSING


def _labels_indexed(indexer: Indexer, parts: Cut) -> list[Any]:
    table, by = indexer
    axes, names = [table.index, *([table.columns] if table.ndim == 2 else [])], list[Any]()
    for part, labels in zip(parts, axes, strict=False):
        at = _positions(labels, part, by)
        names += [labels[at]] if type(at) is int else []
    if table.ndim == 1:
        return [*names, table.name]
    # The label of a row is the name of the series that the row is given as.
    return [*names, *table.index.names] if names and len(parts) == 1 else names


def _positions(labels: Any, part: str | int | slice, by: str) -> Any:
    """Return the position, positions or slice that a part of a cut means; MISSING without any."""
    if not isinstance(part, slice):
        found = _find(labels, part, by)
        return MISSING if not found else found[0] if len(found) == 1 else found
    if by == "iloc":
        return part if whole_slice((part,)) is not None else MISSING
    ends = [None if end is None else _find(labels, end, by) for end in (part.start, part.stop)]
    if [] in ends:
        return MISSING
    start, stop = ends
    # A slice between labels has the last one too.
    return slice(start and start[0], stop and stop[-1] + 1, part.step)


def _find(labels: Any, part: str | int, by: str) -> list[int]:
    if by == "loc":
        return label_positions(labels, part)
    return [part] if isinstance(part, int) and -len(labels) <= part < len(labels) else []
