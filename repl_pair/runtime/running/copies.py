"""Bounded copies of a state, so that later steps do not change what an earlier one left."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from enum import Enum
from itertools import islice
from typing import Any

from repl_pair.runtime.reading.bounded import MORE, Bounds, copy_within, cut_text
from repl_pair.runtime.reading.closed_values import is_closed
from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.classes import (
    CONTAINER_IDS,
    is_library_scalar,
    is_map,
    is_of,
    is_polars,
    is_row,
    is_secret_class,
    is_set,
    kind_of,
    real_class,
)
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.leaves import is_leaf

BOUNDS = Bounds(depth=6, width=50, text=2_000, nodes=2_000)


def copy_state(value: Any) -> Any:
    """Copy plain data and the stored public fields of objects; the rest is named by its class.

    What is deeper, wider or longer than the bounds is cut, with a mark where it was. A field that
    is declared `Sensitive` stays marked. Properties are not read.
    """
    return copy_within(value, BOUNDS, _read)


def copy_containers(value: Any, take: Callable[[Any], Any] = lambda leaf: leaf) -> Any:
    """Copy builtin containers as deep as the interpreter goes; the rest is what `take` gives."""
    return _copy_each(value, {}, lambda leaf, _known: take(leaf))


def _copy_each(value: Any, known: dict[int, Any], copy_leaf: Callable[[Any, Any], Any]) -> Any:
    """Copy builtin containers, and what is none by `copy_leaf`; `known` holds copies by id."""
    kind: Any = real_class(value)
    if id(kind) not in _COPIED:
        return copy_leaf(value, known)
    if id(value) in known:
        return known[id(value)]
    try:
        if kind is list:
            many: list[Any] = []
            known[id(value)] = many
            many.extend(_copy_each(item, known, copy_leaf) for item in value)
            return many
        if kind is dict:
            named: dict[Any, Any] = {}
            known[id(value)] = named
            named.update((key, _copy_each(item, known, copy_leaf)) for key, item in value.items())
            return named
        items = [_copy_each(item, known, copy_leaf) for item in value]
        # A list in a tuple may hold the tuple, and have copied it.
        return known.setdefault(id(value), kind(items))
    except RecursionError:
        known.pop(id(value), None)
        return value


_COPIED = frozenset(map(id, (list, dict, tuple, set)))


def copy_judged(value: Any) -> Any:
    """Copy what was compared, so that what is reported of it is what was judged.

    Builtin containers keep their types; objects become their stored public fields. Past the bounds
    a mark stands for what is left out; what has no parts is shared.
    """
    # With each value, so that no other has its id meanwhile: some are made as they are read.
    room, known = JUDGED.nodes, dict[int, tuple[Any, Any]]()

    def copy(value: Any, depth: int) -> Any:
        nonlocal room
        kind: Any = real_class(value)
        if value is None or is_leaf(kind):
            return value
        if id(value) in known:
            return known[id(value)][1]
        if id(kind) not in CONTAINER_IDS and kind_of(value) in ("array", "frame", "series"):
            return value.copy() if value.size <= JUDGED.width else _read(value, ())
        if is_polars(value):
            return value.clone()
        parts, is_mapping = _parts_of(value, kind)
        if parts is None:
            return value
        if len(parts) and (depth == 0 or room <= 0):
            return f"{MORE} <{kind.__name__}>"
        every: Iterable[Any] = parts.items() if is_mapping else parts
        taken = list(islice(every, room))
        left = len(parts) - len(taken)
        room -= len(taken)
        if is_mapping:
            made: dict[Any, Any] = {}
            known[id(value)] = (value, made)
            made.update((key, copy(item, depth - 1)) for key, item in taken)
            made.update({MORE: left} if left else {})
            return made
        is_hashed = kind is set or kind is frozenset
        items: list[Any] = taken if is_hashed else [copy(item, depth - 1) for item in taken]
        items += [f"{MORE} {left}"] if left else []
        make: Any = kind if id(kind) in CONTAINER_IDS else list
        return known.setdefault(id(value), (value, make(items)))[1]

    return copy(value, JUDGED.depth)


JUDGED = Bounds(depth=16, width=200_000, nodes=20_000)
"""How much is kept of what was compared; `width` counts the cells of a table."""


def _parts_of(value: Any, kind: Any) -> tuple[Any, bool]:
    """Return what is to be copied of a value, None where it has no parts; and whether it maps."""
    if id(kind) in CONTAINER_IDS:
        return value, kind is dict
    opened: Any = None if is_of(value, Enum) else _read(value, ())
    is_mapping = is_map(opened)
    return (opened if is_mapping or is_row(opened) else None), is_mapping


def copy_live(value: Any) -> Any:
    """Copy a whole value for steps to act on.

    In its containers stays shared what cannot be copied, as a lock, and each object that holds
    such. What refuses by itself stands for its class. After `IN_VAIN` copies that were thrown away,
    so does each object.
    """
    known, classes, in_vain = _Copies(), set[int](), 0

    def copy_leaf(leaf: Any, known: _Copies) -> Any:
        nonlocal in_vain
        before = len(known)
        if id(real_class(leaf)) in classes:
            return leaf
        try:
            return deepcopy(leaf, known)
        except Exception as error:  # noqa: BLE001  copying is the code of whatever is copied
            in_vain += len(known) - before
            while len(known) > before:  # what is copied in part
                known.popitem()
            holders, refused = _failed(error)
            known.shared.update((id(one), one) for one in holders)
            classes.update(map(id, map(real_class, refused)))
            if in_vain > IN_VAIN:
                classes.add(id(real_class(leaf)))
            return leaf

    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001  copying is the code of whatever is copied
        return _copy_each(value, known, copy_leaf)


IN_VAIN = 20_000


class _SharedError(Exception):
    """What is to be copied holds what cannot be."""


class _Copies(dict[int, Any]):
    """Copies by id, as `deepcopy` asks for them; what cannot be copied fails at once."""

    def __init__(self) -> None:
        super().__init__()
        self.shared: dict[int, Any] = {}

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self.shared:
            raise _SharedError
        return super().get(key, default)


def _failed(error: Exception) -> tuple[list[Any], list[Any]]:
    """Return what was being copied as copying failed, and of it what refused by itself."""
    frames, at = list[Any](), error.__traceback__
    while at is not None:
        frames += [at.tb_frame] if at.tb_frame.f_globals is deepcopy.__globals__ else []
        at = at.tb_next
    holders = [one.f_locals["x"] for one in frames if one.f_code is deepcopy.__code__]
    by_its_parts = isinstance(error, (_SharedError, RecursionError))
    by_itself = not by_its_parts and frames[-1].f_code is deepcopy.__code__
    return holders, holders[-1:] if by_itself else []


def _read(value: Any, _places: Any) -> Any:
    """Take one value apart; the secrets in an object's private fields are learned."""
    kind = real_class(value)
    if value is None or is_leaf(kind):
        if isinstance(value, bytes) and len(value) > BOUNDS.text:
            return f"<bytes of {len(value)}>"
        return cut_text(value, BOUNDS.text) if isinstance(value, str) else value
    if kind is Secret or is_secret_class(kind) or is_library_scalar(value):
        return value
    if kind_of(value) in ("array", "frame", "series") or is_polars(value):
        return f"<{kind.__name__} of {'x'.join(map(str, value.shape))}>"
    if is_of(value, Enum):
        return value.name
    if is_closed(value):
        return f"<{kind.__name__}>"
    if is_map(value) or (is_row(value) and not hasattr(kind, "_fields")):
        return value
    if is_set(value):
        return _sorted(value)
    fields, met, _ = read_fields(value) or ({}, [], 0)
    for secret in met:
        NEEDLES.add(secret)
    return fields or f"<{kind.__name__}>"


def _sorted(items: Iterable[Any]) -> list[Any]:
    """Return members of a set in an order that two copies have in common, where there is one."""
    found = list(items)
    try:
        return sorted(found)
    except Exception:  # noqa: BLE001  what the members do when compared is their own
        return found
