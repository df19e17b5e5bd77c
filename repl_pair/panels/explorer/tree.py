"""What is registered as a tree and its rows: stories by the dots of their ids, the rest by kind."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import chain, groupby

from repl_pair.records import record
from repl_pair.runtime.registry.ids import story_of

TOP = ""
"""The path above all stories."""
NESTED = ("story", "variant")
"""The kinds that stand in folders; every other has a group of its own."""
_GROUP = "kind:"


@record
class Shown:
    """Which part of a tree is shown, in order: all of it, or what a filter leaves."""

    paths: Mapping[str, Sequence[str]]
    """The paths one below a path."""
    variants: Mapping[str, Sequence[str]]
    """The variants of a path."""
    others: Mapping[str, Sequence[str]]
    """The ids of a kind."""
    kept: Collection[str] = frozenset()
    """The variants that are shown though a filter leaves them out: they fail."""


class Tree:
    """The ids of every kind by their places, kept in order; what a search looks through.

    A row goes by its key: `a.b` for a folder or story, `a.b/Name` for a variant, `kind:mode` for a
    group, `mode:currency/eur` for an entry in it.
    """

    def __init__(self) -> None:
        self.stories: set[str] = set()
        self.variants: dict[str, list[str]] = {}
        self.others: dict[str, list[str]] = {}
        self.sizes: Counter[str] = Counter()
        """How many variants stand at or under a path."""
        self.texts: dict[str, str] = {}
        """What a search looks through, by key."""
        self._paths: Mapping[str, Sequence[str]] | None = None

    @property
    def paths(self) -> Mapping[str, Sequence[str]]:
        """Return the paths one below a path."""
        if self._paths is None:
            self._paths = nest({*self.stories, *self.variants})
        return self._paths

    def put(self, kind: str, docs: Mapping[str, str]) -> bool:
        """Take in entries, `docs` by id; False if nothing that is listed or searched changed."""
        texts = {key_of(kind, id): f"{id}\n{doc}".lower() for id, doc in docs.items()}
        if all(self.texts.get(key) == text for key, text in texts.items()):
            return False
        ids = sorted(id for id in docs if key_of(kind, id) not in self.texts)
        self.texts |= texts
        if kind == "variant":
            for story, group in groupby(ids, story_of):
                if story not in self.variants:
                    self._paths = None
                self._count(story, _add(self.variants, story, group))
        elif kind == "story":
            self.stories.update(ids)
            self._paths = None
        elif ids:
            _add(self.others, kind, ids)
        return True

    def drop(self, kind: str, id: str) -> bool:
        """Take out one entry, and the folders that are empty then; False if it was not in."""
        if self.texts.pop(key_of(kind, id), None) is None:
            return False
        if kind == "variant":
            _remove(self.variants, story_of(id), id)
            self._count(story_of(id), -1)
        elif kind == "story":
            self.stories.discard(id)
        else:
            _remove(self.others, kind, id)
        self._paths = None
        return True

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


def paths_above(path: str) -> Iterator[str]:
    """Return a path and all above it, the nearest first, without the top."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def nest(stories: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the paths to stories by the path above each, in order."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for story in stories:
        for path in paths_above(story):
            siblings = below[path.rpartition(".")[0]]
            if path in siblings:
                break
            siblings.add(path)
    return {over: sorted(paths) for over, paths in below.items()}


def above(key: str) -> str:
    """Return the key of the row above another's; the top's for those that stand highest."""
    kind, id = read_key(key)
    if kind == "variant":
        return story_of(id)
    if kind == "path":
        return id.rpartition(".")[0]
    return TOP if kind == "group" else group_key(kind)


def list_rows(shown: Shown, closed: AbstractSet[str], open_kinds: AbstractSet[str]) -> list[str]:
    """Return the keys of all rows in order: closed paths hide what is in them, and so do kinds."""
    rows: list[str] = []
    # Locals and one call a folder, for speed: there may be a hundred thousand rows.
    paths, variants, append, extend = shown.paths, shown.variants, rows.append, rows.extend

    def walk(siblings: Sequence[str]) -> None:
        for path in siblings:
            append(path)
            if path not in closed:
                if below := paths.get(path):
                    walk(below)
                if ids := variants.get(path):
                    extend(ids)

    walk(paths.get(TOP, ()))
    for kind, ids in sorted(shown.others.items()):
        append(group_key(kind))
        if kind in open_kinds:
            extend(f"{kind}:{id}" for id in ids)
    return rows


def place_of(key: str, shown: Shown) -> tuple[int, int]:
    """Return which of how many siblings a row is, counted from 1."""
    kind, id = read_key(key)
    over = above(key)
    paths, variants = shown.paths.get(over, ()), shown.variants.get(over, ())
    groups = () if over else sorted(shown.others)
    before, siblings = {
        "path": (0, paths),
        "variant": (len(paths), variants),
        "group": (len(paths), groups),
    }.get(kind, (0, shown.others.get(kind, ())))
    of = len(paths) + len(variants) + len(groups) or len(siblings)
    return before + bisect_left(siblings, id) + 1, of


def level_of(key: str) -> int:
    """Return how deep a row stands, counted from 1."""
    over = above(key)
    return level_of(over) + 1 if over else 1


def name_of(key: str) -> str:
    """Return the part of an id that a row shows; the rows above it show the rest."""
    kind, id = read_key(key)
    if kind == "variant":
        return id.split("/", 1)[1]
    return id.rpartition(".")[2] if kind == "path" else id


def title_of(kind: str) -> str:
    """Return the title of a kind's group."""
    return _TITLES.get(kind, f"{kind.capitalize()}s")


_TITLES = {"story": "Stories", "derived": "Derived"}


def find_name(rows: Sequence[str], text: str, after: int) -> int | None:
    """Return the next row whose name begins with a text; the search goes around at the end."""
    wanted, first = text.lower(), after if 0 <= after < len(rows) else 0
    for at in chain(range(first, len(rows)), range(first)):
        # Most keys do not hold the text at all, which is the cheaper question.
        if wanted in rows[at].lower() and name_of(rows[at]).lower().startswith(wanted):
            return at
    return None


def _add(lists: dict[str, list[str]], name: str, items: Iterable[str]) -> int:
    """Add items to a sorted list, and return how many there were."""
    into = lists.setdefault(name, [])
    size = len(into)
    into.extend(items)
    into.sort()
    return len(into) - size


def _remove(lists: dict[str, list[str]], name: str, item: str) -> None:
    """Take an item out of a sorted list, and the list with its last item."""
    items = lists[name]
    del items[bisect_left(items, item)]
    if not items:
        del lists[name]
