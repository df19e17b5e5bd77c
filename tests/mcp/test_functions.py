"""Functions of the app as tools over the real server: listed, called, hidden, asked for."""

import contextlib
import json
import subprocess
import sys
import threading
from functools import partial
from typing import Literal, NamedTuple

import pytest
from bounds import BOUND_S
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError
from serving import bounded

from repl_pair.mcp_server.tool_list import clean_schema
from repl_pair.runtime.surfaces.function_calls import check_function_args, function_schema

SETUP = """
import repl_pair
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.op_base.approval_rows import preview_call

ran = []

@repl_pair.function("orders.place", expose=True)
def place(sku: str, n: int = 1, partial: bool | None = False) -> dict:
    "Place \\u200ban order.\\u202e"
    ran.append((sku, n))
    print("placed", sku)
    return {"sku": sku, "n": n}

@repl_pair.function("orders.count", expose=True, mutates=False, thread_safe=True)
def count() -> int:
    return len(ran)

@repl_pair.function("orders.cancel", expose=True, ask=True, mutates=False)
def cancel(sku: str) -> str:
    ran.append(("cancel", sku))
    return sku

@repl_pair.function("orders.hidden")
def hidden() -> None:
    ran.append("hidden")
"""
LISTS = "repl_pair.mcp_server.function_tools"
TOOLS = ["orders__cancel", "orders__count", "orders__place"]


@pytest.fixture(scope="module")
def connect(connect):
    """Opens agents whose lists wait for the functions however busy the machine is."""
    return partial(connect, program=bounded(LISTS, LISTED_S=BOUND_S))


def functions_in(tools):
    return [tool.name for tool in tools if "__" in tool.name]


def listed(agent):
    return functions_in(agent.tools())


def refusal(agent, tool, **args):
    with pytest.raises(MCPError) as caught:
        agent.call(tool, **args)
    return caught.value.error.message


@contextlib.contextmanager
def watching(agent, mode):
    """Count the notices that the list of tools changed, in either era."""
    if mode == "legacy":
        frames = agent.record

        def seen():
            wanted = "notifications/tools/list_changed"
            return sum(frame.get("method") == wanted for frame in frames.frames)

        start = seen()
        yield lambda: seen() - start
        return
    came = []

    async def follow(started):
        async with agent.client.listen(tools_list_changed=True) as stream:
            started.set()
            async for event in stream:
                came.append(event)  # noqa: PERF401  they are counted while they come

    started = threading.Event()
    following = agent.portal.start_task_soon(follow, started)
    assert started.wait(60)
    yield lambda: len(came)
    following.cancel()


@pytest.fixture(params=["legacy", "auto"])
def era(request):
    return request.param


def test_exposed_functions_are_tools_that_state_what_they_may_do(kernel, connect, until, era):
    with connect("--kernel", kernel.path, mode=era) as agent:
        until(lambda: listed(agent) == TOOLS, "the tools of the functions", bound_s=60)
        tools = agent.tools()
        assert [tool.name for tool in tools] == sorted(tool.name for tool in tools)
        assert len(tools) == 16 + len(TOOLS)
        of = {tool.name: tool for tool in tools}
        place, count = of["orders__place"], of["orders__count"]
        assert place.description == "Place an order."
        assert list(place.input_schema["properties"]) == ["sku", "n", "partial"]
        assert place.input_schema["required"] == ["sku"]
        assert place.input_schema["properties"]["partial"]["type"] == ["boolean", "null"]
        assert (place.annotations.read_only_hint, count.annotations.read_only_hint) == (False, True)
        assert place.annotations.open_world_hint
        assert count.annotations.open_world_hint
        reply = agent.call("orders__place", sku="a", n=2).structured_content
        assert reply["result"]["value"] == {"sku": "a", "n": 2}
        assert reply["result"]["stdout"] == "placed a\n"
        wrong = agent.call("orders__place", sku="a", n="3")
        assert wrong.is_error
        assert "n: expected integer, got str '3'" in wrong.content[0].text
        step = wrong.structured_content["next_steps"][0]
        assert (
            agent.call(step["op"], **step["args"]).structured_content["result"]["value"]["n"] == 3
        )


class Kept(NamedTuple):
    description: int = 5
    properties: int = 6
    partial: int = 7


KEPT = Kept()


def takes_null(
    n: int | None,
    rows: list[float | None],
    by: dict[str, bool | None],
    of: Literal["a", "b", None],
    mixed: Literal["a", 1, None],
    kept: Kept | None = KEPT,
) -> None: ...


