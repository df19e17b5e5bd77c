"""One step of a path into a value that the person's own assertions look at."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from itertools import islice
from types import MappingProxyType
from typing import Any

from repl_pair.errors import nearest
from repl_pair.runtime.values.classes import (
    is_array_scalar,
    is_exactly,
    is_map,
    is_polars,
    kind_of,
    real_class,
)
from repl_pair.runtime.values.declared_fields import attrs_fields
from repl_pair.runtime.values.paths import Cut, Key, format_path, position_of

_NEAR_LIMIT = 8
_MISSING = object()


class PathMiss(LookupError):
    """A step that leads nowhere: `known` are keys that do, `reached` is the path up to there."""

    reached = ""

    def __init__(self, step: Key | Cut, known: Iterable[str] = (), reason: str = "") -> None:
        super().__init__(step)
        self.step, self.reason = step, reason
        self.known = list(islice(known, 1000))

    @property
    def near(self) -> list[str]:
        """The known keys nearest to the step, else the first ones."""
        return nearest(str(self.step), self.known) or self.known[:_NEAR_LIMIT]

    def __str__(self) -> str:
        end = f" ({self.reason})." if self.reason else "."
        near = f" Nearest: {', '.join(self.near)}." if self.near else ""
        return f"there is no {self.step!r} in {self.reached or 'the value'}{end}{near}"


def read_member(value: Any, key: Key) -> Any:
    """Read a mapping key, column, field or index, the first that is there; PathMiss if none is.

    Properties are read; methods are neither called nor given, and names with two leading
    underscores do not exist.
    """
    for read in (_read_key, _read_column, _read_attribute, _read_index):
        try:
            found = read(value, key)
        except Exception as error:
            raise PathMiss(key, reason=f"reading it raised {type(error).__name__}") from error
        if found is not _MISSING:
            return found
    known = list[str]()
    with suppress(Exception):  # its names may be made by code of the person
        known = _member_names(value)
    raise PathMiss(key, known)


def follow(
    root: Any, steps: Iterable[Any], *, step: Callable[[Any, Any], Any] = read_member
) -> Any:
    """Return the value at the end of the steps; PathMiss names the step that led nowhere."""
    value, walked = root, list[Any]()
    for key in steps:
        try:
            value = step(value, key)
        except PathMiss as miss:
            miss.reached = format_path(walked)
            raise
        walked.append(key)
    return value


def _read_key(value: Any, key: Key) -> Any:
    if not is_map(value):
        return _MISSING
    if key in value:
        return value[key]
    members = (k for k in value if isinstance(k, Enum) and k.name == key)
    member = next(members, _MISSING)
    return _MISSING if member is _MISSING else value[member]


def _read_column(value: Any, key: Key) -> Any:
    if is_polars(value, "DataFrame"):
        return value[key] if key in value.columns else _MISSING
    if kind_of(value) == "frame":
        return value[key] if key in value.columns else _MISSING
    if kind_of(value) == "series":
        return value.loc[key] if key in value.index else _MISSING
    if (kind_of(value) == "array" or is_array_scalar(value)) and key in (value.dtype.names or ()):
        return value[key]
    return _MISSING


def _read_attribute(value: Any, key: Key) -> Any:
    if not isinstance(key, str) or key.startswith("__"):
        return _MISSING
    found = getattr(value, key, _MISSING)
    return _MISSING if inspect.isroutine(found) else found


def _read_index(value: Any, key: Key) -> Any:
    at = position_of(key)
    if at is None or isinstance(value, str | bytes | Mapping):
        return _MISSING
    rows = value.iloc if kind_of(value) in ("frame", "series") else value
    if not hasattr(real_class(rows), "__getitem__") or not hasattr(real_class(value), "__len__"):
        return _MISSING
    if not -len(value) <= at < len(value):
        return _MISSING
    is_frame = is_polars(value, "DataFrame")
    return value.row(at, named=True) if is_frame else rows[at]


def _member_names(value: Any) -> list[str]:
    if is_map(value):
        return [k.name if isinstance(k, Enum) else str(k) for k in islice(value, 1000)]
    if kind_of(value) == "frame" or is_polars(value, "DataFrame"):
        return [str(column) for column in value.columns]
    if kind_of(value) == "array" and value.dtype.names:
        return list(value.dtype.names)
    stores: list[Any] = [getattr(value, "__dict__", {}), getattr(value, "_fields", ())]
    stores.append(getattr(real_class(value), "__dataclass_fields__", {}))
    known = [one for one in stores if is_exactly(one, dict, tuple, MappingProxyType)]
    names = [name for one in known for name in one if type(name) is str]
    names += [one.name for one in (attrs_fields(real_class(value)) or {}).values()]
    return [n for n in dict.fromkeys(names) if not n.startswith("_")]
