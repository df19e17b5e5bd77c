"""What is known of arrays and frames without running code of the person's: shape, labels, dtypes.

numpy, pandas and polars are found through `sys.modules`; nothing is imported.
"""

import re
import sys
from collections.abc import Callable
from typing import Any

from repl_pair.runtime.values.classes import is_exactly, is_genuine, is_of, is_polars, real_class

_TABLES, _OF_NUMPY = ("numpy", "pandas"), ("ndarray", "void")
_WIDTH = re.compile(r"(?<=[<>|=][SUV])\d+")
_MOMENT = re.compile(r"-?[0-9]+(-[0-9]{2}){0,2}([T ][0-9:.]*)?")
"""What numpy reads without a warning in the person's kernel: no zone."""


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
    mask = _rows_with_any(mask)
    return mask if mask.any() else None


def _rows_with_any(mask: Any) -> Any:
    if not mask.dtype.names:
        return mask
    fields = [_rows_with_any(mask[name]) for name in mask.dtype.names]
    rows = [field.any(axis=tuple(range(mask.ndim, field.ndim))) for field in fields]
    return sys.modules["numpy"].logical_or.reduce(rows)


def items_of(array: Any) -> Any:
    """Return the items of an array as lists; of masked fields with parts numpy makes none."""
    masked, dtype = sys.modules.get("numpy.ma"), array.dtype
    fields = [dtype.fields[name][0] for name in dtype.names or ()]
    is_nested = any(field.names or field.shape for field in fields)
    if masked is None or not is_nested or not is_of(array, masked.MaskedArray):
        return array.tolist()
    return _without(array.data.tolist(), masked.getmaskarray(array).tolist())


def _without(part: Any, masked: Any) -> Any:
    if real_class(masked) is _class_of("ndarray"):
        return sys.modules["numpy.ma"].MaskedArray(part, masked)
    if is_exactly(masked, list, tuple):
        return real_class(masked)(map(_without, part, masked))
    return None if masked is True else part


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


def named_fields(dtype: Any) -> Callable[[Any], Any] | None:
    """Return what makes a dict of a row of fields, and so of what stands in it; else None."""
    if not (names := dtype.names):
        return None
    read = fields_read(dtype, named_fields)
    return lambda row: dict(zip(names, read(row) if read else row, strict=True))


def fields_read(
    dtype: Any, reader: Callable[[Any], Callable[[Any], Any] | None]
) -> Callable[[Any], list[Any]] | None:
    """Return what reads a row by what `reader` makes of the dtypes of its fields, if of any."""
    found = ((at, reader(dtype.fields[name][0])) for at, name in enumerate(dtype.names))
    readers = [(at, read) for at, read in found if read is not None]

    def read_row(row: Any) -> list[Any]:
        cells = list(row)
        for at, read in readers:
            cells[at] = read(cells[at])
        return cells

    return read_row if readers else None


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
