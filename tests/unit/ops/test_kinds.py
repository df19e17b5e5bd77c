import asyncio
import json
import re
import typing
from dataclasses import dataclass
from typing import Annotated

import jsonschema
import pytest

import repl_pair
from repl_pair import Sensitive, check, step
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.authoring.composing import DECORATORS
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops import explaining, kinds, stories
from repl_pair.runtime.ops.explaining import get_docs_markdown, share_variant
from repl_pair.runtime.ops.running import (
    preview_variant,
    reset_variant,
    run_variant,
    snapshot_identity,
)
from repl_pair.runtime.signatures.schema import type_schema
from repl_pair.wire import REDACTED, View


def render_nothing():
    """Show nothing."""


def around(component):
    return component


@pytest.fixture
def shop():
    repl_pair.decorator("wrap/plain", wrap=around, doc="Around.\nAnd more.")
    repl_pair.decorator(
        "setup",
        kind="frame_setup",
        init=[["open", {"at": 1}]],
        teardown=["close"],
        patch={"user.name": "ann"},
    )
    repl_pair.decorator("mail", kind="fx_override", effect="mail", responses=[1, 2])
    repl_pair.mode("eur", args={"rate": 2.0})
    repl_pair.loader("db")(render_nothing)
    repl_pair.derived("done")(lambda state: True)

    @repl_pair.story(
        "shop.cart",
        argtypes={"rate": {"control": "slider"}},
        modes=["eur"],
        decorators=["wrap/plain"],
        substrates=["text", "html"],
        state=vars,
        agent_overrides=False,
    )
    class Cart:
        def __init__(self, rate: float = 1.0, qty: int = 0, pin: str = ""):
            self.rate = rate

        def add(self, qty):
            self.rate += qty

    repl_pair.variant("shop.cart/Empty")
    repl_pair.variant(
        "shop.cart/Full",
        doc="Full.",
        extends="shop.cart/Empty",
        args={"rate": 2.0, "qty": 1},
        argtypes={"rate": {"max": 3}},
        events=[["add", {"qty": 2}]],
        args_to_events={"qty": "add"},
        plays={"buy": [step.dispatch("add", qty=1)], "leave": []},
        loaders=["db"],
        loaders_complete_when="done",
        loaders_teardown=["close"],
        tags=["docs"],
        modes=["eur"],
        decorators=[["mail", {"response": 3}]],
        substrates=["html"],
    )
    repl_pair.workspace("shop.desk/Grid", layout="grid", variants=["shop.cart/Full"], columns=2)
    repl_pair.workspace("shop.desk/All", layout="variants_grid", story="shop.cart")
    repl_pair.workspace(
        "shop.desk/Told",
        layout="prose",
        content=[{"prose": "See"}, {"variant": "shop.cart/Empty"}],
    )
    repl_pair.panel("notes", title="Notes", placement="left", render=render_nothing)
    repl_pair.panel("notes/more", title="More", placement="left", render="notes")


def ask(op, view=None, **args):
    """Call an op and hold its answer against the type of it; gives both answer and next steps."""
    call = Call(view=view or View(principal="agent"))
    answer = call.insert_raw_json(op(call, **args))
    schema = type_schema(typing.get_type_hints(op, include_extras=True)["return"])
    jsonschema.validate(json.loads(json.dumps(answer)), schema)
    return answer, call.next_steps


def test_decorators_are_listed_by_what_they_name_without_their_data(shop):
    answer, steps = ask(kinds.list_decorators)
    lines = {line.pop("id"): line for line in answer["items"]}
    assert lines["wrap/plain"] == {"kind": "wrap", "doc": "Around.", "wrap": f"{__name__}.around"}
    assert lines["setup"] == {
        "kind": "frame_setup",
        "init": ["open"],
        "teardown": ["close"],
        "patch": ["user.name"],
    }
    assert lines["mail"] == {"kind": "fx_override", "effect": "mail", "responses": 2}
    assert steps == [next_step("get_decorator", decorator_id="force_fx_stub")]


