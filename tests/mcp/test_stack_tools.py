"""How an agent finds out what keeps it waiting: from the status of a kernel to the line."""

import json
from contextlib import contextmanager

import pytest

from repl_pair.bridge import manifest
from repl_pair.errors import next_step

SETUP = """
import pathlib, time
import repl_pair

@repl_pair.story("shop.quick")
def quick():
    return 1
repl_pair.variant("shop.quick/It")
"""
CELL = """\
is_over = pathlib.Path({gate!r}).exists
def work():
    while not is_over():
        time.sleep(0.01)
work()"""
TOOLS = {d["name"] for d in manifest.load() if d["toolset"] == "stacks"}
STACKS = next_step("read_op", op="read_stacks")


@pytest.fixture(scope="module")
def agent(kernel, connect):
    with connect("--kernel", kernel.path) as agent:
        yield agent


@pytest.fixture
def working(kernel, tmp_path):
    """Lets a cell run during the block; gives its label."""

    @contextmanager
    def run():
        begun = kernel.start(CELL.format(gate=str(tmp_path / "gate")))
        try:
            yield
        finally:
            (tmp_path / "gate").touch()
            assert kernel.finish(begun).error is None

    return run


def test_the_tools_are_listed_with_their_toolset_and_reached_without_it(agent, kernel, connect):
    assert len(TOOLS) == 2
    assert not TOOLS & {tool.name for tool in agent.tools()}
    assert {item["op"] for item in agent.ask("describe_op")["result"]["items"]} >= TOOLS
    with connect("--kernel", kernel.path, "--toolsets", "stacks") as other:
        listed = {tool.name: tool for tool in other.tools()}
    assert set(listed) >= TOOLS
    assert all(listed[name].annotations.read_only_hint for name in TOOLS)


def test_the_status_of_a_kernel_whose_cell_runs_long_leads_to_the_line(agent, until, working):
    assert "next_steps" not in agent.ask("kernel_status")
    with working():

        def long_running():
            reply = agent.ask("kernel_status")
            return reply if "next_steps" in reply else None

        status = until(long_running, "a step of the status")
        assert status["next_steps"] == [STACKS]
        assert status["result"]["busy_s"] >= 3.0
        found = agent.ask(STACKS["op"], **STACKS["args"])
        assert found["next_steps"] == [next_step("read_op", op="read_hot_lines")]

        def hottest():
            hot = agent.ask("read_op", op="read_hot_lines", args={"seconds": 0.3})["result"]
            return hot["lines"] and hot["lines"][0]["function"] == "work"

        until(hottest, "the line of the cell as the one that takes the most")
    cell = found["result"]["cell"]
    assert (cell["label"], cell["line"]) == (status["result"]["cell"], 5)
    assert (
        found["result"]["threads"][0]["frames"][-2:]
        == [
            {"where": cell["label"], "line": 4, "function": "work"},
            {"where": cell["label"], "line": 5, "function": "<module>"},
        ]
        or found["result"]["threads"][0]["frames"][-2]["line"] == 3
    )
    assert len(json.dumps(found)) < 1_500


def test_a_run_that_did_not_get_its_turn_leads_to_the_line_too(agent, working):
    with working():
        waited = agent.ask("run_variant", variant_id="shop.quick/It", wait_s=0.2)
    assert waited["result"]["reason"].startswith("not started within 0.2 s: the person's cell In[")
    assert waited["next_steps"][0] == STACKS


def test_lines_of_source_take_the_gate_for_values(agent, kernel, connect, working):
    refused = agent.ask("read_op", op="read_stacks", args={"code": True})
    assert refused["error"]["code"] == "bad_arguments"
    assert refused["next_steps"] == [STACKS]
    with connect("--kernel", kernel.path, "--allow", "inspect") as inspector, working():
        through = inspector.ask("read_op", op="read_stacks", args={"code": True})
        assert through["error"]["message"] == "read_op does not take code; call read_stacks itself."
        assert through["next_steps"] == [next_step("read_stacks", code=True)]
        described = inspector.ask("describe_op", op="read_stacks")
        found = inspector.ask("read_stacks", code=True)["result"]
    assert "code" in described["result"]["input_schema"]["properties"]
    assert described["hints"] == [
        "code: call read_stacks itself; read_op and run_op do not take it."
    ]
    assert found["threads"][0]["frames"][-1]["code"] == "work()"
