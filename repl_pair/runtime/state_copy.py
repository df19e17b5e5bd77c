"""A bounded copy of a state, so that later steps do not change what an earlier one left."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from repl_pair.runtime.foreign import is_array, is_frame, is_secret_class, is_series
from repl_pair.runtime.shapes import is_map, is_row, is_set

DEEPEST, WIDEST, LONGEST = 6, 50, 2_000
_PLAIN = (type(None), bool, int, float, complex)


def copy_state(value: Any, depth: int = DEEPEST) -> Any:
    """Copy plain data and the public fields of objects; the rest is named by its class.

    What is deeper, wider or longer than the bounds is cut, with a mark where it was.
    """
    if type(value) in _PLAIN or is_secret_class(type(value)):
        return value
    if isinstance(value, (str, bytes)):
        return value if len(value) <= LONGEST else value[:LONGEST]
    if is_array(value) or is_frame(value) or is_series(value):
        return f"<{type(value).__name__} of {'x'.join(map(str, value.shape))}>"
    fields = value if is_map(value) else _fields(value)
    if depth == 0 and (fields is not None or is_row(value) or is_set(value)):
        return f"<{type(value).__name__}>"
    if is_row(value) or is_set(value):
        return _rows(value, depth)
    if fields is None:
        return f"<{type(value).__name__}>"
    kept = islice(fields.items(), WIDEST)
    copied = {str(k): copy_state(v, depth - 1) for k, v in kept}
    return copied | ({"…": len(fields) - WIDEST} if len(fields) > WIDEST else {})


def _rows(value: Iterable[Any], depth: int) -> list[Any]:
    items = list(value)
    copied = [copy_state(item, depth - 1) for item in items[:WIDEST]]
    return copied + ([f"… {len(items) - WIDEST} more"] if len(items) > WIDEST else [])


def _fields(value: Any) -> Mapping[str, Any] | None:
    own: dict[str, Any] = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names: Iterable[str] = (slots,) if isinstance(slots, str) else slots
        for name in names:
            if hasattr(value, name):
                own.setdefault(name, getattr(value, name))
    if not own or isinstance(value, type):
        return None
    return {name: item for name, item in own.items() if not name.startswith("_")}
