"""Every op of the runtime, asked over a link: the same bodies for this process and for a kernel."""

import asyncio
import base64
import json
import re
import threading
import uuid

import pytest
from bounds import BOUND_S, DEADLINE_S, DEADLINES_S

from repl_pair.errors import next_step
from repl_pair.wire import ELIDED, PROTOCOL, View

pytestmark = pytest.mark.anyio

INSPECTOR = View(principal="agent", access=frozenset({"read", "run", "inspect"}))

SHOP = """\
import repl_pair
from dataclasses import dataclass
from repl_pair import check

repl_pair.tag("slow", doc="Takes a while.")
repl_pair.mode("eur", args={"rate": 2.0}, axis="currency", doc="Euro")
repl_pair.mode("usd", args={"rate": 3.0}, axis="currency")
repl_pair.mode("twice", args={"factor": 2})

@dataclass
class Line:
    sku: str
    n: int = 1

@repl_pair.story("shop.quote", args={"factor": 1}, tags=["test"], modes=["eur", "usd"])
def quote(lines: list[Line], rate: float = 1.0, factor: int = 1):
    "Quote an order."
    assert all(isinstance(line, Line) for line in lines)
    return {"total": sum(line.n for line in lines) * rate * factor, "lines": lines}

repl_pair.variant("shop.quote/One", args={"lines": [Line("a", 2)]}, doc="One line.", tags=["docs"],
                  play=[check.path_equals("result.total", 2)])
repl_pair.variant("shop.quote/Wrong", args={"lines": [{"sku": "a"}]}, tags=["!test", "slow"], play=[
    check.path_equals("result.total", 5),
    check.path_equals("result.lines[0].sku", "a"),
    check.path_equals("result.lnes", 1),
])

@repl_pair.story("shop.fail")
def fail(n: int = 1):
    x = n
    raise ValueError(f"no {x}")

repl_pair.variant("shop.fail/Plain")
repl_pair.variant("shop.fail/Expected", play=[check.raises(ValueError, match="no 1")])
"""
VARIANTS = ["shop.fail/Expected", "shop.fail/Plain", "shop.quote/One", "shop.quote/Wrong"]
TOTAL = {
    "assertion": "path_equals",
    "payload": ["result.total", 5],
    "passed": False,
    "expected": 5,
    "actual": 1.0,
    "reason": "result.total: expected 5, got 1.0",
    "step": 0,
}
SKU = {
    "assertion": "path_equals",
    "payload": ["result.lines[0].sku", "a"],
    "passed": True,
    "expected": "a",
    "actual": "a",
    "reason": "",
    "step": 1,
}
MISSED = {
    "assertion": "path_equals",
    "payload": ["result.lnes", 1],
    "passed": False,
    "expected": 1,
    "actual": None,
    "reason": "result.lnes: no 'lnes' in result; near: lines",
    "step": 2,
}


def ids(answer):
    return [item["id"] for item in answer["items"]]


async def paged(ends, op, **args):
    """Return the pages of a list, each as its ids."""
    answer = await ends.get(op, **args)
    pages = [ids(answer)]
    while "cursor" in answer:
        answer = await ends.get(op, cursor=answer["cursor"], **args)
        pages.append(ids(answer))
    return pages


async def eventually(ask, wanted, *, what):
    """Ask until the answer is as wanted."""
    async with asyncio.timeout(BOUND_S):
        while not wanted(answer := await ask()):
            await asyncio.sleep(0.02)
    return answer


# --- lists


async def test_stories_are_listed_with_what_to_call_next(link):
    await link.define(SHOP)
    reply = await link.ask("list_stories")
    assert reply["result"] == {
        "items": [
            {"id": "shop.fail", "variants": 2},
            {"id": "shop.quote", "doc": "Quote an order.", "tags": ["test"], "variants": 2},
        ],
        "total": 2,
    }
    assert reply["next_steps"] == [next_step("list_variants", story_id="shop.fail")]


async def test_an_empty_registry_is_listed_with_how_to_fill_it(link):
    for op in ("list_stories", "list_variants"):
        reply = await link.ask(op)
        assert reply["result"] == {"items": [], "total": 0}
        assert "%pair load" in reply["notifications"][0]


async def test_lists_are_filtered_by_tags_and_story(link):
    await link.define(SHOP)
    assert ids(await link.get("list_stories", tags=["test"])) == ["shop.quote"]
    assert ids(await link.get("list_stories", tags=["slow"])) == []
    assert ids(await link.get("list_variants")) == VARIANTS
    assert ids(await link.get("list_variants", tags=["test"])) == ["shop.quote/One"]
    assert ids(await link.get("list_variants", tags=["docs", "slow"])) == VARIANTS[2:]
    assert ids(await link.get("list_variants", story_id="shop.fail")) == VARIANTS[:2]
    assert ids(await link.get("list_variants", story_id="shop.fail", tags=["slow"])) == []


async def test_variants_are_listed_with_the_status_of_their_last_run(link):
    await link.define(SHOP)
    await link.run("shop.quote/One")
    assert (await link.get("list_variants", story_id="shop.quote"))["items"] == [
        {
            "id": "shop.quote/One",
            "doc": "One line.",
            "tags": ["test", "docs"],
            "status": "pass",
        },
        {"id": "shop.quote/Wrong", "tags": ["slow"]},
    ]
    await link.define("repl_pair.variant('shop.quote/One', args={'lines': []})")
    first = (await link.get("list_variants", story_id="shop.quote"))["items"][0]
    assert first == {"id": "shop.quote/One", "tags": ["test"], "status": "pass", "stale": True}


async def test_a_list_is_read_page_by_page(link):
    await link.define(SHOP)
    await link.define("for i in range(3): repl_pair.variant(f'shop.fail/N{i}')")
    pages = await paged(link, "list_variants", limit=3)
    assert pages == [
        ["shop.fail/Expected", "shop.fail/N0", "shop.fail/N1"],
        ["shop.fail/N2", "shop.fail/Plain", "shop.quote/One"],
        ["shop.quote/Wrong"],
    ]
    assert await paged(link, "list_stories", limit=1) == [["shop.fail"], ["shop.quote"]]
    tags = await paged(link, "list_tags", limit=5)
    assert len(tags) == 3
    assert "slow" in [*tags[0], *tags[1], *tags[2]]


async def test_a_page_of_the_largest_size_is_listed_whole(link):
    await link.define(SHOP)
    await link.define("for i in range(210): repl_pair.variant(f'shop.fail/N{i:03d}')")
    reply = await link.ask("list_variants", limit=200)
    assert ids(reply["result"])[1:] == [f"shop.fail/N{i:03d}" for i in range(199)]
    assert "elided" not in reply


async def test_a_cursor_is_stale_after_a_registration_and_reports_it(link):
    await link.define(SHOP)
    cursor = (await link.get("list_variants", limit=1))["cursor"]
    await link.define("repl_pair.variant('shop.fail/New')")
    error = await link.refusal("list_variants", limit=1, cursor=cursor)
    assert error["code"] == "stale_cursor"
    assert "without a cursor" in error["message"]


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("list_stories", {"limit": 1}),
        ("list_variants", {"limit": 1, "tags": ["test"]}),
        ("list_variants", {"limit": 1, "story_id": "shop.fail"}),
        ("list_tags", {"limit": 1}),
    ],
)
async def test_a_cursor_of_another_question_is_stale(link, op, args):
    await link.define(SHOP)
    cursor = (await link.get("list_variants", limit=1))["cursor"]
    assert (await link.refusal(op, cursor=cursor, **args))["code"] == "stale_cursor"


@pytest.mark.parametrize("cursor", ["", "nonsense", "bm9uc2Vuc2U=", "é", "OjE="])
async def test_what_is_no_cursor_is_refused_as_a_stale_one(link, cursor):
    assert (await link.refusal("list_tags", cursor=cursor))["code"] == "stale_cursor"


@pytest.mark.parametrize("limit", [0, -1, 201])
async def test_a_page_has_one_to_two_hundred_items(link, limit):
    error = await link.refusal("list_tags", limit=limit)
    assert error == {
        "code": "bad_arguments",
        "message": f"list_tags: limit: expected 1 to 200, got {limit}.",
    }


async def test_tags_and_modes_are_listed_with_their_bodies(link):
    await link.define(SHOP)
    tags = {item["id"]: item for item in (await link.get("list_tags"))["items"]}
    assert tags["slow"] == {"id": "slow", "doc": "Takes a while."}
    assert tags["state/empty"]["axis"] == "state"
    assert (await link.get("list_modes"))["items"] == [
        {"id": "eur", "args": {"rate": 2.0}, "axis": "currency", "doc": "Euro"},
        {"id": "twice", "args": {"factor": 2}},
        {"id": "usd", "args": {"rate": 3.0}, "axis": "currency"},
    ]


# --- one by id


async def test_a_story_is_read_with_the_schema_of_its_args(link):
    await link.define(SHOP)
    reply = await link.ask("get_story", story_id="shop.quote")
    registered = reply["result"].pop("registered")
    assert reply["result"] == {
        "id": "shop.quote",
        "doc": "Quote an order.",
        "component": "__main__.quote",
        "args": {"factor": 1},
        "args_schema": {
            "type": "object",
            "properties": {
                "lines": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"sku": {"type": "string"}, "n": {"type": "integer"}},
                        "required": ["sku"],
                        "additionalProperties": False,
                    },
                },
                "rate": {"type": "number", "default": 1.0},
                "factor": {"type": "integer", "default": 1},
            },
            "required": ["lines"],
            "additionalProperties": False,
        },
        "tags": ["test"],
        "modes": ["eur", "usd"],
        "variants": ["shop.quote/One", "shop.quote/Wrong"],
    }
    assert SHOP.splitlines()[registered["line"] - 1].startswith('@repl_pair.story("shop.quote"')
    assert reply["next_steps"] == [next_step("run_variant", variant_id="shop.quote/One")]


