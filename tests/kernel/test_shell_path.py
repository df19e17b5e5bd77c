"""Kernels that take no handlers: everything goes on shell, in turn with the cells."""

import ast
import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jupyter_client.session
import pytest
import zmq
import zmq.asyncio
from bounds import BOUND_S, DEADLINE_S, PATIENT
from ports import write_connection_file
from waiting import eventually
from zmq.utils.monitor import recv_monitor_message

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.link.line import Line
from repl_pair.bridge.link.link import EVERYTHING
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
HIDE_LOCK = Path(__file__).with_name("hide_lock.py")
IN_A_CELL = "runs the person's cell, and this kernel answers only between cells"

STORY = """
import repl_pair
@repl_pair.story("slow", thread_safe=True)
def slow(path: str = "", sleep_s: float = 0.0):
    import time, pathlib
    if path: pathlib.Path(path).touch()
    time.sleep(sleep_s)
    return "done"
repl_pair.variant("slow/It")
del repl_pair, slow
"""
RUN = "slow/It"


@pytest.fixture
def start(start_kernel, runtime_dir, tmp_path):
    """Starts a kernel of one kind: `start("no lock" | "xeus" | "xeus raw" | "bash")`."""

    def start(kind):
        if kind == "no lock":
            return start_kernel(f"--IPKernelApp.exec_files=['{HIDE_LOCK}']")
        if kind == "bash":
            return start_kernel(module="bash_kernel")
        path, _ = write_connection_file(str(runtime_dir / "kernel-xeus.json"), key=b"key")
        raw = ["--raw"] if kind == "xeus raw" else []
        return start_kernel(*raw, module="xpython_launcher", path=Path(path))

    return start


@pytest.fixture(params=["no lock", "xeus"])
def kind(request):
    return request.param


on_xeus = pytest.mark.parametrize("kind", ["xeus"])


@pytest.fixture
def kernel(start, kind):
    return start(kind)


async def ask(link, op, bound_s=BOUND_S, on_progress=None, **args):
    return await link.request(op, args, view=AGENT, timeout_s=bound_s, on_progress=on_progress)


def run(link, **args):
    return asyncio.create_task(ask(link, "run_variant", variant_id=RUN, **args))


async def at_desk(fn, *args):
    return await asyncio.to_thread(fn, *args)


async def until_asked(link, count):
    """Wait until so many requests wait, one of them by a message in the kernel's queue."""

    def is_asked():
        return len(link._silence._waiting) == count and link.line.in_turn_since is not None

    await eventually(is_asked, what=f"{count} requests")


def cell_that_waits_for(gate):
    return f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n'mine'"


# --- which kernels


async def test_the_channel_of_a_kernel_is_always_shown(kernel, kind, runtime_dir):
    session = Session(Policy(), str(kernel.path))
    await session.call("list_stories")  # the first call brings the runtime, which takes its time
    lacks = "_main_asyncio_lock" if kind == "no lock" else "control_handlers, control_thread"
    status = (await session.call("kernel_status"))["result"]
    assert status["channel"] == "shell"
    assert f"lacks {lacks}" in status["why"]
    assert status["why"].endswith(": requests wait behind cells")
    (listed,) = (await session.call("list_kernels"))["result"]["items"]
    assert (listed["channel"], listed["why"]) == ("shell", status["why"])
    await session.close()
    doctor = [sys.executable, "-m", "repl_pair", "doctor"]
    stated = await at_desk(lambda: subprocess.run(doctor, capture_output=True, text=True).stdout)
    assert f"answers on shell ({status['why']})" in stated


async def test_a_kernel_that_takes_handlers_reports_it(start_kernel):
    session = Session(Policy(), str(start_kernel().path))
    await session.call("list_stories")
    status = (await session.call("kernel_status"))["result"]
    assert (status["channel"], "why" in status) == ("control", False)
    await session.close()


