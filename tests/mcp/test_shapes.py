"""The shapes that clients lean on, each over the real server on a real kernel."""

import base64
import concurrent.futures
import json
import re

import pytest
from bounds import BOUND_S, DEADLINES_S

from repl_pair.bridge import manifest
from repl_pair.bridge.suggestions import write_step
from repl_pair.errors import next_step

DEFAULT = [
    "describe_op",
    "get_story",
    "get_variant",
    "kernel_status",
    "list_kernels",
    "list_stories",
    "list_variables",
    "list_variants",
    "read_changes",
    "read_failures",
    "read_more",
    "read_op",
    "run_op",
    "run_variant",
    "run_variants",
    "use_kernel",
]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
SETUP = f"""
import pathlib, time
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
import repl_pair
from repl_pair import check

class Grade(Enum):
    GOLD = "g"

@dataclass
class Line:
    sku: str
    price: Decimal
    grade: Grade

class Picture:
    def _repr_png_(self):
        return {PNG!r}

repl_pair.tag("fast", doc="Takes no time.")
repl_pair.tag("slow")
repl_pair.mode("currency/eur", args={{"currency": "EUR"}}, axis="currency", doc="Euros.")
repl_pair.mode("currency/usd", args={{"currency": "USD"}}, axis="currency")

@repl_pair.story("shop.order", args={{"count": 2}}, tags=["fast"], modes=["currency/eur"])
def order(count: int, currency: str = "GBP"):
    '''Price an order.'''
    print("priced", count)
    lines = [Line(f"sku-{{n}}", Decimal("6.50"), Grade.GOLD) for n in range(count)]
    return {{"lines": lines, "total": sum(l.price for l in lines), "currency": currency}}

repl_pair.variant("shop.order/Two", doc="Two lines.", play=[
    check.path_equals("result.total", 13.0),
    check.path_equals(["result", "lines", 0, "sku"], "sku-0"),
    check.path_equals("result.lines[1].grade", "GOLD"),
    check.path_equals("stdout", "priced 2\\n"),
    check.no_warnings(),
])
repl_pair.variant("shop.order/Wrong", play=[check.path_equals("result.total", "13.01")])
repl_pair.variant("shop.order/Empty", args={{"count": 0}}, tags=["!fast", "slow"])

@repl_pair.story("shop.chart")
def chart():
    return Picture()

repl_pair.variant("shop.chart/Dot")

@repl_pair.story("shop.wait")
def wait(folder: str, seconds: float = 600.0):
    marker = pathlib.Path(folder, "marker")
    marker.write_text("began")
    try:
        time.sleep(seconds)
    except BaseException as error:
        marker.write_text(type(error).__name__)
        raise

repl_pair.variant("shop.wait/Long", args={{"folder": "/nowhere"}})
"""
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
}
READ = {"ok", "result", "seq"}
TWO = "shop.order/Two"


@pytest.fixture(scope="module", params=["auto", "legacy"])
def agent(request, kernel, connect):
    with connect("--kernel", kernel.path, mode=request.param) as agent:
        yield agent
        for frame in agent.record.frames:
            steps = frame.get("result", {}).get("structuredContent", {}).get("next_steps", [])
            assert len(steps) <= 3
            waits_s = [sum(map(float, re.findall(r"_s\W+([\d.]+)", str(step)))) for step in steps]
            assert all(wait_s <= 55 for wait_s in waits_s), steps


# --- tools


def test_the_default_tools_are_exactly_these_and_small(agent):
    tools = agent.tools()
    assert [tool.name for tool in tools] == DEFAULT
    frame = next(f for f in agent.record.frames if "tools" in f.get("result", {}))
    assert len(json.dumps(frame["result"]["tools"], separators=(",", ":")).encode()) <= 10_000


def test_the_instructions_are_short(agent):
    assert 0 < len(agent.client.instructions.encode()) <= 1000


def test_the_schemas_are_closed_inlined_and_typed(agent):
    tools = agent.tools()
    assert len(tools) == len(DEFAULT)
    for tool in tools:
        schema = tool.input_schema
        assert (schema["type"], schema["additionalProperties"]) == ("object", False), tool.name
        assert "$ref" not in json.dumps(schema)
        assert all(isinstance(part.get("type"), str) for part in schema["properties"].values())
        kernelless = ("describe_op", "list_kernels")
        assert "kernel" in schema["properties"] or tool.name in kernelless