async def test_a_variant_is_read_with_its_body(link):
    await link.define(SHOP)
    found = await link.get("get_variant", variant_id="shop.quote/Wrong")
    registered = found.pop("registered")
    assert found == {
        "id": "shop.quote/Wrong",
        "story": "shop.quote",
        "args": {"lines": [{"sku": "a"}]},
        "play": [
            outcome["payload"] and ["path_equals", *outcome["payload"]]
            for outcome in (TOTAL, SKU, MISSED)
        ],
        "tags": ["slow"],
    }
    assert "shop.quote/Wrong" in SHOP.splitlines()[registered["line"] - 1]
    await link.run("shop.quote/Wrong")
    found = await link.get("get_variant", variant_id="shop.quote/Wrong")
    assert (found["status"], found.get("stale")) == ("fail", None)


@pytest.mark.parametrize(
    ("op", "args", "near"),
    [
        ("get_story", {"story_id": "shop.qoute"}, "shop.quote"),
        ("list_variants", {"story_id": "shop.qoute"}, "shop.quote"),
        ("list_variants", {"tags": ["slwo"]}, "slow"),
        ("list_stories", {"tags": ["slwo"]}, "slow"),
        ("get_variant", {"variant_id": "shop.quote/Oen"}, "shop.quote/One"),
        ("run_variant", {"variant_id": "shop.quote/Oen"}, "shop.quote/One"),
        ("run_variant", {"variant_id": "shop.quote/One", "modes": ["eru"]}, "eur"),
        ("read_assertions", {"variant_id": "shop.quote/Oen"}, "shop.quote/One"),
        ("read_failures", {"variant_id": "shop.quote/Oen"}, "shop.quote/One"),
        ("tests_passing", {"story_id": "shop.qoute"}, "shop.quote"),
        ("snapshot_identity", {"variant_id": "shop.quote/Oen"}, "shop.quote/One"),
        ("snapshot_identity", {"variant_id": "shop.quote/One", "modes": ["eru"]}, "eur"),
        ("get_valeu", {}, "get_value"),
        ("run_varaint", {}, "run_variant"),
    ],
)
async def test_what_is_not_there_is_answered_with_what_is_near(link, op, args, near):
    await link.define(SHOP)
    error = await link.refusal(op, view=INSPECTOR, **args)
    assert error["code"] == "not_found"
    assert near in error["message"].split("Nearest: ")[1]


NAMES_HIDDEN = """
import repl_pair
repl_pair.mode("hush_mode", args={"x": 3}, tier="mine")
repl_pair.mode("seen_mode", args={"x": 1}, tier="ops")
@repl_pair.decorator("hush_deco", tier="mine")
def hush_deco():
    yield
repl_pair.story("names.one", component=lambda x=0: x, modes=["hush_mode", "seen_mode"], tier="ops",
                decorators=["hush_deco"])
repl_pair.variant("names.one/Hush", args={"x": 0}, tier="mine")
repl_pair.variant("names.one/Of", extends="names.one/Hush", tier="ops",
                  play=[repl_pair.check.path_equals("result", 5)])
repl_pair.run_variants(ids=["names.one/Of"], modes=["hush_mode"])
"""


@pytest.mark.parametrize("gone", [False, True])
async def test_what_a_tier_hides_is_named_in_no_verdict_and_no_cause_also_once_it_is_gone(
    link, gone
):
    await link.define(NAMES_HIDDEN)
    if gone:
        await link.define(
            "repl_pair.registry.unregister('decorator', 'hush_deco')\n"
            "repl_pair.registry.unregister('variant', 'names.one/Hush')"
        )
    ops, one = View(principal="agent", tier="ops"), {"variant_id": "names.one/Of"}
    asked = {"list_variants": {}, "get_variant": one, "read_assertions": one, "read_failures": {}}
    asked |= {"changed_variants": {}, "get_docs_markdown": {"story_id": "names.one"}}
    for op, args in asked.items():
        reply = await link.link.request(op, args, view=ops)
        assert reply["ok"], (op, reply)
        assert "hush" not in json.dumps(reply).casefold(), (op, reply)
        if op in ("list_variants", "get_docs_markdown"):
            assert {"names.one/Of", "hidden"} <= set(re.findall(r"[\w./]+", json.dumps(reply)))


async def test_what_a_tier_hides_reads_as_unknown(link):
    await link.define(SHOP)
    await link.define("repl_pair.story('ops.only', component=fail, tier='ops')")
    ops = View(principal="agent", tier="ops")
    other = View(principal="agent", tier="other")
    assert ids(await link.get("list_stories", view=ops)) == ["ops.only"]
    assert ids(await link.get("list_stories", view=other)) == []
    assert (await link.get("get_story", view=ops, story_id="ops.only"))["id"] == "ops.only"
    hidden = await link.refusal("get_story", view=other, story_id="ops.only")
    unknown = await link.refusal("get_story", view=other, story_id="ops.nono")
    assert hidden["message"].replace("ops.only", "ops.nono") == unknown["message"]


# --- arguments


@pytest.mark.parametrize(
    ("op", "args", "sentences"),
    [
        ("get_story", {}, ["story_id is missing (string)."]),
        ("get_story", {"story_id": 3}, ["story_id: expected string, got int 3."]),
        ("get_story", {"story_id": None}, ["story_id: expected string, got null."]),
        ("list_variants", {"tags": "slow"}, ["tags: expected array, got str 'slow'."]),
        ("list_variants", {"tags": [1]}, ["tags[0]: expected string, got int 1."]),
        ("list_tags", {"limit": True}, ["limit: expected integer, got bool True."]),
        (
            "run_variant",
            {"variant_id": "shop.quote/One", "mode": ["eur"], "lane": "fast"},
            [
                "mode is not an argument. Nearest: modes.",
                "lane: expected one of main, worker, got str 'fast'.",
            ],
        ),
        (
            "run_variant",
            {"variant_id": "shop.quote/One", "overrides": [], "timeout_s": "1"},
            [
                "overrides: expected object, got list.",
                "timeout_s: expected number, got str '1'.",
            ],
        ),
        ("ping", {"x": 1}, ["x is not an argument. There are: none."]),
    ],
)
async def test_wrong_arguments_are_refused_each_with_its_fault(link, op, args, sentences):
    await link.define(SHOP)
    error = await link.refusal(op, **args)
    assert error["code"] == "bad_arguments"
    assert error["message"] == f"{op}: {' '.join(sentences)}"


async def test_an_op_beyond_the_view_reads_as_unknown(link):
    refused = await link.refusal("get_value", path="x")
    assert refused["message"].startswith("There is no op 'get_value'. Nearest: get_variant")
    hidden = await link.refusal("list_variables", values=True)
    unknown = await link.refusal("list_variables", valuez=True)
    assert hidden["message"].replace("values", "valuez") == unknown["message"]


# --- runs


async def test_a_run_that_passes_answers_with_all_of_it(link):
    await link.define(SHOP)
    reply = await link.ask("run_variant", variant_id="shop.quote/One")
    answer = reply["result"]
    phases = answer.pop("phases")
    assert answer.pop("elapsed_ms") > 0
    identity = await link.get("snapshot_identity", variant_id="shop.quote/One")
    assert answer == {
        "status": "pass",
        "assertions": [
            {
                "assertion": "path_equals",
                "payload": ["result.total", 2],
                "passed": True,
                "expected": 2,
                "actual": 2.0,
                "reason": "",
                "step": 0,
            }
        ],
        "total": 1,
        "effective_args": {"factor": 1, "lines": [{"sku": "a", "n": 2}]},
        "identity": identity,
        "result": {"total": 2.0, "lines": [{"sku": "a", "n": 2}]},
        "outputs": [],
    }
    assert [(p["phase"], p["error"]) for p in phases] == [
        ("setup", None),
        ("load", None),
        ("events", None),
        ("render", None),
        ("play", None),
        ("teardown", None),
    ]
    assert "next_steps" not in reply


async def test_a_run_that_fails_answers_with_every_outcome(link):
    await link.define(SHOP)
    reply = await link.ask("run_variant", variant_id="shop.quote/Wrong")
    answer = reply["result"]
    assert answer["status"] == "fail"
    assert answer["reason"] == f"path_equals: {TOTAL['reason']}"
    assert answer["assertions"] == [TOTAL, SKU, MISSED]
    assert answer["total"] == 3
    assert reply["next_steps"] == [
        next_step("get_variant", variant_id="shop.quote/Wrong"),
        next_step("get_story", story_id="shop.quote"),
    ]


async def test_an_error_in_render_names_the_source_line(link):
    await link.define(SHOP)
    answer = await link.run("shop.fail/Plain", overrides={"n": 7})
    assert (answer["status"], answer["reason"]) == ("error", "ValueError: no 7")
    assert (answer["assertions"], answer["total"]) == ([], 0)
    render = next(p for p in answer["phases"] if p["phase"] == "render")
    file = render["error"].pop("file")
    assert file
    line = SHOP.splitlines().index('    raise ValueError(f"no {x}")') + 1
    code = 'raise ValueError(f"no {x}")'
    assert render["error"] == {"type": "ValueError", "message": "no 7", "line": line, "code": code}
    assert [p["phase"] for p in answer["phases"]] == [
        "setup",
        "load",
        "events",
        "render",
        "teardown",
    ]