def test_a_schema_for_clients_takes_what_the_function_does_and_has_its_values():
    schema = clean_schema(function_schema(takes_null))
    args = {"n": 1, "rows": [1.5, None], "by": {"a": None}, "of": "a", "mixed": 1}
    for given in (args, args | dict.fromkeys(("n", "of", "mixed", "kept"))):
        assert check_function_args("f", takes_null, given) == given
        assert list(Draft202012Validator(schema).iter_errors(given)) == []
    for wrong in ({"n": "1"}, {"of": "c"}, {"rows": None}):
        assert not Draft202012Validator(schema).is_valid(args | wrong)
    assert schema["properties"]["kept"]["default"] == KEPT._asdict()
    assert "x-" not in json.dumps(schema)


def test_a_hidden_function_is_reached_by_no_way(kernel, connect, until):
    with connect("--kernel", kernel.path, "--toolsets", "surface") as agent:
        until(lambda: listed(agent) == TOOLS, "the tools of the functions", bound_s=60)
        for name in ("orders__hidden", "orders__hiddem"):
            refused = refusal(agent, name)
            assert refused.startswith(f"Unknown tool: {name}. ")
            assert "hidden" not in refused.removeprefix(f"Unknown tool: {name}.")
            assert "Closed here: inspect, write, eval" in refused
        assert "Nearest: orders__count" in refusal(agent, "orders__coumt")
        for id in ("orders.hidden", "orders__hidden", "repl_pair.hidden", "Orders.hidden"):
            call = {"function": id}
            for tool, args in [
                ("run_function", call),
                ("run_op", {"op": "run_function", "args": call}),
                ("read_op", {"op": "run_function", "args": call}),
                ("run_op", {"op": "list_function_tools"}),
                ("run_op", {"op": "ask_approval", "args": {"op": "run_function", "args": call}}),
                ("read_op", {"op": "describe_op", "args": {"op": id}}),
            ]:
                found = agent.call(tool, **args).structured_content
                assert not found["ok"], (tool, args)
                assert found["error"]["code"] in ("not_found", "bad_arguments")
        everything = [agent.call(op).structured_content for op in ("list_functions", "describe_op")]
        assert "hidden" not in json.dumps(everything)
        kernel.cell("assert 'hidden' not in ran")
        # A list that the client keeps gives nothing away.
        kernel.cell("repl_pair.function('orders.count', mutates=False)(count)")
        try:
            assert refusal(agent, "orders__count").startswith("Unknown tool: orders__count.")
            until(lambda: "orders__count" not in listed(agent), "the list without it")
        finally:
            kernel.cell(
                "repl_pair.function('orders.count', expose=True, mutates=False,"
                " thread_safe=True)(count)"
            )


def test_a_change_of_the_functions_is_announced_and_no_other(kernel, connect, until, era):
    with connect("--kernel", kernel.path, mode=era) as agent:
        until(lambda: listed(agent) == TOOLS, "the tools of the functions", bound_s=60)
        with watching(agent, era) as seen:
            kernel.cell("repl_pair.function('orders.of_mine')(lambda: 1)")
            kernel.cell("repl_pair.function('orders.more', expose=True)(lambda: 5)")
            until(lambda: seen() == 1, "the first notice")
            assert listed(agent) == sorted([*TOOLS, "orders__more"])
            assert agent.call("orders__more").structured_content["result"]["value"] == 5
            kernel.cell("repl_pair.registry.unregister('function', 'orders.more')")
            until(lambda: seen() == 2, "the second notice")
            assert listed(agent) == TOOLS
            assert seen() == 2
        kernel.cell("repl_pair.registry.unregister('function', 'orders.of_mine')")


def test_no_kernel_is_attached_to_for_a_list_unless_it_was_named_or_is_in_use(
    start_own_kernel, connect, until, tmp_path_factory
):
    alone = tmp_path_factory.mktemp("runtime")
    kernel = start_own_kernel(SETUP, runtime=alone)
    with connect(runtime=alone) as agent:
        assert listed(agent) == []
        kernel.cell("from repl_pair.runtime.clients.clients import CLIENTS")
        kernel.cell("assert not CLIENTS.present()")
        agent.call("use_kernel", kernel=kernel.id)
        until(lambda: listed(agent) == TOOLS, "the tools of the chosen kernel", bound_s=60)
        agent.call("run_op", op="detach_kernel")
        assert listed(agent) == []
        kernel.cell("assert not CLIENTS.present()")
        assert agent.call("orders__count").structured_content["ok"]  # a call attaches again