def test_the_annotations_state_the_worst(agent):
    tools = agent.tools()
    assert len(tools) == len(DEFAULT)
    for tool in tools:
        hints = tool.annotations
        runs = tool.name in ("run_variant", "run_variants", "run_op")
        assert (hints.read_only_hint, bool(hints.destructive_hint)) == (not runs, runs), tool.name


INSPECTING = {"describe_object", "get_value", "read_history", "read_traceback"}
OF_GATES = {
    ("--allow", "inspect"): INSPECTING,
    ("--ask", "inspect"): INSPECTING | {"read_approval"},
    ("--allow", "write"): {"record_as_variant", "register_variant", "unregister"},
    ("--allow", "eval"): {"eval_code", "record_as_variant", "register_variant", "unregister"},
    ("--ask", "eval"): {"eval_code", "read_approval"},
    ("--ask", "inspect,write,eval"): {
        *INSPECTING,
        *("eval_code", "read_approval"),
        *("record_as_variant", "register_variant", "unregister"),
    },
}


FIRST_GATES = (("--allow", "write"), ("--ask", "inspect,write,eval"))


@pytest.mark.parametrize(
    "options",
    [pytest.param(one, marks=() if one in FIRST_GATES else pytest.mark.full) for one in OF_GATES],
)
def test_an_opened_gate_lists_its_few_tools_and_keeps_the_list_small(kernel, connect, options):
    with connect("--kernel", kernel.path, *options) as agent:
        tools = {tool.name: tool for tool in agent.tools()}
        frame = next(f for f in agent.record.frames if "tools" in f.get("result", {}))
        direct = agent.ask("clear_kind", kind="tags") if "write" in options[1] else None
        described = agent.ask("describe_op", op="register_mode")
    more = [tool for tool in frame["result"]["tools"] if tool["name"] not in DEFAULT]
    if "eval_code" in tools:
        hints = tools["eval_code"].annotations
        assert (hints.read_only_hint, hints.destructive_hint) == (False, True)
    assert set(tools) == {*DEFAULT, *OF_GATES[options]}
    assert len(more) <= 10
    assert len(json.dumps(more, separators=(",", ":")).encode()) <= 7_000
    if direct is not None:  # what is not listed is called by its name, and never through run_op
        assert "Nearest: tag" in direct["error"]["message"]
        assert described["hints"][0].startswith("register_mode(")


def test_a_toolset_lists_what_was_opened_and_no_more(kernel, connect):
    with connect("--kernel", kernel.path, "--toolsets", "authoring") as agent:
        closed = {tool.name: tool for tool in agent.tools()}
    with connect(
        "--kernel", kernel.path, "--toolsets", "authoring", "--allow", "inspect,write"
    ) as agent:
        opened = {tool.name: tool for tool in agent.tools()}
    authoring = {d["name"] for d in manifest.load() if d["toolset"] == "authoring"}
    assert set(closed) == set(DEFAULT)
    assert {"register_story", "clear_all"} <= authoring
    assert set(opened) == {*DEFAULT, *OF_GATES["--ask", "inspect,write,eval"], *authoring} - {
        "read_approval",
        "eval_code",
    }
    slots = [set(found["list_variables"].input_schema["properties"]) for found in (opened, closed)]
    assert slots[0] - slots[1] == {"values"}


def names_of(frame):
    return [tool["name"] for tool in frame["result"]["tools"]]


@pytest.mark.parametrize(
    "opening",
    [
        "discover then handshake",
        "bare",
        *(pytest.param(one, marks=pytest.mark.full) for one in ("handshake", "discover")),
    ],
)
def test_every_opening_gives_the_same_list_and_the_same_answers(kernel, dial, opening):
    with dial("--kernel", kernel.path) as wire:
        meta = MODERN
        if "discover" in opening:
            assert wire.ask("server/discover", MODERN, "d")["result"]["supportedVersions"]
        if "handshake" in opening:
            assert wire.ask("initialize", HANDSHAKE, "i")["result"]["protocolVersion"]
            wire.send("notifications/initialized")
            meta = {}
        assert names_of(wire.ask("tools/list", meta, 1)) == DEFAULT
        call = {"name": "list_stories", "arguments": {}, **meta}
        answered = wire.ask("tools/call", call, 2)["result"]["structuredContent"]
        assert answered["result"]["total"] == 3
        call = {"name": "list_storys", "arguments": {}, **meta}
        assert wire.ask("tools/call", call, 3)["error"]["code"] == -32602
        assert wire.hang_up() == 0