async def test_an_expected_exception_is_consumed(link):
    await link.define(SHOP)
    answer = await link.run("shop.fail/Expected")
    assert answer["status"] == "pass"
    assert answer["assertions"] == [
        {
            "assertion": "raises",
            "payload": ["ValueError", {"match": "no 1"}],
            "passed": True,
            "expected": "ValueError matching 'no 1'",
            "actual": "ValueError: no 1",
            "reason": "",
            "step": 0,
        }
    ]
    other = await link.run("shop.fail/Expected", overrides={"n": 2})
    assert other["status"] == "error"
    assert other["reason"] == "ValueError: no 2"
    assert [o["passed"] for o in other["assertions"]] == [False]


async def test_no_assertions_pass_if_render_ran_and_state_zero(link):
    await link.define(SHOP)
    await link.define("repl_pair.variant('shop.quote/Bare', args={'lines': []})")
    answer = await link.run("shop.quote/Bare")
    assert (answer["status"], answer["total"], answer["assertions"]) == ("pass", 0, [])


async def test_a_variant_whose_story_is_gone_cannot_run(link):
    await link.define(SHOP)
    await link.define("repl_pair.registry.unregister('story', 'shop.fail')")
    answer = await link.run("shop.fail/Plain")
    assert (answer["status"], answer["total"]) == ("cannot_run", 0)
    assert "'shop.fail' is no longer registered" in answer["reason"]
    error = await link.refusal("snapshot_identity", variant_id="shop.fail/Plain")
    assert (error["code"], error["message"]) == ("cannot_run", answer["reason"])


async def test_a_variant_whose_component_lost_an_argument_cannot_run(link):
    await link.define(SHOP)
    await link.define("def quote(lines, rates=1): return rates")
    answer = await link.run("shop.quote/One")
    assert answer["status"] == "cannot_run"
    assert "takes no argument 'factor'. It takes: lines, rates." in answer["reason"]


async def test_later_layers_of_args_win(link):
    await link.define(SHOP)
    await link.define("""
repl_pair.global_args(a=0, b=0, c=0, d=0, e=0, unknown=0)
repl_pair.mode("layer/one", args={"b": 2, "c": 2, "d": 2, "e": 2, "deep": {"y": 2, "z": 2}})
repl_pair.mode("layer/two", args={"c": 3, "d": 3, "e": 3})
@repl_pair.story("layers", args={"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "deep": {"x": 1, "y": 1}})
def layers(a, b, c, d, e, f=0, deep=None): return [a, b, c, d, e, deep]
repl_pair.variant("layers/V", args={"d": 4, "e": 4, "deep": {"z": 4}})
repl_pair.global_args(a=0, f=9)
""")
    modes, overrides = ["layer/one", "layer/two"], {"e": 5, "deep": {"w": 5}}
    answer = await link.run("layers/V", modes=modes, overrides=overrides)
    deep = {"x": 1, "y": 2, "z": 4, "w": 5}
    assert answer["result"] == [1, 2, 3, 4, 5, deep]
    args = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 9, "deep": deep}
    assert answer["effective_args"] == args
    assert answer["identity"]["active_modes"] == modes
    answer = await link.run("layers/V", modes=modes[::-1])
    assert answer["result"][:4] == [1, 2, 2, 4]
    assert (await link.run("layers/V"))["result"][1:4] == [1, 1, 4]


async def test_two_modes_of_one_axis_are_refused(link):
    await link.define(SHOP)
    error = await link.refusal("run_variant", variant_id="shop.quote/One", modes=["eur", "usd"])
    assert error == {
        "code": "bad_arguments",
        "message": "Modes 'eur' and 'usd' share the axis 'currency': choose one.",
    }
    answer = await link.run("shop.quote/One", modes=["eur", "twice"])
    assert answer["result"]["total"] == 8.0


async def test_an_override_of_an_unknown_name_is_refused(link):
    await link.define(SHOP)
    for op in ("run_variant", "snapshot_identity"):
        error = await link.refusal(op, variant_id="shop.quote/One", overrides={"rte": 2})
        assert error["code"] == "bad_arguments"
        assert "takes no argument 'rte'. Nearest: rate." in error["message"]


async def test_an_override_of_a_wrong_type_cannot_run_and_states_where(link):
    await link.define(SHOP)
    answer = await link.run("shop.quote/One", overrides={"lines": [{"sku": 1}]})
    assert answer["status"] == "cannot_run"
    assert answer["reason"] == "args.lines[0].sku: expected str (text), got int 1."
    assert [p["phase"] for p in answer["phases"]] == ["setup", "load", "teardown"]
    assert answer["effective_args"] == {"factor": 1, "lines": [{"sku": 1}]}


async def test_an_asynchronous_component_is_awaited(link):
    await link.define("""
import asyncio, repl_pair
@repl_pair.story("soon")
async def soon(n: int = 1):
    await asyncio.sleep(0)
    return [n, *await asyncio.gather(later(2), later(3))]
async def later(n):
    await asyncio.sleep(0.001)
    print("later", n)
    return n
@repl_pair.assertion("is_soon")
async def is_soon(settled, n):
    await asyncio.sleep(0)
    return settled.result == n
repl_pair.variant("soon/A", play=[
    ["is_soon", [1, 2, 3]],
    repl_pair.check.path_equals("stdout", "later 2\\nlater 3\\n"),
])
""")
    answer = await link.run("soon/A")
    assert answer["status"] == "pass", answer
    assert answer["result"] == [1, 2, 3]
    assert answer["stdout"] == "later 2\nlater 3\n"


BAD = """
import asyncio, sys, repl_pair
class Rude(Exception):
    def __str__(self): raise RuntimeError("no words")
@repl_pair.story("bad")
async def bad(how: str):
    if how == "exits": sys.exit(3)
    if how == "is rude": raise Rude
    if how == "cancels": raise asyncio.CancelledError
    if how == "interrupts": raise KeyboardInterrupt("by itself")
    return how
repl_pair.variant("bad/It", args={"how": "fine"})
expected = [repl_pair.check.raises("SystemExit")]
repl_pair.variant("bad/Expected", args={"how": "exits"}, play=expected)
@repl_pair.story("worse")
def worse(): sys.exit("bye")
repl_pair.variant("worse/It")
"""


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("exits", "error", "SystemExit: 3"),
        ("is rude", "error", "Rude: <unreadable>"),
        ("cancels", "error", "CancelledError"),
        ("interrupts", "error", "KeyboardInterrupt: by itself"),
    ],
)
async def test_no_component_can_end_more_than_its_own_run(link, how, status, reason):
    await link.define(BAD)
    answer = await link.run("bad/It", overrides={"how": how})
    assert (answer["status"], answer["reason"]) == (status, reason)
    assert (await link.run("bad/It"))["result"] == "fine"
    assert (await link.run("worse/It"))["reason"] == "SystemExit: bye"
    assert (await link.run("bad/Expected"))["status"] == "pass"
    assert (await link.run("bad/It"))["result"] == "fine"


SECRET = """
import repl_pair
from typing import Annotated
@repl_pair.story("pay", args={"n": 1})
def pay(n: int, key: Annotated[str, repl_pair.Sensitive]): return {"used": key, "n": n}
repl_pair.variant("pay/It", args={"key": "pk-live-77aa31bd"}, play=[
    repl_pair.check.path_equals("result.n", 1),
    repl_pair.check.path_equals("args.key", "guess-1"),
])
"""


async def test_a_secret_argument_is_redacted_in_every_answer(link):
    await link.define(SECRET)
    ran = await link.ask("run_variant", variant_id="pay/It")
    ops = ("read_assertions", "get_variant", "snapshot_identity")
    replies = [ran, *[await link.ask(op, variant_id="pay/It") for op in ops]]
    failures = await link.ask("read_failures")
    assert all(reply["ok"] for reply in (*replies, failures))
    assert "pk-live-77aa31bd" not in str([*replies, failures])
    assert ran["result"]["effective_args"] == {"n": 1, "key": "[redacted]"}
    assert ran["result"]["result"] == {"used": "[redacted]", "n": 1}
    outcome = failures["result"]["items"][0]["assertions"][0]
    assert (outcome["expected"], outcome["actual"]) == ("[redacted]", "[redacted]")


RAISED = """
import threading
import repl_pair
from repl_pair import check
def drawn(): return "xW3kZ9" + "pL2qR1"
class Refused(Exception):
    def __init__(self, api_token):
        super().__init__(f"refused {api_token}"); self.api_token = api_token
def raises(): raise Refused(drawn())
def gives(): print("gave", (error := Refused(drawn())).api_token); return error
def causes():
    try: raises()
    except Refused as error: raise ValueError(f"with {error}") from error
def groups(): raise ExceptionGroup(f"all of {drawn()}", [Refused(drawn())])
def keeps(): session_token = drawn(); raise KeyError(f"no {session_token}")
for one in (raises, gives, causes, groups, keeps):
    repl_pair.story(f"error.{one.__name__}", component=one)
    repl_pair.variant(f"error.{one.__name__}/It")
repl_pair.variant("error.raises/Expected", play=[check.raises(Refused, match="granted")])
@repl_pair.derived("error/part")
def part(state): raise Refused(drawn())
@repl_pair.assertion("refuses")
def judge(settled): raise Refused(drawn())
def passes(): return 1
repl_pair.story("error.passes", component=passes)
repl_pair.variant("error.passes/Derived", play=[check.derived_equals("error/part", 1)])
repl_pair.variant("error.passes/Judged", play=[["refuses"]])
def builtin(): error = PermissionError(f"no {drawn()}"); error.password = drawn(); raise error
def args(): raise ValueError({"password": drawn()}, "x", drawn())
def threads(): one = threading.Thread(target=keeps); one.start(); one.join()
for one in (builtin, args, threads):
    repl_pair.story(f"error.{one.__name__}", component=one)
    repl_pair.variant(f"error.{one.__name__}/It")
"""


