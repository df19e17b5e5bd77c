"""What a view reads of changes: what it may see, and nothing of the rest."""

import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from waiting import finish

import repl_pair
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.changes import read_changes
from repl_pair.runtime.registry.ids import SURFACE
from repl_pair.runtime.registry.model import KINDS, Kind, Tag
from repl_pair.runtime.registry.origin import Origin
from repl_pair.runtime.registry.registry import REGISTRY, RegistrationWarning
from repl_pair.runtime.registry.visible import visible_ids
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.runtime.results.outdated import OUTDATED
from repl_pair.runtime.store import STORE
from repl_pair.wire import PERSON, View

AGENT = View(principal="agent")
VIEWS = {
    "agent": AGENT,
    "agent of a tier": View(principal="agent", tier="ops"),
    "expose_all": View(principal="agent", expose_all=True),
    "expose_all of a tier": View(principal="agent", tier="ops", expose_all=True),
    "person": View(principal=PERSON),
}
SIGHTS = {  # of what is registered so: the views that see it
    "plain_hidden": ({"expose": False}, {"expose_all", "person"}),
    "shown": ({"expose": True}, {"agent", "expose_all", "person"}),
    "shown_ops": ({"expose": True, "tier": "ops"}, set(VIEWS)),
    "plain_ops": ({"tier": "ops"}, {"expose_all", "expose_all of a tier", "person"}),
    "_floor": ({"expose": True, "tier": "ops"}, {"person"}),
}


def publish(id, **slots):
    repl_pair.function(id, **slots)(lambda: None)


def changes_of(view, since, **slots):
    return finish(read_changes(Call(view=view), since=since, **slots))


@pytest.mark.parametrize("how", SIGHTS)
def test_registering_and_leaving_are_read_by_those_views_that_see_it(how):
    slots, views = SIGHTS[how]
    since = STORE.seq
    publish(f"app.{how}", **slots)
    came, between = {name: changes_of(view, since) for name, view in VIEWS.items()}, STORE.seq
    REGISTRY.unregister("function", f"app.{how}")
    left = {name: changes_of(view, between) for name, view in VIEWS.items()}
    for changes, change in ((came, "put"), (left, "remove")):
        lines = {name: [(c["change"], c["id"]) for c in f["items"]] for name, f in changes.items()}
        assert {name for name, found in lines.items() if found} == views
        assert all(found in ([], [(change, f"app.{how}")]) for found in lines.values())
        assert {name for name, found in changes.items() if how in str(found)} == views


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["app.a", "app.b", "app._c"]),
        st.none() | st.tuples(st.booleans(), st.sampled_from([None, "ops", "user"])),
        st.booleans(),
    ),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ACTS, st.sampled_from(sorted(VIEWS)))
def test_what_a_view_puts_together_from_changes_is_what_it_sees(acts, name):
    undo, view, since, held = REGISTRY.checkpoint(), VIEWS[name], STORE.seq, set()
    try:
        for id, how, reads in acts:
            if how is None:
                REGISTRY.unregister("function", id)
            else:
                publish(id, expose=how[0], tier=how[1])
            if reads:
                since = follow(view, since, held)
                assert held == set(visible_ids(view, "function"))
        follow(view, since, held)
        assert held == set(visible_ids(view, "function"))
    finally:
        undo()


def follow(view, since, held):
    found = changes_of(view, since)
    for line in found["items"]:
        assert line["change"] in ("put", "remove")
        (held.add if line["change"] == "put" else held.discard)(line["id"])
    return found["next"]


def test_a_wait_ends_with_a_change_that_is_seen_and_with_no_other():
    since, answers = STORE.seq, []
    call = Call(view=VIEWS["agent of a tier"])
    waiting = threading.Thread(
        target=lambda: answers.append(finish(read_changes(call, since=since, wait_s=50)))
    )
    waiting.start()
    for how, (slots, views) in SIGHTS.items():
        if "agent of a tier" not in views:
            publish(f"app.{how}", **slots)
            REGISTRY.unregister("function", f"app.{how}")
    repl_pair.tag("another", tier="user")
    publish("app.shown_ops", expose=True, tier="ops")
    waiting.join(60)
    assert [(line["change"], line["id"]) for line in answers[0]["items"]] == [
        ("put", "app.shown_ops")
    ]


def test_a_wait_without_a_change_that_is_seen_lasts_its_time():
    since, began = STORE.seq, time.monotonic()
    publish("app.plain_hidden")
    assert changes_of(AGENT, since, wait_s=0.2) == {"items": [], "total": 0, "next": since + 1}
    assert time.monotonic() - began >= 0.2


def test_the_notice_of_a_replaced_entry_is_for_those_who_saw_both(module):
    def register(id, label, **slots):
        origin = Origin(key=f"module:{label}", label=label, line=1)
        with entering_from(origin):
            publish(id, **slots)

    module("apart", "")
    module("another", "")
    for how, (slots, views) in SIGHTS.items():
        register(f"app.{how}", "apart", **slots)
        since = STORE.seq
        with pytest.warns(RegistrationWarning):
            register(f"app.{how}", "another", **slots)
        seen = {name for name, view in VIEWS.items() if "apart" in str(changes_of(view, since))}
        assert seen == views
    since = STORE.seq
    with pytest.warns(RegistrationWarning):
        register("app.plain_hidden", "apart", expose=True)
    assert "another" not in str(changes_of(AGENT, since))


def test_a_view_with_a_tier_reads_results_of_its_variants_and_no_change_without_an_id():
    repl_pair.story("shop", component=lambda: None)
    for name, tier in (("Ops", "ops"), ("Any", None)):
        repl_pair.variant(f"shop/{name}", tier=tier)
    repl_pair.run("shop/Ops")
    since = STORE.seq
    for name in ("Ops", "Any"):
        STORE.put(RESULTS.name, f"shop/{name}", STORE.item(RESULTS.name, "shop/Ops"))
        STORE.put(OUTDATED.name, f"shop/{name}", 0)
    repl_pair.global_args()
    repl_pair.global_decorators()
    STORE.emit("notices", "about nothing")
    undo = REGISTRY.add_kind(Kind(name="rule", grammar=SURFACE, body=Tag))
    undo()
    functions = KINDS["function"].collection
    STORE.reset(functions, STORE.snapshot(functions))
    read = {name: changes_of(view, since)["items"] for name, view in VIEWS.items()}
    of_results = [RESULTS.name, OUTDATED.name]
    assert [(line["member"], line["id"]) for line in read["agent of a tier"]] == [
        (member, "shop/Ops") for member in of_results
    ]
    assert [line["member"] for line in read["agent"]] == [
        *(*of_results, *of_results, "global_args", "global_decorators", "notices"),
        "registry/rule",
    ]
    assert [line["member"] for line in read["person"]][-1] == functions