# --- envelopes


def test_a_reply_is_the_envelope_and_its_text_the_same_json(agent, kernel):
    agent.ask("list_stories")
    result = agent.call("list_stories")
    reply = result.structured_content
    assert set(reply) == READ | {"next_steps"}
    assert json.loads(result.content[0].text) == reply
    assert not result.is_error
    assert isinstance(reply["seq"], int)


def test_a_reply_names_its_kernel_where_it_is_news_or_the_call_named_it(kernel, connect):
    with connect("--kernel", kernel.path) as agent:
        first, second = agent.ask("list_stories"), agent.ask("list_stories")
        named = agent.ask("list_stories", kernel=kernel.id)
        refused = agent.call("get_variant", variant_id="shop.order/Tow", kernel=kernel.id)
    assert first["kernel"] == {"id": kernel.id, "name": "python3", "boot": first["boot"]}
    assert {"kernel", "boot"}.isdisjoint(second)
    assert named["kernel"] == first["kernel"]
    assert kernel.id in refused.content[0].text


def test_a_refusal_is_an_envelope_whose_text_states_it_all(agent, kernel):
    result = agent.call("get_variant", variant_id="shop.order/Tow")
    reply = result.structured_content
    assert result.is_error
    assert set(reply) == {"ok", "error", "seq", "next_steps"}
    assert set(reply["error"]) == {"code", "message"}
    assert reply["error"]["code"] == "not_found"
    for part in ("not_found", "shop.order/Two", *map(write_step, reply["next_steps"])):
        assert part in result.content[0].text


def test_wrong_arguments_are_refused_with_the_call_that_is_meant(agent):
    result = agent.call("run_variant", variant="shop.order/Two", timeout_s="3")
    assert result.is_error
    text = result.content[0].text
    assert "variant_id" in text
    assert 'run_variant(variant_id="shop.order/Two", timeout_s=3)' in text


def test_null_is_absent_a_whole_number_may_be_a_float_and_true_is_none(agent):
    page = agent.ask("list_variants", limit=2)["result"]
    assert agent.ask("list_variants", limit=2.0, cursor=None, tags=None)["result"] == page
    assert len(agent.ask("list_variants", limit=None)["result"]["items"]) == page["total"]
    assert agent.ask("run_variant", variant_id=TWO, timeout_s=5, lane=None)["ok"]
    for wrong in (2.5, True, "2", 0, 201):
        refused = agent.ask("list_variants", limit=wrong)
        assert refused["error"]["code"] == "bad_arguments", wrong
    assert refused["next_steps"] == [next_step("list_variants", limit=200)]


@pytest.mark.parametrize(
    ("tool", "total", "one"),
    [
        ("list_stories", 3, {"id": "shop.chart", "variants": 1}),
        ("list_variants", 5, {"id": "shop.chart/Dot"}),
        ("list_tags", None, {"id": "fast", "doc": "Takes no time."}),
        (
            "list_modes",
            2,
            {
                "id": "currency/eur",
                "args": {"currency": "EUR"},
                "axis": "currency",
                "doc": "Euros.",
            },
        ),
    ],
)
def test_lists_are_items_with_ids_and_a_total(agent, tool, total, one):
    whole = agent.ask(tool)["result"]
    total = total or len(whole["items"])  # tags of the house's own come with the package
    ids = [item["id"] for item in whole["items"]]
    assert set(whole) == {"items", "total"}
    assert (whole["total"], len(whole["items"])) == (total, total)
    assert ids == sorted(set(ids))
    assert one.items() <= whole["items"][ids.index(one["id"])].items()
    page = agent.ask(tool, limit=1)["result"]
    assert set(page) == {"items", "total", "cursor"}
    assert [page["items"], page["total"]] == [whole["items"][:1], total]
    rest = agent.ask(tool, limit=total, cursor=page["cursor"])["result"]
    assert rest == {"items": whole["items"][1:], "total": total}


def test_a_story_is_reported_with_what_its_variants_share(agent):
    reply = agent.ask("get_story", story_id="shop.order")
    story = reply["result"]
    assert {slot: story[slot] for slot in ("id", "doc", "args", "tags", "modes")} == {
        "id": "shop.order",
        "doc": "Price an order.",
        "args": {"count": 2},
        "tags": ["fast"],
        "modes": ["currency/eur"],
    }
    assert story["variants"] == ["shop.order/Empty", "shop.order/Two", "shop.order/Wrong"]
    assert agent.call("get_story", story_id="shop.ordre").is_error


