"""Instances of declared classes built from the mapping of their fields."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum, Flag
from functools import reduce
from typing import Any, get_args

from repl_pair.errors import RequestError, did_you_mean, text_of
from repl_pair.runtime.values.classes import (
    class_behind,
    current_class,
    is_map,
    is_row,
    same_class,
    type_ref,
)
from repl_pair.runtime.values.declared_fields import (
    is_model_class,
    is_named_tuple,
    is_typed_dict,
)
from repl_pair.runtime.values.frozen import EnumMember, Frozen, Record, sensitive_paths
from repl_pair.runtime.values.hints import ANYTHING, Hint, class_hints, item_hint
from repl_pair.runtime.values.paths import join_path
from repl_pair.runtime.values.takes import field_names

Thaw = Callable[[Frozen, Hint, str], Any]
"""Thaws a part: the frozen value, its hint, its place."""


def build_instance(frozen: Frozen, cls: Any, thaw: Thaw, where: str) -> Any:
    """Build what a parameter of the declared class `cls` gets: that class, or a Record's own."""
    if type(frozen) is Record:
        own = class_behind(frozen.type, where)
        if not any(same_class(base, cls) for base in own.__mro__):
            raise misfit(where, cls.__qualname__, frozen)
        return build_fields(frozen.fields, own, thaw, where)
    if is_named_tuple(cls) and is_row(frozen):
        names: tuple[str, ...] = cls._fields
        if len(frozen) > len(names):
            raise unfit(where, f"{cls.__qualname__} has {len(names)} fields, got {len(frozen)}")
        frozen = dict(zip(names, frozen, strict=False))
    if not is_map(frozen):
        raise misfit(where, f"{cls.__qualname__} as a mapping of its fields", frozen)
    return build_fields(frozen, cls, thaw, where)


def build_fields(given: Mapping[Any, Frozen], cls: Any, thaw: Thaw, where: str) -> Any:
    """Build an instance; `cannot_run` on unknown or missing fields, or its refusal."""
    if is_model_class(cls):
        made = _model_input(given, cls, thaw, where)
        return build_call(cls, lambda: cls.model_validate(made), where, given)
    _check_names(given, cls, where)
    hints = class_hints(cls)
    values = {
        name: thaw(inner, hints.get(name, ANYTHING), join_path(where, name))
        for name, inner in given.items()
    }
    return values if is_typed_dict(cls) else build_call(cls, lambda: cls(**values), where, given)


def build_call(cls: Any, make: Callable[[], Any], where: str, source: Frozen) -> Any:
    """Call the constructor of the person's class; what it raises is `cannot_run`.

    The text of its error is left out where `source`, what was given, holds secrets.
    """
    try:
        return make()
    except Exception as error:  # noqa: BLE001  a constructor is the person's code
        reason = type(error).__name__ + ("" if sensitive_paths(source) else f": {text_of(error)}")
    raise unfit(where, f"{cls.__qualname__} cannot be built: {reason}")


def build_member(frozen: Frozen, cls: Any, where: str) -> Any:
    """Return the member of the enumeration `cls` that a node, a name or a value stands for."""
    _check_enum(cls, where)
    if type(frozen) is EnumMember:
        if frozen.type != type_ref(cls):
            raise misfit(where, cls.__qualname__, frozen)
        return member_named(cls, frozen.name, where)
    found = find_member(frozen, cls)
    if found is None:
        raise misfit(where, f"{cls.__qualname__} ({', '.join(cls.__members__)})", frozen)
    return found


def find_member(value: Any, cls: Any) -> Enum | None:
    """Return the member that a name or a value stands for, None where there is none."""
    if isinstance(value, str) and (found := find_named(value, cls)) is not None:
        return found
    if type(value) is int and issubclass(cls, Flag):
        return _find_flag(value, cls)
    return next((m for m in cls if type(m.value) is type(value) and m.value == value), None)


def name_of_member(member: Enum) -> str:
    """Return the name of a member, of a flag of several `A|B`; the number of one without a name."""
    return member.name or str(member.value)


def find_named(name: str, cls: Any) -> Enum | None:
    """Return the member that `name_of_member` names, None where there is none."""
    if name in cls.__members__ or not issubclass(cls, Flag):
        return cls.__members__.get(name)
    parts = name.split("|")
    if len(parts) > 1:
        flags: list[Any] = [find_named(part, cls) for part in parts]
        return None if any(flag is None for flag in flags) else reduce(lambda a, b: a | b, flags)
    try:
        return _find_flag(int(name, 0), cls)
    except ValueError:
        return None


def _find_flag(number: int, cls: Any) -> Enum | None:
    with suppress(Exception):  # a class may refuse a number by code of its own
        found = cls(number)
        return found if type(found) is cls and found.value == number else None
    return None