def test_decorators_are_listed_by_kind(shop):
    for kind in DECORATORS:
        found, _ = ask(kinds.list_decorators, kind=kind)
        assert found["total"] == len(found["items"]) > 0
        assert {line["kind"] for line in found["items"]} == {kind}
    hint = typing.get_type_hints(kinds.list_decorators)["kind"]
    assert set(typing.get_args(typing.get_args(hint)[0])) == set(DECORATORS)


def test_a_cursor_of_one_kind_is_of_no_use_to_another(shop):
    repl_pair.decorator("wrap/other", wrap=around)
    first, _ = ask(kinds.list_decorators, kind="wrap", limit=1)
    assert first["total"] == 2
    second, _ = ask(kinds.list_decorators, kind="wrap", limit=1, cursor=first["cursor"])
    assert [line["id"] for line in first["items"] + second["items"]] == ["wrap/other", "wrap/plain"]
    with pytest.raises(RequestError, match="changed since that page"):
        ask(kinds.list_decorators, limit=1, cursor=first["cursor"])


def test_workspaces_and_panels_are_listed_with_what_they_show(shop):
    answer, steps = ask(kinds.list_workspaces)
    assert answer["items"] == [
        {"id": "shop.desk/All", "layout": "variants_grid", "story": "shop.cart"},
        {"id": "shop.desk/Grid", "layout": "grid", "variants": 1},
        {"id": "shop.desk/Told", "layout": "prose", "variants": 1},
    ]
    assert steps == [next_step("get_workspace", workspace_id="shop.desk/All")]
    panels, _ = ask(kinds.list_panels)
    assert panels["items"] == [
        {
            "id": "notes",
            "title": "Notes",
            "placement": "left",
            "render": f"{__name__}.render_nothing",
        },
        {"id": "notes/more", "title": "More", "placement": "left", "render": "notes"},
    ]


def test_a_decorator_is_read_with_all_that_it_holds(shop):
    answer, steps = ask(kinds.get_decorator, decorator_id="setup")
    assert answer.pop("registered")["where"] == __name__
    assert answer == {
        "id": "setup",
        "kind": "frame_setup",
        "init": [["open", {"at": 1}]],
        "teardown": [["close", {}]],
        "patch": {"user.name": "ann"},
    }
    assert steps == [next_step("list_decorators", kind="frame_setup")]


@pytest.mark.parametrize(
    ("id", "shows"),
    [
        ("shop.desk/Grid", ["shop.cart/Full"]),
        ("shop.desk/All", ["shop.cart/Empty", "shop.cart/Full"]),
        ("shop.desk/Told", ["shop.cart/Empty"]),
    ],
)
def test_a_workspace_is_read_with_the_variants_that_it_shows_now(shop, id, shows):
    answer, steps = ask(kinds.get_workspace, workspace_id=id)
    assert answer["shows"] == shows
    assert steps == [
        next_step("run_variant", variant_id=shows[0]),
        next_step("workspace_to_data", workspace_id=id),
    ]
    for variant in shows:
        repl_pair.registry.unregister("variant", variant)
    answer, steps = ask(kinds.get_workspace, workspace_id=id)
    assert "shows" not in answer
    assert steps == [next_step("workspace_to_data", workspace_id=id)]