def test_at_most_sixteen_functions_are_tools_and_each_is_short(start_own_kernel, connect, until):
    kernel = start_own_kernel(
        SETUP,
        "from typing import Annotated, Literal\n"
        "words = Literal[tuple(f'word_{n}' for n in range(400))]\n"
        "def long(word: Annotated[words, 'w' * 500]) -> None: ...\n"
        "long.__doc__ = 'd' * 5000\n"
        "for n in range(20):\n"
        "    repl_pair.function(f'more.f{n:02}', expose=True)(long)\n",
    )
    with connect("--kernel", kernel.path) as agent:
        until(lambda: len(listed(agent)) == 16, "sixteen tools", bound_s=60)
        tools = [tool for tool in agent.tools() if "__" in tool.name]
        assert [tool.name for tool in tools] == [f"more__f{n:02}" for n in range(16)]
        sizes = [len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools]
        assert max(sizes) <= 2_000
        assert b"16 of 23 functions are listed as tools" in agent.record.err
        refused = refusal(agent, "orders__count")
        assert refused.startswith("Unknown tool: orders__count.")
        assert refused.endswith("list_functions has the others, run_function calls each.")
        assert "--allow" not in refused
        assert "--allow" in refusal(agent, "no_tool")
        call = {"function": "orders.count"}
        found = agent.call("run_op", op="run_function", args=call).structured_content
        assert found["result"]["value"] == 0


ANSWERS = {"once": "ok", "deny": "approval_denied"}


@pytest.mark.parametrize(
    ("flags", "answer"),
    [
        (("--ask", "mutates"), "once"),
        ((), "deny"),
        pytest.param(("--ask", "mutates"), "deny", marks=pytest.mark.full),
        pytest.param((), "once", marks=pytest.mark.full),
    ],
)
def test_the_person_is_asked_for_exactly_this_call(kernel, connect, until, flags, answer):
    tool = "orders__place" if flags else "orders__cancel"
    kernel.cell("ran.clear()")
    with connect("--kernel", kernel.path, *flags) as agent:
        until(lambda: tool in listed(agent), "the tool", bound_s=60)
        assert agent.call("orders__count").structured_content["result"]["value"] == 0
        call = agent.start(tool, sku=answer)
        until(lambda: kernel.cell("print(len(QUEUE.pending()))") == "1\n", "the question")
        shown = kernel.cell("print(preview_call(QUEUE.pending()[0])['text'], ran)")
        assert f'"sku": "{answer}"' in shown
        assert shown.endswith("[]\n")
        kernel.cell(f"QUEUE.answer(QUEUE.pending()[0].handle, {answer!r})")
        reply = call.result(timeout=60).structured_content
        assert reply.get("error", {"code": "ok"})["code"] == ANSWERS[answer]
        assert kernel.cell("print(len(ran))") == f"{int(answer == 'once')}\n"
        if flags:  # read_op and run_op open nothing
            call = {"function": "orders.place", "args": {"sku": "b"}}
            asked = agent.start("run_op", op="run_function", args=call)
            until(lambda: kernel.cell("print(len(QUEUE.pending()))") == "1\n", "the question")
            kernel.cell("QUEUE.answer(QUEUE.pending()[0].handle, 'deny')")
            assert asked.result(timeout=60).structured_content["error"]["code"] == "approval_denied"


def test_a_question_that_nobody_answers_expires_and_nothing_runs(kernel, connect, until):
    kernel.cell("ran.clear()")
    flags = ("--ask-wait", 0, "--ask-expire", 1)
    with connect("--kernel", kernel.path, *flags) as agent:
        until(lambda: "orders__cancel" in listed(agent), "the tool", bound_s=60)
        pending = agent.call("orders__cancel", sku="a").structured_content
        assert pending["error"]["code"] == "approval_pending"
        (step,) = pending["next_steps"]
        step["args"]["args"]["wait_s"] = 20
        late = agent.call(step["op"], **step["args"]).structured_content
        assert late["error"]["code"] == "approval_expired"
        assert kernel.cell("print(ran)") == "[]\n"


def test_allow_mutates_is_what_holds_without_it():
    words = [sys.executable, "-m", "repl_pair", "ops", "--allow", "mutates"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    plain = subprocess.run(words[:-2], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout)
    assert ran.returncode == 0
