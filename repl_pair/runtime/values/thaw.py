"""Frozen args rebuilt for one run: fresh containers, today's classes, declared types."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from itertools import repeat
from typing import Any, Literal, cast, get_args, get_origin

from repl_pair.errors import RequestError
from repl_pair.records import row
from repl_pair.runtime.values.build import (
    build_call,
    build_fields,
    build_instance,
    build_member,
    choose,
    is_choice,
    member_named,
    misfit,
    unfit,
)
from repl_pair.runtime.values.classes import (
    ANY_KIND,
    LISTS,
    MAPS,
    ORDERED,
    SETS,
    class_behind,
    current_class,
    hint_class,
    is_map,
    is_row,
    is_secret_class,
    is_set,
    kind_of,
    real_class,
    spell,
    type_ref,
)
from repl_pair.runtime.values.declared_fields import has_fields
from repl_pair.runtime.values.frozen import EnumMember, Frozen, Given, Record, Ref, Secret
from repl_pair.runtime.values.hints import ANYTHING, Hint, item_hint, read_hint
from repl_pair.runtime.values.leaves import is_leaf, read_leaf
from repl_pair.runtime.values.library import build_library, copier_of, library_class
from repl_pair.runtime.values.paths import join_path

Load = Callable[[Ref], Any]
_SCALARS = frozenset({bool, int, float, str})


def thaw(frozen: Frozen, hint: Any = Any, *, load: Load, where: str = "args") -> Any:
    """Rebuild a frozen value as its hint declares, sharing nothing mutable with it.

    JSON forms are taken for declared types: text for decimals, dates, paths, UUIDs; names or
    values for enum members; lists for tuples and sets; mappings for dataclasses, models, typed
    dicts and named tuples. A bool is no number. What the hint does not know passes through.
    `load` answers each Ref, unchecked. RequestError `cannot_run` names the place that does not
    fit.
    """
    return _thaw(frozen, read_hint(hint), load, where)


def thaw_data(frozen: Frozen, where: str) -> Any:
    """Make fresh values of frozen data; `cannot_run` where it holds a `ref`."""
    return thaw(frozen, Any, load=refuse_ref, where=where)


def refuse_ref(ref: Ref) -> Any:
    """Refuse a `ref` where data is wanted, as a `Load`: RequestError `cannot_run`."""
    raise RequestError("cannot_run", f"ref({ref.loader!r}) is not allowed here; give plain data.")


def _thaw(frozen: Frozen, hint: Hint, load: Load, where: str, hashable: bool = False) -> Any:
    if type(frozen) is Ref:
        return load(frozen)
    if type(frozen) is Given:
        return frozen.value
    if type(frozen) is Secret:
        if is_secret_class(type(frozen.value)):
            return frozen.value
        try:
            return _thaw(frozen.value, replace(hint, sensitive=False), load, where)
        except RequestError as error:
            if "path" not in error.detail:  # it is no misfit
                raise
        raise unfit(where, f"the secret does not fit {hint}")
    if frozen is None and (hint.nullable or not hint.arms):
        return None
    if not hint.arms:
        return _fresh(frozen, load, where, hashable)
    if len(hint.arms) == 1:
        is_scalar = type(frozen) is hint.cls and hint.cls in _SCALARS
        return frozen if is_scalar else _build(frozen, hint, load, where)
    return _build_any_of(frozen, hint, load, where)


@row
class _Tries:
    """Loads each ref and builds each alternative at each place once, however often it is tried."""

    load: Load
    answers: dict[int, Any]
    built: dict[tuple[str, int, int], tuple[Any, ...]]
    """With what the ids are of, so that no other has them."""

    def __call__(self, ref: Ref) -> Any:
        if id(ref) not in self.answers:
            self.answers[id(ref)] = self.load(ref)
        return self.answers[id(ref)]

    def build(self, frozen: Frozen, arm: Any, where: str) -> Any:
        """Build an alternative; `_MISFIT` where it does not fit."""
        key = (where, id(frozen), id(arm))
        if key not in self.built:
            try:
                found = _build(frozen, Hint((arm,)), self, where)
            except RequestError as error:
                if "path" not in error.detail:  # it is no misfit
                    raise
                found = _MISFIT
            self.built[key] = frozen, arm, found
        return self.built[key][-1]


_MISFIT: Any = object()


def _build_any_of(frozen: Frozen, hint: Hint, load: Load, where: str) -> Any:
    """Build the first alternative that fits; those of the value's own type come first."""
    tries = load if isinstance(load, _Tries) else _Tries(load, {}, {})
    for arm in sorted(hint.arms, key=lambda arm: not _is_of(frozen, arm)):
        if (found := tries.build(frozen, arm, where)) is not _MISFIT:
            return found
    raise misfit(where, str(hint), frozen)


