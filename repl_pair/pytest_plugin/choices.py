"""Which items a variant makes: one for each of the chosen combinations of modes, and each play."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from repl_pair.errors import RequestError
from repl_pair.records import row
from repl_pair.runtime.authoring.fixtures import LOADER, fixtures_in
from repl_pair.runtime.registry.extending import lay_over, reachable_chain
from repl_pair.runtime.registry.ids import name_run
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.tags import tags_of
from repl_pair.runtime.sweeps.matrix import Pairing, declared_modes, has_combination, pair
from repl_pair.runtime.sweeps.sweep import plan_pairing


@row
class Choice:
    """One item: a variant in one combination of modes, with one play or the automatic ones."""

    entry: Entry
    modes: tuple[str, ...] = ()
    play: str | None = None
    tags: tuple[str, ...] = ()
    marks: Sequence[Sequence[Any]] = ()
    fixtures: Sequence[str] = ()
    refusal: str = ""

    @property
    def name(self) -> str:
        """Return the id with the modes, and the play where it is chosen apart, in brackets."""
        words = [*self.modes, *([] if self.play is None else [f"play={self.play}"])]
        return name_run(self.entry.id, words)


def modes_wanted(config: pytest.Config) -> str | Sequence[frozenset[str]]:
    """Return all, each or none; or the combinations that are wanted."""
    given: str = config.getoption("pair_modes") or config.getini("repl_pair_modes")
    if given in ("all", "each", "none"):
        return given
    words = [one.strip() for one in given.split(",")]
    return [frozenset(() if word == "none" else word.split("+")) for word in words]


def choices_of(entries: Sequence[Entry], config: pytest.Config) -> Iterator[Choice]:
    """Return every item of some variants in their order; RequestError for over 100,000."""
    ids, wanted = [entry.id for entry in entries], modes_wanted(config)
    pairings: dict[str, list[Pairing]] = {id: [] for id in ids}
    for one in _pairings_of(ids, wanted):
        pairings[one.variant_id].append(one)
    apart: str = config.getoption("pair_plays") or "all"
    for entry in entries:
        tags, marks = tags_of(entry), lay_over(reachable_chain(entry)).marks
        for pairing in pairings[entry.id]:
            for play in _plays_of(entry, apart):
                fixtures = _fixtures_of(pairing, play)
                yield Choice(entry, pairing.modes, play, tags, marks, fixtures, pairing.refusal)


def _pairings_of(ids: Sequence[str], wanted: str | Sequence[frozenset[str]]) -> Iterable[Pairing]:
    if wanted == "none":
        return map(Pairing, ids)
    if isinstance(wanted, str):
        return pair(ids, wanted)
    return (one for id in ids for one in _named_pairings(id, wanted))


def _named_pairings(id: str, wanted: Iterable[frozenset[str]]) -> Iterator[Pairing]:
    """Return a variant's runs in the combinations that are named, smallest first."""
    try:
        declared = declared_modes(id)
    except RequestError as error:
        yield Pairing(id, (), error.message)
        return
    fitting = [modes for modes in dict.fromkeys(wanted) if has_combination(id, modes)]
    places = [tuple(n for n, mode in enumerate(declared) if mode in modes) for modes in fitting]
    for chosen in sorted(places, key=lambda each: (len(each), each)):
        yield Pairing(id, tuple(declared[place] for place in chosen))


def _plays_of(entry: Entry, apart: str) -> Sequence[str | None]:
    """Return the plays that are items of their own, and None for those that run by themselves."""
    if apart == "each":
        # One of `play` has no name, and a variant without any is run too.
        return [play.name for play in entry.body.plays] or (None,)
    left = [play.name for play in entry.body.plays if not play.auto_run]
    return (None, *(left if apart == "all" else ()))


def _fixtures_of(pairing: Pairing, play: str | None) -> Sequence[str]:
    """Return the fixtures that a run needs; one that cannot be planned fails when it is run."""
    if REGISTRY.find("loader", LOADER) is None:
        return ()
    try:
        plan = plan_pairing(pairing)
    except RequestError:
        return ()
    named = [one.steps for one in plan.variant.plays if one.name == play]
    steps = [step for steps in named for step in steps] if play else list(plan.steps)
    lines = [list(step) for step in steps]
    return fixtures_in(plan.args, list(plan.events), list(plan.variant.loaders_teardown), lines)
