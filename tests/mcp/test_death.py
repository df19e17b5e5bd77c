"""Kernels that die, restart, stop, multiply or never were, as an agent meets them over stdio."""

import os
import signal
import time

import pytest
from bounds import BOUND_S
from halting import halt

from repl_pair.errors import next_step

STORY = """
import os, pathlib, time
import repl_pair
folder = pathlib.Path({folder!r})

@repl_pair.story("work.slow", args={{"name": "once", "seconds": 0.0}})
def slow(name: str, seconds: float):
    with open(folder / name, "a") as marker:
        marker.write("began\\n")
    try:
        time.sleep(seconds)
    except BaseException as error:
        with open(folder / name, "a") as marker:
            marker.write(f"{{type(error).__name__}}\\n")
        raise
    return "done"

repl_pair.variant("work.slow/Short")
repl_pair.variant("work.slow/Long", args={{"seconds": 600.0}})
"""
HOLD = """
import ctypes, os, threading, time
open_gate = ctypes.PyDLL(None).open  # holds the interpreter lock until somebody writes there
os.mkfifo(folder / "gate")
def hold():
    while not (folder / "go").exists():
        time.sleep(0.01)
    (folder / "held").touch()
    open_gate(bytes(folder / "gate"), os.O_RDONLY)
threading.Thread(target=hold).start()
"""
BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "repl_pair":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""
SHORT, LONG = "work.slow/Short", "work.slow/Long"
AT_ONCE_S = 15.0
"""What noticing a death may take on a busy machine; without a loss it is some milliseconds."""


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture
def marks(folder):
    """What the runs of a name left behind: `marks("once")`."""
    return lambda name: (folder / name).read_text().split() if (folder / name).exists() else []


@pytest.fixture
def story(folder):
    return STORY.format(folder=str(folder))


def timed(ask):
    start = time.monotonic()
    reply = ask()
    return reply, time.monotonic() - start


def code_of(reply):
    return reply["error"]["code"]


def run(name, **args):
    return {"variant_id": LONG, "overrides": {"name": name}, "timeout_s": 60.0, **args}


# --- death


def test_a_kernel_killed_in_a_run_answers_at_once_and_the_run_is_not_repeated(
    start_own_kernel, connect, story, marks, until
):
    kernel = start_own_kernel(story)
    with connect("--kernel", kernel.path) as agent:
        answer = agent.start("run_variant", **run("killed"))
        until(lambda: marks("killed"), "the run's mark")
        kernel.kill()
        reply, took = timed(lambda: answer.result(BOUND_S).structured_content)
        again, took_again = timed(lambda: agent.ask("run_variant", **run("killed")))
        read = agent.ask("list_stories")
    assert code_of(reply) == "outcome_unknown"
    assert "may have run" in reply["error"]["message"]
    assert reply["kernel"]["id"] == kernel.id
    assert reply["next_steps"]
    assert took < AT_ONCE_S
    assert (code_of(again), code_of(read)) == ("kernel_gone", "kernel_gone")
    assert took_again < AT_ONCE_S
    assert marks("killed") == ["began"]


@pytest.mark.full
def test_a_kernel_killed_while_idle_is_reported_by_the_next_call(start_own_kernel, connect, story):
    kernel = start_own_kernel(story)
    with connect("--kernel", kernel.path) as agent:
        assert agent.ask("list_stories")["ok"]
        kernel.kill()
        replies = [timed(lambda: agent.ask("list_stories"))]
        replies += [timed(lambda: agent.ask("run_variant", variant_id=SHORT))]
        status = agent.ask("kernel_status")["result"]
        tools = agent.tools()
    for reply, took in replies:
        assert code_of(reply) == "kernel_gone"
        assert reply["next_steps"] == [next_step("list_kernels")]
        assert kernel.id in reply["error"]["message"]
        assert took < AT_ONCE_S
    assert (status["alive"], status["code"]) == (False, "kernel_gone")
    assert tools


