"""The immutable types that JSON has no form for, and how each is read from the form it is given."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from numbers import Complex, Integral, Real
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any
from uuid import UUID

from repl_pair.records import row
from repl_pair.runtime.values.classes import is_array_scalar


@row
class Leaf:
    """How one type is read: JSON types that are taken, the reading, and words for a refusal."""

    takes: tuple[type, ...]
    read: Callable[[Any], Any]
    form: str


def _decimal(value: Any) -> Decimal:
    try:
        return Decimal(value)
    except InvalidOperation as error:
        raise ValueError(str(error)) from error


def _same(value: Any) -> Any:
    return value


def _path(cls: Callable[[Any], Any]) -> Leaf:
    return Leaf((str,), cls, "a path as text")


LEAVES: dict[Any, Leaf] = {
    bool: Leaf((), _same, "true or false"),
    int: Leaf((), _same, "a whole number"),
    float: Leaf((int,), _same, "a number"),
    complex: Leaf((int, float), _same, "a number"),
    str: Leaf((), _same, "text"),
    bytes: Leaf((), _same, "bytes, which JSON cannot hold: write ref('loader_id', ...)"),
    Decimal: Leaf((str, int), _decimal, "a decimal number as text or a whole number"),
    datetime: Leaf((str,), datetime.fromisoformat, "ISO text such as '2026-01-31T12:00:00'"),
    date: Leaf((str,), date.fromisoformat, "ISO text such as '2026-01-31'"),
    time: Leaf((str,), time.fromisoformat, "ISO text such as '12:30:00'"),
    timedelta: Leaf((int, float), lambda s: timedelta(seconds=s), "a number of seconds"),
    UUID: Leaf((str,), UUID, "a UUID as text"),
    PurePath: _path(PurePath),
    PurePosixPath: _path(PurePosixPath),
    PureWindowsPath: _path(PureWindowsPath),
    Path: _path(Path),
    PosixPath: _path(PosixPath),
    WindowsPath: _path(WindowsPath),
}

_TOWER: dict[Any, type] = {int: Integral, float: Real, complex: Complex}


def is_leaf(value: Any, cls: type) -> bool:
    """Return whether `value` already is of a type in LEAVES; a bool is no number."""
    if isinstance(value, bool):
        return cls is bool
    return isinstance(value, _TOWER.get(cls, cls)) or is_array_scalar(value)


def read_leaf(value: Any, cls: type) -> Any:
    """Get `value` as `cls`, a type in LEAVES; ValueError with the legal form where it is none."""
    leaf = LEAVES[cls]
    if is_leaf(value, cls):
        return value
    if type(value) in leaf.takes:
        try:
            return leaf.read(value)
        except (ValueError, OverflowError):
            pass  # answered below with the legal form
    raise ValueError(leaf.form)
