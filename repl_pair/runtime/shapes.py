"""Builtin containers told apart, in the form that the type checker follows."""

from collections.abc import Mapping
from typing import Any, TypeGuard

_TYPE: Any = type


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