TIMES = {"age_s", "since_s", "last_activity_s"}


def test_kernels_are_listed_in_the_same_shape(agent, kernel):
    listed = agent.ask("list_kernels")["result"]
    assert set(listed) == {"items", "total"}
    item = next(item for item in listed["items"] if item["id"] == kernel.id)
    times = {slot: item.pop(slot) for slot in item.keys() & TIMES}
    assert all(isinstance(seconds, float) for seconds in times.values()), times
    assert item == {
        "id": kernel.id,
        "name": "python3",
        "pid": kernel.pid,
        "alive": True,
        "state": "idle",
        "runtime": item["runtime"],
        "attached": item["attached"],
    } | ({"channel": "control"} if item["attached"] else {})
    assert item["runtime"] or not item["attached"]


def test_a_cursor_of_an_older_list_is_refused_as_stale(agent, kernel):
    cursor = agent.ask("list_variants", limit=1)["result"]["cursor"]
    kernel.cell('repl_pair.variant("shop.chart/Late")')
    reply = agent.ask("list_variants", limit=1, cursor=cursor)
    kernel.cell('repl_pair.registry.unregister("variant", "shop.chart/Late")')
    assert reply["error"]["code"] == "stale_cursor"
    for wrong in ("nope", "%%%", ""):
        error = agent.ask("list_variants", limit=1, cursor=wrong)["error"]
        assert error["code"] == "stale_cursor", error


# --- runs


def test_a_run_answers_its_verdict_and_all_that_led_to_it(agent):
    reply = agent.ask("run_variant", variant_id=TWO)
    result = reply["result"]
    assert set(result) == {
        "status",
        "assertions",
        "total",
        "elapsed_ms",
        "effective_args",
        "identity",
        "result",
        "outputs",
        "phases",
        "stdout",
    }
    assert (result["status"], result["total"], result["outputs"]) == ("pass", 5, [])
    assert result["assertions"][0] == {
        "assertion": "path_equals",
        "payload": ["result.total", 13.0],
        "passed": True,
        "expected": 13.0,
        "actual": "13.00",
        "reason": "",
        "step": 0,
    }
    line = {"price": "6.50", "grade": "GOLD"}
    assert result["result"] == {
        "lines": [{"sku": "sku-0", **line}, {"sku": "sku-1", **line}],
        "total": "13.00",
        "currency": "GBP",
    }
    assert result["effective_args"] == {"count": 2}
    assert [phase["phase"] for phase in result["phases"]] == [
        "setup",
        "load",
        "events",
        "render",
        "play",
        "teardown",
    ]
    assert isinstance(result["elapsed_ms"], float)


def test_a_run_that_fails_states_why_and_the_reads_state_the_same(agent):
    result = agent.ask("run_variant", variant_id="shop.order/Wrong")["result"]
    assert (result["status"], result["total"]) == ("fail", 1)
    assert "13.01" in result["reason"]
    outcome = result["assertions"][0]
    assert outcome.keys() == {
        *("assertion", "payload", "passed", "expected", "actual", "reason", "step")
    }
    read = agent.ask("read_assertions", variant_id="shop.order/Wrong")["result"]
    assert (read["status"], read["assertions"]) == ("fail", [outcome])
    failures = agent.ask("read_failures", variant_id="shop.order/Wrong")["result"]
    assert set(failures) == {"items", "total"}
    assert failures["items"][0]["assertions"] == [outcome]
    passing = agent.ask("tests_passing", story_id="shop.order")["result"]
    assert (passing["status"], passing["failed"]) == ("fail", ["shop.order/Wrong"])


def test_modes_and_overrides_show_in_args_result_and_identity(agent):
    plain = agent.ask("run_variant", variant_id=TWO)["result"]
    other = agent.ask(
        "run_variant", variant_id=TWO, modes=["currency/eur"], overrides={"count": 1}
    )["result"]
    assert other["effective_args"] == {"count": 1, "currency": "EUR"}
    assert (other["result"]["currency"], other["status"]) == ("EUR", "fail")
    assert other["identity"]["active_modes"] == ["currency/eur"]
    assert other["identity"]["content_hash"] != plain["identity"]["content_hash"]
    two = ["currency/eur", "currency/usd"]
    refused = agent.ask("run_variant", variant_id=TWO, modes=two)
    assert refused["error"]["code"] == "bad_arguments"


