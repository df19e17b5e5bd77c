"""What is nearly equal: numbers within a tolerance, anywhere in nested data, arrays and frames."""

import math
import sys
from decimal import Context, Decimal, localcontext
from functools import partial
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.assertions.coercion import is_same, key_finder
from repl_pair.runtime.assertions.comparison import (
    compared_fields,
    difference,
    item_difference,
    short,
)
from repl_pair.runtime.assertions.tables import (
    mask_difference,
    name_difference,
    plain_items,
    repeated_label,
    same_cells,
    where_unmasked,
)
from repl_pair.runtime.reading.whole_tables import as_rows
from repl_pair.runtime.values import classes
from repl_pair.runtime.values.declared_fields import fields_of
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.library import all_values, columns_of, has_finer_moments
from repl_pair.runtime.values.paths import join_path
from repl_pair.runtime.values.value_parts import added_fields, plain_array

ABS, REL = 1e-12, 1e-6
_EXACT = Context(prec=50, traps=[])
"""Rounds differences of decimal numbers far below a float, whatever the person has set."""


@record
class Tolerance:
    """Two numbers are near if they differ by at most `abs`, or by `rel` of the larger one."""

    abs: float
    rel: float

    @classmethod
    def of(cls, abs: float | None, rel: float | None) -> "Tolerance":
        """Fill in what is left out (no `rel` where only `abs` is given), or raise ValueError."""
        for given in (abs, rel):
            if given is not None and not (_is_number(given) and given >= 0):
                raise ValueError(f"a tolerance is a number from 0, not {given!r}")
        if rel is None:
            rel = REL if abs is None else 0.0
        try:
            return cls(abs=float(ABS if abs is None else abs), rel=float(rel))
        except OverflowError:
            raise ValueError("a tolerance is at most 1.7e308, as floats are") from None

    def holds(self, one: Any, other: Any) -> bool:
        """Return whether two numbers are near; NaN is near NaN alone.

        Whole and decimal numbers are subtracted before they are rounded to a float.
        """
        if not (_is_exact(one) and _is_exact(other)):
            one, other = _rounded(one), _rounded(other)
        if one == other or (one != one and is_same(one, other)):
            return True
        try:
            with localcontext(_EXACT):
                far, most = float(abs(one - other)), float(max(abs(one), abs(other)))
        except OverflowError:  # whole numbers beyond all floats
            return False
        return math.isfinite(most) and far <= max(self.abs, self.rel * most)


def apart(expected: Any, actual: Any, path: str, tolerance: Tolerance) -> str | None:
    """Return the first place where two values are not nearly equal; nothing if they are."""
    expected = to_plain(expected)
    if classes.is_table(expected) or classes.is_table(actual):
        return _tables_apart(expected, actual, path, tolerance)
    one, other = _number(expected), _number(actual)
    if one is not None and other is not None:
        near = tolerance.holds(one, other)
        return None if near else f"{path}: expected about {short(expected)}, got {short(actual)}"
    if classes.is_row(expected) and classes.is_row(actual):
        return item_difference(expected, actual, path, partial(apart, tolerance=tolerance))
    expected, actual = (
        all_values(one) if classes.is_map(one) else one for one in (expected, actual)
    )
    wanted = expected if classes.is_map(expected) else fields_of(expected)
    are_maps = classes.is_map(expected) and classes.is_map(actual)
    fields = actual if are_maps else fields_of(actual)
    kinds = classes.real_class(expected), classes.real_class(actual)
    is_map = classes.is_map(expected) or classes.is_map(actual)
    if wanted is None or fields is None or not (is_map or classes.same_class(*kinds)):
        return difference(expected, actual, path)
    if not is_map:
        wanted, fields = compared_fields(expected, ()), compared_fields(actual, ())
    find = key_finder(fields)
    keys = {name: find(name) for name in wanted}
    known = [str(key if key in fields else name) for name, key in keys.items()]
    if labels := difference(sorted(known), sorted(map(str, fields)), f"{path}.keys"):
        return labels
    for name, key in keys.items():
        if key not in fields:  # its text is that of a key of another type
            return f"{path}: expected a key {short(name)}, there is none"
    found = (apart(v, fields[keys[n]], join_path(path, n), tolerance) for n, v in wanted.items())
    return next((text for text in found if text), None)


