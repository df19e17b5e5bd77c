"""A checkpoint brings back exactly the entries that were there, of every kind."""

import numpy
from hypothesis import HealthCheck, given, settings, strategies as st

import repl_pair
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.registry import REGISTRY

ACTS = {
    "story": lambda id: repl_pair.story(id, component=lambda: 0, tags=["dev"]),
    "variant": lambda id: (
        repl_pair.story(id, component=lambda rows=None: 0),
        repl_pair.variant(f"{id}/A", args={"rows": numpy.arange(3)}),
    ),
    "workspace": lambda id: repl_pair.workspace(f"{id}/W", layout="prose", content=[{"prose": id}]),
    "mode": lambda id: repl_pair.mode(id, args={"rows": numpy.arange(2)}),
    "decorator": lambda id: repl_pair.decorator(id, kind="frame_setup", init=["go"]),
    "tag": repl_pair.tag,
    "panel": lambda id: repl_pair.panel(id, title=id, placement="left", render=print),
    "loader": lambda id: repl_pair.loader(id)(list),
    "assertion": lambda id: repl_pair.assertion(id)(lambda settled: True),
    "handler": lambda id: repl_pair.handler(id)(lambda live: None),
    "derived": lambda id: repl_pair.derived(id)(lambda state: None),
    "effect": lambda id: repl_pair.effect.impl(id)(lambda: None),
    "surface": repl_pair.surface,
    "member": lambda id: repl_pair.surface(id).cell("m"),
    "function": lambda id: repl_pair.function(f"{id}.f")(lambda: None),
}
IDS = {"variant": "{}/A", "workspace": "{}/W", "member": "{}/m", "function": "{}.f"}
acts = st.lists(
    st.tuples(st.sampled_from(sorted(ACTS)), st.sampled_from("abc"), st.booleans()), max_size=20
)


def act(kind, id, enters):
    if enters:
        ACTS[kind](id)
    else:
        REGISTRY.unregister(kind, IDS.get(kind, "{}").format(id))


def everything():
    return {kind: dict(REGISTRY.snapshot(kind)) for kind in REGISTRY.kinds}


def same(one, other):
    """Return whether two registries hold the very same entries."""
    return all(
        one[kind].keys() == other[kind].keys()
        and all(one[kind][id] is other[kind][id] for id in one[kind])
        for kind in KINDS
    )


def test_each_kind_is_among_the_acts():
    assert ACTS.keys() == KINDS.keys()


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(acts, acts, acts)
def test_an_undone_checkpoint_leaves_what_was_there_whatever_came_between(first, second, third):
    outer = REGISTRY.checkpoint()
    try:
        for one in first:
            act(*one)
        before = everything()
        undo = REGISTRY.checkpoint()
        for one in second:
            act(*one)
        between = everything()
        inner = REGISTRY.checkpoint()
        for one in third:
            act(*one)
        inner()
        assert same(everything(), between)
        undo()
        assert same(everything(), before)
        undo()
        assert same(everything(), before)
    finally:
        outer()