@pytest.mark.parametrize(
    "variant",
    [
        *("error.raises/It", "error.gives/It", "error.causes/It", "error.groups/It"),
        *("error.keeps/It", "error.raises/Expected", "error.passes/Derived"),
        *("error.passes/Judged", "error.builtin/It", "error.args/It", "error.threads/It"),
    ],
)
async def test_what_an_exception_or_a_variable_on_its_way_holds_in_secret_is_redacted(
    link, variant, monkeypatch
):
    # That of pytest, in whose process one of the links runs, prints nothing.
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    await link.define(RAISED)
    ran = await link.ask("run_variant", variant_id=variant, detail="full")
    swept = await link.ask("run_variants", ids=[variant])
    failures = await link.ask("read_failures")
    assert "xW3kZ9pL2qR1" not in str([ran, swept, failures])
    assert "[redacted]" in str(ran)


async def test_an_agent_overrides_no_secret_argument(link):
    await link.define(SECRET)
    answer = await link.run("pay/It", overrides={"key": "guess"})
    assert answer["status"] == "cannot_run"
    assert answer["reason"] == "key holds a secret: only the person overrides it."
    assert (await link.ask("read_assertions", variant_id="pay/It"))["ok"] is False


LOADERS = """
import repl_pair
seen = []
def loads(name, fails=False):
    seen.append(f"open {name}")
    yield name
    seen.append(f"close {name}")
    if fails: raise OSError(f"close of {name}")
repl_pair.loader("db")(loads)
@repl_pair.loader("slow")
async def slow(name):
    seen.append(f"open {name}")
    yield name
    seen.append(f"close {name}")
@repl_pair.loader("plain")
def plain():
    seen.append("plain")
@repl_pair.loader("twice")
def twice():
    yield 1
    yield 2
@repl_pair.loader("broken")
def broken():
    raise LookupError("no database")
@repl_pair.story("uses")
def uses(a=None, b=None):
    seen.append(f"render {a} {b}")
    if a == "bad": raise ValueError(a)
    return f"{a}+{b}"
db = lambda n, **kw: repl_pair.ref("db", name=n, **kw)
wait = lambda n: repl_pair.ref("slow", name=n)
repl_pair.variant("uses/Both", args={"a": db("one"), "b": wait("two")}, loaders=["plain"])
repl_pair.variant("uses/Fails", args={"a": db("bad")})
repl_pair.variant("uses/Broken", args={"a": db("one"), "b": repl_pair.ref("broken")})
repl_pair.variant("uses/Twice", args={"a": repl_pair.ref("twice")})
repl_pair.variant("uses/Unclean", args={"a": db("one", fails=True), "b": db("two", fails=True)})
"""


async def seen(ends):
    return (await ends.get("get_value", view=INSPECTOR, path="seen"))["value"]


async def test_loaders_are_cleaned_up_in_reverse_order(link):
    await link.define(LOADERS)
    answer = await link.run("uses/Both")
    assert (answer["status"], answer["result"]) == ("pass", "one+two"), answer
    assert await seen(link) == [
        "plain",
        "open one",
        "open two",
        "render one two",
        "close two",
        "close one",
    ]


async def test_loaders_are_cleaned_up_after_a_failed_render(link):
    await link.define(LOADERS)
    assert (await link.run("uses/Fails"))["reason"] == "ValueError: bad"
    assert await seen(link) == ["open bad", "render bad None", "close bad"]


async def test_a_failing_loader_stops_the_run_and_what_was_loaded_is_cleaned_up(link):
    await link.define(LOADERS)
    answer = await link.run("uses/Broken")
    assert (answer["status"], answer["reason"]) == (
        "error",
        "loader 'broken': LookupError: no database",
    )
    assert [p["phase"] for p in answer["phases"]] == ["setup", "load", "teardown"]
    assert await seen(link) == ["open one", "close one"]


async def test_a_loader_that_yields_twice_cannot_run(link):
    await link.define(LOADERS)
    answer = await link.run("uses/Twice")
    assert answer["status"] == "cannot_run"
    assert answer["reason"] == "Loader 'twice' yielded twice; it yields once, then cleans up."


async def test_a_failing_clean_up_stops_no_other_and_is_the_runs_error(link):
    await link.define(LOADERS)
    answer = await link.run("uses/Unclean")
    assert (answer["status"], answer["reason"]) == (
        "error",
        "loader 'db': OSError: close of two",
    )
    assert (await seen(link))[-2:] == ["close two", "close one"]


async def test_a_ref_is_read_as_data(link):
    await link.define(LOADERS)
    found = await link.get("get_variant", variant_id="uses/Both")
    assert found["args"] == {
        "a": {"$ref": "db", "name": "one"},
        "b": {"$ref": "slow", "name": "two"},
    }
    assert found["loaders"] == ["plain"]


async def test_an_image_stands_in_the_outputs_whole(link):
    await link.define("""
import repl_pair
class Picture:
    def __init__(self, n): self.n = n
    def _repr_png_(self): return b"\\x89PNG\\r\\n\\x1a\\n" + bytes(range(256)) * self.n
@repl_pair.story("draw")
def draw(n: int = 1): return Picture(n)
repl_pair.variant("draw/Small")
repl_pair.variant("draw/Large", args={"n": 400})
""")
    for name, n in (("Small", 1), ("Large", 400)):
        answer = await link.run(f"draw/{name}")
        assert len(answer["outputs"]) == 1
        data = base64.b64decode(answer["outputs"][0]["image/png"])
        assert data == b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * n


NOISY = """
import logging, sys, repl_pair, warnings
from repl_pair import check
@repl_pair.story("noisy", thread_safe=True)
def noisy():
    print("to stdout")
    print("to stderr", file=sys.stderr)
    logging.getLogger("shop").warning("logged %d", 1)
    warnings.warn("old", DeprecationWarning)
repl_pair.variant("noisy/Heard", play=[
    check.path_equals("stdout", "to stdout\\n"),
    check.path_equals("warnings[0]", "DeprecationWarning: old"),
    check.path_equals(["logs", 0], "WARNING shop: logged 1"),
])
repl_pair.variant("noisy/Quiet", play=[check.no_warnings()])
repl_pair.variant("noisy/Elsewhere", play=[check.path_equals("stdot", 1)])
"""


async def test_what_a_run_prints_logs_and_warns_stands_under_its_paths(link):
    await link.define(NOISY)
    answer = await link.run("noisy/Heard")
    assert (answer["status"], answer["total"]) == ("pass", 3), answer
    assert answer["stdout"] == "to stdout\n"
    assert answer["warnings"] == ["DeprecationWarning: old"]


async def test_a_warning_fails_the_run_that_wants_none(link):
    await link.define(NOISY)
    answer = await link.run("noisy/Quiet")
    assert answer["assertions"] == [
        {
            "assertion": "no_warnings",
            "payload": [],
            "passed": False,
            "expected": [],
            "actual": ["DeprecationWarning: old"],
            "reason": "1 warnings, first: DeprecationWarning: old",
            "step": 0,
        }
    ]


async def test_warnings_cannot_be_asked_for_on_a_worker(link):
    await link.define(NOISY.replace("    warnings.warn", "    0 and warnings.warn"))
    answer = await link.run("noisy/Quiet", lane="worker")
    assert answer["status"] == "cannot_run"
    assert "lane main" in answer["reason"]


async def test_a_path_of_an_unknown_root_names_the_roots(link):
    await link.define(NOISY)
    answer = await link.run("noisy/Elsewhere")
    assert answer["assertions"][0]["reason"] == (
        "paths start at args, result, last, state, effects, events, stdout, warnings, logs, "
        "not at 'stdot'; nearest: stdout"
    )


async def test_only_a_thread_safe_story_runs_on_a_worker(link):
    await link.define(SHOP)
    reply = await link.ask("run_variant", variant_id="shop.quote/One", lane="worker")
    assert reply["result"]["status"] == "cannot_run"
    assert "thread_safe=True" in reply["result"]["reason"]
    assert reply["next_steps"][0] == next_step(
        "run_variant", variant_id="shop.quote/One", lane="main"
    )


# --- runs that are stopped

