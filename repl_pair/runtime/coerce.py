"""JSON expectations taken to the type of what they are compared with."""

from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

from repl_pair.runtime.classes import same_class, type_ref
from repl_pair.runtime.foreign import is_array_scalar
from repl_pair.runtime.leaves import LEAVES, read_leaf
from repl_pair.runtime.nodes import EnumMember, Record
from repl_pair.runtime.shapes import class_of_value, is_row

_NUMBER_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def coerce(expected: Any, actual: Any) -> Any:
    """Take a JSON expectation to the type of the actual value, where JSON has no form for that.

    Text becomes a decimal, date, path, UUID or enum member, a list a tuple, a record the mapping
    of its fields. The items of containers are taken when they are compared. What has no form of
    that type stays as it is.
    """
    if isinstance(actual, Enum):
        return _to_member(expected, actual)
    if type(expected) is Record:
        return expected.fields if expected.type == type_ref(class_of_value(actual)) else expected
    if isinstance(actual, tuple) and is_row(expected):
        return tuple(expected)
    if is_array_scalar(actual):
        return _to_array_scalar(expected, actual)
    return _to_leaf(expected, actual)


def key_like(expected: Any, actual: Mapping[Any, Any]) -> Any:
    """Give the key of `actual` that a JSON key stands for: itself, an enum member, or a number."""
    if expected in actual:
        return expected
    for key in actual:
        if coerce(expected, key) == key or (type(key) is int and str(key) == expected):
            return key
    return expected


def _to_member(expected: Any, actual: Enum) -> Any:
    cls = type(actual)
    if type(expected) is EnumMember and expected.type == type_ref(cls):
        return _named(cls, expected.name, expected)
    if isinstance(expected, Enum):
        again = same_class(type(expected), cls)
        return _named(cls, expected.name, expected) if again else expected
    if isinstance(expected, str) and expected in cls.__members__:
        return cls.__members__[expected]
    same = (m for m in cls if type(m.value) is type(expected) and m.value == expected)
    return next(same, expected)


def _named(cls: type[Enum], name: str, other: Any) -> Any:
    return cls.__members__.get(name, other)


def _to_leaf(expected: Any, actual: Any) -> Any:
    if type(expected) is float and isinstance(actual, Decimal):
        return Decimal(repr(expected))
    if type(expected) is str and isinstance(actual, float | Decimal) and expected in _NUMBER_WORDS:
        return type(actual)(_NUMBER_WORDS[expected])
    if type(expected) not in (str, int, float) or isinstance(actual, float | complex):
        return expected
    leaf = next((cls for cls in type(actual).__mro__ if cls in LEAVES), None)
    try:
        return expected if leaf is None else read_leaf(expected, leaf)
    except ValueError:
        return expected


def _to_array_scalar(expected: Any, actual: Any) -> Any:
    if actual.dtype.kind not in "mM" or type(expected) is not str:
        return _to_leaf(expected, actual.item())
    try:
        return type(actual)(expected)
    except ValueError:
        return expected
