"""What a JSON form stands for: taken to the actual type, and found among keys and members."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

from repl_pair.runtime.values.build import find_member, find_named, name_of_member
from repl_pair.runtime.values.classes import (
    is_array_scalar,
    is_of,
    is_row,
    real_class,
    same_class,
    type_ref,
)
from repl_pair.runtime.values.frozen import EnumMember, Record
from repl_pair.runtime.values.leaves import leaf_of, nearest_leaf, read_leaf

_NUMBER_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
NO_VALUE: Any = object()
"""Stands for a value or key that is not there; nothing else is it."""
_NUMBERS = "biufc"
"""The kinds of the numbers of numpy."""
_LEAVES = "biufUS"
"""The kinds of numpy's scalars that are leaves: equal moments of two units hash as two."""
_KEY_BITS = 2_000
"""How long a whole number may be that a JSON key stands for: Python writes it at any limit."""


def coerce(expected: Any, actual: Any) -> Any:
    """Take a JSON expectation to the actual value's type; what has no form of that type stays."""
    if is_array_scalar(actual):
        if actual.dtype.kind not in "mM" or type(expected) is not str:
            return _to_leaf(expected, actual.item())
        try:
            return type(actual)(expected)
        except ValueError:
            return expected
    if is_of(actual, Enum):
        return _to_member(expected, real_class(actual))
    if type(expected) is Record:
        return expected.fields if expected.type == type_ref(real_class(actual)) else expected
    if isinstance(actual, tuple) and is_row(expected):
        return tuple(expected)
    return _to_leaf(expected, actual)


def _to_member(expected: Any, cls: type[Enum]) -> Any:
    if type(expected) is EnumMember:
        found = find_named(expected.name, cls) if expected.type == type_ref(cls) else None
    elif isinstance(expected, Enum):
        again = same_class(type(expected), cls)
        found = find_named(name_of_member(expected), cls) if again else None
    else:
        found = find_member(expected, cls)
    return expected if found is None else found


def _to_leaf(expected: Any, actual: Any) -> Any:
    if type(expected) is float and isinstance(actual, Decimal):
        return Decimal(repr(expected))
    if type(expected) is str and isinstance(actual, float | Decimal) and expected in _NUMBER_WORDS:
        return type(actual)(_NUMBER_WORDS[expected])
    if type(expected) not in (str, int, float) or isinstance(actual, float | complex):
        return expected
    leaf = nearest_leaf(real_class(actual))
    try:
        return expected if leaf is None else read_leaf(expected, leaf)
    except ValueError:
        return expected


class Leaves:
    """Finds the leaf among many values that a form stands for, without asking each of them.

    A tuple of leaves is one too.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        """Keep the leaves, with one sample for all that a form is taken to in the same way."""
        self._kinds: dict[Any, tuple[Any, dict[Any, Any]]] = {}
        self._others: dict[int, Any] = {}
        for value in values:
            if (kind := _kind(value)) is None:
                self._others[id(value)] = value
            else:
                self._kinds.setdefault(kind, (value, {}))[1].setdefault(_hashed(value), value)

    def find(self, expected: Any) -> Any:
        """Return the value, first one of the form's own type; NO_VALUE where there is none."""
        own = self._kinds.get(_kind(expected))
        for sample, known in filter(None, (own, *self._kinds.values())):
            taken = _taken(expected, sample)
            if _kind(taken) is not None and _hashed(taken) in known:
                return known[_hashed(taken)]
        return NO_VALUE

    def others(self, expected: Any) -> list[Any]:
        """Return what `find` does not look up: what is no leaf, and all for what is none."""
        tables = self._kinds.values() if _kind(expected) is None else ()
        leaves = [value for _, known in tables for value in known.values()]
        return [*leaves, *self._others.values()]


def _taken(expected: Any, sample: Any) -> Any:
    if real_class(sample) is tuple and is_row(expected) and len(expected) == len(sample):
        return tuple(map(_taken, expected, sample))
    return coerce(expected, sample)


def _kind(value: Any) -> Any:
    """Return what values share that a form is taken to in the same way, None for no leaf.

    No complex number is one here: it may be a NaN in a part.
    """
    cls = real_class(value)
    if cls is tuple:
        kinds = tuple(map(_kind, value))
        return None if any(kind is None for kind in kinds) else kinds
    if value is None or is_of(value, datetime) or (leaf_of(cls) and cls is not complex):
        return id(cls)
    return value.dtype if is_array_scalar(value) and value.dtype.kind in _LEAVES else None


def _hashed(leaf: Any) -> Any:
    """Return what is equal for leaves that are the same: a bool is no number, NaN equals NaN."""
    if real_class(leaf) is tuple:
        return tuple(map(_hashed, leaf))
    plain = plain_scalar(leaf)
    nan = _nan_kind(plain) if plain != plain else ""
    return isinstance(plain, bool), nan, nan or plain


def key_finder(actual: Mapping[Any, Any]) -> Callable[[Any], Any]:
    """Return what gives the key that a JSON key stands for, an enum member's or a number's too.

    It gives no key where only True stands for 1, or 1 for True.
    """

    @cache
    def tables() -> tuple[dict[str, int], Leaves]:
        short = (key for key in actual if type(key) is int and key.bit_length() < _KEY_BITS)
        return {str(key): key for key in short}, Leaves(actual)

    def find(expected: Any) -> Any:
        is_there = expected in actual
        if is_there and not _may_mean_another(expected):
            return expected
        texts, leaves = tables()
        key = texts[expected] if expected in texts else leaves.find(expected)
        if key is NO_VALUE:
            others = leaves.others(expected)
            alike = (key for key in others if is_same(coerce(expected, key), key))
            key = next(alike, NO_VALUE if is_there else expected)
        return key

    return find


def _may_mean_another(key: Any) -> bool:
    """Return whether Python takes it for a key that is not the same."""
    is_number = is_of(plain_scalar(key), int, float, complex, Decimal)
    return is_of(key, datetime) or (is_number and key in (0, 1))


def is_same(expected: Any, actual: Any) -> bool:
    """Return whether two leaves are one value: a bool is no number, NaN equals NaN of its kind."""
    one, other = plain_scalar(expected), plain_scalar(actual)
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if bool(one == other):
        return True
    if isinstance(one, complex) and isinstance(other, complex):
        return is_same(one.real, other.real) and is_same(one.imag, other.imag)
    return _nan_kind(one) != "" and _nan_kind(one) == _nan_kind(other)


def plain_scalar(value: Any) -> Any:
    """Return a number of numpy as one of Python, and a moment of a zone in UTC."""
    is_number = is_array_scalar(value) and value.dtype.kind in _NUMBERS
    return value.item() if is_number else in_utc(value)


def in_utc(value: Any) -> Any:
    """Return a moment of a zone in UTC, and all else as it is.

    Python compares two moments of one zone by the clock alone, of which an hour comes twice.
    """
    if is_of(value, datetime) and value.tzinfo is not None and value.utcoffset() is not None:
        with suppress(OverflowError):
            return value.astimezone(UTC)
    return value


def _nan_kind(value: Any) -> str:
    """Return the kind of what is not equal to itself, as numpy names it; nothing for all else."""
    if isinstance(value, Decimal):
        return "f" if value.is_nan() else ""
    if not (isinstance(value, float) or is_array_scalar(value)) or bool(value == value):
        return ""
    return "f" if isinstance(value, float) else value.dtype.kind
