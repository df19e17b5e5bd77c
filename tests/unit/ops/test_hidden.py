"""What an app keeps from agents: no name, value or count of it in an answer, whatever is asked."""

import json
import sys

import pytest

import repl_pair
from repl_pair.bridge.policy import GATED, Policy
from repl_pair.bridge.session import Session
from repl_pair.runtime.authoring.entries import enter
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.tier_names import shown_words
from repl_pair.runtime.registry.model import Surface
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.store import STORE
from repl_pair.wire import View

pytestmark = pytest.mark.anyio
CANARY = "qzkeep"
ALL_GATES = frozenset(GATED)
POLICIES = {
    "closed": Policy(),
    "each gate": Policy(allow=ALL_GATES),
    "of a tier": Policy(allow=ALL_GATES, tier="ops"),
    "expose_all of a tier": Policy(allow=ALL_GATES, tier="ops", expose_all=True),
}
CALLS = [
    ("kernel_status", {}),
    ("list_variables", {}),
    ("list_variables", {"values": True}),
    *(("get_value", {"path": path}) for path in ("app", "cell", "held", "held.app", "box")),
    *(("describe_object", {"path": path}) for path in ("app", "cell", "held", "box", "cell.set")),
    ("list_surfaces", {}),
    ("list_functions", {}),
    ("run_function", {"function": "qzkee.sto"}),
    ("read_member", {"member": "qzkee/cel"}),
    ("unregister", {"kind": "member", "id": "qzkee/cel"}),
    ("unregister", {"kind": "story", "id": "qzkee"}),
    ("clear_kind", {"kind": "function"}),
    ("clear_all", {}),
    ("register_tag", {"tag_id": "qz", "body": {}}),
    ("register_mode", {"mode_id": "qz", "body": {"args": {}}}),
    ("list_assertions", {}),
    ("get_story", {"story_id": "qzkee"}),
    ("get_docs_markdown", {"story_id": "qzkee"}),
    ("describe_op", {}),
    ("describe_op", {"name": "qzkee__stop"}),
    ("read_op", {"op": "list_exposure", "args": {}}),
    ("list_exposure", {}),
]


def stop() -> None: ...


@pytest.fixture
def kept(monkeypatch):
    """An app of which nothing is exposed, its handles in the person's variables.

    Gives the count of changes before it was published.
    """
    before = STORE.seq
    app = repl_pair.surface(CANARY, doc=f"{CANARY} doc", tier="user")
    cell = app.cell(f"{CANARY}_cell", str, default=f"{CANARY} value")
    held = {"app": app, "cells": [cell, REGISTRY.find("surface", CANARY)]}
    names = {"app": app, "cell": cell, "held": held, "box": type("Box", (), {})()}
    names["box"].app, names["box"].cell = app, cell
    repl_pair.function(f"{CANARY}.stop", tier="user")(print)
    for name, value in names.items():
        monkeypatch.setattr(sys.modules["__main__"], name, value, raising=False)
    return before


@pytest.mark.parametrize("policy", POLICIES)
async def test_no_answer_holds_what_is_hidden(kept, policy):
    session = Session.direct(POLICIES[policy])
    calls = [*CALLS, ("read_changes", {"since": kept})]
    replies = [(op, args, await session.call(op, args)) for op, args in calls]
    assert [(op, args) for op, args, reply in replies if CANARY in json.dumps(reply)] == []
    counts = replies[0][2]["result"]["counts"]
    assert [counts[kind] for kind in ("surface", "member", "function")] == [0, 0, 0]
    await session.close()


async def test_the_same_calls_hold_it_where_all_is_exposed(kept):
    session = Session.direct(Policy(expose_all=True))
    calls = [*CALLS, ("read_changes", {"since": kept})]
    replies = [await session.call(op, args) for op, args in calls]
    holding = {op for (op, _), r in zip(calls, replies, strict=True) if CANARY in json.dumps(r)}
    lists = {"list_functions", "list_surfaces", "read_changes"}
    assert holding == lists | {"read_member", "run_function"}
    assert replies[0]["result"]["counts"]["member"] == 1
    await session.close()


async def test_a_hidden_and_an_unknown_id_read_the_same(kept):
    session = Session.direct(Policy(allow=ALL_GATES, tier="ops"))
    for op, arg, id in (
        ("read_member", "member", f"{CANARY}/{CANARY}_cell"),
        ("get_story", "story_id", CANARY),
        ("get_workspace", "workspace_id", f"{CANARY}/{CANARY}_cell"),
    ):
        unknown = id.replace(CANARY, "zqkeep")
        first, second = [await session.call(op, {arg: each}) for each in (id, unknown)]
        assert json.dumps(first).replace(CANARY, "zqkeep") == json.dumps(second)
    await session.close()


