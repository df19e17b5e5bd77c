"""Workers through the real server: kernels that it starts for an agent, and that end with it."""

import json
import os
import signal

import psutil
import pytest
from bounds import BOUND_S
from mcp import MCPError
from serving import bounded

SETUP = """
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.op_base.approval_rows import preview_call
import repl_pair
repl_pair.story("shop.sum", component=lambda: 1)
persons = 1
"""
OPTIONS = ("--allow", "eval,inspect", "--toolsets", "manage")
DOUBLER = "print('ready')\ndef double(x):\n    return 2 * x"
IN_ORDER = """
from repl_pair.bridge.background import scrubbed
scrubbed.ORDER_S = 60  # how long a print waits for what others wrote before
"""
LOOP = f"""{IN_ORDER}
import os, time
n = 0
os.system("echo from below")
print("looping")
while True:
    n += 1
    time.sleep(0.01)
"""
BECOMES_ANOTHER_PROGRAM = """
import os, subprocess, sys
slept = subprocess.Popen(["sleep", "60"])
print(slept.pid, flush=True)
os.execvp("sleep", ["sleep", "60"])
"""
HOLDS_THE_INTERPRETER = """
import subprocess
print(subprocess.Popen(["sleep", "600"]).pid)
sum(range(10**15))
"""
MODULE = "repl_pair.bridge.background.worker"
OF_WORKERS = ("list_workers", "register_worker", "stop_worker")


@pytest.fixture(scope="module")
def agent(kernel, connect, tmp_path_factory):
    """An agent of the person's kernel, which holds it."""
    program = bounded(MODULE, END_S=BOUND_S)
    with connect("--kernel", kernel.path, *OPTIONS, program=program) as agent:
        assert agent.ask("list_stories")["ok"]
        yield agent


@pytest.fixture(scope="module")
def patient(kernel, connect):
    """An agent whose workers must live as long as no code here does."""
    program = bounded(MODULE, ALIVE_S=BOUND_S)
    with connect("--kernel", kernel.path, *OPTIONS, program=program) as agent:
        yield agent


SUSPENDED = f"""
import threading
import psutil
import {MODULE} as module
class Line(module.Line):
    def send(self, kind, *args, **slots):
        for process in psutil.Process().children() if kind == "execute_request" else ():
            process.suspend()
            threading.Timer(1.0, process.resume).start()
        return super().send(kind, *args, **slots)
module.Line = Line
from repl_pair.__main__ import main
main()
"""
"""A server whose workers get no time for a second as their code arrives."""


@pytest.fixture(scope="module")
def doubler(agent):
    """A worker whose code has ended, and whose function stays."""
    return start(agent, DOUBLER, name="doubler")


def start(agent, code, **named):
    reply = agent.ask("register_worker", code=code, **named)
    assert reply["ok"], reply
    return reply["result"]


def line_of(agent, worker):
    items = agent.ask("list_workers")["result"]["items"]
    return next((item for item in items if item["worker"] == worker["worker"]), None)


def lives(pid):
    """Return whether a process runs; one that only waits for its parent does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def evaluate(agent, code, kernel):
    return agent.ask("eval_code", code=code, kernel=kernel)


# --- what it is


def test_a_worker_keeps_what_its_code_made_and_calls_reach_it_by_name(agent, doubler):
    for name in (doubler["kernel"], "doubler", doubler["pid"]):
        reply = evaluate(agent, "double(21)", name)
        assert (reply["result"]["value"], reply["kernel"]["id"]) == (42, doubler["kernel"])
    variables = agent.ask("list_variables", kernel=doubler["kernel"])["result"]["items"]
    assert "persons" not in [item["id"] for item in variables]
    listed = line_of(agent, doubler)
    assert (listed["name"], listed["alive"], listed["log"]) == ("doubler", True, "ready\n")


def test_a_worker_is_listed_and_never_taken_for_a_kernel_that_was_not_named(agent, doubler, kernel):
    found = {item["id"]: item for item in agent.ask("list_kernels")["result"]["items"]}
    assert set(found) >= {kernel.id, doubler["kernel"]}
    own = found[doubler["kernel"]]
    assert (own["name"], own["front_end"], own["attached"]) == ("doubler", "worker", True)
    assert agent.ask("list_stories")["kernel"]["id"] == kernel.id
    assert evaluate(agent, "persons", None)["result"]["value"] == 1


def test_code_that_never_ends_is_read_while_it_runs_and_stopped(agent, until):
    worker = start(agent, LOOP)
    until(lambda: line_of(agent, worker)["log"] == "from below\nlooping\n", "its output")
    status = agent.ask("kernel_status", kernel=worker["kernel"])["result"]
    assert (status["busy"], status["pid"]) == (True, worker["pid"])
    (n,) = agent.ask("list_variables", kernel=worker["kernel"])["result"]["items"]
    assert n == {"id": "n", "type": "int"}
    stopped = agent.ask("stop_worker", worker=worker["worker"])["result"]
    assert (stopped["alive"], stopped["exit_code"]) == (False, -signal.SIGTERM)
    assert stopped["log"] == "from below\nlooping\n"
    assert not lives(worker["pid"])
    assert line_of(agent, worker) is None
    assert agent.ask("stop_worker", worker=worker["worker"])["error"]["code"] == "not_found"
    assert evaluate(agent, "1", worker["kernel"])["error"]["code"] == "no_kernel"


def test_a_worker_that_ends_later_is_listed_with_its_last_output_and_answers_as_gone(agent, until):
    code = """
