"""What is registered as a tree: folders and stories by the dots of their ids, the rest by kind."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

from repl_pair.records import record
from repl_pair.runtime.registry.ids import story_of

TOP = ""
"""The path above all stories."""
NESTED = ("story", "variant")
"""The kinds that stand in folders; every other has a group of its own."""
_GROUP = "kind:"


@record
class Shown:
    """Which part of a tree is shown, in order: all of it, or what a filter leaves.

    `kept` names the variants that a filter leaves out, and that are shown since they fail.
    """

    paths: Mapping[str, Sequence[str]]
    """The paths one below a path."""
    variants: Mapping[str, Sequence[str]]
    """The variants of a path."""
    others: Mapping[str, Sequence[str]]
    """The ids of a kind."""
    kept: Collection[str] = frozenset()


class Tree:
    """The ids of every kind by their places, kept in order; what a search looks through.

    A row goes by its key: `a.b` for a folder or story, `a.b/Name` for a variant, `kind:mode` for a
    group, `mode:currency/eur` for an entry in it.
    """

    def __init__(self) -> None:
        self.stories: set[str] = set()
        self.paths: dict[str, list[str]] = {}
        self.variants: dict[str, list[str]] = {}
        self.others: dict[str, list[str]] = {}
        self.sizes: Counter[str] = Counter()
        """How many variants stand at or under a path."""
        self.texts: dict[str, str] = {}
        """What a search looks through, by key."""

    def all(self) -> Shown:
        """Return the whole tree; it changes with the tree."""
        return Shown(paths=self.paths, variants=self.variants, others=self.others)

    def fill(self, kind: str, docs: Mapping[str, str]) -> None:
        """Take in all of a kind at once, where none of it is in yet; `docs` by id."""
        ids = sorted(docs)
        for id in ids:
            self.texts[key_of(kind, id)] = _text(id, docs[id])
        if kind == "variant":
            for story, group in groupby(ids, story_of):
                self._grow(story)
                self.variants[story] = list(group)
                self._count(story, len(self.variants[story]))
        elif kind == "story":
            self.stories.update(ids)
            for id in ids:
                self._grow(id)
        elif ids:
            self.others[kind] = ids

    def put(self, kind: str, id: str, doc: str) -> bool:
        """Take in one entry; False if nothing that is listed or searched changed by that."""
        key, text = key_of(kind, id), _text(id, doc)
        if self.texts.get(key) == text:
            return False
        is_new = key not in self.texts
        self.texts[key] = text
        if is_new:
            self._add(kind, id)
        return True

    def drop(self, kind: str, id: str) -> bool:
        """Take out one entry, and the folders that are empty then; False if it was not in."""
        if self.texts.pop(key_of(kind, id), None) is None:
            return False
        if kind == "story":
            self.stories.discard(id)
            self._prune(id)
        elif kind == "variant":
            story = story_of(id)
            _remove(self.variants, story, id)
            self._count(story, -1)
            self._prune(story)
        else:
            _remove(self.others, kind, id)
        return True

    def under(self, path: str) -> Iterator[str]:
        """Return the variants at or under a path, in the order of the rows."""
        for below in self.paths.get(path, ()):
            yield from self.under(below)
        yield from self.variants.get(path, ())

    def _add(self, kind: str, id: str) -> None:
        if kind == "story":
            self.stories.add(id)
            self._grow(id)
        elif kind == "variant":
            story = story_of(id)
            self._grow(story)
            insort(self.variants.setdefault(story, []), id)
            self._count(story, 1)
        else:
            insort(self.others.setdefault(kind, []), id)

    def _grow(self, path: str) -> None:
        """Make a path and those above it, as far as they are not there."""
        for below, above in _steps(path):
            siblings = self.paths.setdefault(above, [])
            place = bisect_left(siblings, below)
            if place < len(siblings) and siblings[place] == below:
                return
            siblings.insert(place, below)

    def _prune(self, path: str) -> None:
        """Take out a path and those above it, as far as nothing stands there."""
        for below, above in _steps(path):
            if below in self.stories or below in self.variants or below in self.paths:
                return
            _remove(self.paths, above, below)

    def _count(self, path: str, more: int) -> None:
        for each in (*paths_above(path), TOP):
            self.sizes[each] += more
            if not self.sizes[each]:
                del self.sizes[each]


def key_of(kind: str, id: str) -> str:
    """Return the key of an entry's row."""
    return id if kind in NESTED else f"{kind}:{id}"


def group_key(kind: str) -> str:
    """Return the key of the row above a kind that stands in no folder."""
    return f"{_GROUP}{kind}"


def read_key(key: str) -> tuple[str, str]:
    """Return the kind and id of a key: `path` and `group` are kinds of rows that are no entries."""
    if key.startswith(_GROUP):
        return "group", key.removeprefix(_GROUP)
    kind, colon, id = key.partition(":")
    if colon:
        return kind, id
    return ("variant" if "/" in key else "path"), key


def paths_above(path: str) -> Sequence[str]:
    """Return a path and all above it, the nearest first, without the top."""
    return [below for below, _ in _steps(path)]


def above(key: str) -> str:
    """Return the key of the row above another's; the top's for those that stand highest."""
    kind, id = read_key(key)
    if kind == "variant":
        return story_of(id)
    if kind == "path":
        return id.rpartition(".")[0]
    return TOP if kind == "group" else group_key(kind)


def _steps(path: str) -> Iterator[tuple[str, str]]:
    while path:
        over = path.rpartition(".")[0]
        yield path, over
        path = over


def _remove(lists: dict[str, list[str]], name: str, item: str) -> None:
    """Take an item out of a sorted list, and the list with its last item."""
    items = lists[name]
    del items[bisect_left(items, item)]
    if not items:
        del lists[name]


def _text(id: str, doc: str) -> str:
    return f"{id}\n{doc}".lower()
