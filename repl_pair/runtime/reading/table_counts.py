"""What is counted in an array or frame: the nulls of its columns, their least and greatest."""

import sys
from collections.abc import Callable, Collection
from typing import Any

from repl_pair.runtime.reading.fields import Pairs
from repl_pair.runtime.reading.parts import key_text
from repl_pair.runtime.reading.table_views import SHOWN_COLUMNS
from repl_pair.runtime.reading.tables import dtype_text, is_null, is_plain_table, masked_cells
from repl_pair.runtime.values.classes import is_of, is_polars, real_class
from repl_pair.runtime.values.marks import NAME_SLOTS, is_secret_label
from repl_pair.wire import REDACTED

MAX_CELLS = 2_000_000
"""Cells of a table past which nothing is counted."""
MAX_LABELS = 10_000
"""Labels among which names of secrets are looked for; beside more of them nothing is counted."""
_ORDERED = "iufM"
"""Kinds of dtype that have a least and a greatest: numbers and moments."""
_PLAIN_LABELS = "iufbM"

Counted = dict[str, Any]


def count_cells(value: Any, hidden: Collection[str] = ()) -> Counted:
    """Return dtype, nulls, least and greatest: of an array or series, or of columns by their name.

    Of what stands under the name of a secret or under `hidden` nothing is counted; of a row that
    has one neither, so that there is no least and greatest either. Nothing for any other value,
    nor where the person changes it meanwhile.
    """
    try:
        if is_polars(value, "DataFrame"):
            columns = value.get_columns()[:SHOWN_COLUMNS]
            return _count_columns(value, [one.name for one in columns], columns, hidden, True)
        if is_polars(value):
            return {} if hidden or is_secret_label(value.name) else _count(value)
        numpy = sys.modules.get("numpy")
        if numpy and is_of(value, numpy.ndarray):
            plain = numpy.ndarray.view(value, numpy.ndarray)
            if hidden or plain.size > MAX_CELLS:
                return {}
            return _count_array(plain, masked_cells(value))
        return _count_pandas(value, hidden) if is_plain_table(value) else {}
    except Exception:  # noqa: BLE001  the person's code may change it meanwhile
        return {}


def _count_pandas(value: Any, hidden: Collection[str]) -> Counted:
    pandas = sys.modules["pandas"]
    if real_class(value) is pandas.DataFrame:
        small = value.iloc[:, :SHOWN_COLUMNS]
        names = small.columns.tolist()
        columns = [small.iloc[:, at] for at in range(len(names))]
        return _count_columns(value, names, columns, hidden, _has_plain_labels(value.index))
    is_index = is_of(value, pandas.Index)
    names = value.names if is_index else [value.name]
    is_hidden = bool(hidden) or any(map(is_secret_label, names)) or len(value) > MAX_CELLS
    if is_hidden or not (is_index or _has_plain_labels(value.index)):
        return {}
    return _count(value)


def _count_columns(
    value: Any, names: list[Any], columns: list[Any], hidden: Collection[str], is_counted: bool
) -> Counted:
    is_counted = is_counted and len(value) * len(columns) <= MAX_CELLS
    named = any(slot in NAME_SLOTS for slot in names if type(slot) is str)

    def count(name: Any, column: Any) -> Any:
        if is_secret_label(name) or key_text(name) in hidden or "*" in hidden:
            return REDACTED
        is_named = named and name == "value"
        return _count(column) if is_counted and not is_named else {"dtype": _dtype_of(column)}

    pairs = zip(names, columns, strict=True)
    return {"columns": Pairs([(name, count(name, column)) for name, column in pairs])}


def _count(column: Any) -> Counted:
    count = _count_polars_cells if is_polars(column) else _count_pandas_cells
    return {"dtype": _dtype_of(column)} | count(column)


def _dtype_of(column: Any) -> str:
    return str(column.dtype) if is_polars(column) else dtype_text(column.dtype)


def _count_array(plain: Any, masked: Any) -> Counted:
    numpy, kind = sys.modules["numpy"], plain.dtype.kind
    if kind not in _ORDERED:
        return {}
    null = numpy.isnan(plain) if kind == "f" else numpy.isnat(plain) if kind == "M" else False
    null = null if masked is None else masked | null
    known = plain if null is False else plain[~null]
    show = numpy.datetime_as_string if kind == "M" else None
    return _counted(plain.size - known.size, known.ravel(), show)


def _count_pandas_cells(column: Any) -> Counted:
    if str(column.dtype) == "object":  # pandas would compare objects of the person's
        return _counted(sum(map(is_null, column.tolist())))
    if hasattr(column.array, "codes"):  # categories may be objects of the person's
        return _counted(int((column.array.codes == -1).sum()))
    plain = sys.modules["pandas"].Series(column.array)  # without a label or name to hash
    known = plain.dropna()
    return _counted(len(plain) - len(known), known if column.dtype.kind in _ORDERED else ())


def _count_polars_cells(column: Any) -> Counted:
    dtype, nulls = column.dtype, column.null_count()
    if dtype.is_float():
        nulls, column = nulls + int(column.is_nan().sum()), column.drop_nans()
    return _counted(nulls, column.drop_nulls() if dtype.is_numeric() or dtype.is_temporal() else ())


def _counted(nulls: int, known: Any = (), show: Callable[[Any], Any] | None = None) -> Counted:
    out: Counted = {"nulls": nulls} if nulls else {}
    if len(known):
        ends = {"min": known.min(), "max": known.max()}
        out |= {name: str(show(end)) for name, end in ends.items()} if show else ends
    return out


def _has_plain_labels(index: Any) -> bool:
    """Return whether no label of a row, nor the name of the labels, is the name of a secret."""
    if any(map(is_secret_label, index.names)):
        return False
    if not is_of(index, sys.modules["pandas"].MultiIndex) and index.dtype.kind in _PLAIN_LABELS:
        return True
    return len(index) <= MAX_LABELS and not any(map(is_secret_label, index.tolist()))
