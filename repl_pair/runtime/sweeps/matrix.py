"""The runs of a sweep: variants, chosen in one way, by combinations of modes in a stable order."""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, product
from math import prod

from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.records import row
from repl_pair.runtime.planning.identity import UNKNOWN
from repl_pair.runtime.planning.planner import clashes_of
from repl_pair.runtime.registry.extending import chain_of, modes_along
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.registry import REGISTRY, not_found
from repl_pair.runtime.registry.visible import visible_entry, visible_variants
from repl_pair.runtime.results.drift import has_current_identity
from repl_pair.runtime.results.last_results import last_verdict
from repl_pair.runtime.results.record import RunRecord
from repl_pair.wire import View

MAX_RUNS = 100_000
"""How many runs one sweep may be."""
NEAR = 5
"""How many unknown ids an error names, each with what is near."""


def select(
    view: View,
    *,
    ids: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    changed: bool = False,
    story: str | None = None,
) -> Sequence[str]:
    """Return the visible variants chosen by `ids`, `tags` or `changed`, or all.

    A story narrows all but ids. RequestError `bad_arguments` for two ways, `not_found` if the
    story or any of the ids or tags is unknown.
    """
    if story is not None:
        visible_entry(view, "story", story)
    given = {"ids": ids, "tags": tags, "changed": changed or None, "story": story}
    named = tuple(name for name, value in given.items() if value is not None)
    if named not in _WAYS:
        raise RequestError(
            "bad_arguments",
            "Choose the variants in one way: ids, tags or changed, the last two perhaps of one "
            "story; leave out the rest, also what is empty. "
            f"Given: {' and '.join(named)}. Nothing was run.",
        )
    if ids is not None:
        return _known(list(map(str, ids)), visible_variants(view, None, None))
    found = visible_variants(view, story, tags)
    if not changed:
        return found
    last = {id: last_verdict(id) for id in found}
    return [id for id, run in last.items() if run is None or _may_have_changed(run)]


def _may_have_changed(run: RunRecord) -> bool:
    is_known = run.identity is not None and run.identity.code_hash != UNKNOWN
    return not (is_known and has_current_identity(run))


_WAYS = {(), ("ids",), ("tags",), ("changed",), ("story",), ("tags", "story"), ("changed", "story")}


def _known(ids: Sequence[str], seen: Sequence[str]) -> Sequence[str]:
    there = set(seen)
    unknown = [id for id in dict.fromkeys(ids) if id not in there]
    if not unknown:
        return ids
    text = " ".join(f"There is no variant {id!r}.{did_you_mean(id, seen)}" for id in unknown[:NEAR])
    more = f" And {len(unknown) - NEAR} more are unknown." if len(unknown) > NEAR else ""
    raise RequestError(
        "not_found",
        f"{text}{more} Nothing was run.",
        detail={"unknown": unknown[:100]},
        next_steps=[next_step("list_variants")],
    )


@row
class Pairing:
    """One run of a sweep: a variant in one combination of modes.

    `refusal` is why it cannot be run, where that is known before.
    """

    variant_id: str
    modes: tuple[str, ...] = ()
    refusal: str = ""


def pair(
    ids: Collection[str], modes: str | Sequence[str] = "all", *, known: Sequence[str] | None = None
) -> list[Pairing]:
    """Return every run of a sweep: ids sorted, for each the run without modes first.

    "each" are the modes that story and variant declare, one at a time. "all" are all combinations
    of them that take at most one mode of an axis; a mode without an axis goes with any other. A
    list is the one combination in which each variant is run. `known` are the modes to be seen.
    RequestError: `bad_arguments` for over MAX_RUNS runs or two modes of one axis, `not_found`.
    """
    if isinstance(modes, str) and modes not in ("all", "each"):
        raise RequestError(
            "bad_arguments", f"modes is 'all', 'each' or a list of mode ids, not {modes!r}."
        )
    seen = REGISTRY.ids("mode") if known is None else known
    listed = None if isinstance(modes, str) else _listed(modes, seen)
    hidden = set(REGISTRY.ids("mode")) - set(seen)
    counted = [_pairings_of(id, modes == "all", listed, hidden) for id in sorted(set(ids))]
    total = sum(count for count, _ in counted)
    if total > MAX_RUNS:
        raise RequestError(
            "bad_arguments",
            f"That would be {total:,} runs; one sweep is at most {MAX_RUNS:,}. Select "
            "fewer variants, or one mode at a time ('each'), or the modes of one combination.",
        )
    return [pairing for _, pairings in counted for pairing in pairings]


def combine(modes: Sequence[str], axes: Sequence[str | None]) -> Iterator[tuple[str, ...]]:
    """Return all combinations, smallest first; modes share an axis only where that is None."""
    groups = _groups(axes)
    for size in range(len(groups) + 1):
        for chosen in combinations(groups, size):
            for picked in product(*chosen):
                yield tuple(modes[place] for place in sorted(picked))


def count_combinations(axes: Sequence[str | None]) -> int:
    """Return how many combinations there are, without making them."""
    return prod(1 + len(group) for group in _groups(axes))


def declared_modes(variant_id: str) -> Sequence[str]:
    """Return the modes that a variant's story, what it extends and it itself declare, in order."""
    entry = REGISTRY.get("variant", variant_id)
    story = REGISTRY.find("story", story_of(variant_id))
    return modes_along(None if story is None else story.body, chain_of(entry))


def has_combination(variant_id: str, modes: Collection[str]) -> bool:
    """Return whether "all" has a run of a variant in these modes, without making the others."""
    try:
        declared = declared_modes(variant_id)
    except RequestError:
        return False
    entries = [REGISTRY.find("mode", mode) for mode in modes]
    return {*modes} <= {*declared} and not clashes_of([entry for entry in entries if entry])


def _pairings_of(
    id: str, combined: bool, listed: tuple[str, ...] | None, hidden: Collection[str]
) -> tuple[int, Iterator[Pairing]]:
    if listed is not None:
        return 1, iter([Pairing(id, listed)])
    try:
        declared = [mode for mode in declared_modes(id) if mode not in hidden]
    except RequestError as error:
        return 1, iter([Pairing(id, (), error.message)])
    if combined:
        entries = [REGISTRY.find("mode", mode) for mode in declared]
        axes = [None if entry is None else entry.body.axis for entry in entries]
        return count_combinations(axes), (Pairing(id, m) for m in combine(declared, axes))
    singles = [(), *((mode,) for mode in declared)]
    return len(singles), (Pairing(id, m) for m in singles)


def _listed(modes: Sequence[str], seen: Sequence[str]) -> tuple[str, ...]:
    listed = tuple(dict.fromkeys(map(str, modes)))
    for mode in listed:
        if mode not in seen:
            fault = f"There is no mode {mode!r}.{did_you_mean(mode, seen)}"
            raise not_found("mode", f"{fault} Nothing was run.")
    for clash in clashes_of([REGISTRY.get("mode", mode) for mode in listed]):
        raise RequestError("bad_arguments", f"{clash} Nothing was run.")
    return listed


def _groups(axes: Sequence[str | None]) -> list[list[int]]:
    """Return the places of the modes that exclude each other, axis by axis in order."""
    groups: dict[object, list[int]] = {}
    for place, axis in enumerate(axes):
        groups.setdefault(("alone", place) if axis is None else axis, []).append(place)
    return list(groups.values())
