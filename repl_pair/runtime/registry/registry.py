"""The registry: a map kind -> id -> entry over the store."""

import sys
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from repl_pair.errors import AuthoringError, RequestError, did_you_mean, next_step
from repl_pair.records import Undo, replace
from repl_pair.runtime.registry.ids import check_id, story_of
from repl_pair.runtime.registry.model import KINDS, Component, Entry, Kind, Origin
from repl_pair.runtime.registry.origin import (
    MODULE,
    SCRIPT,
    is_agents,
    is_executing,
    is_same_run,
    is_standing,
    may_replace,
    module_run,
    outside,
)
from repl_pair.runtime.store import ANY, STORE, Collection, Store


class RegistrationWarning(UserWarning):
    """The same id was registered from two loaded places; the later one is kept."""


class Registry:
    """One collection of the store per kind; retires entries of places that ran again."""

    def __init__(self, store: Store, kinds: Mapping[str, Kind]) -> None:
        self.store = store
        self.kinds = dict(kinds)
        self.strict_tags = False
        """Whether only registered tags may be used."""
        self._holder: int | None = None
        self._runs: dict[str, Any] = {}
        """Origin key of each registering module -> its latest known run."""
        self._places: dict[str, set[tuple[str, str]]] = {}
        """Key of an origin of the person's -> kinds and ids from there, perhaps retired since."""
        self._doubled: dict[tuple[str, str], tuple[Entry, Entry]] = {}
        """By kind and id, what came twice from modules: the first, and the last."""
        self._load_began = 0
        """The revision at which files began to be loaded: what came before is not doubled."""
        self._is_loading = False
        self._aside: dict[str, Entry] = {}
        """Variants of the person whose story was retired; they come back with it."""
        for kind in kinds.values():
            self._declare(kind)

    @property
    def revision(self) -> int:
        """Count all changes of all kinds."""
        return sum(self.store.revision(kind.collection) for kind in self.kinds.values())

    def register(
        self, kind: str, id: str, body: Any, *, origin: Origin, tier: str | None = None
    ) -> Entry:
        """Add or replace one entry; replacing one of another loaded place warns.

        An agent replaces its own entries only: AuthoringError `bad_id` for one of another.
        """
        known = self._kind(kind)
        id = check_id(kind, known.grammar, id)
        self.retire_stale()
        old = self.store.item(known.collection, id)
        entry = Entry(
            kind=kind, id=id, body=body, origin=origin, revision=self.revision + 1, tier=tier
        )
        if old and old.revision > self._load_began and _is_second(old.origin, origin):
            first, last = self._doubled.get((kind, id), (old, old))
            self._doubled[kind, id] = (first if last is old else old, entry)
        if old is not None and old.origin.key != origin.key and not is_agents(origin):
            place, _, module = old.origin.key.partition(":")
            is_reported = self._is_loading and old.revision > self._load_began
            if place != "module" or (module in sys.modules and not is_reported):
                message = (
                    f"{kind} {id!r} was registered by {old.origin.label} line {old.origin.line} "
                    f"and is now replaced by {origin.label} line {origin.line}."
                )
                STORE.emit("notices", message, before=old.outline, after=entry.outline)
                warnings.warn(message, RegistrationWarning, stacklevel=outside()[1])
        if origin.key.startswith(MODULE):
            if _file_of(self._runs.get(origin.key)) != _file_of(origin.run):
                self._runs[origin.key] = origin.run
            self._runs.setdefault(origin.key, origin.run)
        elif origin.key.startswith(SCRIPT):
            self._runs[origin.key] = origin.run
        if not is_agents(origin):  # an agent's origin is never retired
            self._places.setdefault(origin.key, set()).add((kind, id))
            self.store.put(known.collection, id, entry)
            self._bring_back(f"{id}/" if kind == "story" else "")
            return entry
        if old is not None and not may_replace(origin, old.origin):
            raise taken(old)
        if not self.store.put(known.collection, id, entry, over=old):
            # Another registration came meanwhile, perhaps the person's.
            return self.register(kind, id, body, origin=origin, tier=tier)
        return entry

    def begin_load(self) -> None:
        """Let `doubled` be about what is registered from now on."""
        self._load_began = self.revision
        self._doubled.clear()

    @contextmanager
    def loading(self) -> Generator[None]:
        """Give no warning of what modules register twice in this load: who loads reports it."""
        before, self._is_loading = self._is_loading, True
        try:
            yield
        finally:
            self._is_loading = before

    def doubled(self) -> Sequence[tuple[Entry, Entry]]:
        """Return what modules register with two meanings in this load: the first, and the last."""
        return [
            (first, last)
            for (kind, id), (first, last) in self._doubled.items()
            if self.find(kind, id) is last and is_standing(first) and differ(first, last)
        ]

    def unregister(self, kind: str, id: str, *, entry: Entry | None = None) -> bool:
        """Remove one entry, with `entry` only that very one; False if nothing was removed."""
        only = ANY if entry is None else entry
        return self.store.remove(self._kind(kind).collection, id, only=only)

    def get(self, kind: str, id: object) -> Entry:
        """Return one entry; `not_found` names the nearest ids, `bad_arguments` for a wrong type."""
        if not isinstance(id, str):
            raise RequestError("bad_arguments", f"The id of a {kind} is a text, not {id!r:.60}.")
        self.retire_stale()
        entry = self.find(kind, id)
        if entry is None:
            raise not_found(kind, self.missing(kind, id))
        return entry

    def find(self, kind: str, id: str) -> Entry | None:
        """Return one entry without retiring stale ones first, None if there is none."""
        return self.store.item(self._kind(kind).collection, id)

    def missing(self, kind: str, id: str) -> str:
        """Describe that an id is not registered, and which are near or how to begin."""
        if kind == "variant" and id in self._aside:
            return f"{id} is gone with its story {story_of(id)!r}, which is no longer registered."
        known = self.ids(kind)
        if known:
            return f"There is no {kind} {id!r}.{did_you_mean(id, known)}"
        how = f" {EMPTY}" if kind in ("story", "variant") else ""
        return f"There is no {kind} {id!r}: none is registered.{how}"

    def ids(self, kind: str, prefix: str = "") -> Sequence[str]:
        """Return the ids of a kind that start with `prefix`, sorted."""
        self.retire_stale()
        return self.store.keys(self._kind(kind).collection, prefix)

    def snapshot(self, kind: str) -> Mapping[str, Entry]:
        """Return all entries of a kind as an immutable mapping that later changes do not reach."""
        self.retire_stale()
        return self.store.snapshot(self._kind(kind).collection)

    def add_kind(self, kind: Kind) -> Callable[[], None]:
        """Add a kind, `bad_id` if its name is taken; the undo removes it with its entries, once."""
        if kind.name in self.kinds:
            raise AuthoringError("bad_id", f"There is already a kind {kind.name!r}.")
        own = self.kinds[kind.name] = replace(kind)
        forget = self._declare(own)

        def undo() -> None:
            if self.kinds.get(own.name) is own:
                del self.kinds[own.name]
            forget()

        return undo

    def _declare(self, kind: Kind) -> Undo:
        return self.store.declare(
            Collection(name=kind.collection, outline=lambda entry: entry.outline)
        )

    def retire(self, origin_key: str, run: Any) -> None:
        """Remove entries that a place registered in an earlier run and not again in `run`."""
        places = self._places.get(origin_key, set())  # other threads may add to it meanwhile
        for kind, id in sorted(places):
            entry = self.find(kind, id) if kind in self.kinds else None
            origin = entry.origin if entry is not None and entry.origin.key == origin_key else None
            if origin is not None and is_same_run(origin.run, run):
                continue
            places.discard((kind, id))
            if origin is not None:
                self.unregister(kind, id)
                if kind == "story":
                    self._set_aside(id)
        for id, entry in self._aside.copy().items():
            if entry.origin.key == origin_key:
                self._aside.pop(id, None)

    def retire_scripts(self, run: int) -> None:
        """Remove what scripts that were run in a cell registered before, and did not now."""
        runs = self._runs.copy()
        scripts = [k for k, seen in runs.items() if k.startswith(SCRIPT) and seen == run]
        for key in scripts:
            self.retire(key, run)

    def _set_aside(self, story_id: str) -> None:
        for id in self.store.keys(self.kinds["variant"].collection, f"{story_id}/"):
            entry = self.find("variant", id)
            if entry is not None and not is_agents(entry.origin):
                self._aside[id] = entry
                self.unregister("variant", id, entry=entry)

    def _bring_back(self, prefix: str) -> None:
        for id in [id for id in list(self._aside) if prefix and id.startswith(prefix)]:
            if (entry := self._aside.pop(id, None)) is not None:
                self.store.put(self.kinds["variant"].collection, id, entry, over=None)

    def hold_retirement(self) -> None:
        """Let only this thread retire until `allow_retirement`, since its cell may fail."""
        self._holder = threading.get_ident()

    def allow_retirement(self) -> None:
        """Let every thread retire stale entries again."""
        self._holder = None

    def retire_stale(self) -> None:
        """Retire entries that re-executed modules no longer register; a running one waits."""
        if self._holder not in (None, threading.get_ident()):
            return
        for key, seen in self._runs.copy().items():
            module = sys.modules.get(key.removeprefix(MODULE))
            if module is None or module_run(module) is seen or is_executing(module):
                continue
            self._runs[key] = module_run(module)
            # Each conftest.py is the module of that name for pytest.
            if _file_of(module_run(module)) == _file_of(seen):
                self.retire(key, module_run(module))

    def keep_unrenewed(self) -> None:
        """Keep the entries of modules whose re-execution failed."""
        for key in list(self._runs):
            module = sys.modules.get(key.removeprefix(MODULE))
            if module is not None or key.startswith(SCRIPT):  # a failed import leaves no module
                self._runs[key] = module_run(module)

    def checkpoint(self, *, origin: str = "") -> Callable[[], None]:
        """Remember every entry; the undo restores exactly these.

        With `origin`, `agent:name` or `agent:` for every agent, only entries from there: all others
        stay as they are by then, and keep their ids.
        """
        saved, aside = self.entries_of(origin), dict(self._aside)

        def undo() -> None:
            self._aside = self._aside if origin else dict(aside)
            for place, entry in self.entries_of(origin).items():
                if saved.get(place) is not entry:
                    self.unregister(*place, entry=entry)
            for (kind, id), entry in saved.items():
                if kind not in self.kinds:
                    continue  # its kind was taken out with all of its entries
                is_back = self.store.put(self.kinds[kind].collection, id, entry, over=None)
                if is_back and not is_agents(entry.origin):
                    self._places.setdefault(entry.origin.key, set()).add((kind, id))

        return undo

    def entries_of(self, origin: str) -> Mapping[tuple[str, str], Entry]:
        """Return the entries of an origin, by kind and id; of `agent:` those of every agent."""
        return {
            (kind, id): entry
            for kind in self.kinds
            for id, entry in self.snapshot(kind).items()
            if entry.origin.key == origin
            or (origin[-1:] in ("", ":") and entry.origin.key.startswith(origin))
        }

    def _kind(self, name: str) -> Kind:
        if name not in self.kinds:
            message = f"There is no kind {name!r}.{did_you_mean(name, self.kinds)}"
            raise RequestError("not_found", message)
        return self.kinds[name]


