"""Whether a value fits a type hint, containers and their items too; the value stays as it is."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, cast, get_args, get_origin

from repl_pair.runtime.values.classes import (
    hint_class,
    per_class,
    real_class,
    same_class,
    spell,
    type_name,
)
from repl_pair.runtime.values.declared_fields import is_typed_dict
from repl_pair.runtime.values.hints import Container, Hint, class_hints, read_hint
from repl_pair.runtime.values.written_hints import required_keys

Check = Callable[[Any, str], str]
"""Takes a value and its place; returns why it does not fit, empty where it does."""

_PLAIN = frozenset(map(id, (int, float, str, bool, bytes, type(None))))
"""The types whose values are compared by ==; others are the same only where they are one object.

By their ids, for a class of the person's may have a hash of its own.
"""
_NUMBERS: Mapping[int, type] = {id(int): Integral, id(float): Real}
_ROWS = (list, tuple, set, frozenset, deque)


def is_same(old: Any, new: Any) -> bool:
    """Return whether a value in the place of another changes nothing; 1 and True are two."""
    if old is new:
        return True
    kind = real_class(new)
    if kind is not real_class(old) or id(kind) not in _PLAIN:
        return False
    return old == new or (kind is float and math.isnan(old) and math.isnan(new))


def exact_types(hint: Hint) -> frozenset[int]:
    """Return the ids of classes whose own instances all fit a hint, so that they need no check."""
    whole = [arm for arm in hint.arms if get_origin(arm) is None and isinstance(arm, type)]
    exact = {id(arm) for arm in whole if not is_typed_dict(arm)}
    more = [(int, id(float) in exact), (type(None), hint.nullable)]
    return frozenset(exact | {id(cls) for cls, is_fit in more if is_fit})


def checker(hint: Any, known: dict[int, Check] | None = None) -> Check:
    """Return the check of a hint; a float takes whole numbers, no number takes a bool.

    `known` are the checks of alternatives, by id: an alias may hold itself.
    """
    known = {} if known is None else known
    read = read_hint(hint)
    if not read.arms and not read.nullable:
        return _take_all
    arms, exact = [known.get(id(a)) or _arm_checker(a, known) for a in read.arms], exact_types(read)

    def check(value: Any, where: str) -> str:
        if id(real_class(value)) in exact:
            return ""
        faults = [arm(value, where) for arm in arms]
        if not all(faults) and faults:
            return ""
        return faults[0] if len(faults) == 1 and not read.nullable else _fault(value, where, read)

    return check


def _take_all(_value: Any, _where: str) -> str:
    return ""


def _fault(value: Any, where: str, wanted: object) -> str:
    """Name the types only: the value may be a secret."""
    return f"{where} takes {wanted}, not {type_name(value)}"


def _arm_checker(arm: Any, known: dict[int, Check]) -> Check:
    if get_origin(arm) is Literal:
        return partial(_check_choice, get_args(arm))
    cls = hint_class(arm)
    if cls is None:
        return _take_all
    if is_typed_dict(cls):
        return partial(_check_fields, cls)
    inside = list[Check]()

    def check(value: Any, where: str) -> str:
        if not _is_of(value, cls):
            return _fault(value, where, spell(arm))
        return next(filter(None, (one(value, where) for one in inside)), "")

    known[id(arm)] = check
    inside += [_inside_checker(one, known) for one in read_hint(arm).containers if one.args]
    return check


def _is_of(value: Any, cls: Any) -> bool:
    if (number := _NUMBERS.get(id(cls))) is not None:
        return isinstance(value, number) and type(value) is not bool
    try:
        return isinstance(value, cls) or same_class(real_class(value), cls)
    except TypeError:  # a protocol, which cannot be asked
        return True


def _check_choice(choices: tuple[Any, ...], value: Any, where: str) -> str:
    if any(type(value) is type(choice) and value == choice for choice in choices):
        return ""
    words = ", ".join(c.name if isinstance(c, Enum) else repr(c) for c in choices)
    return _fault(value, where, f"one of {words}")


def _check_fields(cls: Any, value: Any, where: str) -> str:
    if not isinstance(value, dict):
        return _fault(value, where, spell(cls))
    checks, needed = _field_checks(cls)
    if missing := [name for name in needed if name not in value]:
        return f"{where} takes {spell(cls)}, which has {', '.join(missing)}"
    for key, item in cast("dict[Any, Any]", value).items():
        if key not in checks:
            return f"{where} takes {spell(cls)}, which has no {key!r}: {', '.join(checks)}"
        if fault := checks[key](item, f"{where}.{key}"):
            return fault
    return ""


@per_class
def _field_checks(cls: type[Any]) -> tuple[dict[str, Check], list[str]]:
    return {name: checker(hint) for name, hint in class_hints(cls).items()}, required_keys(cls)


def _inside_checker(container: Container, known: dict[int, Check]) -> Check:
    parts = [checker(part, known) for part in container.parts]
    if issubclass(container.cls, Mapping):
        return partial(_check_items, parts[0], parts[-1])
    if container.is_fixed:
        return partial(_check_places, parts)
    if not container.values:
        return _take_all
    each = container.values[0]
    return partial(_check_each, checker(each, known), exact_types(each))


def _check_items(key_check: Check, value_check: Check, value: Any, where: str) -> str:
    for key, item in value.items():
        if fault := key_check(key, f"a key of {where}") or value_check(item, f"{where}[{key!r}]"):
            return fault
    return ""


def _check_places(checks: list[Check], value: Any, where: str) -> str:
    if len(value) != len(checks):
        return f"{where} takes {len(checks)} items, not {len(value)}"
    faults = (
        one(item, f"{where}[{at}]")
        for at, (one, item) in enumerate(zip(checks, value, strict=True))
    )
    return next(filter(None, faults), "")


def _check_each(check: Check, exact: frozenset[int], value: Any, where: str) -> str:
    if not isinstance(value, _ROWS):  # an iterator would be used up
        return ""
    items: Iterable[Any] = cast("Any", value)
    odd = ((at, item) for at, item in enumerate(items) if id(real_class(item)) not in exact)
    return next(filter(None, (check(item, f"{where}[{at}]") for at, item in odd)), "")