def test_a_story_and_a_variant_are_read_with_every_slot_that_states_something(shop):
    story, _ = ask(stories.get_story, story_id="shop.cart")
    assert {name: story[name] for name in story.keys() - {"registered", "args_schema"}} == {
        "id": "shop.cart",
        "component": f"{__name__}.shop.<locals>.Cart",
        "argtypes": {"rate": {"control": "slider"}},
        "modes": ["eur"],
        "decorators": [["wrap/plain", {}]],
        "substrates": ["text", "html"],
        "state": "builtins.vars",
        "agent_overrides": False,
        "variants": ["shop.cart/Empty", "shop.cart/Full"],
    }
    variant, steps = ask(stories.get_variant, variant_id="shop.cart/Full")
    assert {name: value for name, value in variant.items() if name != "registered"} == {
        "id": "shop.cart/Full",
        "story": "shop.cart",
        "doc": "Full.",
        "extends": "shop.cart/Empty",
        "args": {"rate": 2.0, "qty": 1},
        "argtypes": {"rate": {"max": 3}},
        "events": [["add", {"qty": 2}]],
        "args_to_events": {"qty": "add"},
        "plays": [
            {"name": "buy", "steps": [["dispatch", ["add", {"qty": 1}]]], "auto_run": True},
            {"name": "leave", "steps": [], "auto_run": False},
        ],
        "loaders": ["db"],
        "loaders_complete_when": "done",
        "loaders_teardown": [["close", {}]],
        "tags": ["docs"],
        "modes": ["eur"],
        "decorators": [["mail", {"response": 3}]],
        "substrates": ["html"],
    }
    assert steps[1] == next_step("explain_variant", variant_id="shop.cart/Full")


def test_a_tier_sees_its_own_and_no_name_of_another(shop):
    ops = View(principal="agent", tier="ops")
    repl_pair.story("shop.ops", component=around, args={}, tier="ops")
    repl_pair.decorator("ops/only", wrap=around, tier="ops")
    repl_pair.mode("hidden-one", args={"component": 3})
    repl_pair.mode("seen-one", args={}, tier="ops")
    repl_pair.variant(
        "shop.ops/Base",
        args={"component": 1},
        argtypes={"component": {"min": 0}},
        modes=["hidden-one", "seen-one"],
        substrates=["html"],
        tags=["docs"],
    )
    repl_pair.variant("shop.ops/Seen", extends="shop.ops/Base", tags=["!docs"], tier="ops")
    assert [line["id"] for line in ask(kinds.list_decorators, ops)[0]["items"]] == ["ops/only"]
    (story,) = ask(stories.list_stories, ops)[0]["items"]
    assert (story["id"], story["variants"]) == ("shop.ops", 1)
    assert ask(kinds.list_workspaces, ops)[0]["total"] == 0
    with pytest.raises(RequestError, match=r"^There is no workspace 'shop.desk/Grid'\.$"):
        ask(kinds.get_workspace, ops, workspace_id="shop.desk/Grid")
    seen, _ = ask(explaining.explain_variant, ops, variant_id="shop.ops/Seen")
    assert seen["chain"] == ["hidden", "shop.ops/Seen"]
    assert seen["args"] == [{"path": "component", "value": 1, "source": "variant hidden"}]
    assert seen["argtypes"] == [
        {"path": "component", "value": {"min": 0}, "source": "variant hidden"}
    ]
    assert seen["declared_modes"] == [
        {"id": "hidden", "source": "variant hidden"},
        {"id": "seen-one", "source": "variant hidden"},
    ]
    assert seen["substrates"] == {"value": ("html",), "source": "variant hidden"}
    assert seen["substrate"] == {"value": "html", "source": "variant hidden"}
    assert seen["removed_tags"] == [
        {"id": "docs", "source": "variant hidden", "removed_by": "variant shop.ops/Seen"}
    ]


def test_what_a_play_states_of_a_secret_is_marked_as_one(shop):
    plays = {"a": [check.path_equals("args.rate", 1), step.set("user.password", "short")]}
    repl_pair.variant("shop.cart/Secret", plays=plays)
    call = Call(view=View(principal="agent"))
    stories.get_variant(call, "shop.cart/Secret")
    assert call.sensitive == [("plays", "0", "steps", "1", "2")]
    call = Call(view=View(principal="agent"))
    explaining.variant_to_data(call, "shop.cart/Secret")
    assert call.sensitive == [("body", "plays", "0", "steps", "1", "2")]


