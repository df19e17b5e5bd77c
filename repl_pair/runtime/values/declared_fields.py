"""The fields that a class declares: dataclasses, attrs, models, named tuples, typed dicts."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields as dataclass_fields
from itertools import repeat
from operator import is_
from types import FunctionType, ModuleType
from typing import Any, Literal, NamedTuple, cast, get_origin

from repl_pair.runtime.values.classes import (
    PLAIN_IDS,
    hint_class,
    is_exactly,
    is_genuine,
    is_of,
    lineage,
    names_in,
    per_class,
    real_class,
    space_of,
)
from repl_pair.runtime.values.marks import Sensitive

_TYPING = frozenset({"typing", "types", "typing_extensions"})
_DOTTED = re.compile(r"[A-Za-z_][\w.]*")
_WITHIN = ("__args__", "__constraints__")
_BEHIND = ("__value__", "__origin__", "__forward_arg__", "__supertype__", "__bound__")


def has_fields(cls: Any) -> bool:
    """Return whether a class is built from a mapping of declared fields."""
    if not isinstance(cls, type) or id(cls) in PLAIN_IDS:
        return False  # the answer for most values
    is_more = is_typed_dict(cls) or is_named_tuple(cls) or is_model_class(cls)
    return is_dataclass_kind(cls) or is_more or attrs_fields(cast("Any", cls)) is not None


def is_dataclass_kind(cls: type[Any]) -> bool:
    """Return whether a class or a base is a dataclass, without asking its metaclass."""
    return any("__dataclass_fields__" in names_in(base) for base in lineage(cls))


@per_class
def dataclass_names(cls: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Name the fields that a dataclass is built from, and those that must be given."""
    taken = [f for f in dataclass_fields(cls) if f.init]
    needed = [f.name for f in taken if f.default is MISSING and f.default_factory is MISSING]
    return [f.name for f in taken], needed


class AttrsField(NamedTuple):
    """A field of a class of attrs: where it is, whether it is given, has to be, and is compared."""

    name: str
    init: bool
    needed: bool
    compared: bool


@per_class
def attrs_fields(cls: Any) -> Mapping[str, AttrsField] | None:
    """Return the fields that attrs declares, as its constructor calls them; None of other classes.

    That is `x` for the attribute `_x`.
    """
    attr: Any = sys.modules.get("attr")
    spaces, plain = map(space_of, lineage(cls)), cast("Any", tuple)
    found = next((s["__attrs_attrs__"] for s in spaces if "__attrs_attrs__" in s), None)
    if attr is None or not is_of(found, tuple):
        return None
    return {
        one.alias: AttrsField(one.name, one.init, one.default is attr.NOTHING, one.eq)
        for one in plain.__iter__(found)
        if is_exactly(one, attr.Attribute)
    }


@per_class
def is_plain_container(cls: Any) -> bool:
    """Return whether a class is dict, list, tuple, or a dataclass with no base that is more."""
    is_dataclass_alone = "__dataclass_fields__" in names_in(cls) and lineage(cls)[1:] == (object,)
    return cls is dict or cls is list or cls is tuple or is_dataclass_alone


def fields_of(value: Any) -> dict[str, Any] | None:
    """Return the fields that build an instance of a declared class, None for other objects."""
    cls = real_class(value)
    if is_dataclass_kind(cls):
        names = attributes = dataclass_names(cls)[0]
    elif is_named_tuple(cls):
        names = attributes = cls._fields
    elif is_model_class(cls):
        return {n: getattr(value, n) for n in cls.model_fields} | (value.model_extra or {})
    elif (declared := attrs_fields(cls)) is not None:
        names = [given_as for given_as, field in declared.items() if field.init]
        attributes = [declared[given_as].name for given_as in names]
    else:
        return None
    pairs = zip(names, attributes, strict=True)
    fields = {name: getattr(value, attribute, MISSING) for name, attribute in pairs}
    return {name: field for name, field in fields.items() if field is not MISSING}


def is_named_tuple(cls: Any) -> bool:
    """Return whether a class is a tuple with named fields."""
    return issubclass(cls, tuple) and getattr(hint_class(cls), "_fields", None) is not None


def is_typed_dict(cls: Any) -> bool:
    """Return whether a class is a TypedDict."""
    return issubclass(cls, dict) and getattr(hint_class(cls), "__total__", None) is not None


def is_model_class(cls: Any) -> bool:
    """Return whether `cls` is a pydantic model."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return base is not None and is_of(cls, type) and any(one is base for one in lineage(cls))


def names_of_holder(holder: Any) -> dict[str, Any]:
    """Return what a module, class or the module of a function holds by names; of others nothing."""
    if is_of(holder, type):
        spaces = map(space_of, reversed(lineage(holder)))
        return {name: value for space in spaces for name, value in space.items()}
    kind = real_class(holder)
    space = holder.__globals__ if kind is FunctionType else None
    held = cast("dict[Any, Any]", vars(holder) if kind is ModuleType else space or {})
    held = cast("Any", dict).copy(held)
    if all(map(is_, map(type, held), repeat(str))):  # a large module is read for each function
        return held
    return {name: value for name, value in held.items() if type(name) is str}


def _named(words: list[str], names: dict[str, Any]) -> Any:
    found = names.get(words[0])
    for word in words[1:]:
        found = names_of_holder(found).get(word)
    return None if type(found) is str else found


def behind(hint: Any, slot: str) -> Any:
    """Return what a slot of a hint holds, None where it has none; Any behind an undefined name."""
    try:
        return getattr(hint, slot, None)
    except Exception:  # noqa: BLE001  the value of a `type` statement is code of the person's
        return Any


def names_sensitive(hint: Any, names: dict[str, Any], depth: int = 6) -> bool:
    """Return whether a hint says `Sensitive`; `names` are those that a text may use."""
    if type(hint) is str:
        dotted = [text.split(".") for text in _DOTTED.findall(hint)]
        is_marked = any(words[-1] == "Sensitive" for words in dotted)
        return is_marked or any(names_sensitive(_named(w, names), names, depth - 1) for w in dotted)
    if is_mark(hint):
        return True
    if depth <= 0 or hint is Any or not is_genuine(real_class(hint), *_TYPING):
        return False
    if any(map(is_mark, getattr(hint, "__metadata__", ()))):  # texts beside a mark are docs
        return True
    parts = [behind(hint, slot) for slot in _BEHIND]
    within = () if get_origin(hint) is Literal else [behind(hint, slot) for slot in _WITHIN]
    parts += [part for one in within if type(one) is tuple for part in cast("Any", one)]
    return any(names_sensitive(part, names, depth - 1) for part in parts)


def is_mark(hint: Any) -> bool:
    """Return whether a hint, or a part of its metadata, is `Sensitive` or of a class below it."""
    cls: Any = hint if is_of(hint, type) else real_class(hint)
    return any(base is Sensitive for base in lineage(cls))
