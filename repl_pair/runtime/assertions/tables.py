"""Arrays and frames compared by content; dtypes count between live ones, not for JSON."""

from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.runtime.values.classes import is_polars, kind_of, real_class
from repl_pair.runtime.values.library import columns_of

Differ = Callable[[Any, Any, str], str | None]
"""Gives the first difference of two parts at a path, None where they are equal."""

_NO_NUMBER = "OV"
_MAY_BE_NAN = "fcmM"


def table_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    """Return the first difference where one of the two is a table, the other perhaps JSON."""
    wanted, found = kind_of(expected), kind_of(actual)
    if wanted is not None and wanted != found:
        return at_place(path, f"expected {wanted}, got {found or type(actual).__name__}")
    if found == "array":
        return _array_difference(expected, actual, path, differ)
    if found == "frame":
        return _frame_difference(expected, actual, path, differ)
    return _series_difference(expected, actual, path, differ)


def polars_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    """Return the first difference where one of the two is of polars, the other perhaps JSON."""
    if is_polars(expected) and real_class(expected) is not real_class(actual):
        wanted, found = (real_class(one).__name__ for one in (expected, actual))
        return at_place(path, f"expected {wanted} of polars, got {found}")
    is_frame, columns = is_polars(actual, "DataFrame"), columns_of(actual)
    if not is_polars(expected):
        by_name = {name: items for name, _, items in columns}
        by_row = actual.rows(named=True) if is_frame else columns[0][2]
        return differ(expected, by_name if isinstance(expected, Mapping) else by_row, path)
    wanted = columns_of(expected)
    if is_frame and (labels := differ(expected.columns, actual.columns, f"{path}.columns")):
        return labels
    for (_, dtype, items), (name, got, found) in zip(wanted, columns, strict=True):
        place = f"{path}.{name}" if is_frame else path
        if dtype != got:
            return at_place(place, f"expected dtype {dtype}, got {got}")
        if apart := differ(items, found, place):
            return apart
    return None


def _array_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    if kind_of(expected) != "array":
        if actual.dtype.kind in "mM":  # datetime knows no moments finer than microseconds
            actual = actual.astype(f"{actual.dtype.kind}8[us]")
        return differ(expected, actual.tolist(), path)
    for word in ("dtype", "shape"):
        if getattr(expected, word) != getattr(actual, word):
            return _unlike(word, expected, actual, path)
    if actual.dtype.kind in _NO_NUMBER:
        return differ(expected.tolist(), actual.tolist(), path)
    same = expected == actual
    if actual.dtype.kind in _MAY_BE_NAN:
        same |= (expected != expected) & (actual != actual)
    if same.all():
        return None
    place = tuple(int(at[0]) for at in (~same).nonzero()) if actual.ndim else ()
    return differ(expected[place], actual[place], path + "".join(f"[{at}]" for at in place))


def _series_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    if kind_of(expected) is None:
        by_label = isinstance(expected, Mapping) and kind_of(actual) == "series"
        return differ(expected, actual.to_dict() if by_label else actual.tolist(), path)
    if expected.equals(actual):
        return None
    if expected.dtype != actual.dtype:
        return _unlike("dtype", expected, actual, path)
    labels = None
    if kind_of(expected) == "series" and kind_of(actual) == "series":
        labels = differ(expected.index.tolist(), actual.index.tolist(), f"{path}.index")
    return labels or differ(expected.tolist(), actual.tolist(), path)


def _frame_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    if isinstance(expected, Mapping):
        return differ(expected, {c: actual[c] for c in actual.columns}, path)
    if kind_of(expected) != "frame":
        rows = zip(*(column.tolist() for column in _columns(actual)), strict=True)
        return differ(expected, [dict(zip(actual.columns, row, strict=True)) for row in rows], path)
    if expected.equals(actual):
        return None
    for word in ("columns", "index"):
        wanted, got = getattr(expected, word).tolist(), getattr(actual, word).tolist()
        if labels := differ(wanted, got, f"{path}.{word}"):
            return labels
    pairs = zip(actual.columns, _columns(expected), _columns(actual), strict=True)
    found = (_series_difference(e, a, f"{path}.{name}", differ) for name, e, a in pairs)
    return next((text for text in found if text), None)


def _columns(frame: Any) -> list[Any]:
    return [frame.iloc[:, i] for i in range(frame.shape[1])]


def _unlike(word: str, expected: Any, actual: Any, path: str) -> str:
    return at_place(path, f"expected {word} {getattr(expected, word)}, got {getattr(actual, word)}")


def at_place(path: str, what: str) -> str:
    """Return a sentence that starts with its path, if that is not the root."""
    return f"{path}: {what}" if path else what