def _tables_apart(expected: Any, actual: Any, path: str, tolerance: Tolerance) -> str | None:
    if classes.kind_of(expected) == classes.kind_of(actual) and (
        added := difference(added_fields(expected), added_fields(actual), path)
    ):
        return added
    if classes.kind_of(expected) == classes.kind_of(actual) == "array":
        return _arrays_apart(plain_array(expected), plain_array(actual), path, tolerance)
    if moments := _moments_apart(expected, actual, path):
        return moments
    kind = classes.kind_of(expected)
    is_named = kind == classes.kind_of(actual) and kind in ("series", "index")
    is_named = is_named or all(classes.is_polars(one, "Series") for one in (expected, actual))
    if is_named and (names := name_difference(expected, actual, path, difference)):
        return names
    if kind == classes.kind_of(actual) and kind in _LABELS:
        for word in _LABELS[kind]:
            wanted, got, where = getattr(expected, word), getattr(actual, word), f"{path}.{word}"
            names = name_difference(wanted, got, where, difference)
            if labels := names or difference(wanted.tolist(), got.tolist(), where):
                return labels
        if kind == "frame" and not expected.columns.is_unique:
            return apart(_columns(expected), _columns(actual), path, tolerance)
    if classes.kind_of(actual) == "frame" and kind != "frame":
        if repeated := repeated_label(actual.columns, path):
            return repeated
        if classes.is_map(expected):
            actual = {str(c): actual[c].tolist() for c in actual.columns}
    if classes.is_polars(actual, "DataFrame") and classes.is_map(expected):
        actual = {name: items for name, _, items in columns_of(actual)}
    return apart(_rows(expected), _rows(actual), path, tolerance)


def _moments_apart(expected: Any, actual: Any, path: str) -> str | None:
    """Return the first difference of what has moments of polars that Python rounds."""
    if not has_finer_moments(expected) and not has_finer_moments(actual):
        return None
    if not all(classes.is_polars(one, "DataFrame") for one in (expected, actual)):
        return difference(expected, actual, path)
    shared = [name for name in expected.columns if name in actual.columns]
    found = (_moments_apart(expected[n], actual[n], f"{path}.{n}") for n in shared)
    return next((text for text in found if text), None)


def _rows(value: Any) -> Any:
    if classes.kind_of(value) == "array":
        return plain_items(value)
    return as_rows(value) if classes.is_table(value) else value


def _columns(frame: Any) -> list[Any]:
    return [frame.iloc[:, at].tolist() for at in range(len(frame.columns))]


_LABELS = {"frame": ("columns", "index"), "series": ("index",)}


def _arrays_apart(expected: Any, actual: Any, path: str, tolerance: Tolerance) -> str | None:
    if expected.shape != actual.shape:
        return f"{path}: expected shape {expected.shape}, got {actual.shape}"
    if masks := mask_difference(expected, actual, path):
        return masks
    if {expected.dtype.kind, actual.dtype.kind} - set("iuf"):
        return apart(plain_items(expected), plain_items(actual), path, tolerance)
    numpy = sys.modules["numpy"]
    one, other = expected.astype(float), actual.astype(float)
    with numpy.errstate(all="ignore"):  # infinities less infinities are none
        far = abs(one - other)
        if "f" not in (expected.dtype.kind, actual.dtype.kind):
            far = numpy.where(far < 2**60, _whole_distances(expected, actual), far)
        most = numpy.maximum(abs(one), abs(other))
        room = numpy.maximum(most * tolerance.rel, tolerance.abs)
        near = same_cells(expected, actual) | ((far <= room) & (most != math.inf))
    near = where_unmasked(near)
    if near.all():
        return None
    place = tuple(int(at[0]) for at in (~near).nonzero()) if actual.ndim else ()
    where = path + "".join(f"[{at}]" for at in place)
    return f"{where}: expected about {short(expected[place])}, got {short(actual[place])}"


def _whole_distances(one: Any, other: Any) -> Any:
    """Return how far whole numbers are apart, if 64 bits hold that, exactly."""
    numpy = sys.modules["numpy"]
    is_less, one, other = numpy.less(one, other), one.astype("u8"), other.astype("u8")
    return numpy.where(is_less, other - one, one - other)


def _number(value: Any) -> Any:
    if classes.is_array_scalar(value) and value.dtype.kind in "biufc":
        value = value.item()
    is_decimal = isinstance(value, Decimal)
    return value if is_decimal or _is_number(value) else None


def _is_exact(number: Any) -> bool:
    return isinstance(number, int) or (isinstance(number, Decimal) and number.is_finite())


def _rounded(number: Any) -> Any:
    if not isinstance(number, Decimal):
        return number
    return math.nan if number.is_nan() else float(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)
