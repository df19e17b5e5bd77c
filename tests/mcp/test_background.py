"""Runs, queues and triggers of real agents at real kernels: over stdio, and over HTTP by token."""

import json
import subprocess
import sys
import threading

import pytest
from bounds import BOUND_S
from mcp import MCPError
from serving import ERAS, make_token, run_command, serve

from repl_pair.bridge import manifest
from repl_pair.bridge.ops.workers import OF_WORKERS
from repl_pair.errors import next_step
from repl_pair.mcp_server.web import principal
from repl_pair.wire import REPLY_CHARS

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SETUP = f"""
import os, time
from pathlib import Path
import repl_pair
from repl_pair.runtime.registry.cells import CELLS

os.environ["APP_TOKEN"] = {TOKEN!r}
Path("ran").write_text("")

def note(word):
    with open("ran", "a") as file:
        file.write(word)

def ran():
    return Path("ran").read_text()

@repl_pair.story("shop.sum")
def add(n: int = 0):
    note(str(n))
    return {{"n": n, "token": os.environ["APP_TOKEN"]}}

for n in range(5):
    repl_pair.variant(f"shop.sum/V{{n}}", args={{"n": n}})

@repl_pair.story("shop.slow")
def slow():
    note("<")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.01)
    note(">")

repl_pair.variant("shop.slow/Minute")
repl_pair.story("wide.sum", component=add)
repl_pair.tag("wide")
for n in range(200):
    repl_pair.variant(f"wide.sum/Variant_{{n:03}}_{{'x' * 60}}", tags=["wide"])

app = repl_pair.surface("app")
level = app.cell("level", int, default=0, expose=True)

@app.function(expose=True, mutates=False, thread_safe=True)
def place(order: str) -> str:
    note(order)
    return order
"""
CLIENTS = """
from repl_pair.runtime.clients.clients import CLIENTS
print(len(CLIENTS.present()))
"""
OWN = sorted(manifest.of_toolset(manifest.MANAGE))
WRITING = ("--allow", "write", "--toolsets", "manage")


@pytest.fixture(scope="module")
def agent(kernel, connect):
    """An agent that may write, and has the ops of the background as tools."""
    with connect("--kernel", kernel.path, *WRITING) as agent:
        yield agent


@pytest.fixture
def ran(kernel):
    """What the app did in this test: one letter a call."""
    kernel.cell('Path("ran").write_text("")')
    return lambda: kernel.cell("print(ran())").strip()


def ended(agent, run):
    """Wait for a run; gives its reply."""
    reply = agent.ask("read_run", run=run, wait_s=45)
    assert "state" not in reply.get("result", {}), reply
    return reply


# --- runs


def test_a_client_without_patience_runs_a_sweep_by_what_replies_name(kernel, connect, ran):
    with connect("--kernel", kernel.path) as agent:
        assert set(OWN).isdisjoint(tool.name for tool in agent.tools())
        for writes in ("register_trigger", "unregister_trigger"):
            with pytest.raises(MCPError, match=f"Unknown tool: {writes}"):
                agent.call(writes)
        call = {"call": "run_variants", "args": {"ids": [f"shop.sum/V{n}" for n in range(5)]}}
        started = agent.ask("run_op", op="trigger_void", args=call)
        (step,) = started["next_steps"]
        assert step == next_step("read_op", op="read_run", args={"run": started["result"]["run"]})
        reply = agent.call(step["op"], **step["args"]).structured_content
        assert reply["result"]["counts"]["pass"] == 5
    assert ran() == "01234"


def test_a_refused_call_leads_on_in_the_kernel_that_it_named(agent, kernel):
    name = str(kernel.path)
    refused = agent.ask("trigger_void", call="app.plac", kernel=name)
    (step,) = refused["next_steps"]
    assert step == next_step("read_op", op="list_functions", args={"kernel": name})
    args = {"limi": 5, "kernel": name}
    (step,) = agent.ask("trigger_void", call="list_stories", args=args)["next_steps"]
    args = {"limit": 5}
    assert step == next_step("trigger_void", call="list_stories", args=args, kernel=name)


def test_what_a_run_answers_is_redacted_as_the_call_itself_is(agent, kernel):
    call = {"variant_id": "shop.sum/V1", "detail": "full"}
    run = agent.ask("trigger_void", call="run_variant", args=call)["result"]["run"]
    reply, direct = ended(agent, run), agent.ask("run_variant", **call)
    assert reply["result"]["result"] == direct["result"]["result"]
    assert reply["result"]["result"]["token"] == "[redacted]"
    assert TOKEN.encode() not in agent.record.out


