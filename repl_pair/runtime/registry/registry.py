"""The registry: a map kind -> id -> entry over the store."""

import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from repl_pair.errors import AuthoringError, RequestError, did_you_mean
from repl_pair.runtime.registry.ids import check_id
from repl_pair.runtime.registry.model import KINDS, Entry, Kind, Origin
from repl_pair.runtime.registry.origin import is_agents, is_executing, module_run
from repl_pair.runtime.surface import ANY, STORE, Collection, Store


class RegistrationWarning(UserWarning):
    """The same id was registered from two loaded places; the later one is kept."""


class Registry:
    """One collection of the store per kind; retires entries of places that ran again."""

    def __init__(self, store: Store, kinds: Mapping[str, Kind]) -> None:
        self.store = store
        self.kinds = dict(kinds)
        self._holder: int | None = None
        self._runs: dict[str, Any] = {}
        """Origin key of each registering module -> its latest known run."""
        self._places: dict[str, set[tuple[str, str]]] = {}
        """Origin key -> kinds and ids registered there, perhaps retired since."""
        for kind in kinds.values():
            store.declare(Collection(name=kind.collection))

    @property
    def revision(self) -> int:
        """Count all changes of all kinds."""
        return sum(self.store.revision(kind.collection) for kind in self.kinds.values())

    def register(
        self, kind: str, id: str, body: Any, *, origin: Origin, tier: str | None = None
    ) -> Entry:
        """Add or replace one entry; replacing one of another loaded place warns.

        An agent replaces entries of agents only: AuthoringError `bad_id` for one of the person.
        """
        known = self._kind(kind)
        id = check_id(kind, known.grammar, id)
        self.retire_stale()
        old = self.store.item(known.collection, id)
        if old is not None and old.origin.key != origin.key and not is_agents(origin):
            place, _, module = old.origin.key.partition(":")
            if place != "module" or module in sys.modules:
                _warn_of_two_places(old, origin)
        if origin.key.startswith("module:"):
            self._runs.setdefault(origin.key, origin.run)
        entry = Entry(
            kind=kind, id=id, body=body, origin=origin, revision=self.revision + 1, tier=tier
        )
        self._places.setdefault(origin.key, set()).add((kind, id))
        if not is_agents(origin):
            self.store.put(known.collection, id, entry)
            return entry
        is_persons = old is not None and not is_agents(old.origin)
        if is_persons or not self.store.put(known.collection, id, entry, over=old):
            raise AuthoringError(
                "bad_id",
                f"The {kind} id {id!r} is taken by what the person registered, which an agent does "
                "not replace. Pick another id.",
                detail={"kind": kind, "id": id},
            )
        return entry

    def unregister(self, kind: str, id: str, *, entry: Entry | None = None) -> bool:
        """Remove one entry, with `entry` only that very one; False if nothing was removed."""
        only = ANY if entry is None else entry
        return self.store.remove(self._kind(kind).collection, id, only=only)

    def get(self, kind: str, id: str) -> Entry:
        """Return one entry; RequestError `not_found` names the nearest ids."""
        self.retire_stale()
        entry = self.find(kind, id)
        if entry is None:
            raise RequestError("not_found", self.missing(kind, id), next_steps=[f"list_{kind}s()"])
        return entry

    def find(self, kind: str, id: str) -> Entry | None:
        """Return one entry without retiring stale ones first, None if there is none."""
        return self.store.item(self._kind(kind).collection, id)

    def missing(self, kind: str, id: str) -> str:
        """Describe that an id is not registered, and which are near or how to begin."""
        known = self.ids(kind)
        if known:
            return f"There is no {kind} {id!r}.{did_you_mean(id, known)}"
        return f"There is no {kind} {id!r}: none is registered. {EMPTY}"

    def ids(self, kind: str, prefix: str = "") -> Sequence[str]:
        """Return the ids of a kind that start with `prefix`, sorted."""
        self.retire_stale()
        return self.store.keys(self._kind(kind).collection, prefix)

    def snapshot(self, kind: str) -> Mapping[str, Entry]:
        """Return all entries of a kind as an immutable mapping that later changes do not reach."""
        self.retire_stale()
        return self.store.snapshot(self._kind(kind).collection)

    def add_kind(self, kind: Kind) -> Callable[[], None]:
        """Add a kind; the undo removes it with its entries."""
        if kind.name in self.kinds:
            raise AuthoringError("bad_id", f"There is already a kind {kind.name!r}.")
        self.kinds[kind.name] = kind
        forget = self.store.declare(Collection(name=kind.collection))

        def undo() -> None:
            self.kinds.pop(kind.name, None)
            forget()

        return undo

    def retire(self, origin_key: str, run: Any) -> list[Entry]:
        """Remove entries that a place registered in an earlier run and not again in `run`."""
        names = self._places.get(origin_key, set())
        entries = [e for kind, id in sorted(names) if (e := self.find(kind, id)) is not None]
        own = [entry for entry in entries if entry.origin.key == origin_key]
        # Module specs are compared by identity, since those of two executions are equal.
        renewed = {
            (entry.kind, entry.id)
            for entry in own
            if entry.origin.run is run or (isinstance(run, int) and entry.origin.run == run)
        }
        retired = [entry for entry in own if (entry.kind, entry.id) not in renewed]
        for entry in retired:
            self.unregister(entry.kind, entry.id)
        self._places[origin_key] = renewed
        return retired

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
        for key, seen in list(self._runs.items()):
            module = sys.modules.get(key.removeprefix("module:"))
            if module is None or module_run(module) is seen or is_executing(module):
                continue
            self._runs[key] = module_run(module)
            self.retire(key, module_run(module))

    def keep_unrenewed(self) -> None:
        """Keep the entries of modules whose re-execution failed."""
        for key in self._runs:
            self._runs[key] = module_run(sys.modules.get(key.removeprefix("module:")))

    def checkpoint(self, *, origin: str = "") -> Callable[[], None]:
        """Remember every entry; the undo restores exactly these.

        With `origin`, `agent:name` or `agent:` for every agent, only entries from there: all others
        stay as they are by then, and keep their ids.
        """
        if origin:
            return self._checkpoint_of(origin)
        saved = {name: self.snapshot(name) for name in self.kinds}

        def undo() -> None:
            for name, entries in saved.items():
                now = self.snapshot(name)
                # By identity: bodies may hold values without `==`, such as arrays.
                is_same = all(now.get(id) is entry for id, entry in entries.items())
                if not is_same or len(now) != len(entries):
                    self.store.reset(self._kind(name).collection, entries)
                    for entry in entries.values():
                        self._places.setdefault(entry.origin.key, set()).add((name, entry.id))

        return undo

    def _checkpoint_of(self, origin: str) -> Callable[[], None]:
        saved = self._entries_of(origin)

        def undo() -> None:
            for place, entry in self._entries_of(origin).items():
                if saved.get(place) is not entry:
                    self.unregister(*place, entry=entry)
            for (kind, id), entry in saved.items():
                self.store.put(self._kind(kind).collection, id, entry, over=None)

        return undo

    def _entries_of(self, origin: str) -> Mapping[tuple[str, str], Entry]:
        return {
            (kind, id): entry
            for kind in self.kinds
            for id, entry in self.snapshot(kind).items()
            if entry.origin.key == origin
            or (origin[-1] == ":" and entry.origin.key.startswith(origin))
        }

    def _kind(self, name: str) -> Kind:
        if name not in self.kinds:
            message = f"There is no kind {name!r}.{did_you_mean(name, self.kinds)}"
            raise RequestError("not_found", message)
        return self.kinds[name]


def _warn_of_two_places(old: Entry, new: Origin) -> None:
    message = (
        f"{old.kind} {old.id!r} was registered by {old.origin.label} line {old.origin.line} "
        f"and is now replaced by {new.label} line {new.line}."
    )
    STORE.emit("notices", message)
    warnings.warn(message, RegistrationWarning, stacklevel=5)


EMPTY = (
    "Register a story in a cell (`@repl_pair.story('a.b')` over a function, then "
    "`repl_pair.variant('a.b/Name', args={...})`), import a module that does, or load the files "
    "named in [tool.repl_pair] stories with `%pair load`."
)
"""Advice on how to fill an empty registry."""

REGISTRY = Registry(STORE, KINDS)
"""The registries of this process."""
