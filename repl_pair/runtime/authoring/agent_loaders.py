"""Loaders that give secrets: an agent's data may not put what they give in another place."""

from collections.abc import Iterable
from typing import Any

from repl_pair.runtime.authoring.shared import GLOBAL_ARGS
from repl_pair.runtime.registry.model import Component, Entry
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.entries import slots_of
from repl_pair.runtime.surface import STORE
from repl_pair.runtime.values.frozen import Ref, ref_places, refs_in, texts_in
from repl_pair.runtime.values.hints import takes_of
from repl_pair.runtime.values.marks import is_secret_key, is_secret_label

_HOLDING = ("story", "mode", "variant", "decorator")
_SLOTS = (
    *("args", "events", "init", "teardown", "loaders_teardown", "patch", "decorators"),
    *("play", "plays"),
)


def loader_faults(data: Any, *, where: str) -> list[str]:
    """Name the loaders in an agent's data whose values are secrets; no place of its own is one."""
    return [
        f"{where}: what the loader {name!r} gives is a secret: only the person says where it goes."
        for name in sorted(secret_loaders_in(data))
    ]


def secret_loaders_in(data: Any) -> set[str]:
    """Name the loaders in frozen data whose values are secrets.

    Their own hints declare it, the person uses them at a secret place, or what the ref passes to
    one is the name of a secret.
    """
    refs = refs_in(data)
    wanted = {ref.loader for ref in refs}
    if not wanted:
        return wanted
    entries = [entry for name in wanted if (entry := REGISTRY.find("loader", name)) is not None]
    found = {e.id for e in entries if takes_of(e.body.component.resolve()).gives_secret}
    names = _secret_names()
    held_by_person: list[Any] = [STORE.get(GLOBAL_ARGS.name) or {}]
    for kind in _HOLDING:
        for entry in REGISTRY.snapshot(kind).values():
            held_by_person += [] if is_agents(entry.origin) else held_data(entry)
    found |= {
        ref.loader
        for held in held_by_person
        for place, ref, inside in ref_places(held)
        if inside or any(word in names or is_secret_key(word) for word in place)
    }
    found |= {ref.loader for ref in refs if any(map(is_secret_label, texts_in(ref.kwargs)))}
    return wanted & found


def refs_of_agents(entries: Iterable[Entry]) -> list[Ref]:
    """Return the refs in what agents registered that stand in nothing that the person did."""
    found: dict[bool, list[Ref]] = {True: [], False: []}
    for entry in entries:
        for data in held_data(entry):
            found[is_agents(entry.origin)] += refs_in(data)
    return [ref for ref in found[True] if ref not in found[False]]


def held_data(entry: Entry) -> list[Any]:
    """Return all data in an entry's body that may hold a ref, steps too."""
    slots = slots_of(entry.body)
    return [slots.get(name) for name in _SLOTS]


def _secret_names() -> set[str]:
    bodies = [e.body for kind in REGISTRY.kinds for e in REGISTRY.snapshot(kind).values()]
    parts = [getattr(body, slot, None) for body in bodies for slot in ("component", "wrap")]
    takers = [part.resolve() for part in parts if isinstance(part, Component)]
    members = [
        getattr(member, "__func__", member)
        for cls in takers
        if isinstance(cls, type)
        for owner in cls.__mro__[:-1]
        for name, member in vars(owner).items()
        if not name.startswith("_")
    ]
    methods = filter(callable, members)
    return {name for taker in (*takers, *methods) for name in takes_of(taker).secret}
