"""Calls that wait for the person, through the real server: nothing runs before they approve."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from concurrent.futures import CancelledError

import pytest
from bounds import BOUND_S
from jupyter_client.manager import KernelManager
from mcp.shared.exceptions import MCPError

from repl_pair.bridge import manifest
from repl_pair.errors import next_step
from repl_pair.runtime.op_base.table import MAX_WAIT_S

SETUP = """
import repl_pair
from repl_pair.runtime.clients.activity import LOG
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.op_base.approval_rows import preview_call
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.store import PERSON_STORE

@repl_pair.story("shop.total", tags=["test"])
def total(count: int = 2) -> int:
    return count
repl_pair.variant("shop.total/Two")
config = {"plain": "plain-config", "password": "Jx3fDs9Lm6RbVk1P"}

def tags():
    print([id for id in REGISTRY.ids("tag") if id.startswith("t_")])
def answer(word, reason=""):
    [one] = QUEUE.pending()
    QUEUE.answer(one.handle, word, reason)
"""
RESET = """
repl_pair.resume()
repl_pair.undo_agent()
for one in QUEUE.pending():
    QUEUE.answer(one.handle, "deny")
for one in QUEUE.grants():
    QUEUE.withdraw_grant(one.handle)
"""
READ = "read_approval"
TOKEN = "Zq7kW2mXv9LbT4nRp6Ys"


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP, PAYMENTS_API_TOKEN=TOKEN)


@pytest.fixture(scope="module")
def open_agent(kernel, connect):
    """Opens agents of this kernel: `with open_agent(wait_s=…, expires_s=…) as agent:`."""

    def begin(*, ask="write,inspect", wait_s=20, expires_s=600):
        options = ("--ask", ask, "--ask-wait", wait_s, "--ask-expire", expires_s)
        return connect("--kernel", kernel.path, *options)

    return begin


@pytest.fixture(scope="module")
def agent(open_agent):
    """An agent whose calls do not wait for the person: it reads on."""
    with open_agent(wait_s=0) as agent:
        yield agent


@pytest.fixture(scope="module")
def patient(open_agent):
    """An agent whose calls wait for the person."""
    with open_agent() as agent:
        yield agent


@pytest.fixture
def pair(kernel):
    """Runs a command of the person's, in a process of its own; gives what it printed."""

    def run(*words, kernel=kernel, fails=False):
        ran = subprocess.run(
            [sys.executable, "-m", "repl_pair", *words, "--kernel", str(kernel.path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )
        assert (ran.returncode != 0) == fails, ran.stderr
        return ran.stderr if fails else ran.stdout

    return run


class Terminal:
    """A terminal of 8 lines with one command in it; its pager gives all that it gets."""

    def __init__(self, words):
        self.own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 8, 40, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "repl_pair", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "NO_COLOR": "1", "PAGER": "cat", "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = b""

    def read_until(self, end):
        while end.encode() not in self.seen:
            assert self._read(), self.seen
        return self.seen.decode()

    def read_to_end(self):
        while self._read():
            pass
        self.process.wait(BOUND_S)
        return self.seen.decode()

    def _read(self):
        assert select.select([self.own], [], [], 60)[0], self.seen
        try:
            read = os.read(self.own, 65_536)
        except OSError:  # the command has ended
            return b""
        self.seen += read
        return read

    def write(self, text):
        self.seen = b""
        os.write(self.own, text.encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.own)


@pytest.fixture
def on_terminal(kernel):
    """Runs a command of the person's in a terminal: `with on_terminal("approvals") as t:`."""
    return lambda *words: Terminal([*words, "--kernel", str(kernel.path)])


@pytest.fixture(autouse=True)
def as_before(kernel):
    yield
    kernel.cell(RESET)


def register(agent, tag, **slots):
    return agent.ask("register_tag", tag_id=tag, body={"doc": f"doc of {tag}"}, **slots)


def start_registering(agent, tag):
    return agent.start("register_tag", tag_id=tag, body={"doc": f"doc of {tag}"})


def answer_of(future):
    return future.result(timeout=BOUND_S).structured_content


def code_of(reply):
    return reply["error"]["code"]


def pending(kernel, until, count=1):
    """Wait until so many calls wait for the person."""
    shown = "print(len(QUEUE.pending()))"
    until(lambda: kernel.cell(shown) == f"{count}\n", f"{count} calls that wait for the person")


def tags(kernel):
    return kernel.cell("tags()").strip()


def test_what_is_granted_in_time_is_answered_as_ever_and_ran_only_then(kernel, patient, until):
    call = start_registering(patient, "t_granted")
    pending(kernel, until)
    assert tags(kernel) == "[]"
    assert not call.done()
    kernel.cell("answer('once')")
    reply = answer_of(call)
    assert reply["ok"], str(reply)
    assert reply["result"]["id"] == "t_granted"
    assert tags(kernel) == "['t_granted']"
    assert kernel.cell("print([a.state for a in PERSON_STORE.snapshot('approvals').values()])") == (
        "['used']\n"
    )


def test_what_is_denied_states_why_and_nothing_ran(kernel, patient, until):
    call = start_registering(patient, "t_denied")
    pending(kernel, until)
    kernel.cell("answer('deny', 'there is a tag for that: slow')")
    reply = answer_of(call)
    assert code_of(reply) == "approval_denied"
    assert "there is a tag for that: slow" in reply["error"]["message"]
    assert reply["error"]["detail"]["reason"] == "there is a tag for that: slow"
    assert tags(kernel) == "[]"


def test_behind_the_wait_the_answer_is_read_by_its_handle_once_there_is_one(kernel, agent):
    reply = register(agent, "t_later")
    assert code_of(reply) == "approval_pending"
    handle = reply["error"]["detail"]["handle"]
    assert 590 <= reply["error"]["detail"]["expires_in_s"] <= 600
    assert reply["next_steps"] == [next_step("read_approval", handle=handle)]
    assert f"repl-pair approve {handle} --kernel {kernel.id}" in reply["error"]["message"]
    assert code_of(agent.ask(READ, handle=handle, wait_s=0)) == "approval_pending"
    assert tags(kernel) == "[]"
    waiting = agent.start(READ, handle=handle)
    kernel.cell("answer('once')")
    read = answer_of(waiting)
    assert read["result"]["id"] == "t_later"
    assert agent.ask(READ, handle=handle)["result"] == read["result"]
    assert tags(kernel) == "['t_later']"
    assert agent.ask("run_op", op=READ, args={"handle": handle})["result"] == read["result"]


def test_it_runs_when_it_is_approved_though_nobody_reads(kernel, agent, until):
    handle = register(agent, "t_unread")["error"]["detail"]["handle"]
    kernel.cell("answer('once')")
    until(lambda: tags(kernel) == "['t_unread']", "the approved call")
    assert agent.ask(READ, handle=handle)["ok"]


@pytest.mark.full
def test_progress_of_a_call_that_no_one_waits_for_ends_no_connection(kernel, agent, until):
    asked = {"variant_id": "shop.total/Two", "new_variant_id": "shop.total/Recorded"}
    reply = agent.ask("record_as_variant", **asked, duration_ms=0, write_back=True)
    assert code_of(reply) == "approval_pending"
    kernel.cell("answer('once')")
    states = "print([a.state for a in PERSON_STORE.snapshot('approvals').values()][-1])"
    until(lambda: kernel.cell(states) == "used\n", "the approved call")
    handle = reply["error"]["detail"]["handle"]
    assert agent.ask(READ, handle=handle)["result"]["count"] == 0
    assert agent.ask("list_stories")["ok"]


def test_what_nobody_answers_expires_and_never_runs(kernel, open_agent):
    with open_agent(wait_s=0, expires_s=0.3) as agent:
        handle = register(agent, "t_late")["error"]["detail"]["handle"]
        reply = agent.ask(READ, handle=handle)
        assert code_of(reply) == "approval_expired"
        assert "asked anew" in reply["hints"][0]
        late = kernel.cell(
            f"try:\n    QUEUE.answer({handle!r}, 'once')\n"
            "except repl_pair.ReplPairError as error:\n    print(error.code)"
        )
        assert late == "approval_expired\n"
    assert tags(kernel) == "[]"


def test_for_the_session_later_calls_of_that_op_run_at_once(kernel, patient, agent, until):
    call = start_registering(patient, "t_one")
    pending(kernel, until)
    kernel.cell("answer('session')")
    assert answer_of(call)["ok"]
    assert register(patient, "t_two")["ok"]
    assert code_of(register(agent, "t_three")) == "approval_pending"
    kernel.cell("answer('deny')")
    kernel.cell("[one] = QUEUE.grants(); QUEUE.withdraw_grant(one.handle)")
    call = start_registering(patient, "t_four")
    pending(kernel, until)
    assert tags(kernel) == "['t_one', 't_two']"
    kernel.cell("answer('deny')")
    assert code_of(answer_of(call)) == "approval_denied"


def test_a_parameter_that_is_asked_for_goes_the_same_way(kernel, open_agent, until):
    with open_agent(ask="inspect") as agent:
        assert agent.ask("list_variables")["ok"]
        call = agent.start("list_variables", values=True)
        pending(kernel, until)
        kernel.cell("answer('once')")
        items = {item["id"]: item for item in answer_of(call)["result"]["items"]}
        assert items["config"]["value"]["plain"] == "plain-config"
        assert items["config"]["value"]["password"] == "[redacted]"


def test_what_an_agent_asked_goes_with_it(kernel, open_agent, patient, until):
    with open_agent(wait_s=0) as agent:
        assert patient.ask("list_stories")["ok"]
        register(agent, "t_gone")
        pending(kernel, until)
        assert agent.ask("run_op", op="detach_kernel")["result"]["detached"]
        pending(kernel, until, 0)
        handle = register(agent, "t_gone")["error"]["detail"]["handle"]
        assert code_of(agent.ask(READ, handle=handle, wait_s=0)) == "approval_pending"
        pending(kernel, until)
    pending(kernel, until, 0)
    assert tags(kernel) == "[]"


def test_a_cancelled_call_is_taken_back(kernel, patient, until):
    call = start_registering(patient, "t_cancelled")
    pending(kernel, until)
    call.cancel()
    with pytest.raises(CancelledError):
        call.result(timeout=BOUND_S)
    pending(kernel, until, 0)
    assert patient.ask("list_stories")["ok"]
    assert tags(kernel) == "[]"


def test_the_person_answers_from_a_terminal_while_their_cell_runs(
    kernel, agent, until, pair, tmp_path
):
    go = tmp_path / "go"
    handle = register(agent, "t_busy")["error"]["detail"]["handle"]
    cell = kernel.start(f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)")
    listed = pair("approvals")
    assert listed.startswith(f"{handle}  agent  register tag t_busy (write)\n")
    assert '+  "doc": "doc of t_busy"' in listed
    assert pair("approve", handle).split() == [handle, "register_tag", "approved"]
    assert agent.ask(READ, handle=handle)["result"]["id"] == "t_busy"
    second = register(agent, "t_no")["error"]["detail"]["handle"]
    assert pair("deny", second, "--reason", "enough tags").split()[-1] == "denied"
    assert "enough tags" in agent.ask(READ, handle=second)["error"]["message"]
    assert "approval_expired" in pair("approve", second, fails=True)
    assert "not_found" in pair("approve", "nosuchone", fails=True)
    third = register(agent, "t_third")["error"]["detail"]["handle"]
    pair("approve", third, "--session")
    assert agent.ask(READ, handle=third)["ok"]
    assert "approved for its session" in pair("approvals")
    pair("deny", third)
    assert pair("approvals") == ""
    go.touch()
    assert kernel.finish(cell).error is None
    assert tags(kernel) == "['t_busy', 't_third']"


def test_the_person_sees_real_values_and_their_terminal_none_that_is_secret(kernel, agent, pair):
    agent.ask("register_tag", tag_id="t_secret", body={"doc": f"plain {TOKEN}"})
    seen = kernel.cell("[one] = QUEUE.pending(); print(preview_call(one)['text'])")
    assert f'"doc": "plain {TOKEN}"' in seen
    listed = pair("approvals")
    assert '"doc": "plain [redacted]"' in listed
    assert TOKEN not in listed


def test_a_terminal_shows_a_call_whole_and_spelled_out_before_it_asks(
    kernel, agent, until, tmp_path, on_terminal
):
    hidden = "\u2028\x85\u3164\u2800\u115f\u034f\u202e"
    doc = f"begins{hidden} {'and goes on ' * 4_000} and ends{hidden}here"
    reply = agent.ask("register_tag", tag_id="t_long", body={"doc": doc})
    handle = reply["error"]["detail"]["handle"]
    with on_terminal("approvals") as terminal:
        listed = terminal.read_to_end()
    with on_terminal("approve", handle) as terminal:
        seen = terminal.read_until("[y/N]")
        terminal.write("n\n")
        assert "It still waits" in terminal.read_to_end()
    for shown in (listed, seen):
        text = "".join(shown.split())
        marks = "".join(f"<U+{ord(mark):04X}>" for mark in hidden)
        assert f"begins{marks}" in text
        assert f"andends{marks}here" in text
        assert text.count("andgoeson") == 4_000
        assert not set(hidden) & set(shown)
    assert tags(kernel) == "[]"
    with on_terminal("approve", handle) as terminal:
        terminal.read_until("[y/N]")
        terminal.write("y\n")
        assert "approved" in terminal.read_to_end()
    until(lambda: tags(kernel) == "['t_long']", "the approved call")


def test_a_terminal_approves_nothing_that_changed_since_it_showed_it(kernel, agent, on_terminal):
    handle = register(agent, "changed")["error"]["detail"]["handle"]
    with on_terminal("approve", handle) as terminal:
        terminal.read_until("[y/N]")
        kernel.cell("repl_pair.tag('changed', doc='mine')")
        terminal.write("y\n")
        assert "changed since it was shown" in " ".join(terminal.read_to_end().split())
    assert code_of(agent.ask(READ, handle=handle, wait_s=0)) == "approval_pending"


CODE = """import repl_pair
given = []
for n in range(40):
    given.append(n)  # line {n}
sum(given)"""


def test_code_is_shown_as_code_runs_once_when_it_is_approved_and_not_when_it_is_denied(
    kernel, open_agent, until, on_terminal
):
    code = CODE + "\u202e\r".join(["\n# hidden", "config"])
    with open_agent(ask="eval", wait_s=0) as agent:
        assert {"eval_code", READ} <= {tool.name for tool in agent.tools()}
        reply = agent.ask("eval_code", code=CODE, scope="user")
        assert code_of(reply) == "approval_pending"
        handle = reply["error"]["detail"]["handle"]
        listed = kernel.cell("one = QUEUE.pending()[0]; print(preview_call(one))")
        shown = {"kind": "code", "title": "run code in your namespace", "text": CODE}
        assert listed == f"{shown}\n"
        assert kernel.cell("print('given' in globals())") == "False\n"
        with on_terminal("approve", handle) as terminal:
            seen = terminal.read_until("[y/N]")
            terminal.write("y\n")
            assert "approved" in terminal.read_to_end()
        for line in CODE.splitlines():
            assert line in seen
        answer = agent.ask(READ, handle=handle, wait_s=20)
        assert answer["result"]["value"] == 780
        assert kernel.cell("print(len(given))") == "40\n"
        hidden = agent.ask("eval_code", code=code, timeout_s=2.5)["error"]["detail"]["handle"]
        text = kernel.cell("print(preview_call(QUEUE.pending()[0]))")
        assert "<U+202E><U+000D>config" in text
        assert "run code over a copy of your namespace, for up to 2.5 s" in text
        kernel.cell("answer('deny', 'no')")
        until(lambda: code_of(agent.ask(READ, handle=hidden)) == "approval_denied", "the denial")
        other = agent.ask("eval_code", code="given.clear()", scope="user")
        assert code_of(other) == "approval_pending"
        assert kernel.cell("print(len(given))") == "40\n"
        refused = agent.ask("eval_code", code="x" * 70_000)
        assert code_of(refused) == "bad_arguments"
        assert kernel.cell("print(len(QUEUE.pending()))") == "1\n"
        same = f"LOG.code_of(a.n) == {CODE!r}"
        log = kernel.cell(f"print([(a.state, {same}) for a in LOG.latest() if a.has_code])")
    assert log == "[('denied', False), ('ok', True)]\n"


def test_no_agent_answers_for_the_person(kernel, agent):
    handle = register(agent, "t_own")["error"]["detail"]["handle"]
    tries = [
        ("answer_approval", {"handle": handle, "answer": "once"}),
        ("answer_approval", {"handle": handle, "answer": "session"}),
        ("list_approvals", {}),
        ("pause_agents", {"on": False}),
        ("ask_approval", {"op": "register_tag", "args": {}}),
        ("await_approval", {"handle": handle}),
        ("withdraw_approval", {"handle": handle}),
    ]
    internal = {entry["name"] for entry in manifest.load() if entry.get("internal")}
    for op, args in tries:
        assert op in internal
        with pytest.raises(MCPError, match="Unknown tool"):
            agent.call(op, **args)
        assert code_of(agent.ask("run_op", op=op, args=args)) == "not_found"
        assert code_of(agent.ask("describe_op", op=op)) == "not_found"
    assert code_of(agent.ask(READ, handle=handle, wait_s=0)) == "approval_pending"
    assert tags(kernel) == "[]"


def test_another_agent_reads_nothing_of_what_waits(kernel, agent, patient):
    since = patient.ask("read_changes")["result"]["next"]
    handle = register(agent, "t_private")["error"]["detail"]["handle"]
    assert code_of(patient.ask(READ, handle=handle)) == "not_found"
    assert patient.ask("read_changes", since=since)["result"]["items"] == []
    kernel.cell("answer('deny', 'the reason is only for who asked')")
    assert code_of(agent.ask(READ, handle=handle)) == "approval_denied"
    assert code_of(patient.ask(READ, handle=handle)) == "not_found"
    assert b"t_private" not in patient.record.out
    assert b"the reason is only" not in patient.record.out


def test_reading_approvals_is_listed_where_something_is_asked_for(kernel, agent, connect):
    assert READ in {tool.name for tool in agent.tools()}
    with connect("--kernel", kernel.path) as usual:
        listed = usual.tools()
        assert READ not in {tool.name for tool in listed}
        assert len(listed) <= 16
        assert code_of(usual.ask(READ, handle="nosuchone")) == "not_found"


def test_while_paused_everything_is_refused_and_what_waits_goes_on_waiting(
    kernel, agent, until, pair
):
    handle = register(agent, "t_paused")["error"]["detail"]["handle"]
    pair("pause")
    for tool, args in (("list_stories", {}), ("run_variant", {"variant_id": "shop.total/Two"})):
        reply = agent.ask(tool, **args)
        assert code_of(reply) == "paused"
        assert "The person paused" in reply["error"]["message"]
    assert code_of(register(agent, "t_new")) == "paused"
    status = agent.ask("kernel_status")["result"]
    assert (status["alive"], status["code"]) == (True, "paused")
    kernel.cell("answer('once')")
    until(
        lambda: code_of(agent.ask(READ, handle=handle, wait_s=0)) == "paused",
        "the pause is heard of",
    )
    assert tags(kernel) == "[]"
    assert kernel.cell("%load_ext repl_pair\n%pair resume") == "Agents go on.\n"
    assert agent.ask(READ, handle=handle)["ok"]
    assert tags(kernel) == "['t_paused']"
    assert kernel.cell("%pair pause").startswith("Agents are paused")
    assert code_of(agent.ask("list_stories")) == "paused"
    assert "agents are paused" in kernel.cell("%pair status")


def test_what_waits_for_the_persons_cell_begins_or_answers_nothing_once_agents_are_paused(
    kernel, open_agent, until, pair, tmp_path
):
    go, reported = tmp_path / "go", []
    begun = "ran = []\n@repl_pair.story('shop.noted')\ndef noted():\n    ran.append('variant')\n"
    kernel.cell(begun + "repl_pair.variant('shop.noted/One')")
    wait = f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)"
    with open_agent(ask="write,eval", wait_s=0) as agent:
        since = agent.ask("read_changes")["result"]["next"]
        asked = agent.ask("eval_code", code="ran.append('eval')", scope="user")
        handle = asked["error"]["detail"]["handle"]
        cell = kernel.start(f"{wait}\nrepl_pair.tag('in_the_pause')")
        pair("approve", handle)
        changes = agent.start("read_changes", since=since, wait_s=MAX_WAIT_S)
        run = agent.start("run_variant", on_progress=reported.append, variant_id="shop.noted/One")
        until(lambda: reported, "the run waits for the cell")
        pair("pause")
        go.touch()
        kernel.finish(cell)
        for waiting in (run, changes):
            assert code_of(waiting.result(timeout=BOUND_S).structured_content) == "paused"
        assert kernel.cell("print(ran)") == "[]\n"
        pair("resume")
        assert agent.ask(READ, handle=handle)["ok"]
        assert kernel.cell("print(ran)") == "['eval']\n"


def test_what_agents_called_is_noted_for_the_person(kernel, agent):
    shown = "print([(a.op, a.state, a.approval) for a in reversed(LOG.latest({}))])"
    agent.call("list_stories")
    agent.call("get_story", story_id="no.such")
    handle = register(agent, "t_noted")["error"]["detail"]["handle"]
    kernel.cell("answer('once')")
    assert agent.call(READ, handle=handle).structured_content["ok"]
    assert kernel.cell(shown.format(3)) == (
        "[('list_stories', 'ok', None), ('get_story', 'not_found', None), "
        f"('register_tag', 'ok', {handle!r})]\n"
    )


def test_a_detach_withdraws_what_waits(kernel, agent, until):
    handle = register(agent, "t_detached")["error"]["detail"]["handle"]
    pending(kernel, until)
    try:
        kernel.cell("%load_ext repl_pair\n%pair detach")
        assert kernel.cell("print(QUEUE.pending())") == "[]\n"
        assert code_of(agent.ask(READ, handle=handle)) == "approval_expired"
        assert code_of(register(agent, "t_detached")) == "detached"
    finally:
        kernel.cell("%pair attach")
    assert tags(kernel) == "[]"


def test_an_agent_that_calls_nothing_between_a_detach_and_an_attach_is_attached_again(
    kernel, agent, until
):
    assert agent.ask("list_stories")["ok"]
    kernel.cell("%load_ext repl_pair\n%pair detach\n%pair attach")
    assert code_of(register(agent, "t_again")) == "approval_pending"
    pending(kernel, until)
    kernel.cell("answer('deny')")
    shown = kernel.cell("%pair status")
    assert "attached: " in shown, shown


@pytest.fixture
def managed(runtime, tmp_path):
    """A kernel under a manager, as front ends have it, that keeps its file over restarts."""
    manager = KernelManager(
        connection_file=str(runtime / "kernel-managed-approvals.json"), kernel_name="python3"
    )
    manager.start_kernel(cwd=str(tmp_path))
    yield manager
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


@pytest.mark.full
def test_a_restart_while_the_person_is_asked_ends_the_question(managed, connect):
    path = managed.connection_file
    options = ("--ask", "write", "--ask-wait", 0)
    with connect("--kernel", path, *options) as agent:
        reply = register(agent, "t_before")
        handle = reply["error"]["detail"]["handle"]
        waiting = agent.start(READ, handle=handle, wait_s=30)
        managed.restart_kernel(now=True)
        reply = answer_of(waiting)
        assert code_of(reply) == "approval_expired"
        assert "Nothing was run" in reply["error"]["message"]
        assert code_of(agent.ask(READ, handle=handle)) == "approval_expired"
        refused = register(agent, "t_after")
        assert code_of(refused) == "kernel_restarted"
        assert json.dumps(refused).count("t_before") == 0