def test_an_identity_is_of_this_form_and_the_runs_own(agent):
    reply = agent.ask("snapshot_identity", variant_id=TWO)
    assert set(reply) == READ
    identity = reply["result"]
    assert set(identity) == {
        "variant_id",
        "active_modes",
        "substrate",
        "content_hash",
        "code_hash",
    }
    assert (identity["variant_id"], identity["active_modes"]) == (TWO, [])
    assert re.fullmatch(r"rp1:[0-9a-f]{64}", identity["content_hash"])
    assert re.fullmatch(r"rc1:[0-9a-f]{64}", identity["code_hash"])
    assert agent.ask("run_variant", variant_id=TWO)["result"]["identity"] == identity


def test_an_image_comes_as_an_image_and_never_as_text(agent):
    result = agent.call("run_variant", variant_id="shop.chart/Dot")
    kinds = [block.type for block in result.content]
    assert kinds == ["text", "image"]
    picture = result.content[1]
    assert (picture.mime_type, base64.b64decode(picture.data)) == ("image/png", PNG)
    assert picture.data[:40] not in result.content[0].text
    assert picture.data[:40] not in json.dumps(result.structured_content)
    outputs = result.structured_content["result"]["outputs"]
    assert outputs == [{"image/png": {"$image": 1}}]
    assert result.structured_content["result"]["status"] == "pass"


# --- the person's cell


def test_a_run_waits_for_the_persons_cell_and_reports_it_meanwhile(agent, kernel, tmp_path, until):
    seen, go = [], tmp_path / "go"
    agent.ask("list_stories")  # it is attached before the cell
    cell = kernel.start(f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)\n'mine'")
    answer = agent.start("run_variant", seen.append, variant_id=TWO, wait_s=30.0)
    running = re.compile(r"In\[\d+\] has been running for \d+ s")
    try:
        until(lambda: sum(bool(running.search(t)) for _, _, t in seen) >= 2, "two such notices")
        read = agent.ask("list_stories")
        given_up = agent.ask("run_variant", variant_id=TWO, wait_s=0.1)
    finally:
        go.touch()
    ran = answer.result(BOUND_S).structured_content
    finished = kernel.finish(cell)
    assert (finished.value, finished.error) == ("'mine'", None)
    assert read["ok"]
    values = [value for value, _, _ in seen]
    assert values == sorted(set(values))
    assert ran["result"]["status"] == "pass"
    assert given_up["result"]["status"] == "cannot_run"
    assert "not started within 0.1 s" in given_up["result"]["reason"]
    assert 1 <= len(given_up["next_steps"]) <= 3
    assert "wait_s" in str(given_up["next_steps"])


def test_a_cancelled_call_stops_its_run_in_the_kernel(agent, kernel, tmp_path, until):
    marker = tmp_path / "marker"
    answer = agent.start(
        "run_variant", variant_id="shop.wait/Long", overrides={"folder": str(tmp_path)}
    )
    until(lambda: marker.exists() and marker.read_text() == "began", "the run's mark")
    answer.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        answer.result(0)
    until(lambda: marker.read_text() == "RunStopped", "the end of the run")
    assert agent.ask("run_variant", variant_id=TWO)["result"]["status"] == "pass"
    assert kernel.cell("print('free')") == "free\n"


def test_a_run_over_its_time_is_stopped_and_reports_it(agent, tmp_path):
    asked, marker = {"overrides": {"folder": str(tmp_path)}}, tmp_path / "marker"
    for deadline_s in DEADLINES_S:
        reply = agent.ask("run_variant", variant_id="shop.wait/Long", **asked, timeout_s=deadline_s)
        if marker.exists():
            break
    assert marker.read_text() == "RunStopped"
    assert reply["result"]["status"] == "error"
    assert f"{deadline_s:g} s" in reply["result"]["reason"]


# --- which kernel


@pytest.mark.parametrize("name", ["path", "notebook"])  # the others: kernel/test_session.py
def test_a_kernel_is_named_by_its_file_or_notebook(kernel, connect, name):
    info = json.loads(kernel.path.read_text()) | {"jupyter_session": "/home/ann/work.ipynb"}
    kernel.path.write_text(json.dumps(info))
    word = kernel.path if name == "path" else "/home/ann/work.ipynb"
    with connect("--kernel", word) as agent:
        reply = agent.ask("list_stories")
    assert reply["kernel"]["id"] == kernel.id
    assert reply["result"]["total"] == 3