@pytest.mark.full
def test_a_kernel_killed_in_a_read_that_waits_is_reported(start_own_kernel, connect, story):
    kernel = start_own_kernel(story)
    with connect("--kernel", kernel.path) as agent:
        since = agent.ask("read_changes")["result"]["next"]
        answer = agent.start("read_changes", since=since, wait_s=30.0)
        assert agent.ask("list_stories")["ok"]
        kernel.kill()
        reply, took = timed(lambda: answer.result(BOUND_S).structured_content)
    assert code_of(reply) == "kernel_gone"
    assert took < AT_ONCE_S


# --- another life


def test_a_restart_is_reported_once_by_whatever_answers_first(
    managed, connect, story, marks, alone
):
    managed.cell(story)
    with connect("--kernel", managed.connection_file, runtime=alone) as agent:
        before = agent.ask("run_variant", variant_id=SHORT)
        assert before["result"]["status"] == "pass"
        for op in ("list_stories", "kernel_status", "read_changes", "describe_op"):
            managed.restart_kernel(now=True)
            managed.cell(story)
            read, quiet = agent.ask(op), agent.ask(op)
            began = len(marks("once"))
            ran = agent.ask("run_variant", variant_id=SHORT)
            again = agent.ask("run_variant", variant_id=SHORT)
            assert read["ok"], op
            assert "notifications" not in quiet, op
            assert again["result"]["status"] == "pass", op
            if op == "describe_op":  # which asks no kernel, and so reports nothing
                assert "notifications" not in read
                assert code_of(ran) == "kernel_restarted"
                assert len(marks("once")) == began + 1
                continue
            assert "restarted" in read["notifications"][0], op
            assert ran["result"]["status"] == "pass", op
            assert len(marks("once")) == began + 2
            assert read["kernel"]["boot"] != before["kernel"]["boot"], op
            assert read["kernel"]["id"] == before["kernel"]["id"], op
            before = read


@pytest.mark.full
def test_a_restart_before_the_first_read_refuses_the_run_once(
    managed, connect, story, marks, alone
):
    managed.cell(story)
    with connect("--kernel", managed.connection_file, runtime=alone, mode="legacy") as agent:
        assert agent.ask("list_stories")["ok"]
        managed.restart_kernel(now=True)
        managed.cell(story)
        refused = agent.ask("run_variant", variant_id=SHORT)
        assert marks("once") == []
        read = agent.ask("list_stories")
        ran = agent.ask("run_variant", variant_id=SHORT)
    assert code_of(refused) == "kernel_restarted"
    assert "Nothing was run" in refused["error"]["message"]
    assert "notifications" not in read
    assert ran["result"]["status"] == "pass"
    assert marks("once") == ["began"]


# --- which kernel


@pytest.mark.full
def test_of_two_kernels_none_is_taken_until_one_is_chosen(start_own_kernel, connect, story, alone):
    one, two = (start_own_kernel(story, runtime=alone) for _ in range(2))
    with connect(runtime=alone) as agent:
        refused = [
            agent.ask("list_stories"),
            agent.ask("run_variant", variant_id=SHORT),
            agent.ask("kernel_status"),
        ]
        listed = agent.ask("list_kernels")["result"]
        once = agent.ask("list_stories", kernel=two.id)
        still = agent.ask("list_stories")
        used = agent.ask("use_kernel", kernel=one.id[:8])
        then = agent.ask("list_stories")
        other = agent.ask("run_variant", variant_id=SHORT, kernel=str(two.pid))
        after = agent.ask("list_stories")
        steps = [
            agent.ask(op, variant_id=SHORT, **named)["next_steps"]
            for named in ({"kernel": two.id}, {"kernel": str(two.pid)}, {})
            for op in ("get_variant", "explain_variant")
        ]
    for reply in (*refused, still):
        assert code_of(reply) == "ambiguous_kernel"
        assert {k["id"] for k in reply["error"]["detail"]["kernels"]} == {one.id, two.id}
        assert one.id in reply["error"]["message"]
        assert two.id in reply["error"]["message"]
        assert [step["op"] for step in reply["next_steps"]] == ["list_kernels", "use_kernel"]
        assert "kernel" not in reply
    assert {item["id"] for item in listed["items"] if item["alive"]} == {one.id, two.id}
    assert once["kernel"]["id"] == two.id
    assert used["result"]["id"] == used["kernel"]["id"] == then["kernel"]["id"] == one.id
    assert (other["kernel"]["id"], other["result"]["status"]) == (two.id, "pass")
    assert after["kernel"]["id"] == one.id
    named = [[step["args"].get("kernel") for step in some] for some in steps]
    wanted = [two.id, two.id, str(two.pid), str(two.pid), None, None]
    assert [set(some) for some in named] == [{name} for name in wanted]


