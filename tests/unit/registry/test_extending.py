"""Variants that extend others settle to their merged bodies, and broken chains are shown."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import repl_pair
from repl_pair.errors import AuthoringError
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.extending import MAX_DEPTH, chain_of, lay_over
from repl_pair.runtime.registry.model import Entry, Origin, Variant
from repl_pair.runtime.registry.registry import REGISTRY

check = repl_pair.check


class Basket:
    def __init__(self, items=(), **more):
        self.items = list(items)
        self.texts = []

    def add(self, sku="", size=0):
        self.items.append(sku)

    def say(self, what):
        self.texts.append(what)


@pytest.fixture(autouse=True)
def basket():
    return repl_pair.story("basket", component=Basket)


def plan(name, **args):
    return plan_variant(f"basket/{name}", **args)


def test_a_child_takes_over_all_but_the_play(basket):
    for name in ("lamp", "desk"):
        repl_pair.loader(name)(list)
        repl_pair.mode(name, args={})
        repl_pair.decorator(name, kind="frame_setup", init=[["say", {"what": name}]])
    repl_pair.derived("full")(lambda state: True)
    repl_pair.variant(
        "basket/Root",
        doc="The root.",
        args={"items": ["a"], "deep": {"x": 1, "y": 1}},
        argtypes={"items": {"control": "rows", "name": "Items"}},
        events=[["say", {"what": "root"}]],
        args_to_events={"size": "add"},
        play=[check.path_equals("result.items", [])],
        loaders=["lamp"],
        loaders_complete_when="full",
        loaders_teardown=[["say", {"what": "bye root"}]],
        tags=["docs", "agent"],
        modes=["lamp"],
        decorators=["lamp"],
        substrates=["text"],
    )
    repl_pair.variant(
        "basket/Child",
        extends="basket/Root",
        args={"deep": {"y": 2}, "size": 3},
        argtypes={"items": {"name": "Things"}},
        events=[["say", {"what": "child"}]],
        play=[check.path_equals("result.texts", ["lamp", "desk", "root", "child"])],
        loaders=["desk", "lamp"],
        loaders_teardown=[["say", {"what": "bye child"}]],
        tags=["!docs", "test"],
        modes=["desk"],
        decorators=["desk"],
    )
    found = plan("Child")
    assert found.variant == Variant(
        extends="basket/Root",
        args={"items": ["a"], "deep": {"x": 1, "y": 2}, "size": 3},
        argtypes={"items": {"control": "rows", "name": "Things"}},
        events=(["say", {"what": "root"}], ["say", {"what": "child"}]),
        args_to_events={"size": "add"},
        play=(["path_equals", "result.texts", ["lamp", "desk", "root", "child"]],),
        loaders=("lamp", "desk"),
        loaders_complete_when="full",
        loaders_teardown=(["say", {"what": "bye root"}], ["say", {"what": "bye child"}]),
        tags=("docs", "agent", "!docs", "test"),
        modes=("lamp", "desk"),
        decorators=(["lamp", {}], ["desk", {}]),
        substrates=("text",),
    )
    assert found.tags == ("agent", "test")
    assert found.events[0] == ["add", {"size": 3}]
    assert repl_pair.run("basket/Child").status == "pass"


def test_an_argument_that_the_root_sends_as_an_event_may_be_set_by_a_child():
    repl_pair.variant("basket/Root", args_to_events={"sku": "add"})
    repl_pair.variant("basket/Child", extends="basket/Root", args={"sku": "lamp"})
    assert repl_pair.run("basket/Child").result.items == ["lamp"]
    assert repl_pair.run("basket/Child", overrides={"sku": "desk"}).result.items == ["desk"]


def test_each_layer_of_a_chain_is_laid_over_the_modes_by_itself():
    repl_pair.story("basket", component=Basket, args={"deep": {"story": 1}})
    repl_pair.variant("basket/Root", args={"deep": 5})
    repl_pair.variant("basket/Child", extends="basket/Root", args={"deep": {"child": 1}})
    assert plan("Child").args == {"deep": {"child": 1}}


def test_a_variant_does_not_extend_itself_or_what_extends_it():
    repl_pair.variant("basket/A")
    repl_pair.variant("basket/B", extends="basket/A")
    for again, chain in (
        ("basket/A", "basket/A -> basket/A"),
        ("basket/B", "basket/A -> basket/B -> basket/A"),
    ):
        with pytest.raises(AuthoringError, match=f"comes back to itself: {chain}") as refused:
            repl_pair.variant("basket/A", extends=again)
        assert refused.value.code == "bad_body"
    assert REGISTRY.get("variant", "basket/A").body.extends is None


def test_an_unknown_parent_is_refused_with_the_nearest_and_the_chain():
    repl_pair.variant("basket/Alpha")
    with pytest.raises(AuthoringError) as refused:
        repl_pair.variant("basket/B", extends="basket/Alhpa")
    assert refused.value.code == "not_found"
    assert refused.value.message == (
        "variant 'basket/B' extends 'basket/Alhpa': There is no variant 'basket/Alhpa'. "
        "Nearest: basket/Alpha. The chain: basket/B -> basket/Alhpa."
    )


def test_a_chain_may_be_thirty_two_long_and_no_longer():
    repl_pair.variant("basket/V1")
    for number in range(2, MAX_DEPTH + 1):
        repl_pair.variant(f"basket/V{number}", extends=f"basket/V{number - 1}")
    assert repl_pair.run(f"basket/V{MAX_DEPTH}").status == "pass"
    with pytest.raises(AuthoringError, match=r"over 32 long: basket/V33 -> .* -> … -> .*basket/V1"):
        repl_pair.variant("basket/V33", extends="basket/V32")
    repl_pair.variant("basket/V0")
    repl_pair.variant("basket/V1", extends="basket/V0")
    record = repl_pair.run("basket/V32")
    assert (record.status, "over 32 long" in record.reason) == ("cannot_run", True)
    assert repl_pair.run("basket/V31").status == "pass"


def test_a_parent_that_left_makes_its_children_cannot_run_and_shows_the_chain():
    repl_pair.variant("basket/A")
    repl_pair.variant("basket/B", extends="basket/A")
    repl_pair.variant("basket/C", extends="basket/B")
    REGISTRY.unregister("variant", "basket/A")
    record = repl_pair.run("basket/C")
    assert record.status == "cannot_run"
    assert "There is no variant 'basket/A'." in record.reason
    assert "The chain: basket/C -> basket/B -> basket/A." in record.reason
    with pytest.raises(AuthoringError, match="The chain: basket/D -> basket/C -> basket/B") as no:
        repl_pair.variant("basket/D", extends="basket/C")
    assert no.value.code == "bad_body"


def test_a_cycle_that_came_in_otherwise_is_refused_at_planning():
    repl_pair.variant("basket/A")
    repl_pair.variant("basket/B", extends="basket/A")
    root = REGISTRY.get("variant", "basket/A")
    closed = replace(root.body, extends="basket/B")
    REGISTRY.register("variant", "basket/A", closed, origin=root.origin)
    record = repl_pair.run("basket/B")
    assert record.status == "cannot_run"
    assert "comes back to itself: basket/B -> basket/A -> basket/B." in record.reason


def test_a_variant_may_extend_one_of_another_story_as_far_as_its_args_fit():
    repl_pair.story("box", component=lambda items=(): list(items))
    repl_pair.variant("box/A", args={"items": ["a"]}, tags=["docs"])
    repl_pair.variant("basket/A", extends="box/A")
    assert plan("A").args == {"items": ["a"]}
    repl_pair.variant("basket/Size", args={"size": 1})
    repl_pair.variant("box/Size", extends="basket/Size")
    record = repl_pair.run("box/Size")
    assert (record.status, "takes no argument 'size'" in record.reason) == ("cannot_run", True)


words = st.sampled_from(("dev", "docs", "test", "!dev", "!docs", "!test"))
args = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        st.integers(0, 2), lambda s: st.dictionaries(st.sampled_from("xy"), s), max_leaves=4
    ),
    max_size=3,
)
bodies = st.builds(
    lambda args, tags, loaders, substrates: Variant(
        args=args, tags=tuple(tags), loaders=tuple(loaders), substrates=tuple(substrates)
    ),
    args,
    st.lists(words, max_size=3),
    st.lists(st.sampled_from("lmn"), max_size=2, unique=True),
    st.lists(st.just("text"), max_size=1),
)


def chained(*bodies):
    return [
        Entry(
            kind="variant",
            id=f"basket/V{n}",
            body=body,
            origin=Origin(key="x", label="x", line=0),
            revision=n,
        )
        for n, body in enumerate(bodies)
    ]


@given(st.lists(bodies, min_size=2, max_size=6), st.data())
def test_what_stands_above_may_be_merged_into_one_at_any_depth(chain, data):
    depth = data.draw(st.integers(1, len(chain) - 1))
    merged = lay_over(chained(*chain[:depth]))
    assert lay_over(chained(merged, *chain[depth:])) == lay_over(chained(*chain))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(st.lists(args, min_size=5, max_size=5), st.lists(args, min_size=1, max_size=3))
def test_args_are_laid_over_each_other_in_one_order(layers, chain):
    over_all, story, first, second, override = layers
    undo = REGISTRY.checkpoint()
    try:
        repl_pair.story("basket", component=lambda a=None, b=None, c=None: None, args=story)
        repl_pair.mode("first", args=first)
        repl_pair.mode("second", args=second)
        repl_pair.variant("basket/V0", args=chain[0])
        for number, own in enumerate(chain[1:], 1):
            repl_pair.variant(f"basket/V{number}", args=own, extends=f"basket/V{number - 1}")
        repl_pair.global_args(**over_all)
        found = plan(f"V{len(chain) - 1}", modes=["first", "second"], overrides=override)
    finally:
        repl_pair.global_args()
        undo()
    wanted = {}
    for layer in (over_all, story, first, second, *chain, override):
        wanted = laid(wanted, layer)
    assert found.args == wanted


def laid(under, over):
    """Maps merge deep, all else replaces."""
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    return {
        key: laid(under[key], over[key]) if key in under and key in over else (under | over)[key]
        for key in under | over
    }


def test_the_chain_of_a_variant_is_its_entries_from_the_root():
    repl_pair.variant("basket/A")
    repl_pair.variant("basket/B", extends="basket/A")
    entry = REGISTRY.get("variant", "basket/B")
    assert [e.id for e in chain_of(entry)] == ["basket/A", "basket/B"]