@pytest.mark.parametrize(
    ("kind", "why", "cell"),
    [
        ("xeus raw", "evaluates no expressions silently", "'unharmed'"),
        ("bash", "it runs bash, not Python", "printf unharmed"),
    ],
)
async def test_a_kernel_that_cannot_answer_is_refused_at_once_and_left_alone(
    kernel, sit_at, why, cell
):
    link, person = KernelLink(find_kernel(kernel.path)), await at_desk(sit_at, kernel)
    await at_desk(person.run, cell)
    before = time.monotonic()
    error = (await ask(link, "list_stories"))["error"]
    assert time.monotonic() - before < BOUND_S / 2
    assert error["code"] == "unsupported_kernel"
    assert why in error["message"]
    assert "such as ipykernel or xeus-python" in error["message"]
    ran = await at_desk(person.run, cell)
    assert "unharmed" in (ran.value or ran.text)
    assert ran.reply["execution_count"] == 2
    await link.close()


async def test_what_only_has_a_heartbeat_is_refused_in_time(runtime_dir):
    path, info = write_connection_file(str(runtime_dir / "kernel-mute.json"), key=b"key")
    context = zmq.asyncio.Context()
    sockets = {name: context.socket(zmq.ROUTER) for name in ("hb", "control", "shell", "iopub")}
    for name, socket in sockets.items():
        socket.bind(f"tcp://127.0.0.1:{info[f'{name}_port']}")
    beating = asyncio.create_task(_echo(sockets["hb"]))
    link = KernelLink(await at_desk(find_kernel, path))
    before = time.monotonic()
    error = (await ask(link, "list_stories"))["error"]
    assert time.monotonic() - before < BOUND_S / 2
    assert error["code"] == "unsupported_kernel"
    assert "nothing came on its control channel" in error["message"]
    await link.close()
    beating.cancel()
    context.destroy(linger=0)


async def test_a_message_that_the_kernel_missed_is_answered_once_a_client_connects(runtime_dir):
    _, info = write_connection_file(str(runtime_dir / "kernel-missing.json"), key=b"key")
    with zmq.asyncio.Context() as context, context.socket(zmq.ROUTER) as shell:
        connections = shell.get_monitor_socket(zmq.EVENT_ACCEPTED)
        shell.bind(f"tcp://127.0.0.1:{info['shell_port']}")
        line, session = Line(info), jupyter_client.session.Session(key=b"key")
        asking = line.ask("kernel_info_request", {}, answer="kernel_info_reply", channel="shell")
        asked = asyncio.create_task(asking)
        for _ in ("of the line", "to wake the kernel"):
            await asyncio.wait_for(recv_monitor_message(connections), BOUND_S)
        ident, frames = session.feed_identities(await shell.recv_multipart())
        reply = session.msg("kernel_info_reply", {"status": "ok"}, session.deserialize(frames))
        await shell.send_multipart(session.serialize(reply, ident))
        assert await asked == {"status": "ok"}
        line.close()
        connections.close()


async def _echo(socket):
    while True:
        await socket.send_multipart(await socket.recv_multipart())


# --- behind the person's cells


async def test_nothing_of_the_persons_shows_that_requests_were_answered(
    kernel, link, sit_at, tmp_path
):
    person = await at_desk(sit_at, kernel)
    await at_desk(person.run, STORY)
    await at_desk(person.run, HOOKS)
    assert (await ask(link, "ping"))["ok"]
    await at_desk(person.run, "'first'")
    await at_desk(person.run, "'second'")
    await at_desk(person.run, f"del seen[:]; {NAMES}")
    for _ in range(3):
        reply = await ask(link, "list_variables")
        assert reply["ok"], str(reply)
        assert (await ask(link, "run_variant", variant_id=RUN))["result"]["status"] == "pass"
    seen = await at_desk(person.run, "seen[:]")
    assert set(ast.literal_eval(seen.value)) == {"pre_execute", "post_execute of a cell"}
    assert ast.literal_eval(seen.value).count("pre_execute") == 1
    after = await at_desk(person.run, f"[_i, len(In), ___, {NAMES} == __]")
    assert ast.literal_eval(after.value) == ["seen[:]", 8, "second", True]
    assert after.reply["execution_count"] == 7


