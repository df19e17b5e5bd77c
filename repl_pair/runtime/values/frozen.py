"""Frozen data: its nodes beside plain JSON, and how it is merged, shown and searched."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, TypeAlias, cast

from repl_pair.errors import AuthoringError
from repl_pair.records import row
from repl_pair.runtime.values.classes import TypeRef, is_map, is_secret_class, real_class, revealed


@row
class Record:
    """A dataclass or model instance whose class the type hints do not already say."""

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
class Secret:
    """A live secret in frozen args; it leaves the kernel and enters identities as a marker only."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(...)"


Frozen: TypeAlias = Any
"""None, bool, int, float, complex, str, bytes, Decimal, date family, UUID, Path, tuples as tuples,
lists as lists, sets as frozensets, mappings as dicts, copied arrays and frames, and these nodes."""


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
            merged[key] = _lay_over(merged[key], value) if key in merged else value
    return merged


def to_plain(frozen: Frozen) -> Any:
    """Return frozen data without class names: fields as mappings, enum members as their names.

    Secrets stay Secrets; decimals, dates, arrays and frames stay live leaves; a Ref is the mapping
    `{"$ref": loader, **kwargs}`. Live named tuples stay themselves.
    """
    kind: Any = real_class(frozen)
    if kind is EnumMember:
        return frozen.name
    if kind is Ref:
        return {"$ref": frozen.loader} | to_plain(frozen.kwargs)
    if kind is Record:
        return to_plain(frozen.fields)
    if is_map(frozen):
        return {to_plain(key): to_plain(value) for key, value in frozen.items()}
    if kind in _MANY:
        return kind(map(to_plain, cast("Iterable[Any]", frozen)))
    return frozen


def sensitive_paths(frozen: Frozen) -> tuple[tuple[str, ...], ...]:
    """Return the places of Secrets as key paths into the plain form; `*` is any member of a set."""
    if type(frozen) is Secret:
        return ((),)
    return tuple(
        (key, *rest) for key, child in _children(frozen) for rest in sensitive_paths(child)
    )


def refs_in(frozen: Frozen) -> list[Ref]:
    """Return every Ref, also those in Secrets; the kwargs of a Ref are not searched."""
    if type(frozen) is Ref:
        return [frozen]
    if type(frozen) is Secret:
        return refs_in(frozen.value)
    return [ref for _, child in _children(frozen) for ref in refs_in(child)]


def ref_places(
    frozen: Frozen, place: tuple[str, ...] = (), *, inside: bool = False
) -> list[tuple[tuple[str, ...], Ref, bool]]:
    """Return every Ref with its place in the plain form, and whether it stands in a Secret."""
    if type(frozen) is Ref:
        return [(place, frozen, inside)]
    if type(frozen) is Secret:
        return ref_places(frozen.value, place, inside=True)
    return [
        found
        for key, child in _children(frozen)
        for found in ref_places(child, (*place, key), inside=inside)
    ]


def secrets_in(frozen: Frozen, *, inside: bool = False) -> list[Any]:
    """Return the live leaves under every Secret, revealed where a secret type wraps them."""
    if type(frozen) is Secret:
        return secrets_in(frozen.value, inside=True)
    children = [leaf for _, child in _children(frozen) for leaf in secrets_in(child, inside=inside)]
    if children or not inside:
        return children
    return [revealed(frozen) if is_secret_class(type(frozen)) else frozen]


def _lay_over(under: Frozen, over: Frozen) -> Frozen:
    if not is_map(over):
        return over
    if type(under) is Record:
        return Record(under.type, merge(under.fields, over))
    return merge(under, over) if is_map(under) else over


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


_MANY = frozenset({list, tuple, set, frozenset})
