"""The type of an answer: its slots, its words, and its outline in one line."""

from collections.abc import Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)


class Parts(NamedTuple):
    """What a type names: slots, each with its type, the type of the rest, and words."""

    slots: Mapping[str, Any]
    rest: Any
    words: frozenset[Any]


_WORDS = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}


@lru_cache(maxsize=512)
def typed_slots(hint: Any) -> Mapping[str, tuple[Any, bool]] | None:
    """Return the slots of a TypedDict, each with hint and whether it is always there, else None."""
    cls = get_origin(hint) or hint
    if not is_typeddict(cls):
        return None
    # A generic one has one parameter, its own or its base's.
    bases: tuple[Any, ...] = (hint, *getattr(cls, "__orig_bases__", ()))
    given = [arg for base in bases for arg in get_args(base) if not isinstance(arg, TypeVar)]
    slots: dict[str, tuple[Any, bool]] = {}
    for name, hint in get_type_hints(cls).items():
        inner = hint[given[0]] if getattr(hint, "__parameters__", ()) else hint
        slots[name] = inner, name in cls.__required_keys__
    return slots


def outline(hint: Any) -> str:
    """Return the outline of a hint: `{slot, optional?: [type]}`; a string or Any has no type."""
    if (slots := typed_slots(hint)) is not None:
        return "{" + ", ".join(_slot_text(n, h, always) for n, (h, always) in slots.items()) + "}"
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(arg if isinstance(arg, str) else str(arg).lower() for arg in args)
    if origin in (Union, UnionType):
        return " or ".join(map(outline, args))
    if origin is list:
        return f"[{outline(args[0])}]"
    if origin is dict:
        return "{…}" if args[1] is Any else f"{{…: {outline(args[1])}}}"
    return _WORDS.get(hint, "any")


def _slot_text(name: str, hint: Any, always: bool) -> str:
    text = outline(hint)
    head = name if always else f"{name}?"
    return head if text in ("string", "any") else f"{head}: {text}"


@lru_cache(maxsize=512)
def parts_of(hint: Any) -> Parts:
    """Return the types of what stands below a value of this type."""
    slots, rest, words = dict[str, Any](), Any, set[Any]()
    for one in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        origin, args = get_origin(one), get_args(one)
        if origin is Literal:
            words.update(args)
        elif origin in (list, dict):
            rest = args[-1]
        else:
            slots |= {name: inner for name, (inner, _) in (typed_slots(one) or {}).items()}
    return Parts(slots, rest, frozenset(words))
