"""The rows of a tree: which there are, in order, and where one stands among its siblings."""

from bisect import bisect_left
from collections.abc import Sequence, Set as AbstractSet
from itertools import chain

from repl_pair.panels.explorer.tree import TOP, Shown, group_key, read_key
from repl_pair.runtime.registry.ids import story_of


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
    if kind == "variant":
        story = story_of(id)
        before = len(shown.paths.get(story, ()))
        siblings = shown.variants.get(story, ())
        return before + bisect_left(siblings, id) + 1, before + len(siblings)
    if kind == "path":
        over = id.rpartition(".")[0]
        siblings = shown.paths.get(over, ())
        more = len(shown.variants.get(over, ())) if over else len(shown.others)
        return bisect_left(siblings, id) + 1, len(siblings) + more
    if kind == "group":
        before = len(shown.paths.get(TOP, ()))
        return before + sorted(shown.others).index(id) + 1, before + len(shown.others)
    siblings = shown.others.get(kind, ())
    return bisect_left(siblings, id) + 1, len(siblings)


def level_of(key: str) -> int:
    """Return how deep a row stands, counted from 1."""
    kind, id = read_key(key)
    if kind == "variant":
        return story_of(id).count(".") + 2
    if kind == "path":
        return id.count(".") + 1
    return 1 if kind == "group" else 2


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
