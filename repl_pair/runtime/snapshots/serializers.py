"""What a value is made of where a stored output writes it: the state that pickle would keep.

What pickle refuses has no state that could be compared, and what it keeps of some classes nobody
could read: these have rows in `library_states`. The person adds rows with `@serializer(cls)`.
"""

import copyreg
from collections.abc import Callable, Reversible, Sequence, Set
from dataclasses import fields as dataclass_fields
from typing import Any, cast

from repl_pair.errors import AuthoringError, text_of
from repl_pair.runtime.reading.fields import declares_secret, read_fields, read_items
from repl_pair.runtime.snapshots.library_states import ROWS
from repl_pair.runtime.snapshots.secret_parts import hide_unnamed
from repl_pair.runtime.snapshots.states import State, Unstorable, Words, hide_declared
from repl_pair.runtime.values.classes import (
    is_set,
    lineage,
    name_of,
    names_in,
    qualname_of,
    real_class,
    root_of,
)
from repl_pair.runtime.values.frozen import Secret

_SERIALIZERS: dict[type, Callable[[Any], Any]] = {}


def serializer(cls: type) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register how stored outputs write the instances of a class, and of its subclasses.

    The function gets the instance and gives its data: a text, numbers, a dict. All that makes two
    instances differ belongs into it. AuthoringError `bad_body` for what is no class.
    """
    if not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AuthoringError("bad_body", f"serializer takes a class, not {cls!r:.100}.")

    def add(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
        _SERIALIZERS[cls] = fn
        return fn

    return add


def read_state(value: Any) -> State | Words:
    """Return what a value that is no plain data is made of; Unstorable where that can't be read."""
    cls = real_class(value)
    for base in lineage(cls):
        if base in _SERIALIZERS:
            return State(qualname_of(base), (_SERIALIZERS[base](value),))
    read = next((read for reads, read in ROWS if reads(value, cls)), _picklable_state)
    try:
        return read(value)
    except Unstorable:
        raise
    except Exception as error:
        raise Unstorable(text_of(error) or name_of(type(error))) from error


def _picklable_state(value: Any) -> State | Words:
    cls = real_class(value)
    reduce, hide = copyreg.dispatch_table.get(cls), hide_unnamed(value)
    reduced: Any = reduce(value) if reduce else value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return Words(reduced)
    made, args, state, items, pairs = cast("list[Any]", [*reduced, None, None, None][:5])
    if _is_unordered(value, cls) and len(args) and type(args[0]) is list:
        args = [set[Any](args[0]), *args[1:]]
    if made is _NEW or made is _NEW_KEYWORDS:  # what they make is their first arg
        args = args[1:]
    is_usual = not reduce and (made is _NEW or made is cls)
    names = _names_of_places(value, cls) if is_usual else ()
    args, fields = _by_name(names, tuple(map(hide, args)), state, hide)
    if any("__getstate__" in names_in(base) for base in lineage(cls)[:-1]):
        fields = _in_order(value, fields)
    args = [Secret(arg) if declares_secret(value, at) else arg for at, arg in enumerate(args)]
    return State(
        qualname_of(cls),
        tuple(args),
        hide_declared(value, fields),
        None if items is None else list(items),
        None if pairs is None else list(pairs),
    )


def _names_of_places(value: Any, cls: type[Any]) -> Sequence[str]:
    """Name what pickle keeps of an instance by place: none where the person wrote what it keeps.

    It is so for named tuples, structs of msgspec, and frozen dataclasses with slots.
    """
    keeper = next(base for base in lineage(cls) if not _KEEPING.isdisjoint(names_in(base)))
    space = names_in(keeper)
    if "_fields" in space and _KEEPING.intersection(space) <= {"__getnewargs__"}:
        return read_items(value)[1]
    if getattr(space.get("__getstate__"), "__module__", "") == "dataclasses":
        return [field.name for field in dataclass_fields(cls)]
    return getattr(cls, "__struct_fields__", ()) if root_of(keeper) == "msgspec" else ()


def _by_name(
    names: Sequence[str], args: Sequence[Any], state: Any, hide: Callable[[Any], Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the args and the fields in what pickle keeps: by name what has one."""
    fields = _fields_of(state)
    if names and len(names) == len(args) and fields is not None:
        return (), dict(zip(names, args, strict=True)) | fields
    if names and type(state) is list and len(names) == len(cast("list[Any]", state)):
        return args, dict(zip(names, hide(state), strict=True))
    return (args, fields) if fields is not None else ((*args, hide(state)), {})


def _is_unordered(value: Any, cls: type[Any]) -> bool:
    """Return whether the items of an instance come in the order of their hashes."""
    return is_set(value) or (issubclass(cls, Set) and not issubclass(cls, Reversible))


def _in_order(value: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields as they were declared: `__getstate__` may gather them from a set of names."""
    declared = (read_fields(value, private=True) or ({},))[0]
    names = [*(name for name in declared if name in fields), *sorted(fields, key=str)]
    return {name: fields[name] for name in names}


def _fields_of(state: Any) -> dict[str, Any] | None:
    """Return the fields in the state of an instance; None where it is anything else."""
    if state is None:
        return {}
    # With slots it is a pair: of the instance's dict, or None, and of the slots.
    is_pair = type(state) is tuple and len(cast("tuple[Any, ...]", state)) == 2
    parts = cast("tuple[Any, ...]", state if is_pair else (state,))
    found = dict[str, Any]()
    for part in parts:
        if part is not None and type(part) is not dict:
            return None
        found |= part or {}
    return found


_KEEPING = frozenset({"__reduce__", "__reduce_ex__", "__getnewargs__", "__getstate__"})
_NEW: Any = cast("Any", copyreg).__newobj__
_NEW_KEYWORDS: Any = cast("Any", copyreg).__newobj_ex__
