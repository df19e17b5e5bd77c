"""Args as data: frozen when they are registered, sharing nothing with what was given."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timezone
from enum import Enum
from pathlib import PurePath
from types import GeneratorType, ModuleType
from typing import Any, TypeGuard

from repl_pair.errors import AuthoringError
from repl_pair.runtime.values import canonical
from repl_pair.runtime.values.build import name_of_member
from repl_pair.runtime.values.classes import (
    hint_class,
    is_library_scalar,
    is_map,
    is_of,
    is_row,
    is_secret_class,
    is_set,
    kind_of,
    real_class,
    root_of,
    same_class,
    type_ref,
)
from repl_pair.runtime.values.declared_fields import fields_of, is_plain_container
from repl_pair.runtime.values.frozen import (
    SCALAR_IDS,
    EnumMember,
    Frozen,
    Given,
    Record,
    Ref,
    Secret,
    bad_data,
)
from repl_pair.runtime.values.hints import ANYTHING, Hint, class_hints, item_hint, read_hint
from repl_pair.runtime.values.leaves import LONGEST_INT, is_leaf, leaf_of
from repl_pair.runtime.values.library import copier_of, holds_several
from repl_pair.runtime.values.paths import join_path
from repl_pair.runtime.values.value_parts import columns_where

MAX_DEPTH = 200
_IMMUTABLE = frozenset(map(id, (type(None), timezone, EnumMember)))
"""The other types of which a value is kept as it is."""
_FILE = io.IOBase.__mro__[1]
"""Below `io.IOBase`, which would ask the class of a value for its hash."""
Above = tuple[int, ...]
"""The ids of the containers around a value."""


def freeze(value: Any, hint: Any = Any, *, where: str = "args") -> Frozen:
    """Turn a value into plain data that shares nothing mutable with it.

    An instance of the very class that the hint names becomes the mapping of its fields, as if that
    had been written; an instance of any other declared class becomes a Record. What the hint calls
    secret becomes a Secret. AuthoringError `bad_body` names the place of what is no data:
    functions, classes, open files, objects of unknown types, such as texts and mappings that are
    more than that, containers that hold themselves.
    """
    return _freeze(value, read_hint(hint), where, ())


def _freeze(value: Any, hint: Hint, where: str, above: Above) -> Frozen:
    kind = real_class(value)
    if id(kind) in SCALAR_IDS and not hint.sensitive:
        return _check_length(value, where) if kind is int else value
    if kind is Secret or kind is Given:
        return value
    if is_secret_class(kind):
        return Secret(value)
    if hint.sensitive:
        return Secret(_freeze(value, replace(hint, sensitive=False), where, above))
    if _is_immutable(kind) or not is_plain_container(kind):
        made = _freeze_leaf(value, hint, where)
        if made is not _NONE:
            return made
    if id(value) in above or len(above) >= MAX_DEPTH:
        raise bad_data(where, "contains itself, or is nested too deeply; data is a tree")
    return _freeze_container(value, hint, where, (*above, id(value)))


def _freeze_leaf(value: Any, hint: Hint, where: str) -> Frozen:
    """Freeze what is a value as a whole; `_NONE` for what is made of parts."""
    if _is_immutable(real_class(value)):
        return value
    if is_library_scalar(value):
        return _check_hashed(value, where)
    if is_of(value, Enum):
        return _freeze_member(value, hint, where)
    if _is_plain_text(value):
        return str.__str__(value)
    if leaf_of(real_class(value)) is not None:
        return value
    if is_of(value, bytearray):
        return bytes(value)
    if kind_of(value):
        return _freeze_table(value, where)
    if (copy := copier_of(value)) is not None:
        try:
            return copy(value)
        except ValueError as error:
            raise bad_data(where, str(error)) from None
    return _NONE


_NONE: Any = object()


def _check_length(number: int, where: str) -> int:
    """Return a number of which Python writes the digits."""
    if number.bit_length() > LONGEST_INT:
        raise bad_data(where, "holds a whole number of over 4,200 digits: write it as text")
    return number


def _check_hashed(value: Any, where: str) -> Any:
    """Return a value of a library, without rows if it has some, if identities may hold it."""
    try:
        canonical.write(value, lambda _: None)
    except AuthoringError as error:
        raise bad_data(where, f"cannot be hashed: {error.message.removesuffix('.')}") from None
    return value


def _is_plain_text(value: Any) -> TypeGuard[str]:
    """Return whether a text is no more than that: of str, of numpy, or the handle of an entry."""
    return is_of(value, str) and root_of(real_class(value)) in ("builtins", "numpy", "repl_pair")


def _is_immutable(kind: type) -> bool:
    return is_leaf(kind) or id(kind) in _IMMUTABLE


def _freeze_container(value: Any, hint: Hint, where: str, above: Above) -> Frozen:
    if type(value) is Ref:
        return Ref(str.__str__(value.loader), _freeze_map(value.kwargs, ANYTHING, where, above))
    if type(value) is Record:
        cls = hint.cls
        is_named = cls is not None and type_ref(cls) == value.type
        frozen = _freeze_map(value.fields, hint if is_named else ANYTHING, where, above)
        return frozen if is_named else Record(value.type, frozen)
    fields = fields_of(value)
    if fields is not None:
        cls = real_class(value)
        hints = class_hints(cls)
        frozen = {
            name: _freeze(inner, hints.get(name, ANYTHING), join_path(where, name), above)
            for name, inner in fields.items()
        }
        if _names(hint, cls):
            return frozen
        _check_reachable(cls, hint, where)
        return Record(type_ref(cls), frozen)
    if is_map(value) and not holds_several(value):
        return _freeze_map(value, hint, where, above)
    if is_row(value):
        return _freeze_items(value, hint, where, above)
    if is_set(value):
        return _freeze_set(value, hint, where, above)
    raise bad_data(
        where,
        f"is {_kind(value)}; a body holds data only. Register a loader that makes it, and write "
        "ref('loader_id', ...) here",
    )


def _freeze_member(value: Enum, hint: Hint, where: str) -> EnumMember:
    _check_reachable(type(value), hint, where)
    return EnumMember(type_ref(type(value)), name_of_member(value))


def _freeze_map(value: Mapping[Any, Any], hint: Hint, where: str, above: Above) -> Frozen:
    frozen: dict[Any, Frozen] = {}
    for key, inner in value.items():
        known = _freeze_key(key, where)
        frozen[known] = _freeze(inner, item_hint(hint, known), join_path(where, known), above)
    return frozen


def _freeze_items(value: Sequence[Any], hint: Hint, where: str, above: Above) -> Frozen:
    classes = [hint_class(arm) for arm in hint.arms]
    by_place = any(cls is not None and issubclass(cls, tuple) for cls in classes)
    every = None if by_place or len(value) < 2 else item_hint(hint, None)
    items = (
        _freeze(inner, every or item_hint(hint, index), f"{where}[{index}]", above)
        for index, inner in enumerate(value)
    )
    return tuple(items) if isinstance(value, tuple) else list(items)


def _freeze_set(value: Iterable[Any], hint: Hint, where: str, above: Above) -> Frozen:
    inner = item_hint(hint, None)
    frozen = [_freeze(item, inner, f"{where}[*]", above) for item in value]
    try:
        return frozenset(frozen)
    except TypeError:
        names = ", ".join(sorted({type(item).__name__ for item in value}))
        raise bad_data(
            where, f"is a set of {names}; write a list: a parameter hinted set gets a set"
        ) from None


def _freeze_key(key: Any, where: str) -> Any:
    if type(key) is int:
        return _check_length(key, where)
    if type(key) in (str, bool, type(None), EnumMember):
        return key
    if is_of(key, Enum):
        return _freeze_member(key, ANYTHING, where)
    if _is_plain_text(key):
        return str.__str__(key)
    if is_row(key):
        return tuple(_freeze_key(part, where) for part in key)
    raise bad_data(
        where,
        f"has a key of type {type(key).__name__}; keys are text, whole numbers, true, false, None, "
        "enum members or tuples of them",
    )


def _freeze_table(value: Any, where: str) -> Any:
    for column in columns_where(value, lambda dtype: dtype == "O"):
        cells = column if kind_of(column) == "array" else column.to_numpy()
        odd = {t for t in map(real_class, cells.reshape(-1).tolist()) if not _is_cell(t)}
        if odd:
            names = ", ".join(sorted(t.__name__ for t in odd))
            raise bad_data(
                where, f"is a {type(value).__name__} of {names}; its cells hold plain data"
            )
    wide = columns_where(value, canonical.varies_by_machine)
    for part in wide if kind_of(value) == "frame" else [value]:
        _check_hashed(part[:0] if part.ndim else part, where)
    frozen = value.copy()
    if kind_of(frozen) == "array":
        frozen.setflags(write=False)
    return frozen


def _is_cell(kind: type) -> bool:
    is_library = root_of(kind) in ("numpy", "pandas")
    return is_library or (_is_immutable(kind) and not issubclass(kind, PurePath))


def _names(hint: Hint, cls: type) -> bool:
    return hint.cls is not None and same_class(hint.cls, cls)


def _check_reachable(cls: type, hint: Hint, where: str) -> None:
    if "<" in cls.__qualname__ and not _names(hint, cls):
        raise bad_data(
            where,
            f"is a {cls.__qualname__}, a class inside a function: define it at the top level, or "
            "name it in the parameter's type hint",
        )


def _kind(value: Any) -> str:
    if is_of(value, type):
        return f"the class {value.__qualname__}"
    if is_of(value, ModuleType):
        return f"the module {value.__name__}"
    if is_of(value, GeneratorType):
        return "a generator"
    if is_of(value, _FILE):
        return f"an open file ({type(value).__name__})"
    name = canonical.full_name(real_class(value))
    if callable(value):
        return f"a callable ({name}) {getattr(value, '__qualname__', '')}".rstrip()
    return f"an object of type {name}"
