import pytest
from hypothesis import given, settings, strategies as st

import repl_pair
from repl_pair.errors import RequestError
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.sweeps import matrix
from repl_pair.runtime.sweeps.matrix import Pairing, combine, count_combinations, pair

AXES = st.lists(st.none() | st.sampled_from("abc"), max_size=7)


def price(rate: float = 1.0, factor: int = 1):
    return rate * factor


@pytest.fixture
def shop():
    repl_pair.mode("eur", args={"rate": 2.0}, axis="currency")
    repl_pair.mode("usd", args={"rate": 3.0}, axis="currency")
    repl_pair.mode("twice", args={"factor": 2})
    repl_pair.story("shop", component=price, modes=["usd", "eur"])
    repl_pair.variant("shop/B", modes=["twice"])
    repl_pair.variant("shop/A")


def named(axes):
    return [f"m{place}" for place in range(len(axes))]


@given(AXES)
def test_there_are_as_many_combinations_as_are_counted_and_none_twice(axes):
    found = list(combine(named(axes), axes))
    assert len(found) == len(set(found)) == count_combinations(axes)


@given(AXES)
def test_a_combination_has_at_most_one_mode_of_an_axis_in_declared_order(axes):
    modes = named(axes)
    for found in combine(modes, axes):
        places = [modes.index(mode) for mode in found]
        assert places == sorted(places)
        on_axes = [axes[place] for place in places if axes[place] is not None]
        assert len(on_axes) == len(set(on_axes))


@given(AXES)
def test_every_set_of_modes_that_do_not_exclude_each_other_is_a_combination(axes):
    modes = named(axes)
    found = set(combine(modes, axes))
    for bits in range(2 ** len(modes)):
        chosen = [place for place in range(len(modes)) if bits >> place & 1]
        on_axes = [axes[place] for place in chosen if axes[place] is not None]
        fits = len(on_axes) == len(set(on_axes))
        assert (tuple(modes[place] for place in chosen) in found) == fits


@given(AXES)
def test_combinations_come_smallest_first_and_each_time_alike(axes):
    found = list(combine(named(axes), axes))
    assert [len(modes) for modes in found] == sorted(len(modes) for modes in found)
    assert found == list(combine(named(axes), axes))


def test_all_modes_are_those_of_story_and_variant_combined(shop):
    assert pair(["shop/B", "shop/A"]) == [
        Pairing("shop/A"),
        Pairing("shop/A", ("usd",)),
        Pairing("shop/A", ("eur",)),
        Pairing("shop/B"),
        Pairing("shop/B", ("usd",)),
        Pairing("shop/B", ("eur",)),
        Pairing("shop/B", ("twice",)),
        Pairing("shop/B", ("usd", "twice")),
        Pairing("shop/B", ("eur", "twice")),
    ]


def test_each_mode_is_run_by_itself_after_the_run_without(shop):
    assert [p.modes for p in pair(["shop/B"], "each")] == [(), ("usd",), ("eur",), ("twice",)]


def test_listed_modes_are_one_combination_for_all_in_the_given_order(shop):
    found = pair(["shop/B", "shop/A", "shop/B"], ["twice", "eur"])
    assert found == [Pairing("shop/A", ("twice", "eur")), Pairing("shop/B", ("twice", "eur"))]
    assert pair(["shop/A"], []) == [Pairing("shop/A")]


@given(st.permutations(["shop/A", "shop/B", "shop/C"]), st.sampled_from(["all", "each"]))
@settings(max_examples=12)
def test_the_order_in_which_ids_are_given_does_not_matter(ids, how):
    undo = REGISTRY.checkpoint()
    try:
        repl_pair.mode("dark", args={"factor": 2})
        repl_pair.story("shop", component=price, modes=["dark"])
        for id in ids:
            repl_pair.variant(id)
        assert pair(ids, how) == pair(sorted(ids), how)
    finally:
        undo()


def test_a_variant_without_modes_is_one_run_in_every_way():
    repl_pair.story("plain", component=price)
    repl_pair.variant("plain/A")
    assert pair(["plain/A"]) == pair(["plain/A"], "each") == [Pairing("plain/A")]


def test_what_a_variant_extends_declares_modes_for_it(shop):
    repl_pair.variant("shop/C", extends="shop/B")
    assert pair(["shop/C"], "each")[-1] == Pairing("shop/C", ("twice",))


def test_a_mode_that_is_gone_is_still_a_run_that_will_report_it(shop):
    REGISTRY.unregister("mode", "twice")
    assert Pairing("shop/B", ("twice",)) in pair(["shop/B"])


def test_modes_that_may_not_be_seen_are_not_there(shop):
    assert [p.modes for p in pair(["shop/A"], known=["eur"])] == [(), ("eur",)]
    with pytest.raises(RequestError, match="There is no mode 'usd'"):
        pair(["shop/A"], ["usd"], known=["eur"])


@pytest.mark.parametrize(
    ("modes", "text"),
    [
        (["eru"], "There is no mode 'eru'. Nearest: eur. Nothing was run."),
        (
            ["eur", "usd"],
            "Modes 'eur' and 'usd' share the axis 'currency': choose one. Nothing was run.",
        ),
        ("both", "modes is 'all', 'each' or a list of mode ids, not 'both'."),
    ],
)
def test_modes_that_no_variant_can_be_run_in_are_refused(shop, modes, text):
    with pytest.raises(RequestError) as refused:
        pair(["shop/A"], modes)
    assert refused.value.message == text


def test_too_many_runs_are_refused_with_their_count_before_they_are_made():
    many = [f"on-{number}" for number in range(40)]
    for mode in many:
        repl_pair.mode(mode, args={"factor": 2})
    repl_pair.story("wide", component=price, modes=many)
    repl_pair.variant("wide/A")
    with pytest.raises(RequestError) as refused:
        pair(["wide/A"])
    assert refused.value.message.startswith(
        f"That would be {2**40:,} runs; one sweep is at most {matrix.MAX_RUNS:,}."
    )
    assert len(pair(["wide/A"], "each")) == 41
