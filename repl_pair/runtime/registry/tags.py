"""An index of the variants that carry a tag, updated from the registry's changes."""

import threading
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from repl_pair.runtime.registry.extending import reachable_chain, tags_along
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.store import STORE, Change

ACTING = ("skip", "xfail")
"""The tags that change what becomes of a run of tests, as pytest's marks do."""


class TagIndex:
    """The sorted ids of each effective tag; a query reads only the changes since the last one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seq: int | None = None
        self._tags: dict[str, tuple[str, ...]] = {}
        self._ids: dict[str, list[str]] = {}
        self._parents: dict[str, str] = {}
        self._children: dict[str, set[str]] = {}
        """The variants that extend an id, registered or not."""

    def ids(self, tag: str, prefix: str = "") -> Sequence[str]:
        """Return variants under `prefix` with a tag: their own, an extended one's, the story's."""
        with self._lock:
            self._catch_up()
            ids = self._ids.get(tag, [])
            return ids[bisect_left(ids, prefix) : bisect_left(ids, f"{prefix}\U0010ffff")]

    def _catch_up(self) -> None:
        seq, known = STORE.seq, self._seq
        if seq == known:
            return
        self._seq = None  # after an update that was stopped all is built anew
        changes, gap = ([], True) if known is None else STORE.changes(known)
        changed = None if gap else _changed_variants(changes)
        if changed is None:
            self._rebuild()
        else:
            for id in changed:
                self._note_parent(id, REGISTRY.find("variant", id))
            for id in self._with_descendants(changed):
                self._refresh(id)
        self._seq = seq

    def _rebuild(self) -> None:
        entries = REGISTRY.snapshot("variant")
        self._parents, self._children, self._ids = {}, {}, {}
        for id, entry in entries.items():
            if entry.body.extends is not None:
                self._note_parent(id, entry)
        self._tags = {id: tags for id, e in entries.items() if (tags := tags_of(e))}
        for id in sorted(self._tags):
            for tag in self._tags[id]:
                self._ids.setdefault(tag, []).append(id)

    def _note_parent(self, id: str, entry: Entry | None) -> None:
        before = self._parents.pop(id, None)
        if before is not None:
            self._children[before].discard(id)
        parent = None if entry is None else entry.body.extends
        if parent is not None:
            self._parents[id] = parent
            self._children.setdefault(parent, set()).add(id)

    def _with_descendants(self, ids: Iterable[str]) -> Iterable[str]:
        found, waiting = set[str](), list(ids)
        while waiting:
            id = waiting.pop()
            if id not in found:
                found.add(id)
                waiting.extend(self._children.get(id, ()))
        return found

    def _refresh(self, id: str) -> None:
        entry = REGISTRY.find("variant", id)
        before, now = set(self._tags.pop(id, ())), tags_of(entry) if entry else ()
        if now:
            self._tags[id] = now
        for tag in before.difference(now):
            ids = self._ids[tag]
            del ids[bisect_left(ids, id)]
        for tag in set(now) - before:
            insort(self._ids.setdefault(tag, []), id)


def reason_of(tag: str) -> str:
    """Return why what carries an acting tag is skipped, or expected to fail: the tag's doc."""
    entry = REGISTRY.find("tag", tag)
    return ("" if entry is None else entry.body.doc) or f"tagged {tag}"


def tags_of(entry: Entry) -> tuple[str, ...]:
    """Return a variant's effective tags, of a broken chain those left; none without its story."""
    story = REGISTRY.find("story", story_of(entry.id))
    return () if story is None else tags_along(story.body, reachable_chain(entry))


def _changed_variants(changes: Iterable[Change]) -> set[str] | None:
    """Return the variants that changes affect, None where all were replaced at once."""
    ids: set[str] = set()
    for change in changes:
        if change.member not in ("registry/variant", "registry/story"):
            continue
        if change.key is None:
            return None
        is_variant = change.member == "registry/variant"
        ids.update([change.key] if is_variant else REGISTRY.ids("variant", f"{change.key}/"))
    return ids


TAGS = TagIndex()
"""The tags of this process's variants."""
