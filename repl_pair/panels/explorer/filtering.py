"""Which part of a tree a filter leaves; what fails is always left."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import field

from repl_pair.panels.explorer.messages import FilterChoices
from repl_pair.panels.explorer.statuses import NOT_RUN, RANKS, Statuses
from repl_pair.panels.explorer.tree import TOP, Shown, Tree, key_of
from repl_pair.panels.explorer.tree_rows import title_of
from repl_pair.records import record
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.tags import TAGS

STATES = ("any", "with", "without")
"""The states of a tag in a filter."""


@record
class Filter:
    """What is to be shown: the entries that fit all slots; an empty slot fits all.

    `words` stand in an id or doc, in any order. `tags` has `with` or `without` by tag.
    """

    words: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    kinds: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Return whether it leaves everything."""
        return not (self.words or self.tags or self.kinds or self.statuses)


def choose(tree: Tree, statuses: Statuses, wanted: Filter) -> Shown:
    """Return the entries that fit a filter, the rows above them, and what fails."""
    if wanted.is_empty:
        return tree.all()
    variants = _fit_variants(tree, statuses, wanted)
    kept = _keep(variants, statuses.failing)
    stories = {*variants, *_fit_stories(tree, wanted)}
    return Shown(
        paths=_narrow(tree.paths, stories),
        variants=variants,
        others=_fit_others(tree, wanted),
        kept=kept,
    )


def filter_choices() -> FilterChoices:
    """Return every tag, kind and status."""
    tags = REGISTRY.snapshot("tag")
    return {
        "tags": [
            {
                "id": id,
                "doc": entry.body.doc,
                "unasked": "any" if entry.body.default_filter == "include" else "without",
            }
            for id, entry in sorted(tags.items())
        ],
        "kinds": [{"id": kind, "title": title_of(kind)} for kind in REGISTRY.kinds],
        "statuses": RANKS,
    }


def _fit_variants(tree: Tree, statuses: Statuses, wanted: Filter) -> dict[str, Sequence[str]]:
    if wanted.kinds and "variant" not in wanted.kinds:
        return {}
    carry = [(set(TAGS.ids(tag)), state == "with") for tag, state in wanted.tags.items()]
    found: dict[str, Sequence[str]] = {}
    for story, all_ids in tree.variants.items():
        ids: Sequence[str] = all_ids
        for word in _missing(wanted.words, tree.texts.get(story, "")):
            ids = [id for id in ids if word in tree.texts[id]]
        if ids and wanted.statuses:
            ids = [id for id in ids if statuses.of.get(id, NOT_RUN) in wanted.statuses]
        for carriers, are_wanted in carry:
            ids = [id for id in ids if (id in carriers) is are_wanted]
        if ids:
            found[story] = ids
    return found


def _missing(words: Sequence[str], text: str) -> Sequence[str]:
    """Return all words if one of them is not in a text; a story that has all is shown whole."""
    for word in words:
        if word not in text:
            return words
    return ()


def _fit_stories(tree: Tree, wanted: Filter) -> Iterable[str]:
    """Return the stories that fit by themselves; they have no status of their own."""
    if wanted.statuses or (wanted.kinds and "story" not in wanted.kinds):
        return ()
    found = [id for id in tree.stories if not _missing(wanted.words, tree.texts[id])]
    entries = REGISTRY.snapshot("story")
    for tag, state in wanted.tags.items():
        carriers = {id for id, entry in entries.items() if tag in entry.body.tags}
        found = [id for id in found if (id in carriers) is (state == "with")]
    return found


def _fit_others(tree: Tree, wanted: Filter) -> Mapping[str, Sequence[str]]:
    """Return the ids of other kinds: they have no status and carry no tag."""
    if wanted.statuses or "with" in wanted.tags.values():
        return {}
    found = {
        kind: [id for id in ids if not _missing(wanted.words, tree.texts[key_of(kind, id)])]
        for kind, ids in tree.others.items()
        if not wanted.kinds or kind in wanted.kinds
    }
    return {kind: ids for kind, ids in found.items() if ids}


def _keep(variants: dict[str, Sequence[str]], failing: Iterable[str]) -> AbstractSet[str]:
    """Add the failing variants that were left out; return them."""
    kept: dict[str, list[str]] = {}
    for id in failing:
        ids = variants.get(story_of(id), ())
        place = bisect_left(ids, id)
        if place == len(ids) or ids[place] != id:
            kept.setdefault(story_of(id), []).append(id)
    for story, ids in kept.items():
        joined = list(variants.get(story, ()))
        for id in ids:
            insort(joined, id)
        variants[story] = joined
    return {id for ids in kept.values() for id in ids}


def _narrow(
    paths: Mapping[str, Sequence[str]], stories: Iterable[str]
) -> Mapping[str, Sequence[str]]:
    wanted = set[str]()
    for story in stories:
        path = story
        while path and path not in wanted:
            wanted.add(path)
            path = path.rpartition(".")[0]
    return {
        over: left
        for over, below in paths.items()
        if (over == TOP or over in wanted) and (left := [path for path in below if path in wanted])
    }