def test_a_queue_runs_in_the_order_of_its_calls(agent, kernel, ran):
    runs = [
        agent.ask("trigger_enqueue", call="app.place", args={"order": order})["result"]["run"]
        for order in "abcdefgh"
    ]
    values = [ended(agent, run)["result"]["value"] for run in runs]
    assert values == list("abcdefgh")
    assert ran() == "abcdefgh"


def test_a_run_is_cancelled_in_the_kernel_and_its_place_is_free(agent, kernel, until, ran):
    minute = {"variant_id": "shop.slow/Minute", "timeout_s": 120}
    first = agent.ask("trigger_enqueue", call="run_variant", args=minute)["result"]["run"]
    second = agent.ask("trigger_enqueue", call="run_variant", args={"variant_id": "shop.sum/V3"})[
        "result"
    ]["run"]
    until(
        lambda: agent.ask("read_run", run=first, wait_s=0)["result"]["state"] == "running",
        "the first goes on",
    )
    assert agent.ask("read_run", run=second, wait_s=0)["result"]["state"] == "waiting"
    assert agent.ask("cancel_run", run=first)["result"]["state"] == "cancelled"
    assert agent.ask("read_run", run=first)["error"]["code"] == "cancelled"
    assert ended(agent, second)["result"]["status"] == "pass"
    assert agent.ask("cancel_run", run=second)["result"]["state"] == "ended"
    assert ">" not in ran()


def test_a_run_has_the_budget_of_its_call(agent, kernel):
    call = {"tags": ["wide"], "limit": 200}
    run = agent.ask("trigger_void", call="list_variants", args=call)["result"]["run"]
    reply = agent.call("read_run", run=run).structured_content
    direct = agent.call("list_variants", **call).structured_content
    assert len(json.dumps(direct["result"])) > REPLY_CHARS
    assert reply["result"] == direct["result"]


@pytest.mark.full
def test_what_runs_ends_with_the_server(start_own_kernel, connect, until):
    kernel = start_own_kernel(SETUP)
    minute = {"variant_id": "shop.slow/Minute", "timeout_s": 120}
    with connect("--kernel", kernel.path, *WRITING) as agent:
        agent.ask("trigger_void", call="run_variant", args=minute)
        on = {"every_s": 1}
        agent.ask("register_trigger", call="app.place", args={"order": "t"}, on=on)
        until(lambda: agent.ask("list_triggers")["result"]["items"][0]["runs"], "it ran")
        kept = agent.ask("kernel_status")["result"]["pid"]
    assert kept
    until(lambda: kernel.cell(CLIENTS) == "0\n", "the server has left the kernel")
    assert ">" not in kernel.cell("print(ran())")


@pytest.mark.full
def test_a_person_who_pauses_agents_pauses_what_fires(agent, kernel, ran):
    command = [sys.executable, "-m", "repl_pair"]
    agent.ask("list_stories")
    for word in ("pause", "resume"):
        words = [*command, word, "--kernel", str(kernel.path)]
        subprocess.run(words, check=True, timeout=BOUND_S, capture_output=True)
        if word == "pause":
            args = {"variant_id": "shop.sum/V4"}
            run = agent.ask("trigger_void", call="run_variant", args=args)["result"]["run"]
            assert agent.ask("read_run", run=run)["error"]["code"] == "paused"
            made = agent.ask("trigger_void", call="app.place", args={"order": "p"})
            assert made["error"]["code"] == "paused"
    assert ran() == ""


# --- triggers


def test_a_trigger_of_cells_runs_after_each_and_costs_nothing_once_it_ended(
    agent, kernel, until, ran
):
    on = {"cells": True}
    made = agent.ask("register_trigger", call="app.place", args={"order": "c"}, on=on)
    line = lambda: agent.ask("list_triggers")["result"]["items"][0]  # noqa: E731
    assert line()["runs"] == 0
    for n in (1, 2):
        kernel.run("1 / 0" if n == 2 else "1")
        until(lambda n=n: line()["runs"] == n, "it ran after the cell")
    assert ended(agent, line()["run"])["result"]["value"] == "c"
    agent.ask("unregister_trigger", trigger=made["result"]["trigger"])
    until(lambda: kernel.cell("print(len(CELLS._at_end))") == IDLE, "nobody listens")