def test_without_a_kernel_each_reply_states_what_to_do_and_the_tools_are_listed(connect, alone):
    with connect(runtime=alone) as agent:
        tools = agent.tools()
        replies = [agent.ask("list_stories"), agent.ask("run_variant", variant_id=SHORT)]
        replies += [agent.ask("kernel_status"), agent.ask("use_kernel", kernel="123456")]
        listed = agent.ask("list_kernels")
        text = agent.call("list_stories").content[0].text
    assert [reply["error"]["code"] for reply in replies] == ["no_kernel"] * 4
    for reply in replies:
        assert "%load_ext repl_pair" in " ".join(reply["hints"])
    assert "%load_ext repl_pair" in text
    assert listed["result"] == {"items": [], "total": 0}
    assert {"list_stories", "run_variant"} <= {tool.name for tool in tools}


@pytest.mark.full
def test_a_file_left_over_is_no_kernel_and_stays_where_it_is(start_own_kernel, connect, alone):
    living, dead = (start_own_kernel(runtime=alone) for _ in range(2))
    codes = {str(dead.path): "kernel_gone", dead.id: "kernel_gone", str(dead.pid): "no_kernel"}
    content = dead.path.read_bytes()
    dead.kill()
    with connect(runtime=alone) as agent:
        taken = agent.ask("list_stories")
        listed = agent.ask("list_kernels")["result"]
        every = agent.ask("list_kernels", dead=True)["result"]
        refused = {word: agent.ask("list_stories", kernel=word) for word in codes}
    with connect("--kernel", dead.id, runtime=alone) as agent:
        started = agent.ask("run_variant", variant_id=SHORT)
    assert taken["kernel"]["id"] == living.id
    assert [item["id"] for item in listed["items"]] == [living.id]
    assert (listed["total"], listed["dead"]) == (1, 1)
    assert {item["id"]: item["alive"] for item in every["items"]} == {
        living.id: True,
        dead.id: False,
    }
    assert (every["total"], every["dead"]) == (2, 1)
    assert {word: code_of(reply) for word, reply in refused.items()} == codes
    assert code_of(started) == "kernel_gone"
    # A session of that kernel alone has no other one to list.
    assert all(r.get("next_steps") or r["hints"] for r in (*refused.values(), started))
    assert dead.path.read_bytes() == content


def test_a_kernel_whose_python_lacks_the_package_is_reported_with_the_remedy(
    start_own_kernel, connect, tmp_path
):
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    kernel = start_own_kernel(PYTHONPATH=str(tmp_path))
    python = kernel.cell("import sys; print(sys.executable)").strip()
    with connect("--kernel", kernel.path) as agent:
        replies = [agent.ask("list_stories"), agent.ask("run_variant", variant_id=SHORT)]
        tools = agent.tools()
    for reply in replies:
        assert code_of(reply) == "package_missing"
        assert python in reply["error"]["message"]
        assert reply["error"]["detail"] == {"python": python}
        assert f"{python} -m pip install .`" in reply["hints"][0]
        assert kernel.id in reply["error"]["message"]
    assert tools
    assert kernel.cell("x = 1; print(x)") == "1\n"


# --- stopped


