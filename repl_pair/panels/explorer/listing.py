"""The tree and the statuses, kept up to date with the registries and the results."""

from collections.abc import Collection, Iterable, Mapping, Set as AbstractSet

from repl_pair.panels.base.context import RUNNING
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.explorer.statuses import Statuses
from repl_pair.panels.explorer.tree import Tree, above, key_of
from repl_pair.records import record
from repl_pair.runtime.authoring.stories import SETTINGS
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last import RESULTS, last_result
from repl_pair.runtime.surface import STORE

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
            entries = REGISTRY.snapshot(kind)
            self._revisions[kind] = {id: entry.revision for id, entry in entries.items()}
            self.tree.fill(kind, {id: doc_of(entry) for id, entry in entries.items()})
        for id in (*STORE.snapshot(RESULTS.name), *self._running):
            self._note_status(id)

    def handle_changes(self, changes: Changes) -> TreeChanges:
        """Follow changes; reads only what changed."""
        registered = {
            name.removeprefix(_HEAD): keys
            for name, keys in changes.items()
            if name.startswith(_HEAD)
        }
        keys, variants, is_moved = set[str](), set[str](), False
        for kind, named in registered.items():
            ids = self._changed(kind) if named is None else named
            for id in ids:
                is_moved = self._note_entry(kind, id) or is_moved
            keys.update(key_of(kind, id) for id in ids)
            variants |= self.statuses.dependents(f"{_HEAD}{kind}", ids)
            variants.update(ids if kind == "variant" else ())
        for member in changes.keys() - registered.keys():
            variants |= self._changed_runs(member, changes[member])
        others = {id for id in variants if self._note_status(id)}
        keys |= others
        return TreeChanges(
            keys=with_above(keys),
            is_moved=is_moved,
            has_statuses=bool(others),
            kinds=registered.keys(),
        )

    def _changed_runs(self, member: str, keys: frozenset[str] | None) -> AbstractSet[str]:
        if member == RUNNING:
            return keys or {*self._running, *self.statuses.of}
        if member == RESULTS.name:
            return keys or {*STORE.snapshot(RESULTS.name), *self.statuses.of}
        return self.statuses.dependents(member, None) if member in SETTINGS else frozenset()

    def _changed(self, kind: str) -> Iterable[str]:
        """Return what came, left or was registered again since the last change, or the load."""
        before = self._revisions.get(kind, {})
        now: Mapping[str, Entry] = REGISTRY.snapshot(kind) if kind in REGISTRY.kinds else {}
        newer = [id for id, entry in now.items() if before.get(id) != entry.revision]
        return [*newer, *(before.keys() - now.keys())]

    def _note_entry(self, kind: str, id: str) -> bool:
        entry = REGISTRY.find(kind, id) if kind in REGISTRY.kinds else None
        revisions = self._revisions.setdefault(kind, {})
        if entry is None:
            revisions.pop(id, None)
            return self.tree.drop(kind, id)
        revisions[id] = entry.revision
        return self.tree.put(kind, id, doc_of(entry))

    def _note_status(self, id: str) -> bool:
        is_there = id in self.tree.texts
        result = last_result(id) if is_there else None
        return self.statuses.note(id, result, is_there and id in self._running)


def doc_of(entry: Entry) -> str:
    """Return the title of an entry, if it has one, and its doc."""
    title, doc = getattr(entry.body, "title", ""), getattr(entry.body, "doc", "")
    return "\n".join(text for text in (title, doc) if text)


def with_above(keys: Iterable[str]) -> AbstractSet[str]:
    """Return keys with those of all rows above them, which hold counts of them."""
    found = set(keys)
    for key in tuple(found):
        while (key := above(key)) and key not in found:
            found.add(key)
    return found
