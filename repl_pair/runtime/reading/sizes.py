"""The bytes that a value takes, where the interpreter, an array or a frame knows them unasked."""

import sys
from collections import deque
from typing import Any

from repl_pair.runtime.reading.tables import column_names, is_plain, is_plain_table
from repl_pair.runtime.values.classes import is_exactly, is_of, is_polars, name_of, real_class
from repl_pair.runtime.values.marks import is_secret_label

_MEASURED = (str, bytes, list, tuple, dict, set, frozenset, deque)
"""Classes of which only exact instances are asked: `__sizeof__` of another may be the person's."""
_FIXED = "biufcmM"
"""Kinds of dtype whose cells all take the same: of others the size may be the length of a text."""
_OBJECTS = "O"
FEW_ROWS = 100
"""The most rows of a table of texts whose size stays unsaid, since it may be a secret's length."""


def bytes_of(value: Any) -> int | None:
    """Return the bytes of a text, container or array, or of a frame's cells; None for any other.

    What is in a container is not counted, nor objects in cells or the index of a frame. Of an array
    of texts they stay unsaid, and of a small table of texts or one with the label of a secret.
    """
    if is_exactly(value, *_MEASURED):
        return sys.getsizeof(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and is_of(value, numpy.ndarray):
        is_fixed = numpy.ndarray.dtype.__get__(value).kind in _FIXED + _OBJECTS
        return numpy.ndarray.nbytes.__get__(value) if is_fixed else None
    try:
        return _bytes_of_table(value)
    except Exception:  # noqa: BLE001  the person's code may change it meanwhile
        return None


def _bytes_of_table(value: Any) -> int | None:
    is_of_polars = is_polars(value)
    if not is_of_polars and not is_plain_table(value):
        return None
    if not is_of_polars and is_of(value, sys.modules["pandas"].Index):
        return None
    names = column_names(value) or [getattr(value, "name", None)]
    if any(map(is_secret_label, names)):
        return None
    if is_of_polars:
        return real_class(value).estimated_size(value) if len(value) > FEW_ROWS else None
    parts = list(map(_measured, value._mgr.arrays))
    is_fixed = all(map(_is_fixed, parts))
    return sum(int(part.nbytes) for part in parts) if is_fixed or len(value) > FEW_ROWS else None


def _is_fixed(part: Any) -> bool:
    return part.dtype.kind in _FIXED or is_plain(part, "ndarray")


def _measured(part: Any) -> Any:
    # The categories of a categorical may be objects of the person's.
    return part.codes if name_of(real_class(part)) == "Categorical" else part
