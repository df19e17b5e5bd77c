"""Frozen data: its nodes beside plain JSON, and how it is merged, shown and searched."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, TypeAlias, cast

from repl_pair.errors import AuthoringError
from repl_pair.records import row
from repl_pair.runtime.values.classes import (
    TypeRef,
    is_map,
    is_of,
    is_secret_class,
    real_class,
    revealed,
)
from repl_pair.runtime.values.paths import Place, below


@row
class Record:
    """A dataclass or model instance whose class the type hints do not already name."""

    type: TypeRef
    fields: Mapping[str, Any]


@row
class EnumMember:
    """A member of an enumeration, by name."""

    type: TypeRef
    name: str


@row
class Ref:
    """Stands for what data cannot hold: `loader` is called with `kwargs` for each run."""

    loader: str
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])


@row
class Given:
    """A value of the person's that is no data: runs get it itself, identities hold its class."""

    value: Any


@row
class NotData:
    """Stands for a value that is no data, by the name of its class."""

    type: str


@row
class Secret:
    """A live secret in frozen args; it leaves the kernel and enters identities as a marker only."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(...)"


Frozen: TypeAlias = Any
"""None, bool, int, float, complex, str, bytes, Decimal, date family, UUID, Path, tuples as tuples,
lists as lists, sets as frozensets, mappings as dicts, copied arrays and frames, and these nodes."""


def is_payload(value: Any) -> bool:
    """Return whether a value is a mapping of names."""
    return is_map(value) and all(isinstance(key, str) for key in value)


def bad_data(where: str, what: str) -> AuthoringError:
    """Describe what the value at a place is or does that data may not."""
    return AuthoringError("bad_body", f"{where} {what}.", detail={"path": where})


def merge(base: Mapping[str, Any], *overlays: Mapping[str, Any]) -> dict[str, Any]:
    """Lay frozen mappings over each other, the last wins: maps merge deep, all else replaces.

    A mapping over a Record changes the fields that it names.
    """
    merged = dict(base)
    for overlay in overlays:
        for key, value in overlay.items():
            under = merged.get(key)
            if is_map(value) and type(under) is Record:
                merged[key] = Record(under.type, merge(under.fields, value))
            elif is_map(value) and is_map(under):
                merged[key] = merge(under, value)
            else:
                merged[key] = value
    return merged


def to_plain(frozen: Frozen, known: dict[int, Any] | None = None) -> Any:
    """Return frozen data without class names: fields as mappings, enum members as their names.

    Secrets stay Secrets; decimals, dates, arrays and frames stay live leaves; a Ref is the mapping
    `{"$ref": loader, **kwargs}`. Live named tuples stay themselves, and mappings that are no dict:
    their code is the person's. `known`, by id, is for what may hold one container on many ways:
    each is copied once.
    """
    kind: Any = real_class(frozen)
    if known is not None and id(frozen) in known:
        return known[id(frozen)]
    if kind is EnumMember:
        return frozen.name
    if kind is Ref:
        return {"$ref": frozen.loader} | to_plain(frozen.kwargs, known)
    if kind is Record:
        return to_plain(frozen.fields, known)
    is_usual = real_class(kind) is type  # another metaclass may hash by code of its own
    if is_usual and kind in SCALARS:
        return frozen
    if is_of(frozen, dict):
        items = dict[Any, Any].items(frozen)
        plain: Any = {to_plain(k, known): to_plain(v, known) for k, v in items}
    elif is_usual and kind in _MANY:
        plain = kind([to_plain(item, known) for item in cast("Iterable[Any]", frozen)])
    else:
        return frozen
    if known is not None:
        known[id(frozen)] = plain
    return plain


def live_to_plain(value: Any) -> Any:
    """Return `to_plain` of args that loaders gave: what holds itself or is very deep stays live."""
    try:
        return to_plain(value, {})
    except RecursionError:
        return value


def walk(frozen: Frozen, *, into_refs: bool = True) -> Iterator[tuple[Place, Frozen, bool]]:
    """Return each node with its place in the plain form, and whether it stands in a Secret.

    A node comes before what is in it; what a Secret holds has the Secret's own place. Keys of
    mappings are no nodes. In a place, `*` is any member of a set.
    """
    pending: list[tuple[Place, Frozen, bool]] = [((), frozen, False)]
    while pending:
        place, node, in_secret = found = pending.pop()
        yield found
        kind = real_class(node)
        if kind is Secret:
            pending.append((place, node.value, True))
        elif kind not in SCALARS and (into_refs or kind is not Ref):
            parts = [((*place, key), child, in_secret) for key, child in _children(node)]
            pending += reversed(parts)


def texts_in(value: Any) -> Iterator[str]:
    """Return the texts and numbers of JSON or frozen data, keys too."""
    for _, node, _ in walk(value):
        if type(node) is str:
            yield node
        elif type(node) is int:
            yield repr(node)
        elif is_map(node):
            yield from (key for key in node if type(key) is str)


def sensitive_paths(frozen: Frozen) -> tuple[Place, ...]:
    """Return the places of Secrets."""
    nodes = walk(frozen) if _is_marked(frozen) else ()
    return tuple(place for place, node, inside in nodes if type(node) is Secret and not inside)


def with_secrets(frozen: Frozen, places: Collection[Place]) -> Frozen:
    """Return frozen data with a Secret at each of the places that it has."""
    if not places:
        return frozen
    if () in places:
        return frozen if type(frozen) is Secret else Secret(frozen)
    kind: Any = real_class(frozen)
    if kind is Record:
        return Record(frozen.type, with_secrets(frozen.fields, places))
    if kind is Ref:
        return Ref(frozen.loader, with_secrets(frozen.kwargs, places))
    if kind in (list, tuple):
        parts: list[Any] = [with_secrets(one, below(places, at)) for at, one in enumerate(frozen)]
        return cast("Frozen", kind(parts))
    if kind is frozenset:
        return frozenset(with_secrets(part, below(places, "*")) for part in frozen)
    if is_map(frozen):
        return {
            key: with_secrets(part, below(places, to_plain(key))) for key, part in frozen.items()
        }
    return frozen


def refs_in(frozen: Frozen) -> list[Ref]:
    """Return every Ref, also those in Secrets; the kwargs of a Ref are not searched."""
    return [ref for _, ref, _ in ref_places(frozen)]


def ref_places(frozen: Frozen) -> list[tuple[Place, Ref, bool]]:
    """Return every Ref with its place, and whether it stands in a Secret."""
    nodes = walk(frozen, into_refs=False) if _is_marked(frozen) else ()
    return [found for found in nodes if type(found[1]) is Ref]


def secrets_in(frozen: Frozen) -> list[Any]:
    """Return the live leaves under every Secret, revealed where a secret type wraps them."""
    return [
        revealed(node) if is_secret_class(type(node)) else node
        for _, node, inside in (walk(frozen) if _is_marked(frozen) else ())
        if inside and type(node) is not Secret and not list(_children(node))
    ]


def _is_marked(frozen: Frozen) -> bool:
    """Return whether a Secret or Ref stands anywhere: most data has none, and needs no places."""
    return not _MARK_IDS.isdisjoint(map(id, map(real_class, nodes_in(frozen))))


def nodes_in(frozen: Frozen) -> Iterator[Frozen]:
    """Return each node that is no scalar, without its place; a node comes before what is in it."""
    nodes = [frozen]
    for node in nodes:
        kind = real_class(node)
        if kind in SCALARS:
            continue
        yield node
        if kind in _MANY:
            nodes.extend(node)
        elif kind is Record:
            nodes.append(node.fields)
        elif kind is Ref:
            nodes.append(node.kwargs)
        elif kind is Secret:
            nodes.append(node.value)
        elif is_map(node):
            nodes.extend(node.values())


def _children(frozen: Frozen) -> Iterable[tuple[str, Frozen]]:
    kind = real_class(frozen)
    if kind is Record:
        return _children(frozen.fields)
    if kind is Ref:
        return _children(frozen.kwargs)
    if kind in (list, tuple):
        return ((str(index), child) for index, child in enumerate(frozen))
    if kind is frozenset:
        return (("*", child) for child in frozen)
    if is_map(frozen):
        return ((str(to_plain(key)), value) for key, value in frozen.items())
    return ()


SCALARS = frozenset({type(None), bool, int, float, str})
SCALAR_IDS = frozenset(map(id, SCALARS))
"""For values whose class a metaclass of the person's may hash by code of its own."""
_MANY = frozenset({list, tuple, set, frozenset})
_MARK_IDS = frozenset(map(id, (Secret, Ref)))
