"""Builtin containers told apart, and those that a declared class asks for."""

from collections.abc import (
    Collection,
    Container,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Reversible,
    Sequence,
    Set as AbstractSet,
)
from typing import Any, TypeGuard

_TYPE: Any = type

_MAPS = frozenset({dict, Mapping, MutableMapping})
_ANY_KIND = frozenset({Collection, Iterable, Container})
_ANY_LIST = frozenset({Sequence, Reversible})
_LISTS: dict[Any, Any] = {tuple: tuple, list: list, MutableSequence: list}
_SETS: dict[Any, Any] = {set: set, AbstractSet: set, MutableSet: set, frozenset: frozenset}


def is_map(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Tell whether a value is a mapping."""
    return isinstance(value, Mapping)


def is_row(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Tell whether a value is a list or tuple."""
    return isinstance(value, list | tuple)


def is_set(value: Any) -> TypeGuard[set[Any] | frozenset[Any]]:
    """Tell whether a value is a set, mutable or not."""
    return isinstance(value, set | frozenset)


def class_of_value(value: Any) -> Any:
    """Give the class that a value really has."""
    return _TYPE(value)


def takes_map(cls: Any) -> bool:
    """Tell whether a parameter of a declared class takes a mapping."""
    return cls in _MAPS or cls in _ANY_KIND


def is_container(cls: Any) -> bool:
    """Tell whether a declared class is of one kind of containers only."""
    return cls in _MAPS or cls in _LISTS or cls in _SETS


def kind_for(value: Any, cls: Any) -> Any:
    """Give the container that a parameter of a declared class gets for a list, tuple or set.

    None where it takes no such thing; a set has no order, so it fills no list.
    """
    if type(value) is frozenset:
        return set if cls in _ANY_KIND else _SETS.get(cls)
    if is_row(value):
        own = class_of_value(value)
        return own if cls in _ANY_KIND or cls in _ANY_LIST else (_LISTS | _SETS).get(cls)
    return None
