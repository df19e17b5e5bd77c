"""Arrays and frames compared by content; dtypes count between live ones, not for JSON."""

import sys
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from repl_pair.runtime.values.classes import is_instance_of, is_polars, kind_of, real_class
from repl_pair.runtime.values.library import exact_columns
from repl_pair.runtime.values.value_parts import added_fields, plain_array

Differ = Callable[[Any, Any, str], str | None]
"""Gives the first difference of two parts at a path, None where they are equal."""

_NO_NUMBER = "OV"
_PLAIN = frozenset(
    map(id, (type(None), bool, int, float, str, bytes, Decimal, date, timedelta, UUID))
)


def table_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    """Return the first difference where one of the two is a table, the other perhaps JSON."""
    wanted, found = kind_of(expected), kind_of(actual)
    if wanted is not None and wanted != found:
        return at_place(path, f"expected {wanted}, got {found or type(actual).__name__}")
    if wanted is not None and (added := differ(added_fields(expected), added_fields(actual), path)):
        return added
    if found == "array":
        return _array_difference(expected, actual, path, differ)
    if found == "frame":
        return _frame_difference(expected, actual, path, differ)
    if wanted == found == "index":
        # Of empty ones only pandas knows which are equal.
        if expected.dtype.kind != actual.dtype.kind and not expected.equals(actual):
            return _unlike("dtype", expected, actual, path)
        return labels_difference(expected, actual, path, differ)
    return _series_difference(expected, actual, path, differ)


def polars_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    """Return the first difference where one of the two is of polars, the other perhaps JSON."""
    if is_polars(expected) and real_class(expected) is not real_class(actual):
        wanted, found = (real_class(one).__name__ for one in (expected, actual))
        return at_place(path, f"expected {wanted} of polars, got {found}")
    is_frame, columns = is_polars(actual, "DataFrame"), exact_columns(actual)
    if not is_polars(expected):
        by_name = {name: items for name, _, items in columns}
        rows = zip(*by_name.values(), strict=True)
        by_row = (
            [dict(zip(by_name, row, strict=True)) for row in rows] if is_frame else columns[0][2]
        )
        return differ(expected, by_name if isinstance(expected, Mapping) else by_row, path)
    wanted = exact_columns(expected)
    if is_frame and (labels := differ(expected.columns, actual.columns, f"{path}.columns")):
        return labels
    if not is_frame and (names := name_difference(expected, actual, path, differ)):
        return names
    for (_, dtype, items), (name, got, found) in zip(wanted, columns, strict=True):
        place = f"{path}.{name}" if is_frame else path
        if dtype != got:
            return at_place(place, f"expected dtype {dtype}, got {got}")
        if apart := differ(items, found, place):
            return apart
    return None


def _array_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    if kind_of(expected) != "array":
        return differ(expected, plain_items(actual), path)
    expected, actual = plain_array(expected), plain_array(actual)
    for word in ("dtype", "shape"):
        if getattr(expected, word) != getattr(actual, word):
            return _unlike(word, expected, actual, path)
    if masks := mask_difference(expected, actual, path):
        return masks
    if actual.dtype.kind in _NO_NUMBER:
        return differ(expected.tolist(), actual.tolist(), path)
    same = where_unmasked(same_cells(expected, actual))
    if same.all():
        return None
    place = _first_place(~same)
    return differ(expected[place], actual[place], path + "".join(f"[{at}]" for at in place))


def same_cells(expected: Any, actual: Any) -> Any:
    """Return which cells of two arrays are the same, NaN too, of complex ones part by part."""
    if actual.dtype.kind == "c":
        return same_cells(expected.real, actual.real) & same_cells(expected.imag, actual.imag)
    same = expected == actual
    may_be_nan = actual.dtype.kind in "fmM"
    return same | ((expected != expected) & (actual != actual)) if may_be_nan else same


def plain_items(array: Any) -> Any:
    """Return the items of an array; moments that datetime would round stay those of numpy."""
    array = plain_array(array)
    if array.dtype.kind not in "mM":
        return array.tolist()
    coarse = array.astype(f"{array.dtype.kind}8[us]")
    return _scalars(array) if ((coarse != array) & (array == array)).any() else coarse.tolist()


def _scalars(array: Any) -> Any:
    if array.ndim:
        return [_scalars(part) for part in array]
    return None if array != array else array[()]


def mask_difference(expected: Any, actual: Any, path: str) -> str | None:
    """Return the first item that is masked in only one of two arrays of a shape."""
    if not any(is_instance_of(one, "numpy.ma", "MaskedArray") for one in (expected, actual)):
        return None
    masks: Any = sys.modules["numpy.ma"].getmaskarray
    unlike = masks(expected) != masks(actual)
    if not unlike.any():
        return None
    place = _first_place(unlike)
    words = (
        ("a masked item", "one that is not") if masks(expected)[place] else ("an item", "a mask")
    )
    where = path + "".join(f"[{at}]" for at in place)
    return at_place(where, f"expected {words[0]}, got {words[1]}")


