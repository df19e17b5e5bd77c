"""Bounded copies of a state, so that later steps do not change what an earlier one left."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from enum import Enum
from typing import Any

from repl_pair.runtime.reading.bounded import Bounds, copy_within, cut_text
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

BOUNDS = Bounds(depth=6, width=50, text=2_000, nodes=2_000)


def copy_state(value: Any) -> Any:
    """Copy plain data and the stored public fields of objects; the rest is named by its class.

    What is deeper, wider or longer than the bounds is cut, with a mark where it was. A field that
    is declared `Sensitive` stays marked. Properties are not read.
    """
    return copy_within(value, BOUNDS, _read)


def copy_containers(value: Any) -> Any:
    """Copy builtin lists, tuples, sets and dicts at every level; what else is in them is shared."""
    return _copy_containers(value, {})


def copy_live(value: Any) -> Any:
    """Copy a whole value for steps to act on; what says that it can't be copied stays shared."""
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001  copying is the code of whatever is copied
        return copy_containers(value)


def _read(value: Any, _places: Any) -> Any:
    """Take one value apart; the secrets in an object's private fields are learned."""
    kind = real_class(value)
    if value is None or kind in LEAVES:
        return _shorten(value)
    if kind is Secret or is_secret_class(kind) or is_array_scalar(value) or is_pandas_scalar(value):
        return value
    if is_array(value) or is_frame(value) or is_series(value):
        return f"<{kind.__name__} of {'x'.join(map(str, value.shape))}>"
    if isinstance(value, Enum):
        return value.name
    if is_map(value) or (is_row(value) and not hasattr(kind, "_fields")):
        return value
    if is_set(value):
        return _sorted(value)
    fields, met = read_fields(value) or ({}, [])
    for secret in met:
        NEEDLES.add(secret)
    return fields or f"<{kind.__name__}>"


def _shorten(value: Any) -> Any:
    if isinstance(value, bytes) and len(value) > BOUNDS.text:
        return f"<bytes of {len(value)}>"
    return cut_text(value, BOUNDS.text) if isinstance(value, str) else value


def _sorted(items: Iterable[Any]) -> list[Any]:
    """Return members of a set in an order that two copies have in common, where there is one."""
    found = list(items)
    try:
        return sorted(found)
    except Exception:  # noqa: BLE001  what the members do when compared is their own
        return found


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