@pytest.mark.parametrize("mode", ["hidden/mode", "hidden/mod"])
def test_no_op_uses_or_names_a_mode_of_another_tier(shop, mode):
    repl_pair.mode("hidden/mode", args={"component": 3})
    repl_pair.story("shop.ops", component=around, args={"component": 1}, tier="ops")
    repl_pair.variant("shop.ops/Seen", tier="ops")
    call, named = agent("ops"), {"variant_id": "shop.ops/Seen", "modes": [mode]}
    runs = [run_variant, preview_variant, reset_variant]
    ops = [explaining.explain_variant, snapshot_identity, *map(settled, runs)]
    refusals = [caught(op, call, **named) for op in ops]
    assert refusals == [f"There is no mode {mode!r}."] * 5


def test_what_a_tier_may_see_names_nothing_of_another(shop):
    repl_pair.tag("inner")
    repl_pair.mode("inner/mode", args={"component": 3})
    repl_pair.decorator("inner/wrap", wrap=around)
    slots = {"tags": ["inner"], "modes": ["inner/mode"], "decorators": ["inner/wrap"]}
    repl_pair.story("shop.ops", component=around, args={"component": 1}, tier="ops", **slots)
    repl_pair.variant("shop.ops/Inner")
    repl_pair.variant("shop.ops/Seen", extends="shop.ops/Inner", tier="ops", **slots)
    names = ["shop.ops/Inner", "shop.ops/Seen"]
    repl_pair.workspace("shop.desk/Ops", layout="grid", variants=names, tier="ops")
    given = {"variant_id": "shop.ops/Seen"}
    desk = {"workspace_id": "shop.desk/Ops"}
    asked = [
        (stories.list_stories, {}),
        (stories.get_story, {"story_id": "shop.ops"}),
        (stories.list_variants, {}),
        (stories.get_variant, given),
        (explaining.variant_to_data, given),
        (explaining.explain_variant, given),
        (get_docs_markdown, {"story_id": "shop.ops"}),
        (share_variant, given),
        (kinds.list_workspaces, {}),
        (kinds.get_workspace, desk),
        (explaining.workspace_to_data, desk),
    ]
    seen = [op(agent("ops"), **args) for op, args in asked]
    assert [t for t in seen if "inner" in str(t).casefold()] == []
    assert seen[3]["extends"] == "hidden"
    assert seen[4]["body"] == {
        "decorators": [["hidden", {}]],
        "extends": "hidden",
        "modes": ["hidden"],
        "tags": ["hidden"],
    }
    assert seen[8]["items"] == [{"id": "shop.desk/Ops", "layout": "grid", "variants": 1}]
    assert seen[9]["variants"] == seen[10]["body"]["variants"] == ["hidden", "shop.ops/Seen"]
    assert stories.get_variant(agent(), **given)["extends"] == "shop.ops/Inner"


def test_modes_are_proposed_for_a_variant_that_declares_one():
    repl_pair.mode("aa-taxed", args={"tax": 1})
    repl_pair.mode("bb-dear", args={"price": 9})
    repl_pair.story("aa.lock", component=lambda code=1: code)
    repl_pair.variant("aa.lock/Open")
    assert "next_steps" not in send("list_modes")
    repl_pair.story("bb.cart", component=lambda price=1: price, modes=["bb-dear"])
    repl_pair.variant("bb.cart/Full")
    (step,) = send("list_modes")["next_steps"]
    assert step == next_step("run_variant", variant_id="bb.cart/Full", modes=["bb-dear"])
    assert send(step["op"], **step["args"])["result"]["status"] == "pass"


