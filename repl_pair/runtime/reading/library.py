"""Readers for values of the standard library and of libraries, found through `sys.modules`."""

import builtins
import sys
from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

from repl_pair.runtime.reading.fields import Pairs, read_fields
from repl_pair.runtime.reading.table_views import show_array, show_frame, show_polars, show_series
from repl_pair.runtime.reading.tables import named_fields
from repl_pair.runtime.values.classes import (
    is_exactly,
    lineage,
    name_of,
    real_class,
    root_of,
    space_of,
)
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.leaves import LEAVES, nearest_leaf

Reader = Callable[[Any], Any]


def library_readers() -> dict[int, Reader]:
    """Return the readers of leaves and of classes loaded by now, by the id of the class."""
    shown = [(cls, leaf.show) for cls, leaf in LEAVES.items() if leaf.show is not None]
    readers: dict[int, Reader] = {id(cls): show for cls, show in shown}
    for module, name, reader in _LIBRARY:
        found: Any = getattr(sys.modules.get(module), "__dict__", {}).get(name)
        if found is not None:
            readers[id(found if isinstance(found, type) else real_class(found))] = reader
    return readers


def read_exception(error: Any) -> dict[str, Any]:
    """Return the class and text of an exception; code of its class makes none of it."""
    cls: Any = real_class(error)
    args: tuple[Any, ...] = vars(BaseException)["args"].__get__(error)
    texts = (str(arg) if _is_plain(arg) else f"<{name_of(real_class(arg))}>" for arg in args)
    message = ", ".join(texts)
    members = [part for base in lineage(cls) for part in space_of(base).values()]
    held = [part.__get__(error) for part in members if type(part) is MemberDescriptorType]
    if vars(builtins).get(name_of(cls)) is cls and all(map(_is_plain, (*args, *held))):
        message = cls.__str__(error)
    return {"type": name_of(cls), "message": message}


def _is_plain(value: Any) -> bool:
    return value is None or is_exactly(value, str, int, float, bytes, bool)


def _text_of_exactly(value: Any) -> str:
    cls: Any = real_class(value)
    genuine = vars(sys.modules[root_of(cls)]).get(name_of(cls)) is cls
    return cls.__str__(value) if genuine else f"<{name_of(cls)}>"


def _read_scalar(value: Any) -> Any:
    generic = sys.modules["numpy"].generic
    plain: Any = generic.item(value)
    dtype = generic.dtype.__get__(value)
    if name_fields := named_fields(dtype):
        return name_fields(plain)
    if dtype.kind == "M" and plain is not None:  # of nanoseconds, it is a whole number
        return sys.modules["numpy"].datetime64.__str__(value)
    if real_class(plain) is real_class(value):
        return f"<{name_of(real_class(value))}>"
    leaf = LEAVES.get(real_class(plain))
    return plain if leaf is None or leaf.show is None else leaf.show(plain)


def _read_interval(value: Any) -> str:
    stored = space_of(sys.modules["pandas"].Interval)
    left, right, closed = (stored[slot].__get__(value) for slot in ("left", "right", "closed"))
    ends = "[" if closed in ("left", "both") else "(", "]" if closed in ("right", "both") else ")"
    return f"{ends[0]}{_show_end(left)}, {_show_end(right)}{ends[1]}"


def _show_end(end: Any) -> Any:
    """Return the number, moment or span at an end of an interval, as text."""
    near: Any = nearest_leaf(real_class(end))
    return _read_scalar(end) if near is None else (LEAVES[near].show or near.__repr__)(end)


def _read_cookie(cookie: Any) -> Pairs:
    stored = (read_fields(cookie, private=True) or ({}, []))[0]
    name, value = (stored.get(f"_{slot}", stored.get(slot)) for slot in ("key", "value"))
    return Pairs([("name", name or stored.get("name")), ("value", Secret(value))])


_LIBRARY: tuple[tuple[str, str, Reader], ...] = (
    ("builtins", "BaseException", read_exception),
    ("builtins", "range", range.__repr__),
    ("http.cookies", "Morsel", _read_cookie),
    ("http.cookiejar", "Cookie", _read_cookie),
    ("fractions", "Fraction", _text_of_exactly),
    ("array", "array", lambda v: sys.modules["array"].array.tolist(v)),
    ("numpy", "generic", _read_scalar),
    ("numpy", "ndarray", show_array),
    ("pandas", "DataFrame", show_frame),
    ("pandas", "Series", show_series),
    ("pandas", "Index", show_series),
    ("pandas", "NA", lambda _: "NA"),
    ("pandas", "Interval", _read_interval),
    ("pandas", "Period", lambda v: sys.modules["pandas"].Period.__str__(v)),
    ("polars", "DataFrame", show_polars),
    ("polars", "Series", show_polars),
)
