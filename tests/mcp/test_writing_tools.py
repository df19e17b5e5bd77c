"""Writing through the real server: shut unless the person opens it, data only, of agents alone."""

import json
import re

import pytest
from mcp.shared.exceptions import MCPError

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Policy
from repl_pair.errors import next_step

SETUP = """
import repl_pair

@repl_pair.story("shop.total", tags=["test"])
def total(count: int = 2, price: float = 1.5) -> float:
    return count * price
repl_pair.variant("shop.total/Two", play=[repl_pair.check.path_equals("result", 4.0)])
repl_pair.variant("shop.total/Three", args={"count": 3})
repl_pair.panel("totals", title="Totals", placement="right", render=lambda: None)

@repl_pair.story("shop.safe", agent_overrides=False)
def safe(count: int = 2):
    return count
repl_pair.variant("shop.safe/Plain")
"""
WRITING = sorted(
    entry["name"]
    for entry in manifest.load()
    if entry["access"] == "write"
    and not entry.get("project")
    and entry["toolset"] != manifest.MANAGE
)
"""The ops that write into the registries."""
CALLS = {
    "register_tag": {"tag_id": "slow", "body": {"doc": "takes its time"}},
    "register_mode": {"mode_id": "price/high", "body": {"args": {"price": 9.0}}},
    "register_decorator": {
        "decorator_id": "mail/down",
        "body": {"kind": "fx_override", "effect": "mail/send", "response": None},
    },
    "register_story": {"story_id": "shop.more", "body": {"component_of": "shop.total"}},
    "register_variant": {
        "variant_id": "shop.more/One",
        "body": {
            "args": {"count": 1},
            "tags": ["slow"],
            "modes": ["price/high"],
            "decorators": ["mail/down"],
            "play": [["path_equals", "result", 1.5]],
        },
    },
    "register_panel": {
        "panel_id": "totals/left",
        "body": {"title": "Left", "placement": "left", "render": "totals"},
    },
    "register_workspace": {
        "workspace_id": "shop.page/All",
        "body": {"layout": "grid", "variants": ["shop.more/One"]},
    },
    "unregister": {"kind": "panel", "id": "totals/left"},
    "clear_kind": {"kind": "workspace"},
    "clear_all": {},
}
"""One call of each, in an order in which each finds what it names."""
NOT_YET = {
    "register_variant": "not_found",
    "register_workspace": "bad_body",
    "unregister": "not_found",
}
"""Of the calls that name what one before them makes: how they are refused before that."""


@pytest.fixture(scope="module")
def writer(kernel, connect):
    with connect("--kernel", kernel.path, "--allow", "write", "--toolsets", "authoring") as agent:
        yield agent


@pytest.fixture(scope="module")
def reader(kernel, connect):
    with connect("--kernel", kernel.path, "--toolsets", "write,authoring,story") as agent:
        yield agent


@pytest.fixture
def written(writer):
    """What the test writes is taken out after it."""
    yield writer
    assert writer.ask("clear_all")["ok"]


def registered(kernel):
    code = (
        "print(sorted(f'{kind} {id} {e.revision}' for kind in repl_pair.registry.kinds "
        "for id, e in repl_pair.registry.snapshot(kind).items()))"
    )
    return kernel.cell(code)


def unknown(agent, tool, **args):
    with pytest.raises(MCPError) as caught:
        agent.ask(tool, **args)
    return caught.value.message


def test_every_writing_op_is_called_here():
    assert sorted(CALLS) == WRITING


def test_each_tool_writes_what_it_is_reported_and_the_persons_stays(written, kernel):
    before = registered(kernel)
    done = {tool: written.ask(tool, **args) for tool, args in CALLS.items()}
    assert [tool for tool, reply in done.items() if not reply["ok"]] == []
    for tool, reply in done.items():
        if tool.startswith("register_"):
            assert reply["result"]["origin"] == "agent agent"
    assert done["register_variant"]["next_steps"][0] == next_step(
        "run_variant", variant_id="shop.more/One"
    )
    assert done["register_variant"]["result"]["identity"]["variant_id"] == "shop.more/One"
    assert done["unregister"]["result"]["unregistered"] is True
    assert done["clear_kind"]["result"]["total"] == 1
    assert done["clear_all"]["result"]["removed"] == {
        "story": ["shop.more"],
        "variant": ["shop.more/One"],
        "mode": ["price/high"],
        "decorator": ["mail/down"],
        "tag": ["slow"],
    }
    assert registered(kernel) == before


def test_what_was_written_is_listed_run_and_read(written):
    for tool in list(CALLS)[:7]:
        written.ask(tool, **CALLS[tool])
    ran = written.ask("run_variant", variant_id="shop.more/One")
    assert (ran["result"]["status"], ran["result"]["total"]) == ("pass", 1)
    assert ran["next_steps"] == [next_step("unregister", kind="variant", id="shop.more/One")]
    listed = written.ask("list_variants", tags=["slow"])["result"]["items"]
    assert [item["id"] for item in listed] == ["shop.more/One"]
    shown = written.ask("get_variant", variant_id="shop.more/One")["result"]
    assert shown["registered"]["where"] == "agent agent"