NAMES = "sorted(name for name in globals() if not name.startswith('_'))"
HOOKS = """
seen = []
def before(): seen.append("pre_execute")
def after():
    seen.append("post_execute of a cell" if get_ipython().kernel.get_parent()["header"]["username"]
                != "repl_pair" else "own post_execute")
get_ipython().events.register("pre_execute", before)
get_ipython().events.register("post_execute", after)
"""


async def test_requests_wait_for_the_cell_and_are_reported(kernel, link, sit_at, tmp_path):
    person, gate, mark = await at_desk(sit_at, kernel), tmp_path / "gate", tmp_path / "mark"
    await at_desk(person.run, STORY)
    assert (await ask(link, "list_stories"))["ok"]
    cell = await at_desk(person.start, cell_that_waits_for(gate))
    heard = []
    waits = asyncio.create_task(ask(link, "list_stories", on_progress=heard.append))
    given_up = await run(link, overrides={"path": str(mark)}, wait_s=0.3)
    assert given_up["result"]["status"] == "cannot_run"
    assert given_up["result"]["reason"] == f"not started within 0.3 s: the kernel {IN_A_CELL}"
    assert given_up["boot"] == link.boot

    async def is_reported():
        late = await ask(link, "list_variables", bound_s=0.8)
        assert late["error"]["code"] == "kernel_unresponsive"
        return f"it {IN_A_CELL}" in late["error"]["message"]

    await eventually(is_reported, what="an examination that a busy machine did not disturb")
    text = f"waiting: the kernel is alive, but it {IN_A_CELL}"
    await eventually(lambda: [p["message"] for p in heard].count(text) > 1, what="progress")
    assert not waits.done()
    gate.touch()
    ran = await at_desk(person.finish, cell)
    assert (ran.value, ran.text) == ("'mine'", "")
    assert (await waits)["result"]["total"] == 1
    assert (await run(link))["result"]["status"] == "pass"
    assert not mark.exists()