def test_a_mode_gives_away_nothing_that_some_story_calls_secret(shop):
    repl_pair.mode("login", args={"code": "Ab83-xyz-99-Qw", "short": "t6-v", "qty": 2, "box": BOX})
    repl_pair.story("shop.echo", component=lambda code="", short="": "code=" + code)
    repl_pair.variant("shop.echo/Any")
    repl_pair.mode("echo", args={"code": "Ab83-xyz-99-Qw", "short": "t6-v"})
    repl_pair.story("shop.login", component=log_in, modes=["login"], args={"code": "0"})
    repl_pair.story("shop.other", component=lambda short="", **rest: 1, modes=["login"])
    seen = [
        send("list_modes"),
        send("get_docs_markdown", story_id="shop.other"),
        send("explain_variant", variant_id="shop.echo/Any", modes=["echo"]),
        send("run_variant", variant_id="shop.echo/Any", modes=["echo"]),
        send("preview_variant", variant_id="shop.echo/Any", modes=["echo"]),
    ]
    assert [t for t in seen if not t["ok"]] == []
    for secret in ("Ab83-xyz", "t6-v", "u5-t"):
        assert [t for t in seen if secret in str(t)] == []
    modes = {line["id"]: line.get("args") for line in seen[0]["result"]["items"]}
    hidden = "[redacted]"
    box = {"name": "b", "lock": hidden}
    assert modes["login"] == {"code": hidden, "short": hidden, "qty": 2, "box": box}


BOX = {"name": "b", "lock": "u5-t"}


@dataclass
class Box:
    name: str
    lock: Annotated[str, Sensitive]


def log_in(code: Annotated[str, Sensitive], short: Annotated[str, Sensitive] = "", box: Box = None):
    return 1


def agent(tier=None):
    return Call(view=View(principal="agent", tier=tier))


def caught(op, call, **args):
    with pytest.raises(RequestError) as error:
        op(call, **args)
    return error.value.message


def settled(op):
    return lambda call, **args: asyncio.run(op(call, **args))


def send(op, **args):
    async def ask_it():
        link = DirectLink()
        try:
            view = View(principal="agent", access=frozenset({"read", "run"}))
            return await link.request(op, args, view=view)
        finally:
            await link.close()

    return asyncio.run(ask_it())


class Safe:
    def __init__(self, pin: Annotated[str, Sensitive] = "0000"):
        self.pin = pin

    def unlock(self, code: Annotated[str, Sensitive]):
        """Open."""


def leaves_by(op, args):
    """Ask over a link, as an agent does."""

    async def request():
        link = DirectLink()
        answer = await link.request(op, args, view=View(principal="agent"))
        await link.close()
        return answer

    return asyncio.run(request())


def test_no_reading_op_reports_what_a_method_or_a_component_declares_secret():
    @repl_pair.effect.impl("pay")
    def pay(code: Annotated[str, Sensitive]) -> Annotated[str, Sensitive]:
        return code

    repl_pair.story("safe", component=Safe)
    init = [["unlock", {"code": "k6620"}]]
    repl_pair.decorator("open", kind="frame_setup", init=init, patch={"pin": "k6621", "n": "shown"})
    repl_pair.decorator("paid", kind="fx_override", effect="pay", responses=["k6622"])
    repl_pair.variant(
        "safe/It",
        decorators=["open", ["force_fx_stub", {"effect": "pay", "response": "k6630"}]],
        events=[["unlock", {"code": "k6623"}]],
        loaders_teardown=[["unlock", {"code": "k6624"}]],
        play=[
            step.dispatch("unlock", code="k6625"),
            step.call("unlock", code="k6626"),
            ["set", "pin", "k6627"],
            check.dispatched("unlock", {"code": "k6628"}),
            check.effect_emitted("pay", code="k6629"),
        ],
    )
    repl_pair.variant("safe/Named", plays={"again": [step.call("unlock", code="k6631")]})
    asked = [
        (stories.get_variant, {"variant_id": "safe/Named"}),
        (stories.get_variant, {"variant_id": "safe/It"}),
        (explaining.variant_to_data, {"variant_id": "safe/It"}),
        (explaining.explain_variant, {"variant_id": "safe/It"}),
        (kinds.get_decorator, {"decorator_id": "open"}),
        (kinds.get_decorator, {"decorator_id": "paid"}),
    ]
    for op, args in asked:
        left = str(leaves_by(op.__name__, args)["result"])
        assert REDACTED in left
        assert not re.findall(r"k66\d\d", left), op
    seen, _ = ask(kinds.get_decorator, decorator_id="open")
    assert seen["patch"]["n"] == "shown"
