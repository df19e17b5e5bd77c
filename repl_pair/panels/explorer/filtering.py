"""Which part of a tree a filter leaves; what fails is always left."""

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import field
from itertools import groupby

from repl_pair.panels.explorer.messages import FilterChoices
from repl_pair.panels.explorer.statuses import NOT_RUN, RANKS, Statuses
from repl_pair.panels.explorer.tree import Shown, Tree, key_of, nest, title_of
from repl_pair.records import record
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry
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


def choose(tree: Tree, statuses: Statuses, wanted: Filter) -> Shown:
    """Return the entries that fit a filter, the rows above them, and what fails."""
    if wanted == Filter():
        return Shown(paths=tree.paths, variants=tree.variants, others=tree.others)
    variants = _fit_variants(tree, statuses, wanted)
    kept = _keep(variants, statuses.failing)
    return Shown(
        paths=nest({*variants, *_fit_stories(tree, wanted)}),
        variants=variants,
        others=_fit_others(tree, wanted),
        kept=kept,
    )


def filter_choices() -> FilterChoices:
    """Return every tag, kind and status."""
    tags = sorted(REGISTRY.snapshot("tag").items())
    return {
        "tags": [
            {"id": id, "doc": tag.body.doc, "unasked": unasked_state(tag)} for id, tag in tags
        ],
        "kinds": [{"id": kind, "title": title_of(kind)} for kind in REGISTRY.kinds],
        "statuses": RANKS,
    }


def unasked_state(tag: Entry) -> str:
    """Return the state of a tag where the person chose none."""
    return "any" if tag.body.default_filter == "include" else "without"


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
    return () if all(word in text for word in words) else words


def _fit_stories(tree: Tree, wanted: Filter) -> Iterable[str]:
    """Return the stories that fit by themselves; they have no status of their own."""
    if wanted.statuses or (wanted.kinds and "story" not in wanted.kinds):
        return ()
    carried = {id: entry.body.tags for id, entry in REGISTRY.snapshot("story").items()}
    return [
        id
        for id in tree.stories
        if not _missing(wanted.words, tree.texts[id])
        and all((tag in carried.get(id, ())) is (s == "with") for tag, s in wanted.tags.items())
    ]


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
    kept = set[str]()
    for story, ids in groupby(sorted(failing), story_of):
        left_out = set(ids).difference(variants.get(story, ()))
        if left_out:
            variants[story] = sorted([*variants.get(story, ()), *left_out])
            kept |= left_out
    return kept