import os, threading
fall = threading.Event()
def end():
    fall.wait()
    print("fell")
    os.kill(os.getpid(), 9)
threading.Thread(target=end).start()
"""
    worker = start(agent, code)
    cut_off = evaluate(agent, "fall.set(); threading.Event().wait()", worker["kernel"])
    assert cut_off["error"]["code"] == "outcome_unknown"
    listed = until(lambda: not (line := line_of(agent, worker))["alive"] and line, "its end")
    assert listed["exit_code"] == -9
    until(lambda: line_of(agent, worker)["log"].endswith("fell\n"), "its last output")
    assert evaluate(agent, "1", worker["kernel"])["error"]["code"] == "kernel_gone"
    assert agent.ask("list_stories")["ok"]
    assert agent.ask("stop_worker", worker=worker["worker"])["result"]["exit_code"] == -9


WRITERS = {
    "descriptor": "os.write(2, line)",
    "buffer": "sys.stdout.buffer.write(line); sys.stdout.flush()",
    "started": "subprocess.run(['echo', line.decode().rstrip()])",
    "forked": "os.fork() or (os.write(1, line), os._exit(0)); os.wait()",
    "original": "print(line.decode(), end='', file=sys.__stdout__)",
}


def test_whatever_writes_to_the_output_of_a_worker_its_secrets_are_not_in_the_log(agent, until):
    code = f"""{IN_ORDER}
import os, subprocess, sys
api_token = "-".join(["q7Gw" * 3, "Zk2x" * 3])
line = b"has " + api_token.encode() + b".\\n"
"""
    for writer, statement in WRITERS.items():
        code += f"print('before {writer}'); {statement}; print('after {writer}')\n"
    worker = start(agent, code)
    log = until(lambda: "after original" in (log := line_of(agent, worker)["log"]) and log, "it")
    assert "q7Gw" not in log
    assert "Zk2x" not in log
    lines = log.splitlines()
    assert lines[0::3] == [f"before {writer}" for writer in WRITERS]
    assert lines[2::3] == [f"after {writer}" for writer in WRITERS]
    assert set(lines[1::3]) == {"has [redacted]."}
    agent.ask("stop_worker", worker=worker["worker"])


def test_a_secret_that_stands_in_a_line_of_any_length_is_not_in_the_log(agent, until):
    # The cut of a line that is as long as what is kept of one would be inside the secret.
    code = """
