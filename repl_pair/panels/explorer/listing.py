"""The tree and the statuses, kept up to date with the registries and the results."""

from collections.abc import Collection, Iterable, Mapping, Set as AbstractSet

from repl_pair.panels.base.context import RUNNING
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.explorer.statuses import Statuses
from repl_pair.panels.explorer.tree import Tree, above, key_of
from repl_pair.records import record
from repl_pair.runtime.authoring.shared import SETTINGS
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last_results import RESULTS, last_verdict
from repl_pair.runtime.results.outdated import OF_RUNS
from repl_pair.runtime.store import STORE

_HEAD = "registry/"


@record
class TreeChanges:
    """The effect of changes on a tree: which rows may have changed, and whether some moved."""

    keys: AbstractSet[str] = frozenset()
    is_moved: bool = False
    """Whether rows came, left, or have other words to search for."""
    has_statuses: bool = False
    """Whether a variant has another status, or began or stopped to fail."""
    kinds: AbstractSet[str] = frozenset()
    """The kinds that were registered or left."""


class Listing:
    """What is registered, with the statuses of variants; empty before `load`."""

    def __init__(self, running: Collection[str]) -> None:
        self.tree = Tree()
        self.statuses = Statuses()
        self._running = running
        """The variants that run or wait to, as of now."""
        self._revisions: dict[str, dict[str, int]] = {}

    def load(self) -> None:
        """Read all registries and results."""
        for kind in REGISTRY.kinds:
            self._put(kind, REGISTRY.snapshot(kind))
        for id in (*STORE.snapshot(RESULTS.name), *self._running):
            self._note_status(id)

    def handle_changes(self, changes: Changes) -> TreeChanges:
        """Follow changes; reads only what changed."""
        keys, variants, kinds, is_moved = set[str](), set[str](), set[str](), False
        for member, named in changes.items():
            if not member.startswith(_HEAD):
                variants |= self._changed_runs(member, named)
                continue
            kind = member.removeprefix(_HEAD)
            ids = self._changed(kind) if named is None else named
            is_moved |= self._note_entries(kind, ids)
            kinds.add(kind)
            keys.update(key_of(kind, id) for id in ids)
            variants |= self.statuses.dependents(member, ids)
            variants.update(ids if kind == "variant" else ())
        others = {id for id in variants if self._note_status(id)}
        keys |= others
        for key in tuple(keys):  # the rows above hold counts of it
            while (key := above(key)) and key not in keys:
                keys.add(key)
        return TreeChanges(keys=keys, is_moved=is_moved, has_statuses=bool(others), kinds=kinds)

    def _changed_runs(self, member: str, keys: frozenset[str] | None) -> AbstractSet[str]:
        if member == RUNNING:
            return keys or {*self._running, *self.statuses.of}
        if member in OF_RUNS:
            return keys or {*STORE.snapshot(RESULTS.name), *self.statuses.of}
        return self.statuses.dependents(member, None) if member in SETTINGS else frozenset()

    def _changed(self, kind: str) -> Iterable[str]:
        """Return what came, left or was registered again since the last change, or the load."""
        before = self._revisions.get(kind, {})
        now: Mapping[str, Entry] = REGISTRY.snapshot(kind) if kind in REGISTRY.kinds else {}
        newer = [id for id, entry in now.items() if before.get(id) != entry.revision]
        return [*newer, *(before.keys() - now.keys())]

    def _note_entries(self, kind: str, ids: Iterable[str]) -> bool:
        found = {id: REGISTRY.find(kind, id) if kind in REGISTRY.kinds else None for id in ids}
        gone = [id for id, entry in found.items() if entry is None]
        for id in gone:
            self._revisions.get(kind, {}).pop(id, None)
        dropped = [self.tree.drop(kind, id) for id in gone]
        return self._put(kind, {id: e for id, e in found.items() if e is not None}) or any(dropped)

    def _put(self, kind: str, entries: Mapping[str, Entry]) -> bool:
        revisions = {id: entry.revision for id, entry in entries.items()}
        self._revisions.setdefault(kind, {}).update(revisions)
        docs = {
            id: "\n".join(filter(None, (getattr(e.body, s, "") for s in ("title", "doc"))))
            for id, e in entries.items()
        }
        return self.tree.put(kind, docs)

    def _note_status(self, id: str) -> bool:
        is_there = id in self.tree.texts
        result = last_verdict(id) if is_there else None
        return self.statuses.note(id, result, is_there and id in self._running)