ENDLESS = """
import asyncio, time, repl_pair
from pathlib import Path
begun, ended, may_end = (Path({folder!r}, name) for name in ("begun", "ended", "may_end"))
async def spin():
    while True: pass
@repl_pair.story("endless", thread_safe=True)
async def endless(how: str = ""):
    try:
        begun.touch()
        print("begun")
        while how == "loops": pass
        while how == "swallows":
            try: time.sleep(0.01)
            except Exception: pass
        while how == "naps": time.sleep(0.01)
        if how == "awaits": await asyncio.sleep(60)
        if how == "gathers": await asyncio.gather(spin())
        while how == "insists":
            try:
                while not may_end.exists(): time.sleep(0.01)
                return "done"
            except BaseException: pass
        return "at once"
    finally:
        while True:  # a stop that comes again may fall into the call
            try:
                ended.touch()
                break
            except BaseException: pass
@repl_pair.story("plainly", thread_safe=True)
def plainly():
    try:
        begun.touch()
        while begun: pass
    finally:
        while True:
            try:
                ended.touch()
                break
            except BaseException: pass
repl_pair.variant("plainly/It")
repl_pair.variant("endless/It")
"""


@pytest.fixture
async def endless(link, tmp_path):
    await link.define(ENDLESS.format(folder=str(tmp_path)))
    return link


async def run_past_its_deadline(link, folder, variant, **args):
    """Run a variant until one run has begun and was stopped: on a busy machine that takes long."""
    for timeout_s in (0.1, 1, 10):
        answer = await link.run(variant, timeout_s=timeout_s, **args)
        assert (answer["status"], answer["reason"]) == ("error", f"not done within {timeout_s} s")
        if (folder / "begun").exists():
            break
    assert (folder / "ended").exists()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("lane", ["main", "worker"])
@pytest.mark.parametrize("how", ["loops", "swallows", "naps", "awaits", "gathers"])
async def test_a_run_is_stopped_at_its_deadline(endless, tmp_path, how, lane):
    await run_past_its_deadline(endless, tmp_path, "endless/It", overrides={"how": how}, lane=lane)
    assert (await endless.run("endless/It", lane=lane))["result"] == "at once"


@pytest.mark.usefixtures("patient")
async def test_a_plain_function_is_stopped_at_its_deadline(endless, tmp_path):
    await run_past_its_deadline(endless, tmp_path, "plainly/It")


MANY = """
import repl_pair
from repl_pair import check
@repl_pair.story("many.odd", tags=["odd"])
def odd(n: int): return n % 2
@repl_pair.story("many.gone")
def gone(): raise ValueError("gone")
for n in range(60):
    repl_pair.variant(f"many.odd/N{n:02}", args={"n": n}, play=[check.path_equals("result", 2)])
repl_pair.variant("many.gone/It")
"""


async def test_failures_come_in_pages_the_newest_first_with_a_count_of_equal_reasons(link):
    await link.define(MANY)
    await link.get("run_variants", ids=[f"many.odd/N{n:02}" for n in range(60)])
    await link.run("many.gone/It")
    reply = await link.ask("read_failures")
    first = reply["result"]
    assert (first["total"], len(first["items"])) == (61, 10)
    newest = ["many.gone/It", "many.odd/N59", "many.odd/N58"]
    assert [item["variant_id"] for item in first["items"][:3]] == newest
    assert [(one["count"], one["variant_id"]) for one in first["reasons"]] == [
        (30, "many.odd/N59"),
        (30, "many.odd/N58"),
    ]
    assert next_step("read_failures", cursor=first["cursor"]) in reply["next_steps"]
    seen = [item["variant_id"] for item in first["items"]]
    page = first
    while "cursor" in page:
        page = await link.get("read_failures", cursor=page["cursor"], limit=10)
        seen += [item["variant_id"] for item in page["items"]]
    assert len(seen) == len(set(seen)) == 61
    for chosen, count in (({"story_id": "many.gone"}, 1), ({"tags": ["odd"]}, 60)):
        assert (await link.get("read_failures", **chosen))["total"] == count
    assert len((await link.get("read_failures", limit=61))["items"]) == 61
    await link.run("many.odd/N00")
    stale = await link.refusal("read_failures", cursor=first["cursor"])
    assert stale["code"] == "stale_cursor"


async def test_a_run_that_was_stopped_is_a_result_like_any_other(endless):
    stopped = await endless.run("endless/It", overrides={"how": "awaits"}, timeout_s=0.05)
    read = await endless.get("read_assertions", variant_id="endless/It")
    assert (read["status"], read["reason"]) == ("error", stopped["reason"])
    assert (read["what_if"], await endless.get("read_failures")) == (
        ["overrides"],
        {"items": [], "total": 0},
    )
    await endless.run("plainly/It", timeout_s=0.05)
    failures = await endless.get("read_failures")
    assert [item["variant_id"] for item in failures["items"]] == ["plainly/It"]


async def test_a_run_that_cannot_be_stopped_is_answered_and_its_late_record_dropped(
    endless, tmp_path
):
    endlessly = {"overrides": {"how": "insists"}, "timeout_s": DEADLINE_S, "detail": "lean"}
    answer = await endless.run("endless/It", **endlessly)
    assert (answer["status"], answer["still_running"]) == ("error", True)
    reason = f"not done within {DEADLINE_S:g} s, and it could not be stopped: it still runs"
    assert answer["reason"] == reason
    (stands,) = answer["errors"]
    assert (stands["phase"], stands["type"]) == ("render", "Stopped")
    assert stands["code"] in ENDLESS
    assert answer["stdout"] == "begun\n"
    assert not (tmp_path / "ended").exists()
    (tmp_path / "may_end").touch()
    assert (await endless.run("plainly/It", timeout_s=0.01, wait_s=20.0))["status"] == "error"
    assert (tmp_path / "ended").exists()
    read = await endless.get("read_assertions", variant_id="endless/It")
    assert (read["status"], read["reason"]) == ("error", answer["reason"])


async def test_a_run_of_a_sweep_that_cannot_be_stopped_is_the_last_result_of_its_variant(
    endless, tmp_path
):
    await endless.define("repl_pair.variant('endless/Insists', args={'how': 'insists'})")
    answer = await endless.get("run_variants", ids=["endless/Insists"], timeout_s=DEADLINE_S)
    assert answer["status"] == "error"
    (tmp_path / "may_end").touch()
    (failure,) = (await endless.get("read_failures"))["items"]
    assert (failure["variant_id"], failure["status"]) == ("endless/Insists", "error")
    assert (await endless.get("tests_passing"))["failed"] == ["endless/Insists"]


@pytest.mark.parametrize("lane", ["main", "worker"])
@pytest.mark.parametrize("how", ["loops", "naps", "awaits"])
async def test_a_cancelled_call_stops_its_run(endless, tmp_path, how, lane):
    task = asyncio.create_task(
        endless.ask("run_variant", variant_id="endless/It", overrides={"how": how}, lane=lane)
    )
    await eventually(lambda: endless.ask("ping"), lambda _: (tmp_path / "begun").exists(), what="")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: endless.ask("ping"), lambda _: (tmp_path / "ended").exists(), what="")
    assert (await endless.run("endless/It", lane=lane))["result"] == "at once"


async def test_a_call_that_waits_for_its_turn_is_reported_and_given_up(endless, tmp_path):
    overrides = {"how": "naps"}
    first = asyncio.create_task(
        endless.ask("run_variant", variant_id="endless/It", overrides=overrides, timeout_s=15.0)
    )
    await eventually(lambda: endless.ask("ping"), lambda _: (tmp_path / "begun").exists(), what="")
    reply = await endless.ask("run_variant", variant_id="plainly/It", wait_s=1.2)
    assert reply["result"]["status"] == "cannot_run"
    assert reply["result"]["reason"] == (
        "not started within 1.2 s: another call of run_variant is running"
    )
    assert next_step("kernel_status") in reply["next_steps"]
    shown = [p["message"] for p in endless.progress]
    assert "waiting: another call of run_variant is running" in shown
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_waiting_call_that_is_cancelled_never_runs(endless, tmp_path):
    first = asyncio.create_task(endless.ask("run_variant", variant_id="plainly/It", timeout_s=15.0))
    await eventually(lambda: endless.ask("ping"), lambda _: (tmp_path / "begun").exists(), what="")
    (tmp_path / "begun").unlink()
    waiting = asyncio.create_task(endless.ask("run_variant", variant_id="endless/It"))
    await asyncio.sleep(0)
    await endless.get("read_failures")
    for task in (waiting, first):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await eventually(lambda: endless.ask("ping"), lambda _: (tmp_path / "ended").exists(), what="")
    reply = await endless.ask("run_variant", variant_id="plainly/It", timeout_s=0.01)
    assert reply["result"]["status"] == "error"
    error = await endless.refusal("read_assertions", variant_id="endless/It")
    assert "has not been run yet" in error["message"]


# --- last results


async def test_assertions_are_read_as_the_run_left_them(link):
    await link.define(SHOP)
    error = await link.ask("read_assertions", variant_id="shop.quote/Wrong")
    assert error["error"]["code"] == "cannot_run"
    assert error["next_steps"] == [next_step("run_variant", variant_id="shop.quote/Wrong")]
    await link.run("shop.quote/Wrong")
    assert await link.get("read_assertions", variant_id="shop.quote/Wrong") == {
        "variant_id": "shop.quote/Wrong",
        "status": "fail",
        "reason": f"path_equals: {TOTAL['reason']}",
        "total": 3,
        "stale": False,
        "assertions": [TOTAL, SKU, MISSED],
    }