IDLE = "1\n"  # the kernel's own


def test_a_trigger_of_a_member_runs_at_its_change(agent, kernel, until, ran):
    on = {"changed": "app/level"}
    made = agent.ask("register_trigger", call="app.place", args={"order": "m"}, on=on)
    kernel.cell("level.set(level.get() + 1)")
    until(lambda: ran() == "m", "it ran at the change")
    kernel.cell("1")
    other = agent.ask("register_trigger", call="app.place", on={"changed": "app/levl"})
    assert other["error"]["code"] == "bad_arguments"
    args = {"order": "m"}
    for member in ("app/x", "app/level/key_of_a_cell"):
        on = {"changed": member}
        other = agent.ask("register_trigger", call="app.place", args=args, on=on)
        assert f"There is no member {member!r}." in other["error"]["message"]
    assert ran() == "m"
    agent.ask("unregister_trigger", trigger=made["result"]["trigger"])


@pytest.mark.full
def test_an_agent_that_left_a_kernel_is_not_attached_to_it_by_its_triggers(
    start_own_kernel, connect, until
):
    kernel = start_own_kernel(SETUP)
    with connect("--kernel", kernel.path, *WRITING) as agent:
        for order, on in (("m", {"changed": "app/level"}), ("t", {"every_s": 1})):
            agent.ask("register_trigger", call="app.place", args={"order": order}, on=on)
        until(lambda: "t" in kernel.cell("print(ran())"), "it ran before")
        assert agent.call("run_op", op="detach_kernel").structured_content["ok"]
        kernel.cell("Path('ran').write_text('')")

        def faults():
            items = agent.call("list_triggers").structured_content["result"]["items"]
            return {item.get("fault") for item in items}

        until(lambda: faults() == {"detached"}, "both are held up")
        kernel.cell("level.set(level.get() + 1)")
        assert kernel.cell("print(ran())") == "\n"
        agent.ask("list_stories")
        until(lambda: "t" in kernel.cell("print(ran())"), "it runs again once the agent is back")


@pytest.mark.full
def test_triggers_outlive_a_restart_and_run_nothing_before_it_is_read(
    managed, connect, until, alone, tmp_path
):
    managed.cell(f"import os; os.chdir({str(tmp_path)!r})")
    managed.cell(SETUP)
    path = tmp_path / "ran"
    with connect("--kernel", managed.connection_file, *WRITING, runtime=alone) as agent:
        for order, on in (("m", {"changed": "app/level"}), ("t", {"every_s": 1})):
            made = agent.ask("register_trigger", call="app.place", args={"order": order}, on=on)
            assert made["ok"], made
        until(lambda: "t" in path.read_text(), "it ran before")
        managed.restart_kernel(now=True)
        managed.cell(f"import os; os.chdir({str(tmp_path)!r})")
        managed.cell(SETUP)

        def listed():
            return agent.call("list_triggers").structured_content

        def items():
            return listed()["result"]["items"]

        until(lambda: items()[1].get("error") == "kernel_restarted", "it is refused")
        why = {"kernel_restarted"}
        until(lambda: {item["fault"] for item in items()} == why, "both say why")
        assert listed()["next_steps"][0]["op"] == "list_stories"
        assert path.read_text() == ""
        read = agent.call("read_run", run=items()[1]["run"]).structured_content
        assert read["error"]["code"] == "kernel_restarted"
        assert "those of triggers too" in read["hints"][0]
        until(lambda: "t" in path.read_text(), "it runs once the restart was reported")
        until(lambda: not any("fault" in item for item in items()), "both fire again")
        managed.cell("level.set(5)")
        until(lambda: "m" in path.read_text(), "it ran at a change after the restart")


# --- where there are none


def refusals(opened):
    """Ask for each op by every way; gives what was not refused as an op that there is not."""
    found = []
    for op in OWN:
        with pytest.raises(MCPError, match=f"Unknown tool: {op}"):
            opened.call(op)
        for way, args in (("describe_op", {"op": op}), ("read_op", {"op": op})):
            found.append(opened.ask(way, **args))
        found.append(opened.ask("run_op", op=op, args={"call": "list_stories"}))
    return [reply for reply in found if reply["ok"] or reply["error"]["code"] != "not_found"]