def member_named(cls: Any, name: str, where: str) -> Enum:
    """Return a member by name; `A|B` is a flag of both."""
    _check_enum(cls, where)
    if (found := find_named(name, cls)) is not None:
        return found
    lost = next(part for part in (*name.split("|"), name) if find_named(part, cls) is None)
    near = did_you_mean(lost, cls.__members__)
    raise unfit(where, f"{cls.__qualname__} has no member {lost!r}.{near}".rstrip("."))


def _check_enum(cls: Any, where: str) -> None:
    if not issubclass(cls, Enum):
        raise unfit(where, f"{cls.__qualname__} was defined again and is not an enumeration now")


def choose(frozen: Frozen, arm: Any, where: str) -> Any:
    """Return the choice of a Literal that a value stands for."""
    for choice in get_args(arm):
        if is_choice(frozen, choice):
            return current_class(type(choice))[choice.name] if isinstance(choice, Enum) else choice
    choices = (c.name if isinstance(c, Enum) else repr(c) for c in get_args(arm))
    raise misfit(where, f"one of {', '.join(choices)}", frozen)


def is_choice(frozen: Frozen, choice: Any) -> bool:
    """Return whether a value is, or names, one choice of a Literal."""
    if isinstance(choice, Enum):
        member = EnumMember(type_ref(type(choice)), choice.name)
        return frozen == member or frozen == choice.name
    return type(frozen) is type(choice) and frozen == choice


def misfit(where: str, wanted: str, frozen: Frozen) -> RequestError:
    """Report that a value is not of the wanted type."""
    return unfit(where, f"expected {wanted}, got {_shown(frozen)}")


def unfit(where: str, what: str) -> RequestError:
    """Report that the value at a place cannot be built."""
    return RequestError("cannot_run", f"{where}: {what}.", detail={"path": where})


def _shown(frozen: Frozen) -> str:
    if isinstance(frozen, Record | EnumMember):
        return frozen.type.qualname
    name = "None" if frozen is None else type(frozen).__name__
    if type(frozen) in (bool, int, float, str):
        text = repr(frozen)
        return f"{name} {text}" if len(text) <= 60 else name  # half a secret is known as none
    return name


def _check_names(given: Mapping[Any, Frozen], cls: Any, where: str) -> None:
    legal, needed = field_names(cls)
    unknown = [name for name in given if name not in legal]
    if unknown and not is_typed_dict(cls):
        legal = list(inspect.signature(cls).parameters)
        unknown = [name for name in unknown if name not in legal]
    if unknown:
        near = did_you_mean(str(unknown[0]), legal)
        near = near or f" It has: {', '.join(sorted(legal)) or 'none'}."
        raise unfit(where, f"{cls.__qualname__} has no field {unknown[0]!r}.{near}".rstrip("."))
    missing = [name for name in needed if name not in given]
    if missing:
        raise unfit(where, f"{cls.__qualname__} lacks {', '.join(missing)}")


def _model_input(given: Mapping[Any, Frozen], cls: Any, thaw: Thaw, where: str) -> dict[str, Any]:
    """Thaw a model's fields; types are the model's own business, but for names it reads others."""
    hints = class_hints(cls)
    return {
        _input_name(cls, name): _field_input(
            inner, hints.get(name, ANYTHING), thaw, join_path(where, name)
        )
        for name, inner in given.items()
    }


def _field_input(inner: Frozen, hint: Hint, thaw: Thaw, where: str) -> Any:
    """Thaw what a field of a model takes: members of enums, and fields of models in it, by name."""
    cls = hint.cls
    if inner is None or not isinstance(cls, type):
        return thaw(inner, ANYTHING, where)
    if issubclass(cls, Enum):
        return thaw(inner, hint, where)
    if is_map(inner) and is_model_class(cls):
        return _model_input(inner, cls, thaw, where)
    if is_map(inner) and issubclass(cls, Mapping):
        below = item_hint(hint, None)
        return {k: _field_input(v, below, thaw, join_path(where, k)) for k, v in inner.items()}
    if is_row(inner):
        return [
            _field_input(v, item_hint(hint, at), thaw, join_path(where, at))
            for at, v in enumerate(inner)
        ]
    return thaw(inner, ANYTHING, where)


def _input_name(cls: Any, name: str) -> str:
    info = cls.model_fields.get(name)
    if info is None or any(map(cls.model_config.get, ("populate_by_name", "validate_by_name"))):
        return name
    alias = info.validation_alias
    choices = [c for c in getattr(alias, "choices", [alias]) if isinstance(c, str)]
    return choices[0] if choices else name