async def test_a_result_is_stale_once_its_entry_or_its_code_is_newer(link):
    await link.define(SHOP)
    read = lambda: link.get("read_assertions", variant_id="shop.fail/Expected")  # noqa: E731
    await link.run("shop.fail/Expected")
    assert (await read())["stale"] is False
    await link.define("repl_pair.variant('shop.fail/Expected', play=[])")
    assert (await read())["stale"] is True
    await link.run("shop.fail/Expected")
    assert (await read())["stale"] is False
    before = await link.get("list_variants")
    await link.define("def fail(n: int = 1): return n + 1")
    assert (await read())["stale"] is True
    assert (await link.get("get_variant", variant_id="shop.fail/Expected"))["stale"] is True
    changed = [i for i in (await link.get("list_variants"))["items"] if i not in before["items"]]
    assert [(i["id"], i["stale"]) for i in changed] == [("shop.fail/Expected", True)]


async def test_failures_are_read_with_what_failed_only(link):
    await link.define(SHOP)
    empty = await link.ask("read_failures")
    assert empty["result"] == {"items": [], "total": 0}
    assert empty["notifications"] == [
        "No variant has been run yet, so there is no result to report."
    ]
    for id in VARIANTS:
        await link.run(id)
    answer = await link.get("read_failures")
    assert [item["variant_id"] for item in answer["items"]] == [
        "shop.quote/Wrong",
        "shop.fail/Plain",
    ]
    wrong, plain = answer["items"]
    assert [(e["phase"], e["message"]) for e in plain["errors"]] == [("render", "no 1")]
    assert wrong["assertions"] == [TOTAL, MISSED]
    assert ("errors" in wrong, wrong["total"]) == (False, 3)
    one = await link.get("read_failures", variant_id="shop.quote/Wrong")
    assert one == {"items": [wrong], "total": 1}
    assert (await link.get("read_failures", variant_id="shop.quote/One"))["total"] == 0


async def test_tests_pass_only_when_each_last_run_passed_as_it_stands_now(link):
    await link.define(SHOP)
    quote = {"story_id": "shop.quote", "tags": ["docs"]}
    reply = await link.ask("tests_passing", **quote)
    assert reply["result"] == {
        "status": "cannot_run",
        "total": 1,
        "passed": 0,
        "failed": [],
        "not_run_or_stale": ["shop.quote/One"],
    }
    assert reply["next_steps"] == [next_step("run_variant", variant_id="shop.quote/One")]
    await link.run("shop.quote/One")
    passing = {
        "status": "pass",
        "total": 1,
        "passed": 1,
        "failed": [],
        "not_run_or_stale": [],
    }
    assert await link.get("tests_passing", **quote) == passing
    await link.define("def quote(lines: list[Line], rate=1.0, factor=1): return 3")
    assert (await link.get("tests_passing", **quote))["status"] == "cannot_run"
    await link.run("shop.quote/One")
    assert await link.get("tests_passing", **quote) == passing | {
        "status": "fail",
        "passed": 0,
        "failed": ["shop.quote/One"],
    }


async def test_tests_passing_over_nothing_is_cannot_run(link):
    nothing = {
        "status": "cannot_run",
        "total": 0,
        "passed": 0,
        "failed": [],
        "not_run_or_stale": [],
        "reason": "no variant is chosen, so nothing is shown to pass",
    }
    assert await link.get("tests_passing") == nothing
    await link.define(SHOP)
    assert await link.get("tests_passing", tags=["state/empty"]) == nothing


@pytest.mark.parametrize(
    "changed", [{"overrides": {"lines": [{"sku": "a", "n": 5}]}}, {"modes": ["twice"]}]
)
async def test_a_run_with_other_args_does_not_count_for_the_variant(link, changed):
    await link.define(SHOP)
    await link.define("repl_pair.variant('shop.quote/Two', args={'lines': []})")
    assert (await link.run("shop.quote/Two", **changed))["status"] == "pass"
    answer = await link.get("tests_passing", story_id="shop.quote")
    assert "shop.quote/Two" in answer["not_run_or_stale"]
    await link.run("shop.quote/Two")
    answer = await link.get("tests_passing", story_id="shop.quote")
    assert "shop.quote/Two" not in answer["not_run_or_stale"]


async def test_an_identity_is_the_same_in_both_processes(both):
    for ends in both:
        await ends.define(SHOP)
    questions = [{"variant_id": id} for id in VARIANTS]
    questions += [{"variant_id": "shop.quote/One", "modes": ["eur", "twice"]}]
    questions += [{"variant_id": "shop.quote/One", "overrides": {"rate": 2}}]
    answers = [[await ends.get("snapshot_identity", **q) for q in questions] for ends in both]
    assert answers[0] == answers[1]
    assert len({answer["content_hash"] for answer in answers[0]}) == len(questions)
    assert all(answer["code_hash"].startswith("rc1:") for answer in answers[0])
    assert answers[0][4]["active_modes"] == ["eur", "twice"]


async def test_an_identity_runs_nothing_and_follows_content_and_code_apart(link):
    await link.define(SHOP)
    first = await link.get("snapshot_identity", variant_id="shop.fail/Plain")
    other = await link.get("snapshot_identity", variant_id="shop.fail/Plain", overrides={"n": 2})
    assert other["content_hash"] != first["content_hash"]
    assert other["code_hash"] == first["code_hash"]
    await link.define("def fail(n: int = 1): raise ValueError('other')")
    later = await link.get("snapshot_identity", variant_id="shop.fail/Plain")
    assert later["content_hash"] == first["content_hash"]
    assert later["code_hash"] != first["code_hash"]
    assert (await link.refusal("read_assertions", variant_id="shop.fail/Plain"))[
        "code"
    ] == "cannot_run"


# --- reading on

LARGE = """
import repl_pair
large = {"text": "".join(f"{i:05d}," for i in range(2000)), "list": list(range(1000)),
         "map": {f"k{i:03d}": i for i in range(300)}}
@repl_pair.story("large")
def make(): return large
repl_pair.variant("large/It")
"""


async def read_whole(ends, marker, **args):
    """Read an elided value to its end through its handle."""
    parts, offset = [], 0
    while offset is not None:
        reply = await ends.ask("read_more", handle=marker["handle"], offset=offset, **args)
        assert "elided" not in reply
        page = reply["result"]
        assert (page["type"], page["total"]) == (marker["type"], marker["size"])
        parts += page.get("text", page.get("items"))
        offset = page.get("next_offset")
    return parts


@pytest.mark.parametrize("args", [{}, {"limit": 90}, {"limit": 4000}])
async def test_what_was_elided_is_read_whole_through_its_handle(link, args):
    await link.define(LARGE)
    reply = await link.ask("run_variant", variant_id="large/It")
    result = reply["result"]["result"]
    assert reply["elided"] == 3
    text, items, entries = result["text"][ELIDED], result["list"][-1][ELIDED], result["map"][ELIDED]
    assert [text["type"], items["type"], entries["type"]] == ["str", "list", "dict"]
    assert [text["size"], items["size"], entries["size"]] == [12000, 1000, 300]
    assert await read_whole(link, items, **args) == list(range(1000))
    pairs = await read_whole(link, entries, **args)
    assert pairs == [{"key": f"k{i:03d}", "value": i} for i in range(300)]
    assert "".join(await read_whole(link, text, **args)) == "".join(
        f"{i:05d}," for i in range(2000)
    )


async def test_a_handle_is_of_no_use_to_another(link):
    await link.define(LARGE)
    reply = await link.ask("run_variant", variant_id="large/It")
    handle = reply["result"]["result"]["list"][-1][ELIDED]["handle"]
    stranger = View(principal="stranger")
    foreign = await link.refusal("read_more", view=stranger, handle=handle)
    assert foreign == await link.refusal("read_more", view=stranger, handle="h-unknown")
    assert foreign["code"] == "not_found"
    assert (await link.get("read_more", handle=handle))["offset"] == 0


@pytest.mark.parametrize("args", [{"offset": -1}, {"limit": 0}, {"offset": 1000}])
async def test_a_page_of_an_elided_value_is_within_bounds(link, args):
    await link.define(LARGE)
    reply = await link.ask("run_variant", variant_id="large/It")
    handle = reply["result"]["result"]["list"][-1][ELIDED]["handle"]
    error = await link.refusal("read_more", handle=handle, **args)
    assert error["code"] == "bad_arguments"


# --- changes


async def now(ends):
    return (await ends.get("read_changes"))["next"]


async def test_of_each_entry_its_last_change_is_read_in_order(link):
    await link.define(SHOP)
    since = await now(link)
    await link.define("repl_pair.variant('shop.fail/New')")
    await link.run("shop.quote/One")
    await link.define("repl_pair.registry.unregister('variant', 'shop.fail/New')")
    await link.define("repl_pair.tag('once')")
    answer = await link.get("read_changes", since=since)
    assert answer == {
        "items": [
            {"seq": since + 2, "member": "results", "change": "put", "id": "shop.quote/One"},
            {
                "seq": since + 3,
                "member": "registry/variant",
                "change": "remove",
                "id": "shop.fail/New",
                "count": 2,
            },
            {"seq": since + 4, "member": "registry/tag", "change": "put", "id": "once"},
        ],
        "total": 3,
        "next": since + 4,
    }
    assert await link.get("read_changes", since=since + 4) == {
        "items": [],
        "total": 0,
        "next": since + 4,
    }