def _is_of(frozen: Frozen, arm: Any) -> bool:
    if get_origin(arm) is Literal:
        return any(is_choice(frozen, choice) for choice in get_args(arm))
    cls = hint_class(arm)
    if isinstance(frozen, Record | EnumMember):
        return cls is not None and type_ref(cls) == frozen.type
    return type(frozen) is cls


def _build(frozen: Frozen, hint: Hint, load: Load, where: str) -> Any:
    """Build a value of a hint's one alternative."""
    arm, cls = hint.only, hint.cls
    if get_origin(arm) is Literal:
        return choose(frozen, arm, where)
    if cls is None:
        return _fresh(frozen, load, where)
    if issubclass(cls, Enum):
        return build_member(frozen, current_class(cls), where)
    if type(frozen) is EnumMember:
        frozen = _member(frozen, where)
    if is_leaf(cls):
        try:
            return read_leaf(frozen, cls)
        except ValueError as error:
            raise misfit(where, f"{spell(cls)} ({error})", frozen) from None
    if is_secret_class(cls):
        return build_call(cls, lambda: cls(frozen), where, Secret(frozen))
    if has_fields(cls):
        return build_instance(frozen, current_class(cls), _parts(load), where)
    if library_class(cls):
        return build_library(_fresh(frozen, load, where), cls, arm, where)
    args, at = get_args(arm), id(cls)
    if is_map(frozen) and (at in MAPS or at in ANY_KIND):
        keys = hint.containers[0].parts[0] if args else ANYTHING
        return _build_map(frozen, keys, item_hint(hint, None), load, where)
    kind: Any = None
    if type(frozen) is frozenset:  # a set has no order, so it fills no list
        kind = set if at in ANY_KIND else SETS.get(at)
    elif is_row(frozen):
        is_any = at in ANY_KIND or at in ORDERED
        kind = real_class(frozen) if is_any else (LISTS | SETS).get(at)
    if kind is not None:
        is_fixed = cls is tuple and args and hint.containers[0].is_fixed
        if is_fixed and len(args) != len(cast("Any", frozen)):
            raise misfit(where, spell(arm), frozen)
        hints = hint.containers[0].parts if is_fixed else repeat(item_hint(hint, None))
        return _build_many(frozen, kind, hints, load, where, kind in (set, frozenset))
    if at in MAPS or at in LISTS or at in SETS:
        raise misfit(where, spell(arm), frozen)
    return _fresh(frozen, load, where)


def _build_many(
    frozen: Any, make: Any, hints: Iterable[Hint], load: Load, where: str, hashable: bool
) -> Any:
    items: list[Any] = []
    for index, (item, hint) in enumerate(zip(frozen, hints, strict=False)):
        items.append(_thaw(item, hint, load, f"{where}[{index}]", hashable))
    try:
        return make(items)
    except TypeError as error:
        raise unfit(where, f"its items cannot be members of a set ({error})") from None


def _build_map(
    frozen: Mapping[Any, Any], keys: Hint, values: Hint, load: Load, where: str
) -> dict[Any, Any]:
    built: dict[Any, Any] = {}
    for key, inner in frozen.items():
        place = join_path(where, key)
        built[_build_key(key, keys, place)] = _thaw(inner, values, load, place)
    return built


def _build_key(key: Any, hint: Hint, where: str) -> Any:
    """Build one key; JSON has text keys only, so digits are taken for a whole number."""
    if hint.only is int and isinstance(key, str) and key.removeprefix("-").isdecimal():
        with suppress(ValueError):  # more digits than Python reads
            return int(key)
    return _thaw(key, hint, _no_key, where, True)


def _no_key(ref: Ref) -> Any:
    raise RequestError("cannot_run", f"ref({ref.loader!r}) cannot be a key.")


def _member(node: EnumMember, where: str) -> Any:
    return member_named(class_behind(node.type, where), node.name, where)


def _parts(load: Load) -> Callable[[Frozen, Hint, str], Any]:
    return lambda frozen, hint, where: _thaw(frozen, hint, load, where)


def _fresh(frozen: Frozen, load: Load, where: str, hashable: bool = False) -> Any:
    """Rebuild what no hint describes."""
    if type(frozen) in _SCALARS:
        return frozen
    if type(frozen) is EnumMember:
        return _member(frozen, where)
    if type(frozen) is Record:
        own = class_behind(frozen.type, where)
        return build_fields(frozen.fields, own, _parts(load), where)
    if is_map(frozen):
        return _build_map(frozen, ANYTHING, ANYTHING, load, where)
    if is_row(frozen) or is_set(frozen):
        is_frozen_set = type(frozen) is frozenset
        kind = set if is_frozen_set and not hashable else real_class(frozen)
        return _build_many(frozen, kind, repeat(ANYTHING), load, where, hashable or is_frozen_set)
    if kind_of(frozen):
        return frozen.copy()
    copy = copier_of(frozen)
    return frozen if copy is None else copy(frozen)