def test_without_builtins_there_are_none_over_stdio(kernel, connect):
    options = ("--no-builtins", "--toolsets", "manage", "--allow", "write")
    with connect("--kernel", kernel.path, *options) as agent:
        assert set(OWN).isdisjoint(tool.name for tool in agent.tools())
        named = agent.ask("describe_op")["result"]["items"]
        assert set(OWN).isdisjoint(line["op"] for line in named)
        assert refusals(agent) == []


@pytest.mark.full
def test_over_http_there_are_none_unless_an_option_opens_them(own_env, kernel):
    opens = {"allow": ("write",), "toolsets": ("manage",), "kernels": (kernel.id,)}
    token = make_token(own_env, "closed", **opens)
    for options in ((), ("--http-builtins", "--no-builtins")):
        with serve(own_env, *options) as server, server.connect(token) as opened:
            assert set(OWN).isdisjoint(opened.tool_names())
            assert refusals(opened) == []


@pytest.mark.full
def test_the_option_for_http_is_refused_without_http(own_env):
    refused = run_command("mcp", "--http-builtins", env=own_env)
    assert refused.returncode == 2
    assert "--http-builtins goes with --http only" in refused.stderr


# --- by token


@pytest.fixture
def served(own_env, kernel):
    """A server with calls in the background, and two tokens that may write."""
    opens = {"allow": ("write",), "toolsets": ("manage",), "kernels": (kernel.id,)}
    tokens = [make_token(own_env, name, **opens) for name in ("one", "two")]
    with serve(own_env, "--http-builtins") as server:
        yield server, tokens


@pytest.mark.parametrize("era", ERAS)
def test_another_tokens_run_and_trigger_read_like_none(served, era):
    server, (one, two) = served
    with server.connect(one, era) as mine, server.connect(two, era) as other:
        assert set(OWN) - set(mine.tool_names()) == OF_WORKERS, "workers are for stdio"
        run = mine.ask("trigger_void", call="list_stories")["result"]["run"]
        on = {"every_s": 60}
        made = mine.ask("register_trigger", call="list_stories", on=on)["result"]["trigger"]
        for op, slot, id in (
            ("read_run", "run", run),
            ("cancel_run", "run", run),
            ("unregister_trigger", "trigger", made),
        ):
            seen, none = (other.call(op, **{slot: one}) for one in (id, id[::-1]))
            texts = [
                found.content[0].text.replace(one, "ID")
                for found, one in ((seen, id), (none, id[::-1]))
            ]
            assert texts[0] == texts[1]
            assert "not_found" in texts[0]
        assert other.ask("list_triggers")["result"]["total"] == 0
        assert mine.ask("list_triggers")["result"]["total"] == 1
        assert mine.ask("read_run", run=run)["ok"]


@pytest.mark.full
def test_a_client_comes_back_for_its_run_and_its_triggers_ended_with_it(
    own_env, here, until, kernel, monkeypatch
):
    opens = {"allow": ("write",), "toolsets": ("manage",), "kernels": (kernel.id,)}
    one, left = make_token(own_env, "one", **opens), threading.Event()
    end = principal.Principal.end_triggers

    def end_and_note(of):
        end(of)
        left.set()

    monkeypatch.setattr(principal.Principal, "end_triggers", end_and_note)
    kernel.cell('Path("ran").write_text("")')
    with here() as (server, _):
        check_that_it_comes_back(server, one, left, until, kernel)


def check_that_it_comes_back(server, one, left, until, kernel):
    with server.connect(one, "legacy") as opened:
        minute = {"variant_id": "shop.slow/Minute", "timeout_s": 120}
        going = opened.ask("trigger_void", call="run_variant", args=minute)["result"]["run"]
        args = {"order": "r"}
        run = opened.ask("trigger_void", call="app.place", args=args)["result"]["run"]
        on = {"every_s": 1}
        opened.ask("register_trigger", call="app.place", args={"order": "t"}, on=on)
        until(lambda: opened.ask("list_triggers")["result"]["items"][0]["runs"], "it ran")
        assert not left.is_set()
    assert left.wait(BOUND_S)
    with server.connect(one, "legacy") as opened:
        assert opened.ask("read_run", run=run)["result"]["value"] == "r"
        assert opened.ask("read_run", run=going, wait_s=0)["result"]["state"] == "running"
        assert opened.ask("list_triggers")["result"]["total"] == 0
        assert opened.ask("cancel_run", run=going)["result"]["state"] == "cancelled"
    until(lambda: ">" not in kernel.cell("print(ran())"), "it was cancelled")