async def test_a_full_page_of_changes_has_what_is_left_and_where_to_read_on(link):
    since = await now(link)
    await link.define("""
from repl_pair.runtime.store import STORE, Collection
STORE.declare(Collection(name="load"))
for n in range(3):
    for i in range(450): STORE.put("load", f"item-{i:03}", n)
""")
    found, lefts, replies = [], [], []
    while not replies or replies[-1]["result"].get("left"):
        replies.append(await link.ask("read_changes", since=since))
        since = replies[-1]["result"]["next"]
        found += replies[-1]["result"]["items"]
        lefts.append(replies[-1]["result"].get("left", 0))
    assert [item["id"] for item in found] == [f"item-{i:03}" for i in range(450)]
    assert lefts == sorted(lefts, reverse=True)
    assert [450 - len(replies[0]["result"]["items"]), 0] == [lefts[0], lefts[-1]]
    step = next_step("read_changes", since=replies[0]["result"]["next"])
    assert replies[0]["next_steps"] == [step]
    assert found[0]["count"] == 3
    assert "next_steps" not in replies[-1]


async def test_long_notices_are_read_in_pages_that_a_reply_holds(link):
    since = await now(link)
    await link.define("""
from repl_pair.runtime.store import STORE
for i in range(60): STORE.emit("notices", f"notice {i} " + "and so on " * 50)
""")
    page = await link.get("read_changes", since=since)
    assert len(str(page)) < 15_000
    assert page["total"] + page["left"] == 60


async def test_a_wait_for_changes_wakes_at_a_registration(link):
    await link.define(SHOP)
    since = await now(link)
    waiting = asyncio.create_task(link.get("read_changes", since=since, wait_s=15.0))
    await link.get("ping")
    assert not waiting.done()
    await link.define("repl_pair.variant('shop.fail/New')")
    answer = await waiting
    assert [item["id"] for item in answer["items"]] == ["shop.fail/New"]


async def test_a_wait_without_changes_ends_empty(link):
    since = await now(link)
    answer = await link.get("read_changes", since=since, wait_s=0.05)
    assert answer == {"items": [], "total": 0, "next": since}


async def test_a_gap_in_the_changes_reports_it(link):
    since = await now(link)
    await link.define("""
from repl_pair.runtime.store import STORE
for i in range(10_050): STORE.emit("notices", f"notice {i}")
""")
    answer = await link.get("read_changes", since=since)
    assert answer["gap"] is True
    assert (await link.get("read_changes", since=since + 10**9))["gap"] is True
    assert "gap" not in await link.get("read_changes", since=answer["next"])


async def test_many_changes_are_read_in_parts_without_loss(link):
    since = await now(link)
    await link.define("""
from repl_pair.runtime.store import STORE
for i in range(450): STORE.emit("notices", f"notice {i}")
""")
    payloads, rounds = [], 0
    while (answer := await link.get("read_changes", since=since))["items"]:
        assert answer["next"] > since
        since, rounds = answer["next"], rounds + 1
        payloads += answer["items"]
    assert [item["payload"] for item in payloads] == [f"notice {i}" for i in range(450)]
    assert rounds > 1


# --- variables

VALUES = """
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
import os, repl_pair
class Hidden:
    def __init__(self): self.shown, self._private, self.password = 1, 2, "s3cret-pa55word"
    @property
    def computed(self): touched.append("computed"); return 3
    def __getattr__(self, name): touched.append(name); return 4
@dataclass
class Line:
    sku: str
class Slotted:
    __slots__ = ("a",)
    def __init__(self): self.a = 5
touched = []
made = defaultdict(lambda: touched.append("made") or 6)
order = {"lines": [Line("tea")], "a key": {"b.c": 7}, "n": -1, 3: "three"}
hidden, slotted, environment, api_token = Hidden(), Slotted(), os.environ, "tok-91f0aa7b3c"
def function(): pass
"""


async def value(ends, path):
    return (await ends.get("get_value", view=INSPECTOR, path=path))["value"]


async def test_variables_are_listed_by_name_type_and_size(link):
    await link.define("numbers, word, x, _mine = [1, 2], 'abc', 1.5, 0\nclass K: pass\nk = K()")
    await link.define("def clean(): pass\ndef _own(): pass")
    found = await link.get("list_variables")
    assert (found["functions"], found["classes"]) == (["clean"], ["K"])
    listed = found["items"]
    assert [line.pop("bytes", 0) > 3 for line in listed] == [False, True, True, False]
    assert listed == [
        {"id": "k", "type": "K"},
        {"id": "numbers", "type": "list", "size": 2},
        {"id": "word", "type": "str", "size": 3},
        {"id": "x", "type": "float"},
    ]
    values = await link.get("list_variables", view=INSPECTOR, values=True)
    assert [item["value"] for item in values["items"][1:]] == [[1, 2], "abc", 1.5]


async def test_variables_are_listed_page_by_page(link):
    await link.define("a = b = c = d = e = 1")
    assert await paged(link, "list_variables", limit=2) == [["a", "b"], ["c", "d"], ["e"]]
    cursor = (await link.get("list_variables", limit=2))["cursor"]
    await link.define("f = 1")
    assert (await link.refusal("list_variables", limit=2, cursor=cursor))["code"] == "stale_cursor"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("order.n", -1),
        ("order.lines[0].sku", "tea"),
        ("order.lines[-1].sku", "tea"),
        ('order["a key"]["b.c"]', 7),
        ("order[3]", "three"),
        ("hidden.shown", 1),
        ("slotted.a", 5),
    ],
)
async def test_a_value_is_read_by_its_path(link, path, expected):
    await link.define(VALUES)
    assert await value(link, path) == expected
    assert await value(link, "touched") == []


@pytest.mark.parametrize(
    "path",
    [
        "order.keys",
        "order.lines[1]",
        "order.lines.append",
        "order.nn",
        "hidden._private",
        "hidden.computed",
        "hidden.anything",
        "hidden.__class__",
        "hidden.__dict__",
        "made.missing",
        "function.__globals__",
        "function",
        "os.environ",
        "environment.PATH",
        "repl_pair.registry",
        "get_ipython.__self__.kernel.session.key",
        "get_ipython",
        "In",
        "_mine",
        "__builtins__",
        "Hidden.shown",
    ],
)
async def test_what_no_agent_may_step_into_is_not_found_and_not_touched(link, path):
    await link.define(VALUES)
    error = await link.refusal("get_value", view=INSPECTOR, path=path)
    assert error["code"] == "not_found", error
    assert await value(link, "touched") == []
    assert await value(link, "made") == {}


ODD_VALUES = """
import functools, wrapt
from types import SimpleNamespace

touched = []
in_itself = {}
in_itself["me"] = in_itself
in_a_list = []
in_a_list.append(in_a_list)
of_itself = SimpleNamespace()
of_itself.me = of_itself
deep = functools.reduce(lambda inner, _: [inner], range(5000), 1)
proxy = wrapt.ObjectProxy({"a": 1})

class Loud:
    @property
    def __dict__(self): touched.append("__dict__")

proxy_of_loud = wrapt.ObjectProxy(Loud())
"""


async def test_odd_values_are_listed_and_read_and_run_no_code(link):
    """Those that hold themselves, are very deep, or are what code in C makes up."""
    await link.define(ODD_VALUES)
    listed = await link.get("list_variables", view=INSPECTOR, values=True)
    names = {item["id"] for item in listed["items"]}
    odd = {"in_itself", "in_a_list", "of_itself", "deep", "proxy", "proxy_of_loud"}
    assert odd <= names
    for name in odd:
        await link.get("get_value", view=INSPECTOR, path=name, detail="full")
        await link.get("describe_object", view=INSPECTOR, path=name, members=True)
    assert await value(link, "touched") == []


async def test_a_missed_step_names_where_and_what_is_near(link):
    await link.define(VALUES)
    error = await link.refusal("get_value", view=INSPECTOR, path="order.lines[0].skq")
    assert error["message"] == "There is no 'skq' in order.lines[0]. Nearest: sku."
    error = await link.refusal("get_value", view=INSPECTOR, path="ordre.lines")
    assert "There is no variable 'ordre'. Nearest: order." in error["message"]
    await link.define("import math, repl_pair as rp")
    refused = await link.ask("get_value", view=INSPECTOR, path="math.pi")
    assert refused["error"]["message"].startswith("math is a module, and get_value reads data.")
    assert refused["next_steps"] == [next_step("describe_object", path="math")]
    error = await link.refusal("get_value", view=INSPECTOR, path="rp")
    assert error["message"] == "There is no variable 'rp'."


@pytest.mark.parametrize("path", ["", "order..n", "order[", "order['a", "order[x]"])
async def test_what_is_no_path_is_refused_with_a_legal_form(link, path):
    error = await link.refusal("get_value", view=INSPECTOR, path=path)
    assert error["code"] == "bad_arguments"
    assert "A valid form: result.lines[0].sku" in error["message"]


async def test_a_secret_variable_is_redacted_in_list_and_value(link):
    await link.define(VALUES)
    assert await value(link, "api_token") == "[redacted]"
    assert await value(link, "hidden.password") == "[redacted]"
    reply = await link.ask("list_variables", view=INSPECTOR, values=True)
    items = {item["id"]: item for item in reply["result"]["items"]}
    assert "tok-91f0aa7b3c" not in str(reply)
    assert "s3cret-pa55word" not in str(reply)
    assert items["order"]["value"]["n"] == -1


DEEP_SECRETS = """
from types import SimpleNamespace as Node
of_dicts = {"a": {"b": {"c": {"password": "hunter2-hunter2"}}}}
of_objects = Node(parts=[Node(inner=Node(api_key="mK7wQ2xR9vBt"))])
error = ValueError("refused"); error.token = "zT4pLq8Wn3Yd"
error_of = ValueError("refused", {"token": "aB6cDf1Gh5Jk"})
rows = [{"id": n, "of": {"tags": ["a"]}} for n in range(90)]
text = "is it hunter2-hunter2, mK7wQ2xR9vBt, zT4pLq8Wn3Yd or aB6cDf1Gh5Jk"
"""