def where_unmasked(same: Any) -> Any:
    """Return which items are the same, those that are masked among them."""
    is_masked = is_instance_of(same, "numpy.ma", "MaskedArray")
    return same.filled(True) if is_masked else same


def _first_place(marks: Any) -> tuple[int, ...]:
    return tuple(int(at[0]) for at in marks.nonzero()) if marks.ndim else ()


def _series_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    if kind_of(expected) is None:
        by_label = isinstance(expected, Mapping) and kind_of(actual) == "series"
        if by_label and (repeated := repeated_label(actual.index, path)):
            return repeated
        return differ(expected, actual.to_dict() if by_label else actual.tolist(), path)
    if expected.dtype != actual.dtype:
        return _unlike("dtype", expected, actual, path)
    labels = None
    if kind_of(expected) == "series" and kind_of(actual) == "series":
        labels = name_difference(expected, actual, path, differ) or labels_difference(
            expected.index, actual.index, f"{path}.index", differ
        )
    return labels or _item_difference(expected, actual, path, differ)


def _item_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    if _are_equal(expected, actual):
        return None
    return differ(expected.tolist(), actual.tolist(), path)


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether the items are surely equal: pandas takes True for 1 among objects."""
    if not one.equals(other):
        return False
    if not any(map(_is_vague, (one.dtype, other.dtype))):
        return True
    kinds, others = ([id(real_class(item)) for item in items.tolist()] for items in (one, other))
    return kinds == others and _PLAIN.issuperset(kinds)


def _is_vague(dtype: Any) -> bool:
    """Return whether pandas takes items for equal that are not: 1 and True, and any complex NaN."""
    return str(dtype) == "object" or dtype.kind == "c"


def labels_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    """Return the first difference of two indexes; how a text is stored does not count."""
    if names := name_difference(expected, actual, path, differ):
        return names
    levels = list(zip(_levels(expected), _levels(actual), strict=False))
    for one, other in levels:
        are_objects = one.dtype.kind == other.dtype.kind == "O"
        if len(one) and len(other) and one.dtype != other.dtype and not are_objects:
            return _unlike("dtype", one, other, path)
    if expected.nlevels == actual.nlevels and all(_are_equal(*pair) for pair in levels):
        return None
    return differ(expected.tolist(), actual.tolist(), path)


def name_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    """Return the first difference of the names of two live series, or of the levels of indexes."""
    if kind_of(expected) == "index":
        return differ([*expected.names], [*actual.names], f"{path}.names")
    return differ(expected.name, actual.name, f"{path}.name")


def _levels(index: Any) -> list[Any]:
    return [index.get_level_values(at) for at in range(index.nlevels)]


def repeated_label(labels: Any, path: str) -> str | None:
    """Refuse what JSON cannot be compared with: a table that has two values under one label."""
    if labels.is_unique:
        return None
    again = labels[labels.duplicated()][0]
    return at_place(path, f"the label {again!r} stands there twice: compare it with a table")


def _frame_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    if kind_of(expected) != "frame":
        if repeated := repeated_label(actual.columns, path):
            return repeated
        if isinstance(expected, Mapping):
            return differ(expected, {c: actual[c] for c in actual.columns}, path)
        rows = zip(*(column.tolist() for column in _columns(actual)), strict=True)
        return differ(expected, [dict(zip(actual.columns, row, strict=True)) for row in rows], path)
    for word in ("columns", "index"):
        wanted, got = getattr(expected, word), getattr(actual, word)
        if labels := labels_difference(wanted, got, f"{path}.{word}", differ):
            return labels
    if expected.equals(actual) and not any(map(_is_vague, expected.dtypes)):
        return None
    pairs = zip(actual.columns, _columns(expected), _columns(actual), strict=True)
    found = (_column_difference(e, a, f"{path}.{name}", differ) for name, e, a in pairs)
    return next((text for text in found if text), None)


def _column_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    if expected.dtype != actual.dtype:
        return _unlike("dtype", expected, actual, path)
    return _item_difference(expected, actual, path, differ)


def _columns(frame: Any) -> list[Any]:
    return [frame.iloc[:, i] for i in range(frame.shape[1])]


def _unlike(word: str, expected: Any, actual: Any, path: str) -> str:
    return at_place(path, f"expected {word} {getattr(expected, word)}, got {getattr(actual, word)}")


def at_place(path: str, what: str) -> str:
    """Return a sentence that starts with its path, if that is not the root."""
    return f"{path}: {what}" if path else what