api_token = "-".join(["q7Gw" * 3, "Zk2x" * 3])
print("row " * (65_536 // 4 - 3) + "has " + api_token[:10], end="")
print(api_token[10:])
"""
    worker = start(agent, code)
    log = until(lambda: (log := line_of(agent, worker)["log"]).endswith("\n") and log, "it")
    assert log.endswith("row has [redacted]\n")
    agent.ask("stop_worker", worker=worker["worker"])


def test_output_whose_search_fails_is_left_out_and_what_follows_is_read(agent, until):
    code = """
import subprocess
from repl_pair.bridge.background import scrubbed
hide_secrets = scrubbed.hide_secrets
def fail(text):
    scrubbed.hide_secrets = hide_secrets
    raise KeyError(text)
scrubbed.hide_secrets = fail
subprocess.run(["echo", "lost"])
while scrubbed.hide_secrets is fail:
    pass
subprocess.run(["echo", "found"])
"""
    worker = start(agent, code)
    log = until(lambda: "found" in (log := line_of(agent, worker)["log"]) and log, "what follows")
    lost = "[5 bytes left out: KeyError while secrets were looked for in them]"
    assert log.splitlines() == [lost, "found"]
    agent.ask("stop_worker", worker=worker["worker"])


def test_a_worker_must_live_from_the_begin_of_its_code_on(kernel, connect):
    program = ("-c", SUSPENDED, "mcp")
    with connect("--kernel", kernel.path, *OPTIONS, program=program) as agent:
        assert agent.ask("register_worker", code="1 / 0")["error"]["code"] == "worker_failed"


def test_a_worker_whose_child_never_stops_writing_ends_when_its_code_raises(patient):
    code = "import subprocess\nsubprocess.Popen(['yes', 'on'])\nraise ValueError"
    error = patient.ask("register_worker", code=code)["error"]
    assert (error["code"], error["detail"]["exit_code"]) == ("worker_failed", 1)


def test_what_a_worker_forked_writes_to_the_log_and_to_no_file_of_its_own(agent, until, tmp_path):
    code = f"""
import os
if not os.fork():
    os.closerange(3, 256)
    files = [open(f"{tmp_path}/{{number}}", "w") for number in range(40)]
    print("a line of the log")
    os._exit(0)
os.wait()
"""
    worker = start(agent, code)
    until(lambda: line_of(agent, worker)["log"] == "a line of the log\n", "its line")
    assert {file.read_text() for file in tmp_path.iterdir()} == {""}
    agent.ask("stop_worker", worker=worker["worker"])


def test_what_a_worker_forked_does_not_wait_for_a_worker_that_is_gone(patient, until, tmp_path):
    code = f"""
import os, pathlib, time
parent = os.getpid()
if os.fork():
    os._exit(3)
os.setsid()
try:
    while os.getppid() == parent:
        time.sleep(0.01)
    print("alone")
    os.write(1, b"x" * 10**7)
finally:
    pathlib.Path({str(tmp_path / "done")!r}).touch()
    os._exit(0)
"""
    assert patient.ask("register_worker", code=code)["error"]["detail"]["exit_code"] == 3
    until((tmp_path / "done").exists, "the end of what it forked")


def test_the_output_of_a_worker_that_crashes_shows_where(patient):
    code = "import ctypes\ndef fall():\n    ctypes.string_at(0)\nfall()"
    error = patient.ask("register_worker", code=code)["error"]
    assert error["detail"]["exit_code"] == -signal.SIGSEGV
    assert "line 3 in fall\n" in error["detail"]["log"]


# --- what is refused


def test_code_that_does_not_compile_starts_nothing(agent, doubler):
    before = psutil.Process(agent.record.pid).children()
    error = agent.ask("register_worker", code="x = 1\ndef f(:\n    pass")["error"]
    assert error["code"] == "bad_arguments"
    assert error["message"].splitlines()[1:] == [
        "SyntaxError: invalid syntax",
        "line 2:",
        "def f(:",
        "      ^",
    ]
    assert error["detail"]["error"]["line"] == 2
    refused = agent.ask("register_worker", code="!ls")["hints"]
    assert "subprocess.run" in refused[0]
    assert agent.ask("register_worker", code="1", name="a.ipynb")["error"]["code"] == (
        "bad_arguments"
    )
    assert psutil.Process(agent.record.pid).children() == before


@pytest.mark.parametrize(
    ("code", "status", "end"),
    [
        ("print('last')\nimport os; os._exit(3)", 3, "last\n"),
        ("def f(x):\n    return 1 / x\nf(0)", 1, "ZeroDivisionError: division by zero\n"),
        ("import sys; print('bye', end=''); sys.exit(4)", 4, "bye"),
    ],
)
def test_code_that_ends_at_once_is_refused_with_its_output(patient, code, status, end):
    before = patient.ask("list_workers")["result"]["total"]
    error = patient.ask("register_worker", code=code)["error"]
    assert (error["code"], error["detail"]["exit_code"]) == ("worker_failed", status)
    assert error["detail"]["log"].endswith(end)
    assert "interactiveshell" not in error["message"]
    assert patient.ask("list_workers")["result"]["total"] == before


def test_a_caller_that_goes_away_meanwhile_leaves_no_process(agent, until):
    server = psutil.Process(agent.record.pid)
    before = server.children()
    call = agent.start("register_worker", code=LOOP)
    until(lambda: server.children() != before, "the process")
    call.cancel()
    until(lambda: server.children() == before, "its end")
    assert agent.ask("list_workers")["ok"]


# --- whose it is


def test_another_session_has_no_worker_and_takes_none_for_a_kernel(agent, doubler, connect, kernel):
    with connect(*OPTIONS) as other:
        own = start(other, "mine = 1")
        assert other.ask("list_stories")["kernel"]["id"] == kernel.id
        listed = other.ask("list_workers")["result"]["items"]
        assert [item["worker"] for item in listed] == [own["worker"]]
        found = other.ask("list_kernels")["result"]["items"]
        assert {item["id"] for item in found} == {kernel.id, own["kernel"]}
        for name in (doubler["kernel"], doubler["pid"], "doubler"):
            assert evaluate(other, "1", name)["error"]["code"] == "no_kernel"
        refused = [
            other.ask("stop_worker", worker=worker) for worker in (doubler["worker"], "0" * 12)
        ]
        texts = [json.dumps(each).replace(doubler["worker"], "0" * 12) for each in refused]
        assert texts[0] == texts[1]
    assert line_of(agent, doubler)["alive"]


def test_without_the_gate_there_is_no_op_that_starts_one(connect, kernel):
    with connect("--kernel", kernel.path, "--toolsets", "manage") as agent:
        assert {*OF_WORKERS} & {tool.name for tool in agent.tools()} == {"list_workers"}
        for op in ("register_worker", "stop_worker"):
            with pytest.raises(MCPError, match=f"Unknown tool: {op}"):
                agent.call(op, code="1")
            assert agent.ask("describe_op", op=op)["error"]["code"] == "not_found"


def test_the_person_is_not_asked_for_what_can_only_be_refused(connect, kernel):
    with connect("--kernel", kernel.path, "--ask", "eval", "--toolsets", "manage") as agent:
        for op, args, code in (
            ("register_worker", {"code": "f(:"}, "bad_arguments"),
            ("register_worker", {"code": "1", "name": "a.ipynb"}, "bad_arguments"),
            ("stop_worker", {"worker": "0" * 12}, "not_found"),
        ):
            assert agent.ask(op, **args)["error"]["code"] == code
        assert kernel.cell("print(QUEUE.pending())") == "[]\n"


@pytest.mark.full
def test_the_person_approves_the_code_as_code_in_their_kernel(connect, kernel, until):
    show = "print([(p['kind'], p['text']) for p in map(preview_call, QUEUE.pending())])"
    with connect("--kernel", kernel.path, "--ask", "eval", "--toolsets", "manage") as agent:
        call = agent.start("register_worker", code=DOUBLER)
        shown = str([("code", DOUBLER)]) + "\n"
        until(lambda: kernel.cell(show) == shown, "the question")
        assert agent.ask("list_workers")["result"]["total"] == 0
        kernel.cell("[one] = QUEUE.pending(); QUEUE.answer(one.handle, 'once')")
        worker = call.result(timeout=BOUND_S).structured_content["result"]
        refused = evaluate(agent, "double(1)", worker["kernel"])
        assert refused["error"]["code"] == "approval_unavailable"
    assert not lives(worker["pid"])


# --- its end


@pytest.mark.parametrize(
    ("code", "is_killed"),
    [
        pytest.param(LOOP, False, marks=pytest.mark.full),
        (HOLDS_THE_INTERPRETER, True),
        (BECOMES_ANOTHER_PROGRAM, True),
    ],
    ids=["ends", "is killed", "is killed, and the worker is another program"],
)
def test_a_worker_ends_with_its_server(
    code, is_killed, connect, kernel, until, tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with connect("--kernel", kernel.path, *OPTIONS) as agent:
        worker = start(agent, code)
        assert len(list(tmp_path.iterdir())) == 1
        if is_killed:
            started = int(until(lambda: line_of(agent, worker)["log"], "what it started"))
            os.kill(agent.record.pid, signal.SIGKILL)
            until(lambda: not lives(worker["pid"]), "its end")
            until(lambda: not lives(started), "the end of what it started")
    assert not lives(worker["pid"])
    if not is_killed:
        assert list(tmp_path.iterdir()) == []


def test_what_a_worker_has_started_ends_with_one_that_ended_by_itself(agent, patient, until):
    ends = "import os, subprocess; print(subprocess.Popen(['sleep', '3600']).pid, flush=True)\n"
    refused = patient.ask("register_worker", code=f"{ends}os._exit(3)")["error"]["detail"]
    assert refused["exit_code"] == 3
    until(lambda: not lives(int(refused["log"])), "the end of what it started")
    worker = start(agent, ends)
    started = int(until(lambda: line_of(agent, worker)["log"], "what it started"))
    evaluate(agent, "os.kill(os.getpid(), 9)", worker["kernel"])
    until(lambda: not lives(started), "the end of what it started")
    assert agent.ask("stop_worker", worker=worker["worker"])["result"]["exit_code"] == -9


def test_code_in_a_worker_that_waits_for_any_child_finds_its_own_only(agent):
    code = "import os\ntry: os.wait()\nexcept ChildProcessError: alone = True"
    worker = start(agent, code)
    assert evaluate(agent, "alone", worker["kernel"])["result"]["value"] is True