@on_xeus
async def test_what_is_cancelled_while_a_cell_runs_never_runs(kernel, link, sit_at, tmp_path):
    person, gate, mark = await at_desk(sit_at, kernel), tmp_path / "gate", tmp_path / "mark"
    await at_desk(person.run, STORY)
    assert (await ask(link, "list_stories"))["ok"]
    cell = await at_desk(person.start, cell_that_waits_for(gate))
    waiting = [run(link, overrides={"path": str(mark)}) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    gate.touch()
    await asyncio.wait(waiting)
    await at_desk(person.finish, cell)
    assert (await run(link))["result"]["status"] == "pass"
    assert not mark.exists()


@on_xeus
async def test_a_cell_that_fails_is_reported_though_an_execute_stands_behind_it(
    kernel, link, sit_at, tmp_path
):
    person, gate = await at_desk(sit_at, kernel), tmp_path / "gate"
    assert (await ask(link, "list_stories"))["ok"]
    for code, ends in ((f"{cell_that_waits_for(gate)}; 1 / 0", "error"), ("'mine'", "ok")):
        cell = await at_desk(person.start, code)
        await at_desk(person.send, "execute_request", {"code": "", "silent": True})
        gate.touch()
        ran = await at_desk(person.finish, cell)
        shown = {m["msg_type"] for m in ran.messages}
        assert (ran.reply["status"], "error" in shown) == (ends, ends == "error")
        status = "aborted"
        while status == "aborted":  # what xeus takes in just after a cell that failed
            after = await at_desk(person.send, "execute_request", {"code": "", "silent": True})
            reply = await at_desk(person._next, person._shell, after)
            status = reply["content"]["status"]


@pytest.mark.parametrize(
    ("kind", "waits"),
    [("no lock", "time.sleep"), ("xeus", "time.sleep"), ("xeus", "await asyncio.sleep")],
)
async def test_a_cell_that_fails_fails_and_costs_a_waiting_request_nothing(
    kernel, link, sit_at, tmp_path, waits
):
    person, gate = await at_desk(sit_at, kernel), tmp_path / "gate"
    await at_desk(person.run, STORY)
    assert (await ask(link, "list_stories"))["ok"]
    code = cell_that_waits_for(gate).replace("time.sleep", waits)
    cell = await at_desk(person.start, f"import asyncio\n{code}; 1 / 0")
    waiting = [run(link), asyncio.create_task(ask(link, "list_stories"))]
    await until_asked(link, len(waiting))
    gate.touch()
    assert (await at_desk(person.finish, cell)).reply["status"] == "error"
    assert [(await reply)["ok"] for reply in waiting] == [True, True]


async def test_the_output_of_the_persons_threads_stays_where_it_was(start, sit_at, tmp_path):
    kernel, gate = start("no lock"), tmp_path / "gate"
    person, link = await at_desk(sit_at, kernel), KernelLink(find_kernel(kernel.path))
    assert (await ask(link, "ping"))["ok"]
    cell = await at_desk(person.start, THREAD.format(gate=str(gate)))
    await at_desk(person.finish, cell)
    assert (await ask(link, "list_variables"))["ok"]
    gate.touch()
    stated = await at_desk(person._next, person._iopub, cell)
    assert stated["content"]["text"].startswith("may ask: True")
    await link.close()


THREAD = """
import os, threading, time
def say():
    while not os.path.exists({gate!r}): time.sleep(0.01)
    print("may ask:", get_ipython().kernel._allow_stdin)
threading.Thread(target=say).start()
"""


# --- runs


@on_xeus
async def test_a_run_that_outlasts_its_deadline_is_stopped_and_the_handler_given_back(
    kernel, link, sit_at
):
    person = await at_desk(sit_at, kernel)
    await at_desk(person.run, STORY + PATIENT)
    handler = "import ctypes; ctypes.pythonapi.PyOS_getsig(2), __import__('signal').getsignal(2)"
    before = (await at_desk(person.run, handler)).value
    answer = (await run(link, overrides={"sleep_s": 30.0}, timeout_s=DEADLINE_S))["result"]
    assert (answer["status"], answer["reason"]) == ("error", f"not done within {DEADLINE_S:g} s")
    assert (await at_desk(person.run, handler)).value == before


async def test_the_persons_stop_ends_an_agents_run(kernel, link, sit_at, tmp_path):
    person, mark = await at_desk(sit_at, kernel), tmp_path / "mark"
    await at_desk(person.run, STORY)
    running = run(link, overrides={"sleep_s": 30.0, "path": str(mark)})
    await eventually(mark.exists, what="the run")
    kernel.signal(signal.SIGINT)
    answer = (await running)["result"]
    assert (answer["status"], answer["reason"]) == ("cannot_run", "interrupted by the person")
    assert (await at_desk(person.run, "'unharmed'")).value == "'unharmed'"


async def test_a_cancel_reaches_a_run_where_the_kernel_executes_on_control(start, sit_at, tmp_path):
    kernel, mark = start("no lock"), tmp_path / "mark"
    person, link = await at_desk(sit_at, kernel), KernelLink(find_kernel(kernel.path))
    await at_desk(person.run, STORY)
    running = run(link, overrides={"sleep_s": 30.0, "path": str(mark)})
    await eventually(mark.exists, what="the run")
    running.cancel()
    await asyncio.wait({running})
    before = time.monotonic()
    assert (await at_desk(person.run, "'free'")).value == "'free'"
    assert time.monotonic() - before < 15.0
    await link.close()


@on_xeus
async def test_a_coroutine_that_cannot_be_stopped_gives_the_kernel_back_and_is_counted(
    kernel, link, sit_at, tmp_path
):
    person, gate = await at_desk(sit_at, kernel), tmp_path / "gate"
    await at_desk(person.run, INSISTS.format(gate=str(gate)))
    answer = await ask(link, "run_variant", variant_id="insists/It", timeout_s=DEADLINE_S)
    assert (answer["result"]["status"], answer["result"]["still_running"]) == ("error", True)
    assert (await at_desk(person.run, "'free'")).value == "'free'"
    assert (await ask(link, "ping"))["result"]["stuck"]["count"] == 1
    gate.touch()
    async with asyncio.timeout(BOUND_S):
        while "count" in (stuck := (await ask(link, "ping"))["result"].get("stuck", {})):
            await asyncio.sleep(0.02)
    assert stuck == {"ended_late": 1}


INSISTS = """
import os, time, repl_pair
@repl_pair.story("insists")
async def insists():
    while not os.path.exists({gate!r}):
        try: time.sleep(0.01)
        except BaseException: pass
repl_pair.variant("insists/It")
"""


@on_xeus
async def test_a_worker_goes_on_while_the_cells_run(kernel, link, sit_at, tmp_path):
    person, gate = await at_desk(sit_at, kernel), tmp_path / "gate"
    await at_desk(person.run, WORKS.format(gate=str(gate)))
    running = run(link, lane="worker")
    await eventually(gate.with_name("mark").exists, what="the run")
    assert (await at_desk(person.run, "'beside'")).value == "'beside'"
    assert not running.done()
    gate.touch()
    assert (await running)["result"]["status"] == "pass"


WORKS = """
import pathlib, time, repl_pair
@repl_pair.story("slow", thread_safe=True)
def slow():
    gate = pathlib.Path({gate!r})
    gate.with_name("mark").touch()
    while not gate.exists(): time.sleep(0.01)
repl_pair.variant("slow/It")
"""


@on_xeus
async def test_what_a_run_puts_out_stands_in_its_record_and_in_no_cell(kernel, link, sit_at):
    person = await at_desk(sit_at, kernel)
    await at_desk(person.run, NOISY)
    begun = await at_desk(person.start, "'mine'")
    assert (await at_desk(person.finish, begun)).value == "'mine'"
    answer = (await ask(link, "run_variant", variant_id="noisy/It"))["result"]
    assert answer["status"] == "pass", answer
    assert answer["stdout"] == "printed\n"
    assert answer["outputs"][0]["text/html"] == "<b>shown</b>"
    assert answer["warnings"] == ["UserWarning: warned"]
    assert set(await at_desk(drain, person)) == {"status"}


NOISY = """
import logging, sys, warnings, repl_pair
from repl_pair import check
from IPython.display import HTML, display
@repl_pair.story("noisy")
async def noisy():
    print("printed")
    sys.stderr.write("to stderr\\n")
    display(HTML("<b>shown</b>"))
    warnings.warn("warned")
repl_pair.variant("noisy/It", play=[check.path_equals("stdout", "printed\\n")])
"""


# --- events, lives, leaving


@pytest.mark.parametrize("kind", ["no lock"])
async def test_a_subscriber_is_notified_of_a_registration(kernel, link, sit_at):
    person, heard = await at_desk(sit_at, kernel), []
    undo = link.subscribe(heard.append)
    await eventually(lambda: heard, what="the subscription")
    await at_desk(person.run, STORY)
    await eventually(lambda: any(e.key == RUN for e in heard), what="the variant's event")
    shown = [(e.member, e.change, e.key) for e in heard]
    assert shown[0] == (EVERYTHING, "subscribed", None)
    assert shown.count(("registry/variant", "put", RUN)) == 1
    undo()
    count = len(heard)
    await at_desk(person.run, STORY.replace("slow", "other"))
    assert (await ask(link, "list_stories"))["result"]["total"] == 2
    assert len(heard) == count


async def test_a_kernel_that_is_not_listened_to_is_not_asked(start, sit_at):
    kernel = start("xeus")
    person, link = await at_desk(sit_at, kernel), KernelLink(find_kernel(kernel.path))
    heard = []
    undo = link.subscribe(heard.append)
    await eventually(lambda: heard, what="the subscription")
    await at_desk(drain, person)
    assert await at_desk(person._iopub.poll, BOUND_S * 1000)
    undo()
    assert (await ask(link, "ping"))["ok"]  # it comes after what the link had begun to ask
    await at_desk(drain, person)
    assert not await at_desk(person._iopub.poll, 2500)
    await link.close()


def drain(person):
    """Give the types of what the kernel puts out before it has taken an execute of the person."""
    heard, own = [], person.send("execute_request", {"code": "", "silent": True})
    while True:
        assert person._iopub.poll(BOUND_S * 1000), heard
        _, message = person._session.recv(person._iopub)
        if (message["parent_header"] or {}).get("msg_id") != own:
            heard.append(message["msg_type"])
        elif message["content"].get("execution_state") == "idle":
            return heard


@pytest.mark.unbound("bridge.link.attached_link.RESTART_S")
async def test_a_restart_is_reported_and_nothing_that_waited_runs_in_the_next_life(
    start, sit_at, tmp_path
):
    kernel, mark = start("xeus"), tmp_path / "mark"
    person, link = await at_desk(sit_at, kernel), KernelLink(find_kernel(kernel.path))
    await at_desk(person.run, STORY)
    assert (await ask(link, "list_stories"))["result"]["total"] == 1
    boot = link.boot
    await at_desk(person.start, "import time; time.sleep(30)")
    waiting = run(link, overrides={"path": str(mark)})
    reading = asyncio.create_task(ask(link, "list_stories"))
    await until_asked(link, 2)
    await at_desk(kernel.restart)
    assert (await waiting)["error"]["code"] == "outcome_unknown"
    read = await reading
    assert read["result"]["total"] == 0
    assert "restarted" in read["notifications"][0]
    assert link.boot not in (None, boot)
    successor = await at_desk(sit_at, kernel)
    await at_desk(successor.run, STORY)
    assert (await run(link))["result"]["status"] == "pass"
    assert not mark.exists()
    await link.close()


@pytest.mark.unbound("bridge.link.client.LEAVE_S")
async def test_leaving_while_a_cell_runs_fires_no_hook_and_lets_it_ask_its_person(start, sit_at):
    kernel = start("no lock")
    person, link = await at_desk(sit_at, kernel), KernelLink(find_kernel(kernel.path))
    await at_desk(person.run, HOOKS)
    assert (await ask(link, "ping"))["ok"]
    asking = "del seen[:]; import time; time.sleep(0.7); name = input('name? '); [name, *seen]"
    cell = await at_desk(person.start, asking)
    assert await link.leave() == {"detached": True, "remaining_clients": 0}
    await at_desk(person.answer_input, "Ann")
    assert (await at_desk(person.finish, cell)).value == "['Ann']"
    await link.close()


async def test_the_person_lets_agents_in_and_out_by_hand(start, sit_at):
    kernel = start("xeus")
    person, link = await at_desk(sit_at, kernel), KernelLink(find_kernel(kernel.path))
    stated = (await at_desk(person.run, "%load_ext repl_pair\n%pair attach")).text
    assert f"mcp --kernel {kernel.pid}" in stated
    assert (await ask(link, "list_stories"))["ok"]
    await at_desk(person.run, "%pair detach")
    error = (await ask(link, "list_stories"))["error"]
    assert error["code"] == "detached"
    await link.close()


@pytest.mark.unbound("bridge.link.client.LEAVE_S")
async def test_leaving_takes_out_what_was_put_in(kernel, link, sit_at):
    person = await at_desk(sit_at, kernel)
    await at_desk(person.run, STORY + "import repl_pair.runtime.kernel.shell_host, _ctypes")
    before = json.loads(ast.literal_eval((await at_desk(person.run, INVENTORY)).value))
    assert (await ask(link, "list_stories"))["ok"]
    during = json.loads(ast.literal_eval((await at_desk(person.run, INVENTORY)).value))
    assert (during["trigger"], during["callbacks"]) != (before["trigger"], before["callbacks"])
    assert await link.leave() == {"detached": True, "remaining_clients": 0}
    after = json.loads(ast.literal_eval((await at_desk(person.run, INVENTORY)).value))
    assert after == before


INVENTORY = """
import ctypes, json, logging, signal, sys, threading
json.dumps({
    "trigger": "trigger" in vars(get_ipython().events),
    "callbacks": {name: len(fns) for name, fns in get_ipython().events.callbacks.items()},
    "stdout": repr(sys.stdout), "write": repr(type(sys.stdout)), "hook": repr(sys.displayhook),
    "publish": repr(type(get_ipython().display_pub).publish),
    "logs": repr(logging.Logger.callHandlers),
    "threads": sorted(t.name for t in threading.enumerate()),
    "handler": repr(signal.getsignal(2)), "in_c": ctypes.pythonapi.PyOS_getsig(2),
})
"""