@pytest.mark.full
def test_a_stopped_kernel_is_reported_in_bounded_time_and_goes_on(start_own_kernel, connect, story):
    kernel = start_own_kernel(story)
    with connect("--kernel", kernel.path) as agent:
        assert agent.ask("list_stories")["ok"]
        halt(kernel.pid)
        try:
            status, took = timed(lambda: agent.ask("kernel_status"))
            with connect("--kernel", kernel.path) as newcomer:
                reply, took_new = timed(lambda: newcomer.ask("list_stories"))
        finally:
            os.kill(kernel.pid, signal.SIGCONT)
        ran = agent.ask("run_variant", variant_id=SHORT)
    assert (status["result"]["alive"], status["result"]["code"]) == (True, "kernel_unresponsive")
    assert status["result"]["state"] == "stopped"
    assert "its process has been stopped" in status["result"]["why"]
    assert took < AT_ONCE_S
    assert code_of(reply) == "kernel_unresponsive"
    assert f"kill -CONT {kernel.pid}" in reply["hints"][0]
    assert took_new < AT_ONCE_S
    assert ran["result"]["status"] == "pass"


@pytest.mark.full
def test_a_read_of_a_stopped_kernel_states_why_it_waits_and_is_answered_later(
    start_own_kernel, connect, story, until
):
    kernel = start_own_kernel(story)
    heard = []
    with connect("--kernel", kernel.path) as agent:
        assert agent.ask("list_stories")["ok"]
        halt(kernel.pid)
        try:
            answer = agent.start("list_stories", on_progress=heard.append)
            until(lambda: heard, "progress")
        finally:
            os.kill(kernel.pid, signal.SIGCONT)
        reply = answer.result(BOUND_S).structured_content
    assert "its process has been stopped for" in heard[0][2]
    assert reply["ok"]
    assert "age_s" not in reply


# --- C code holds the interpreter lock


@pytest.mark.full
def test_an_agent_is_given_the_last_known_registry_while_c_code_holds_the_lock(
    start_own_kernel, connect, story, marks, until, folder
):
    kernel = start_own_kernel(story)
    heard = []
    with connect("--kernel", kernel.path) as agent:
        known = agent.ask("list_stories")
        kernel.cell(HOLD)
        (folder / "go").touch()
        until((folder / "held").exists, "the call into C")
        ran = agent.start("run_variant", on_progress=heard.append, variant_id=SHORT)
        result = agent.call("list_stories")
        while "age_s" not in result.structured_content:
            assert not ran.done()
            result = agent.call("list_stories")
        status = agent.ask("kernel_status")["result"]
        (folder / "gate").write_text("")
        late = ran.result(BOUND_S).structured_content
        fresh = agent.ask("list_stories")
    reply = result.structured_content
    assert reply["result"] == known["result"]
    assert reply["age_s"] > 0.0
    for text in (reply["notifications"][0], result.content[0].text):
        assert "s old: its threads have waited for the interpreter lock for " in text
    assert f'"age_s":{reply["age_s"]}' in result.content[0].text
    assert (status["alive"], status["state"]) == (True, "gil_held")
    assert heard[0][2].startswith("waiting: the kernel is alive, but its threads have waited ")
    assert late["result"]["status"] == "pass"
    assert (fresh["ok"], "age_s" in fresh) == (True, False)
    assert marks("once") == ["began"]


# --- the client goes away


SHAKE_HANDS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def test_a_client_that_goes_away_takes_its_run_with_it_and_leaves_the_kernel_in_order(
    start_own_kernel, dial, story, marks, until
):
    kernel = start_own_kernel(story)
    kernel.cell("before = 1")
    with dial("--kernel", kernel.path) as wire:
        wire.ask("initialize", SHAKE_HANDS, "hello")
        wire.send("notifications/initialized")
        wire.send("tools/call", {"name": "run_variant", "arguments": run("left")}, 7)
        until(lambda: marks("left"), "the run's mark")
        start = time.monotonic()
        assert wire.hang_up() == 0
        assert time.monotonic() - start < AT_ONCE_S
        until(lambda: marks("left")[1:], "the end of the run")
    assert marks("left") == ["began", "RunStopped"]
    assert kernel.cell("print(before)") == "1\n"
    counts = kernel.run("before")
    assert (counts.value, counts.error) == ("1", None)