async def test_what_stands_deep_in_secret_is_hidden_before_anything_was_run(link):
    await link.define(DEEP_SECRETS)
    assert await value(link, "text") == "is it [redacted], [redacted], [redacted] or [redacted]"


# --- the wire


async def test_a_request_of_another_life_runs_nothing(link, send, tmp_path):
    await link.define(ENDLESS.format(folder=str(tmp_path)))
    reply = await send("run_variant", {"variant_id": "endless/It"}, boot="another life")
    assert reply["error"]["code"] == "kernel_restarted"
    assert reply["error"]["detail"] == {"boot": (await link.ask("ping"))["boot"]}
    await link.get("ping")
    assert not (tmp_path / "begun").exists()
    reply = await send("run_variant", {"variant_id": "endless/It"})
    assert reply["result"]["status"] == "pass"
    assert (tmp_path / "begun").exists()


async def test_a_call_that_comes_twice_runs_once(link, send):
    await link.define(LOADERS)
    call = uuid.uuid4().hex
    first = await send("run_variant", {"variant_id": "uses/Both"}, call=call)
    again = await send("run_variant", {"variant_id": "uses/Both"}, call=call)
    assert first["result"]["status"] == "pass"
    assert again["error"]["code"] == "bad_arguments"
    assert "came twice; it ran once" in again["error"]["message"]
    assert (await seen(link)).count("plain") == 1


async def test_another_protocol_is_refused(link, send):
    reply = await send("ping", {}, protocol=PROTOCOL + 1)
    assert reply["error"]["code"] == "version_mismatch"


@pytest.mark.parametrize("hole", ["op", "args", "call", "view"])
async def test_what_is_no_request_is_refused(link, send, hole):
    reply = await send("ping", {}, without=hole)
    assert reply["error"]["code"] == "bad_arguments"


async def test_each_reply_names_the_life_and_the_count_of_changes(link):
    first = await link.ask("ping")
    await link.define(SHOP)
    second = await link.ask("ping")
    assert first["boot"] == second["boot"] == link.link.boot
    assert second["seq"] > first["seq"]


async def test_every_descriptor_states_what_the_op_does(link):
    found = {
        d["name"]: d
        for d in (await link.link.request("describe", {}, view=View()))["result"]["ops"]
    }

    def asked(toolset):
        of = [d for d in found.values() if d["toolset"] == toolset]
        return {d["name"]: (d["access"], d["lane"]) for d in of}

    assert asked("core") == {
        "get_story": ("read", "worker"),
        "get_variant": ("read", "worker"),
        "list_stories": ("read", "inline"),
        "list_variants": ("read", "inline"),
        "read_changes": ("read", "waiting"),
        "read_failures": ("read", "worker"),
        "read_more": ("read", "inline"),
        "run_variant": ("run", "main"),
        "run_variants": ("run", "main"),
        "search_kept": ("read", "inline"),
    }
    assert asked("story") == {
        "changed_variants": ("read", "worker"),
        "explain_variant": ("read", "worker"),
        "get_decorator": ("read", "worker"),
        "get_docs_markdown": ("read", "worker"),
        "get_story_instructions": ("read", "inline"),
        "get_workspace": ("read", "worker"),
        "list_assertions": ("read", "worker"),
        "list_decorators": ("read", "inline"),
        "list_modes": ("read", "worker"),
        "list_panels": ("read", "inline"),
        "list_substrates": ("read", "worker"),
        "list_tags": ("read", "inline"),
        "list_workspaces": ("read", "inline"),
        "preview_variant": ("run", "main"),
        "read_assertions": ("read", "worker"),
        "reset_variant": ("run", "main"),
        "share_variant": ("read", "worker"),
        "snapshot_identity": ("read", "worker"),
        "tests_passing": ("read", "worker"),
        "variant_to_data": ("read", "worker"),
        "watch_variant": ("run", "worker"),
        "workspace_to_data": ("read", "worker"),
    }
    assert asked("write") == {
        "record_as_variant": ("run", "worker"),
        "register_variant": ("write", "worker"),
        "unregister": ("write", "worker"),
    }
    assert set(asked("authoring").values()) == {("write", "worker")}
    assert len(asked("authoring")) == 8
    assert found["list_variables"]["needs"] == {"values": "inspect"}
    assert found["get_value"]["access"] == "inspect"


async def test_events_report_a_registration(link):
    heard = []
    undo = link.link.subscribe(heard.append)
    await eventually(lambda: link.ask("ping"), lambda _: heard, what="the subscription")
    await link.define(SHOP)
    await eventually(
        lambda: link.ask("ping"),
        lambda _: any(e.key == "shop.fail/Expected" for e in heard),
        what="the event",
    )
    mine = [e for e in heard if e.member == "registry/variant"]
    assert [e.key for e in mine] == [
        "shop.quote/One",
        "shop.quote/Wrong",
        "shop.fail/Plain",
        "shop.fail/Expected",
    ]
    assert {e.boot for e in mine} == {link.link.boot}
    assert [e.seq for e in mine] == sorted({e.seq for e in mine})
    undo()


async def test_a_subscription_that_is_undone_twice_takes_no_later_one_with_it(link):
    heard = []
    undo = link.link.subscribe(heard.append)
    later = link.link.subscribe(heard.append)
    undo()
    undo()
    await eventually(lambda: link.ask("ping"), lambda _: heard, what="the subscription")
    await link.define(SHOP)
    await eventually(
        lambda: link.ask("ping"),
        lambda _: any(e.key == "shop.fail/Expected" for e in heard),
        what="the event",
    )
    later()


RAISES = """
import asyncio, time
import repl_pair

def price(rate):
    return parse(rate) * 2

def parse(rate):
    try:
        return float(rate)
    except ValueError as error:
        error.add_note("rates are numbers")
        raise LookupError("no rate") from error

@repl_pair.story("raises.chain")
def chain(rate: str = "x"):
    return price(rate)

async def lost(n):
    raise ValueError(f"lost {n}")

@repl_pair.story("raises.group")
async def group():
    async with asyncio.TaskGroup() as tasks:
        for n in range(7):
            tasks.create_task(lost(n))

def stand():
    while True:
        time.sleep(0.005)

@repl_pair.story("raises.slow")
def slow():
    print("so far")
    stand()

async def sleep_long():
    await asyncio.sleep(600)

@repl_pair.story("raises.waits")
async def waits():
    print("so far")
    await sleep_long()

for name in ("chain", "group", "slow", "waits"):
    repl_pair.variant(f"raises.{name}/It")
"""


async def test_an_error_has_the_lines_that_led_to_it_and_what_it_came_of(link):
    await link.define(RAISES)
    (error,) = (await link.run("raises.chain/It", detail="lean"))["errors"]
    assert (error["type"], error["message"]) == ("LookupError", "no rate")
    assert error["code"] == 'raise LookupError("no rate") from error'
    lines = [(frame["function"], frame["code"]) for frame in error["frames"]]
    assert lines == [
        ("chain", "return price(rate)"),
        ("price", "return parse(rate) * 2"),
        ("parse", 'raise LookupError("no rate") from error'),
    ]
    (cause,) = error["causes"]
    assert (cause["type"], cause["code"]) == ("ValueError", "return float(rate)")
    assert cause["notes"] == ["rates are numbers"]
    (failure,) = (await link.get("read_failures"))["items"]
    assert failure["errors"] == [error]


async def test_an_error_of_a_task_group_has_the_errors_in_it(link):
    await link.define(RAISES)
    (error,) = (await link.run("raises.group/It", detail="lean"))["errors"]
    assert error["in_group"] == 7
    assert [one["message"] for one in error["group"]] == [f"lost {n}" for n in range(5)]
    assert {one["code"] for one in error["group"]} == {'raise ValueError(f"lost {n}")'}


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("name", "stood"),
    [("slow", {"time.sleep(0.005)", "while True:"}), ("waits", {"await asyncio.sleep(600)"})],
)
async def test_a_run_that_ran_out_of_time_keeps_its_output_and_states_where_it_stood(
    link, name, stood
):
    await link.define(RAISES)
    for limit_s in DEADLINES_S:
        ran = await link.run(f"raises.{name}/It", timeout_s=limit_s, detail="lean")
        if any(error.get("code") in stood for error in ran["errors"]):
            break
    reason = f"not done within {limit_s:g} s"
    assert (ran["status"], ran["reason"]) == ("error", reason)
    assert ran["stdout"] == "so far\n"
    (error,) = ran["errors"]
    assert (error["phase"], error["type"]) == ("render", "Stopped")
    assert error["message"] == reason
    assert error["code"] in stood
    assert ran["total"] == 0


async def test_the_persons_cells_and_their_last_error_are_read(link, request):
    await link.define("looked_at = 41 + 1")
    found = await link.ask("read_history", match="looked_at", view=INSPECTOR)
    items = [(item["code"], item["status"]) for item in found["result"]["items"]]
    is_direct = "direct" in request.node.callspec.id  # no IPython, so no cells
    assert items[:1] == ([] if is_direct else [("looked_at = 41 + 1", "ok")])
    assert (await link.ask("read_traceback", view=INSPECTOR))["ok"]
