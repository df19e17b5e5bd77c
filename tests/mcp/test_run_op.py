"""Ops that are no tools of their own: described, called, and no gate opened by that."""

import json

import pytest

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Policy
from repl_pair.errors import next_step

SETUP = """
import repl_pair
API_KEY = "hunter2-hunter2-hunter2"
counted = 7

@repl_pair.story("shop.total", tags=["test"])
def total(count: int = 2) -> int:
    return count
repl_pair.variant("shop.total/Two", play=[repl_pair.check.path_equals("result", 2)])
for n in range(200):
    repl_pair.tag(f"word-{n:03}", doc="A word that takes its room in a list of words. " * 8)
"""
UNLISTED = {
    entry["name"]
    for entry in manifest.load()
    if not Policy().lists(entry) and Policy().resolve(entry) == "allow"
}


@pytest.fixture(scope="module")
def agent(kernel, connect):
    with connect("--kernel", kernel.path) as agent:
        yield agent


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        yield agent


def run_op(agent, op, /, **args):
    return agent.ask("run_op", op=op, args=args)


def test_the_default_list_has_at_most_sixteen_tools_and_ten_kilobytes(agent):
    tools = [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in agent.tools()]
    size = len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode())
    print(f"{len(tools)} tools, {size} bytes")
    assert len(tools) <= 16
    assert size <= 10_000


def test_what_no_tool_stands_for_is_described(agent):
    listed = {tool.name for tool in agent.tools()}
    found = agent.ask("describe_op")
    assert {item["op"] for item in found["result"]["items"]} == UNLISTED
    assert not UNLISTED & listed
    assert {"list_modes", "list_tags", "tests_passing"} <= UNLISTED
    assert all(set(item) == {"op", "access", "doc"} for item in found["result"]["items"])
    seen = agent.ask("describe_op", op="list_tags")
    assert seen["result"]["op"] == "list_tags"
    assert set(seen["result"]["input_schema"]["properties"]) == {"limit", "cursor"}
    assert seen["next_steps"] == [next_step("read_op", op="list_tags")]


def test_a_called_op_answers_as_it_would_itself(agent):
    agent.ask("list_stories")
    itself = agent.ask("list_variants", story_id="shop.total")
    assert run_op(agent, "list_variants", story_id="shop.total") == itself
    names = [item["id"] for item in run_op(agent, "list_variables")["result"]["items"]]
    assert "counted" in names
    ran = run_op(agent, "run_variant", variant_id="shop.total/Two", overrides={"count": 3})
    assert ran["result"]["status"] == "fail"
    assert ran["next_steps"]


def test_an_unknown_op_names_the_gates_that_are_closed_for_the_caller(connect, kernel):
    for allow, closed in (("inspect,eval", None), ("eval", ["Closed here: inspect."])):
        with connect("--kernel", kernel.path, "--allow", allow) as agent:
            for via in ("read_op", "run_op"):
                refused = agent.ask(via, op="no_such_op")
                assert refused["error"]["code"] == "not_found"
                hints = refused.get("hints")
                assert (hints and [hint.partition(" Ask")[0] for hint in hints]) == closed


def test_a_called_op_of_a_named_kernel_runs_there(agent, kernel):
    named = agent.ask("run_op", op="list_modes", kernel=kernel.id)
    assert named["kernel"]["id"] == kernel.id
    nowhere = agent.ask("run_op", op="list_modes", kernel="nowhere")
    assert nowhere["error"]["code"] == "no_kernel"


def test_bad_arguments_of_a_called_op_are_mended(agent):
    refused = run_op(agent, "list_tags", limits=3)
    assert refused["error"]["code"] == "bad_arguments"
    assert refused["next_steps"] == [next_step("read_op", op="list_tags", args={"limit": 3})]


@pytest.mark.parametrize("args", [[1], "text", 5])
def test_arguments_of_a_called_op_that_are_no_object_are_refused(agent, args):
    for via in ("read_op", "run_op"):
        error = agent.ask(via, op="list_stories", args=args)["error"]
        assert error["code"] == "bad_arguments"
        assert "args: expected object" in error["message"]


def test_what_is_closed_and_what_does_not_exist_read_alike(agent):
    closed, unknown = run_op(agent, "get_value", path="counted"), run_op(agent, "get_valve")
    assert closed["error"]["code"] == unknown["error"]["code"] == "not_found"
    assert closed["error"]["message"].startswith("There is no op 'get_value'.")
    internal = run_op(agent, "describe")
    assert internal["error"]["message"].startswith("There is no op 'describe'.")
    described = agent.ask("describe_op", op="get_value")
    assert described["error"]["message"].startswith("There is no op 'get_value'.")


def test_an_opened_gate_does_not_open_through_run_op(inspector):
    assert inspector.ask("get_value", path="counted")["result"]["value"] == 7
    refused = run_op(inspector, "get_value", path="counted")
    assert refused["error"]["code"] == "bad_arguments"
    assert refused["next_steps"] == [next_step("get_value", path="counted")]
    assert inspector.ask("list_variables", values=True)["ok"]
    assert run_op(inspector, "list_variables", values=True)["error"]["code"] == "bad_arguments"


def test_run_op_does_not_call_itself(agent):
    refused = agent.ask("run_op", op="run_op", args={"op": "list_tags"})
    assert refused["error"]["code"] == "bad_arguments"


def test_next_steps_that_are_no_tools_go_through_run_op(agent):
    refused = agent.ask("list_stories", tags=["tests"])
    assert refused["next_steps"] == [next_step("read_op", op="list_tags")]
    assert run_op(agent, "list_tags", limit=1)["ok"]


def test_an_overflow_of_a_called_op_states_the_call_that_fits(agent):
    over = run_op(agent, "list_tags", limit=200)
    assert "$overflow" in over["result"]
    smaller = over["next_steps"][0]
    assert (smaller["op"], smaller["args"]["op"]) == ("read_op", "list_tags")
    assert "items" in agent.ask("read_op", **smaller["args"])["result"]
