"""Loaders that give secrets: an agent's data may not put what they give in another place."""

from collections.abc import Iterator
from typing import Any

from repl_pair.runtime.authoring.stories import GLOBAL_ARGS
from repl_pair.runtime.registry.model import Component, Entry
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.surface import STORE
from repl_pair.runtime.values.frozen import ref_places, refs_in
from repl_pair.runtime.values.hints import takes_of
from repl_pair.runtime.values.marks import is_secret_key

_HOLDING = ("story", "mode", "variant", "decorator")
_SLOTS = ("args", "events", "init", "teardown", "loaders_teardown", "patch", "decorators")


def loader_faults(data: Any, *, where: str) -> list[str]:
    """Name the loaders in an agent's data whose values are secrets; no place of its own is one."""
    return [
        f"{where}: what the loader {name!r} gives is a secret: only the person says where it goes."
        for name in sorted(secret_loaders_in(data))
    ]


def secret_loaders_in(data: Any) -> set[str]:
    """Name the loaders in frozen data whose values are secrets.

    Their own hints declare it, or the person uses them at a secret place.
    """
    wanted = {ref.loader for ref in refs_in(data)}
    if not wanted:
        return wanted
    entries = [entry for name in wanted if (entry := REGISTRY.find("loader", name)) is not None]
    found = {e.id for e in entries if takes_of(e.body.component.resolve()).gives_secret}
    names = _secret_names()
    found |= {
        ref.loader
        for held in _all_data()
        for place, ref, inside in ref_places(held)
        if inside or any(word in names or is_secret_key(word) for word in place)
    }
    return wanted & found


def _all_data() -> Iterator[Any]:
    yield STORE.get(GLOBAL_ARGS.name) or {}
    for kind in _HOLDING:
        for entry in REGISTRY.snapshot(kind).values():
            if not is_agents(entry.origin):
                yield from held_data(entry)


def held_data(entry: Entry) -> list[Any]:
    """Return all data in an entry's body that may hold a ref, steps too."""
    slots = [getattr(entry.body, slot, None) for slot in _SLOTS]
    steps = [list(play.steps) for play in getattr(entry.body, "plays", ())]
    return [*slots, list(getattr(entry.body, "play", ())), *steps]


def _secret_names() -> set[str]:
    """Return the names by which anything registered takes a secret."""
    bodies = [e.body for kind in REGISTRY.kinds for e in REGISTRY.snapshot(kind).values()]
    parts = [getattr(body, slot, None) for body in bodies for slot in ("component", "wrap")]
    takers = [part.resolve() for part in parts if isinstance(part, Component)]
    methods = [m for cls in takers if isinstance(cls, type) for m in _methods(cls)]
    return {name for taker in (*takers, *methods) for name in takes_of(taker).secret}


def _methods(cls: type) -> list[Any]:
    return [
        getattr(member, "__func__", member)
        for owner in cls.__mro__[:-1]
        for name, member in vars(owner).items()
        if not name.startswith("_") and callable(getattr(member, "__func__", member))
    ]
