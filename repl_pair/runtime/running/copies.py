"""Bounded copies of a state, so that later steps do not change what an earlier one left."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from enum import Enum
from itertools import islice
from typing import Any

from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.secrets.needles import NEEDLES
from repl_pair.runtime.values.classes import (
    is_array,
    is_array_scalar,
    is_frame,
    is_map,
    is_pandas_scalar,
    is_row,
    is_secret_class,
    is_series,
    is_set,
    real_class,
)
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.leaves import LEAVES

DEEPEST, WIDEST, LONGEST, MOST = 6, 50, 2_000, 2_000
"""How many levels, parts of one container, characters of a text and values in all are copied."""
MORE = "…"
"""Heads what stands where something was cut."""


def copy_state(value: Any) -> Any:
    """Copy plain data and the stored public fields of objects; the rest is named by its class.

    What is deeper, wider or longer than the bounds is cut, with a mark where it was. A field that
    is declared `Sensitive` stays marked. Properties are not read.
    """
    return _Copier().copy(value, DEEPEST)


def copy_containers(value: Any) -> Any:
    """Copy builtin lists, tuples, sets and dicts at every level; what else is in them is shared."""
    return _copy_containers(value, {})


def copy_live(value: Any) -> Any:
    """Copy a whole value for steps to act on; what says that it can't be copied stays shared."""
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001  copying is the code of whatever is copied
        return copy_containers(value)


class _Copier:
    """Makes one copy; `room` is what is left of it."""

    def __init__(self) -> None:
        self.room = MOST

    def copy(self, value: Any, depth: int) -> Any:
        self.room -= 1
        if _is_leaf(value):
            return _shorten(value)
        if is_array(value) or is_frame(value) or is_series(value):
            return f"<{type(value).__name__} of {'x'.join(map(str, value.shape))}>"
        if isinstance(value, Enum):
            return value.name
        parts: Any = value if is_map(value) else _items(value)
        if parts is None:
            parts = _fields(value)
        if not parts:
            return _empty(value, parts)
        if depth == 0 or self.room <= 0:
            return f"{MORE} <{real_class(value).__name__}>"
        return self._copy_row(parts, depth) if is_row(parts) else self._copy_map(parts, depth)

    def _copy_map(self, parts: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        kept = [(_name(k), v) for k, v in islice(parts.items(), self._width())]
        copied = {name: self.copy(v, depth - 1) for name, v in kept}
        return copied | ({MORE: len(parts) - len(kept)} if len(parts) > len(kept) else {})

    def _copy_row(self, parts: Sequence[Any], depth: int) -> list[Any]:
        kept = parts[: self._width()]
        copied = [self.copy(item, depth - 1) for item in kept]
        return copied + ([f"{MORE} {len(parts) - len(kept)}"] if len(parts) > len(kept) else [])

    def _width(self) -> int:
        return max(0, min(WIDEST, self.room))


def _is_leaf(value: Any) -> bool:
    kind = real_class(value)
    return (
        value is None
        or kind in LEAVES
        or kind is Secret
        or is_secret_class(kind)
        or is_array_scalar(value)
        or is_pandas_scalar(value)
    )


def _shorten(value: Any) -> Any:
    if not isinstance(value, (str, bytes)) or len(value) <= LONGEST:
        return value
    if isinstance(value, bytes):
        return f"<bytes of {len(value)}>"
    return f"{value[:LONGEST]}{MORE} {len(value) - LONGEST}"


def _items(value: Any) -> list[Any] | None:
    if is_row(value):
        return None if hasattr(real_class(value), "_fields") else list(value)
    return _sorted(value) if is_set(value) else None


def _sorted(items: Iterable[Any]) -> list[Any]:
    """Return members of a set in an order that two copies have in common, where there is one."""
    found = list(items)
    try:
        return sorted(found)
    except Exception:  # noqa: BLE001  what the members do when compared is their own
        return found


def _fields(value: Any) -> Mapping[str, Any]:
    """Return the stored fields of an object; the secrets in its private ones are learned."""
    fields, met = read_fields(value) or ({}, [])
    for secret in met:
        NEEDLES.add(secret)
    return fields


def _empty(value: Any, parts: Any) -> Any:
    """Return what stands for a value without parts."""
    if is_map(value) or is_row(value) or is_set(value):
        return {} if is_map(value) else []
    return f"<{real_class(value).__name__}>"


def _name(key: Any) -> str:
    if isinstance(key, Enum):
        return key.name
    return key if type(key) is str else str(key)


def _copy_containers(value: Any, known: dict[int, Any]) -> Any:
    make = _MAKERS.get(real_class(value))
    if make is None:
        return value
    if id(value) not in known:
        make(value, known)
    return known[id(value)]


def _copy_list(value: list[Any], known: dict[int, Any]) -> None:
    known[id(value)] = copied = list[Any]()
    copied.extend(_copy_containers(item, known) for item in value)


def _copy_dict(value: dict[Any, Any], known: dict[int, Any]) -> None:
    known[id(value)] = copied = dict[Any, Any]()
    copied.update((key, _copy_containers(item, known)) for key, item in value.items())


def _copy_tuple(value: tuple[Any, ...], known: dict[int, Any]) -> None:
    copied = tuple([_copy_containers(item, known) for item in value])
    known.setdefault(id(value), copied)


def _copy_set(value: set[Any], known: dict[int, Any]) -> None:
    known[id(value)] = set(value)


_MAKERS: dict[Any, Callable[[Any, dict[int, Any]], None]] = {
    list: _copy_list,
    dict: _copy_dict,
    tuple: _copy_tuple,
    set: _copy_set,
}