@pytest.mark.parametrize("tool", WRITING)
def test_a_shut_gate_reads_like_a_tool_that_does_not_exist(reader, kernel, tool):
    before = registered(kernel)
    text = unknown(reader, tool, **CALLS[tool])
    (hint,) = Policy().closed_hints()
    assert re.fullmatch(rf"Unknown tool: {tool}\.( Nearest: [\w, ]+\.)? {re.escape(hint)}", text)
    assert not set(re.findall(r"\w+", text)) & (set(WRITING) - {tool})
    for op in (tool, "no_such_op_at_all"):
        refused = reader.ask("run_op", op=op, args=CALLS[tool])
        assert refused["error"]["message"].startswith(f"There is no op {op!r}.")
        described = reader.ask("describe_op", op=op)
        assert described["error"]["message"].startswith(f"There is no op {op!r}.")
    assert registered(kernel) == before


def test_writing_tools_are_listed_only_where_the_gate_is_open(reader, writer):
    assert not {tool.name for tool in reader.tools()} & set(WRITING)
    described = reader.ask("describe_op")["result"]["items"]
    assert not {item["op"] for item in described} & set(WRITING)
    tools = {tool.name: tool for tool in writer.tools()}
    assert set(WRITING) <= set(tools)
    for name in WRITING:
        hints = tools[name].annotations
        assert (hints.read_only_hint, hints.destructive_hint) == (False, True)


def test_run_op_opens_no_gate(writer, kernel):
    before = registered(kernel)
    for tool, args in CALLS.items():
        assert writer.ask("run_op", op=tool, args=args)["error"]["code"] == "bad_arguments"
    assert registered(kernel) == before


def test_what_the_person_is_asked_for_changes_nothing_before_they_answer(kernel, connect):
    before = registered(kernel)
    options = ("--ask", "write", "--ask-wait", 0, "--toolsets", "authoring")
    with connect("--kernel", kernel.path, *options) as agent:
        assert set(WRITING) <= {tool.name for tool in agent.tools()}
        for tool, args in CALLS.items():
            refused = agent.ask(tool, **args)["error"]["code"]
            assert refused == NOT_YET.get(tool, "approval_pending"), tool
        ran = agent.ask("run_variant", variant_id="shop.total/Two")
        assert not any("register" in step["op"] for step in ran["next_steps"])
    assert registered(kernel) == before


def test_bad_arguments_and_bodies_state_what_would_do(writer):
    refused = writer.ask("register_tag", tag="slow", body={})
    assert refused["next_steps"] == [next_step("register_tag", tag_id="slow", body={})]
    refused = writer.ask(
        "register_variant", variant_id="shop.total/X", body={"component": "os.system", "arg": {}}
    )
    assert refused["error"]["code"] == "bad_body"
    assert "component: no slot of yours" in refused["error"]["message"]
    assert "arg is not an argument. Nearest: args" in refused["error"]["message"]
    big = {"doc": "x" * 70_000}
    refused = writer.ask("register_variant", variant_id="shop.total/X", body=big)
    assert "65536" in refused["error"]["message"]


def test_the_persons_are_not_replaced_or_taken_out(writer, kernel):
    before = registered(kernel)
    taken = writer.ask("register_variant", variant_id="shop.total/Two", body={})
    assert taken["next_steps"] == [
        next_step("register_variant", variant_id="shop.total/Two_2", body={})
    ]
    theirs = writer.ask("unregister", kind="variant", id="shop.total/Two")
    assert theirs["error"]["code"] == "cannot_run"
    assert writer.ask("clear_all")["result"]["total"] == 0
    assert registered(kernel) == before


def test_a_story_that_refuses_overrides_refuses_them_over_the_wire(writer):
    ran = writer.ask("run_variant", variant_id="shop.safe/Plain", overrides={"count": 9})
    assert ran["result"]["status"] == "cannot_run"
    assert "agent_overrides=False" in ran["result"]["reason"]
    refused = writer.ask("register_variant", variant_id="shop.safe/X", body={"args": {"count": 9}})
    assert "agent_overrides=False" in refused["error"]["message"]


def test_the_person_undoes_all_that_an_agent_wrote(writer, kernel):
    before = registered(kernel)
    for tool in list(CALLS)[:7]:
        writer.ask(tool, **CALLS[tool])
    assert registered(kernel) != before
    kernel.cell("gone = repl_pair.undo_agent()")
    assert registered(kernel) == before


def test_a_failing_variant_is_corrected_by_following_the_next_steps(written):
    """Reads nothing but replies: what failed, what to call, what to change in it."""
    spent = []

    def ask(step, change=lambda args: args):
        reply = written.ask(step["op"], **change(step["args"]))
        spent.append(len(json.dumps(reply)))
        return reply

    failed = ask(next_step("run_variant", variant_id="shop.total/Two"))
    (outcome,) = failed["result"]["assertions"]
    assert not outcome["passed"]
    (step,) = [s for s in failed["next_steps"] if s["op"] == "register_variant"]

    def corrected(args):
        path, _ = outcome["payload"]
        return args | {"body": args["body"] | {"play": [["path_equals", path, outcome["actual"]]]}}

    made = ask(step, corrected)
    passed = ask(made["next_steps"][0])
    assert (passed["result"]["status"], passed["result"]["total"]) == ("pass", 1)
    gone = ask(passed["next_steps"][0])
    assert gone["result"]["unregistered"] is True
    assert (len(spent), sum(spent) // 4 < 2_000) == (4, True)