def _is_second(one: Origin, other: Origin) -> bool:
    """Return whether an id comes a second time from modules, and not from a later execution."""
    if not (one.key.startswith(MODULE) and other.key.startswith(MODULE)):
        return False
    is_later = one.key == other.key and not is_same_run(one.run, other.run)
    return not is_later or _file_of(one.run) != _file_of(other.run)


def differ(one: Entry, other: Entry) -> bool:
    """Return whether an id has two meanings; two equal tags or modes have one."""
    try:
        return one.kind in ("story", "variant") or bool(one.body != other.body)
    except Exception:  # noqa: BLE001  the person's values may have no such comparison
        return True


def _file_of(spec: Any) -> str | None:
    return getattr(spec, "origin", None)


def taken(entry: Entry) -> AuthoringError:
    """Return the refusal of an agent's registration over an entry of another."""
    who = entry.origin.label if is_agents(entry.origin) else "the person"
    return AuthoringError(
        "bad_id",
        f"The {entry.kind} id {entry.id!r} is taken by what {who} registered, which no other agent "
        "replaces. Pick another id.",
        detail={"kind": entry.kind, "id": entry.id},
    )


def registered(kind: str, id: str) -> Callable[..., Any] | None:
    """Return the function that is registered under an id, None if there is none."""
    entry = REGISTRY.find(kind, id)
    return None if entry is None else entry.body.component.resolve()


def is_over(story_id: str, component: Component) -> bool:
    """Return whether a story is registered, and over this component."""
    entry = REGISTRY.find("story", story_id)
    return entry is not None and entry.body.component == component


_LISTED_BY = {"story": "list_stories", "member": "list_surfaces"}


def not_found(kind: str, message: str) -> RequestError:
    """Return the refusal of an id that is not there, with the op that lists its kind, if any."""
    listing = _LISTED_BY.get(kind, f"list_{kind}s")
    is_listed = kind in KINDS or kind == "assertion"
    return RequestError("not_found", message, next_steps=[next_step(listing)] if is_listed else ())


EMPTY = (
    "Register a story in a cell (`@repl_pair.story('a.b')` over a function, then "
    "`repl_pair.variant('a.b/Name', args={...})`), import a module that does, or load the files "
    "named in [tool.repl_pair] stories with `%pair load`."
)
"""Advice on how to fill an empty registry."""

REGISTRY = Registry(STORE, KINDS)
"""The registries of this process."""