async def test_a_surface_is_seen_with_its_own_parts_and_its_own_tier_only(kept):
    repl_pair.surface(f"{CANARY}.inner").function(expose=True)(stop)
    app = repl_pair.surface("app", doc=f"{CANARY} doc", tier="user")
    app.function(expose=True, tier="ops")(stop)
    for policy, surfaces in ((Policy(), ["app", f"{CANARY}.inner"]), (Policy(tier="ops"), [])):
        session = Session.direct(policy)
        items = (await session.call("list_surfaces"))["result"]["items"]
        assert [line["id"] for line in items] == surfaces
        await session.close()


async def test_of_a_surface_of_another_tier_its_members_are_listed_and_not_its_doc(kept):
    repl_pair.surface("app", tier="ops").cell("loss", float, expose=True)
    enter("surface", "app", Surface(doc=f"{CANARY} doc"))  # as undoing a checkpoint does
    session = Session.direct(Policy(tier="ops"))
    (line,) = (await session.call("list_surfaces"))["result"]["items"]
    assert [line.get("doc"), line["members"][0]["id"]] == [None, "app/loss"]
    await session.close()


async def test_what_is_near_to_a_key_that_is_secret_is_not_stated(kept):
    rows = repl_pair.surface("app").collection("rows", dict[str, int], expose=True)
    rows.update({"Hd7nYb3JsF6gWq1Z": 1, "plain": 2})
    NEEDLES.add("Hd7nYb3JsF6gWq1Z", rank=Rank.GIVEN)
    session = Session.direct(Policy())
    for key, near in (("Hd7nYb3JsF6gWq1x", ""), ("plaim", " Nearest: plain.")):
        reply = await session.call("read_member", {"member": "app/rows", "key": key})
        assert reply["error"]["message"] == f"app/rows has no key {key!r}.{near}"
    await session.close()


def test_a_word_that_is_the_name_of_what_is_hidden_stays_as_it_is(kept):
    call = Call(view=View(principal="agent", tier="ops"))
    assert shown_words(call, f"story {CANARY}") == f"story {CANARY}"


def test_a_handle_leaves_as_its_type_wherever_it_stands(kept):
    app = repl_pair.surface("app")
    own = type("Own", (type(app),), {})("surface", CANARY)
    sent = send_out({"one": app, "two": [own, (app,)], "entry": REGISTRY.find("surface", CANARY)})
    assert sent.value == {
        "one": "<SurfaceHandle>",
        "two": ["<Own>", ["<SurfaceHandle>"]],
        "entry": "<Entry>",
    }


async def test_values_of_the_person_are_not_renamed_for_a_tier():
    settings = {"mode": "dark", "story": "Snow White", "note": "mode 'dark'"}
    expected = settings | {"mode": "light"}
    play = [repl_pair.check.result_equals(expected)]
    repl_pair.story("a.b", component=lambda: settings, tier="ops")
    repl_pair.variant("a.b/V", play=play, tier="ops")
    log = repl_pair.surface("app", tier="ops").stream("log", keep=5, expose=True)
    settings["me"] = settings
    log.push(settings)
    session = Session.direct(Policy(tier="ops"))
    (entry,) = (await session.call("read_member", {"member": "app/log"}))["result"]["entries"]
    assert "dark" in str(entry)
    assert "hidden" not in str(entry)
    del settings["me"]
    run = await session.call("run_variant", {"variant_id": "a.b/V", "detail": "full"})
    (outcome,) = run["result"]["assertions"]
    assert (outcome["payload"], outcome["expected"], outcome["actual"]) == (
        [expected],
        expected,
        settings,
    )
    await session.close()


async def test_the_lines_of_a_play_and_responses_are_not_renamed_for_a_tier():
    given = {"mode": "dark", "note": "mode 'dark'"}
    repl_pair.decorator("d", kind="fx_override", effect="a/b", responses=[given], tier="ops")
    repl_pair.story("c", component=Taking, tier="ops")
    repl_pair.variant("c/V", play=[repl_pair.step.call("take", given=given)], tier="ops")
    session = Session.direct(Policy(tier="ops"))
    shown = await session.call("get_decorator", {"decorator_id": "d"})
    assert shown["result"]["responses"] == [given]
    run = await session.call("run_variant", {"variant_id": "c/V", "detail": "full"})
    assert given in run["result"]["steps"][0]["line"][2].values()
    await session.close()


class Taking:
    def take(self, given):
        return given
