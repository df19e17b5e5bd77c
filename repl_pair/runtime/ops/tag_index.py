"""Which variants carry which tag, kept up with the registries' changes."""

import threading
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from repl_pair.runtime.extending import effective_tags
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.surface.store import STORE, Change


class TagIndex:
    """The sorted ids of each effective tag; a question after a change looks at the change only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seq: int | None = None
        self._tags: dict[str, tuple[str, ...]] = {}
        self._ids: dict[str, list[str]] = {}

    def ids(self, tag: str) -> Sequence[str]:
        """Give the ids of the variants that carry a tag, by themselves or by their story."""
        with self._lock:
            self._catch_up()
            return tuple(self._ids.get(tag, ()))

    def _catch_up(self) -> None:
        seq = STORE.seq
        if seq == self._seq:
            return
        changes, gap = ([], True) if self._seq is None else STORE.changes(self._seq)
        changed = None if gap else _changed_variants(changes)
        if changed is None:
            self._rebuild()
        else:
            for id in changed:
                self._refresh(id)
        self._seq = seq

    def _rebuild(self) -> None:
        self._tags = {id: tags for id in REGISTRY.ids("variant") if (tags := _tags_of(id))}
        self._ids = {}
        for id, tags in self._tags.items():
            for tag in tags:
                self._ids.setdefault(tag, []).append(id)

    def _refresh(self, id: str) -> None:
        before, now = set(self._tags.pop(id, ())), _tags_of(id)
        if now:
            self._tags[id] = now
        for tag in before.difference(now):
            ids = self._ids[tag]
            del ids[bisect_left(ids, id)]
        for tag in set(now) - before:
            insort(self._ids.setdefault(tag, []), id)


def _tags_of(id: str) -> tuple[str, ...]:
    variant, story = REGISTRY.find("variant", id), REGISTRY.find("story", story_of(id))
    if variant is None or story is None:
        return ()
    return effective_tags(story.body, variant.body) if variant.body.tags else story.body.tags


def _changed_variants(changes: Iterable[Change]) -> set[str] | None:
    """Give the ids that changes touched, None where they were all replaced at once."""
    found: set[str] = set()
    for change in changes:
        if change.member not in ("registry/variant", "registry/story"):
            continue
        if change.key is None:
            return None
        one = change.member == "registry/variant"
        found.update([change.key] if one else REGISTRY.ids("variant", f"{change.key}/"))
    return found


TAGS = TagIndex()
"""The tags of this process's variants."""
