"""The outline of a TypedDict as one line of text: what an op answers, for readers."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

_WORDS = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}


def typed_slots(hint: Any) -> Mapping[str, tuple[Any, bool]] | None:
    """Return the slots of a TypedDict, each with its hint and whether it is always there.

    A generic one has one parameter, its own or its base's. None for any other hint.
    """
    cls = get_origin(hint) or hint
    if not is_typeddict(cls):
        return None
    bases: tuple[Any, ...] = (hint, *getattr(cls, "__orig_bases__", ()))
    given = [arg for base in bases for arg in get_args(base) if not isinstance(arg, TypeVar)]
    hints = get_type_hints(cls, include_extras=True)
    return {name: _slot(hints[name], given, name in cls.__required_keys__) for name in hints}


def _slot(hint: Any, given: list[Any], is_required: bool) -> tuple[Any, bool]:
    inner = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
    return (inner[given[0]] if getattr(inner, "__parameters__", ()) else inner), is_required


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
