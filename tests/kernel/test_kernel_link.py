import asyncio
import json
import shutil
import signal
import time

import pytest
import zmq.asyncio
from bounds import BOUND_S
from halting import halt
from waiting import eventually

from repl_pair.bridge.kernels.discovery import find_kernel, read_connection
from repl_pair.bridge.kernels.heartbeat import HEARTBEAT_S
from repl_pair.bridge.link.attached_link import RESTART_S
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.link.line import Line
from repl_pair.bridge.link.link import EVERYTHING
from repl_pair.wire import ATTACH, REPLY, REQUEST, View

from .conftest import HOLD, ROOT, WAITS

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
STORY = """
import repl_pair, pathlib, time
@repl_pair.story("demo.touch", args={"path": "", "sleep_s": 0.0})
def touch(path, sleep_s):
    print("touching")
    until = time.monotonic() + sleep_s
    while time.monotonic() < until:
        time.sleep(0.01)
    if path:
        with open(path, "a") as file:
            file.write("x")
    return path
repl_pair.variant("demo.touch/Once", args={})
del repl_pair, pathlib
"""
DEEP = """
class Deep:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "repl_pair":
            raise RecursionError("too deep")
"""


async def ask(link, op, timeout_s=BOUND_S, on_progress=None, **args):
    return await link.request(op, args, view=AGENT, timeout_s=timeout_s, on_progress=on_progress)


async def in_thread(fn, *args):
    return await asyncio.to_thread(fn, *args)


async def under_way(link, op, **args):
    """Start a request in the background and return its task once the kernel has taken it."""
    await answered(link)
    task = asyncio.create_task(ask(link, op, timeout_s=60.0, **args))
    await asyncio.sleep(0)
    await answered(link)
    return task


async def answered(link):
    """Return once the kernel has taken all that was sent; a `ping` it need not answer itself."""
    reply = await ask(link, "read_failures")
    assert reply["ok"], reply
    return reply


async def is_idle(link):
    return (await ask(link, "ping")).get("result", {}).get("busy") is False


async def run_under_way(link, **overrides):
    return await under_way(link, "run_variant", variant_id="demo.touch/Once", overrides=overrides)


# --- answers


async def test_a_read_answers_with_the_life_of_the_kernel(link, kernel):
    reply = await answered(link)
    assert reply["boot"] == link.boot
    assert link.kernel.pid == kernel.pid
    await eventually(lambda: is_idle(link), what="an idle kernel")


@pytest.mark.parametrize("transport", ["curve", "ipc"])
async def test_a_kernel_of_another_transport_answers_and_reports(
    start_kernel, write_connection, transport
):
    kernel = start_kernel(path=write_connection(transport))
    link = KernelLink(find_kernel(kernel.path))
    heard = []
    link.subscribe(heard.append)
    await answered(link)
    await eventually(lambda: heard, what="the subscription")
    kernel.kill()
    await eventually(lambda: heard[-1].change == "lost", what="the death")
    await link.close()


@pytest.mark.full
async def test_many_requests_at_once_each_get_their_own_answer(link, person):
    person.run(STORY)
    ops = ["read_failures", "list_stories", "list_variants", "list_tags", "get_story"] * 20
    args = {"get_story": {"story_id": "demo.touch"}}
    replies = await asyncio.gather(*(ask(link, op, **args.get(op, {})) for op in ops))
    alone = {op: await ask(link, op, **args.get(op, {})) for op in set(ops)}
    for reply in (*replies, *alone.values()):
        assert reply["ok"], str(reply)
    assert [r["result"] for r in replies] == [alone[op]["result"] for op in ops]


async def test_the_ops_of_the_kernel_describe_themselves(link):
    reply = await link.request("describe", {}, view=View())
    names = {descriptor["name"] for descriptor in reply["result"]["ops"]}
    assert {"list_stories", "run_variant", "ping"} <= names


NO_TURNS = """
import sys, time
sys.setswitchinterval(0.1)  # as in a cell that is back at the interpreter lock before all others
until = time.time() + 60
while sys.getswitchinterval() > 0.001 and time.time() < until: pass
until = time.time() + 1
while time.time() < until: pass
print(sys.getswitchinterval() < 0.001)
"""


async def test_a_cell_that_leaves_other_threads_no_turn_takes_short_ones_to_its_end(link, person):
    await ask(link, "ping")
    running = asyncio.create_task(in_thread(person.finish, person.start(NO_TURNS)))
    while not running.done():
        await answered(link)
        await asyncio.sleep(0.2)
    assert (await running).text == "True\n"
    assert person.run("round(sys.getswitchinterval(), 6)").value == "0.1"
    person.run("sys.setswitchinterval(0.005)")


async def test_turns_are_short_from_the_first_attach_beside_such_a_cell_to_its_end(link, person):
    running = person.start(NO_TURNS)
    await link.attached()
    assert (await in_thread(person.finish, running)).text == "True\n"
    assert person.run("round(sys.getswitchinterval(), 6)").value == "0.1"
    person.run("sys.setswitchinterval(0.005)")


INTERVAL = "round(__import__('sys').getswitchinterval(), 6)"
GATED = """
import os, sys, time
while not os.path.exists({gate!r}): time.sleep(0.01)
until = time.time() + 5
while sys.getswitchinterval() < 0.001 and time.time() < until: time.sleep(0.01)
"""
OWN = "import repl_pair.runtime.capture.own_threads as own; own.LATE_S = {}"


async def test_a_late_message_leaves_no_short_turns_behind_where_no_cell_runs(link, person):
    person.run(f"import ctypes, repl_pair\n{OWN.format(0)}")
    person.run("repl_pair.story('holds')(lambda: ctypes.PyDLL(None).usleep(300_000))")
    person.run("repl_pair.variant('holds/It')")
    await ask(link, "ping")
    running = asyncio.create_task(ask(link, "run_variant", variant_id="holds/It"))
    while not running.done():
        await ask(link, "ping")
    assert (await running)["result"]["status"] == "pass"
    assert person.run(INTERVAL).value == "0.005"


@pytest.mark.parametrize("beside", ["a wait", "%pair attach"])
async def test_a_cell_is_given_its_turns_back_while_nothing_is_answered(
    link, person, tmp_path, beside
):
    person.run(OWN.format(60))
    cell = GATED.format(gate=str(tmp_path / "gate")) + INTERVAL
    if beside == "%pair attach":
        person.run("%load_ext repl_pair")
        cell = f"%pair attach\n{cell}"
        running = person.start(cell)
    else:
        since = (await ask(link, "read_changes"))["result"]["next"]
        waiting = asyncio.create_task(ask(link, "read_changes", since=since, wait_s=20.0))
        running = person.start(cell)
        while not (await ask(link, "ping")).get("result", {}).get("busy"):
            pass
    (tmp_path / "gate").touch()
    assert (await in_thread(person.finish, running)).value == "0.005"
    if beside == "a wait":
        waiting.cancel()


@pytest.mark.parametrize(
    "cell",
    [
        "import time; time.sleep(1.5); 'mine'",
        "import time\nt = time.time()\nwhile time.time() < t + 1.5: pass\n'mine'",
        "import asyncio; await asyncio.sleep(1.5); 'mine'",
    ],
    ids=["sleeps", "loops", "awaits"],
)
async def test_attaching_and_reading_leave_a_running_cell_unharmed(link, person, cell):
    person.run("seen = []\nimport threading")
    person.run(
        "get_ipython().events.register("
        "'post_execute', lambda: seen.append(threading.current_thread().name))"
    )
    count = int(person.run("1").reply["execution_count"])
    person.run("del seen[:]")
    interval = person.run("__import__('sys').getswitchinterval()").value
    before = set(eval(person.run("sorted(globals())").value))
    running = person.start(cell)
    await answered(link)
    assert (await ask(link, "list_stories"))["ok"]
    ran = await in_thread(person.finish, running)
    assert ran.value == "'mine'"
    assert ran.text == ""
    assert person.run("_").value == "'mine'"
    assert int(person.run("1").reply["execution_count"]) == count + 6
    assert set(eval(person.run("seen").value)) <= {"MainThread"}
    assert person.run("__import__('sys').getswitchinterval()").value == interval
    after = set(eval(person.run("sorted(globals())").value))
    names = {n for n in after - before if not n.startswith("_")}
    assert names <= {"time", "t", "asyncio"}


async def test_a_running_cell_can_still_ask_its_person_after_an_attach(link, person):
    running = person.start("import time; time.sleep(0.7); got = input('name? '); got")
    await answered(link)
    await in_thread(person.answer_input, "Ann")
    assert (await in_thread(person.finish, running)).value == "'Ann'"


async def test_names_that_the_person_shadowed_do_not_stop_an_attach(link, person):
    person.run("type = dict = setattr = getattr = repl_pair = json = sys = exec = None")
    await answered(link)


async def test_a_cancelled_request_stops_its_run_and_no_other(link, person, tmp_path):
    person.run(STORY)
    blocking = person.start(WAITS.format(gate=str(gate := tmp_path / "gate")))
    cancelled = await run_under_way(link, path=str(tmp_path / "cancelled"))
    kept = await run_under_way(link, path=str(tmp_path / "kept"))
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await answered(link)
    gate.touch()
    reply = await kept
    assert reply["ok"], str(reply)
    await in_thread(person.finish, blocking)
    assert reply["result"]["status"] == "pass", reply
    assert (tmp_path / "kept").read_text() == "x"
    assert not (tmp_path / "cancelled").exists()


async def test_progress_states_what_the_call_waits_for(link, person, tmp_path):
    person.run(STORY)
    running = person.start(WAITS.format(gate=str(gate := tmp_path / "gate")))
    heard = []
    waiting = asyncio.create_task(
        ask(link, "run_variant", on_progress=heard.append, variant_id="demo.touch/Once")
    )
    # One that comes before the kernel has taken the request up is of the kernel.
    named = "waiting: a cell that began before repl_pair was attached is running"
    await eventually(lambda: named in [seen["message"] for seen in heard], what=named)
    gate.touch()
    await in_thread(person.finish, running)
    assert (await waiting)["ok"]


# --- kernels that cannot


async def refusal_of(kernel, op="ping", timeout_s=BOUND_S):
    link = KernelLink(find_kernel(kernel.path))
    try:
        return await ask(link, op, timeout_s=timeout_s)
    finally:
        await link.close()


async def test_a_kernel_without_the_package_is_given_its_python_and_the_remedy(start_kernel):
    import sys

    kernel = start_kernel("--IPKernelApp.exec_lines=import sys; sys.modules['repl_pair'] = None")
    reply = await refusal_of(kernel)
    assert reply["error"]["code"] == "package_missing"
    assert sys.executable in reply["error"]["message"]
    assert f"{sys.executable} -m pip install .`" in reply["hints"][0]


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("sys.modules['typing'] = 5", "ImportError: cannot import name"),
        ("sys.modules['collections'] = None", "ModuleNotFoundError: import of collections halted"),
        ("sys.meta_path.insert(0, Deep)", "RecursionError: too deep"),
    ],
)
async def test_an_import_that_fails_for_another_reason_is_reported_with_that(
    link, person, cell, why
):
    await in_thread(person.run, f"import sys\n{DEEP}\n{cell}")
    reply = await ask(link, "ping")
    assert reply["error"]["code"] == "cannot_run"
    assert f"its import failed there: {why}" in reply["error"]["message"]
    assert "restart the kernel" in reply["hints"][0]


async def test_a_client_that_the_control_thread_does_not_take_in_is_no_failed_import(link, person):
    busy = "a.CONTROL_S, a.threading = 0.1, types.SimpleNamespace(get_ident=int)"
    await in_thread(person.run, f"import types, repl_pair.runtime.kernel.attach as a\n{busy}")
    reply = await ask(link, "ping")
    assert reply["error"]["code"] == "kernel_unresponsive"
    assert reply["error"]["message"].startswith("The kernel's control thread has been busy")


@pytest.mark.full
async def test_another_protocol_is_a_version_mismatch(start_kernel):
    kernel = start_kernel(
        "--IPKernelApp.exec_lines=import repl_pair.runtime.kernel.host as h; h.PROTOCOL = 99"
    )
    reply = await refusal_of(kernel)
    assert reply["error"]["code"] == "version_mismatch"
    assert "protocol 99" in reply["error"]["message"]


@pytest.mark.full
async def test_a_kernel_that_evaluates_no_expressions_is_unsupported(start_kernel, tmp_path):
    (tmp_path / "echo_kernel.py").write_text(ECHO_KERNEL)
    kernel = start_kernel(module="echo_kernel", env={"PYTHONPATH": str(tmp_path)})
    reply = await refusal_of(kernel)
    assert reply["error"]["code"] == "unsupported_kernel"


def state_of(reply):
    return None if reply["ok"] else reply["error"]["detail"]["state"]


async def test_a_kernel_whose_interpreter_is_held_is_unresponsive_and_then_answers(
    link, person, tmp_path
):
    await answered(link)
    running = person.start(HOLD.format(gate=str(gate := tmp_path / "gate")) + "'mine'")
    await eventually(gate.exists, what="the call that holds the lock")
    since = time.monotonic()
    while state_of(reply := await ask(link, "ping", timeout_s=0.5)) != "gil_held":
        assert time.monotonic() < since + BOUND_S, reply
    assert reply["error"]["code"] == "kernel_unresponsive"
    assert 0.4 < reply["error"]["detail"]["since_s"] < time.monotonic() - since + 0.1
    assert "interpreter lock" in reply["error"]["message"]
    await in_thread(gate.write_bytes, b"")
    assert (await in_thread(person.finish, running)).value == "'mine'"
    await answered(link)


@pytest.mark.full
async def test_a_heartbeat_that_is_late_on_a_busy_machine_is_waited_for(kernel):
    connection = json.loads(kernel.path.read_text())
    context = zmq.asyncio.Context()
    slow = context.socket(zmq.ROUTER)
    port = slow.bind_to_random_port("tcp://127.0.0.1")
    kernel.path.write_text(json.dumps(connection | {"hb_port": port}))
    beating = asyncio.create_task(_echo_late(slow, 3 * HEARTBEAT_S))
    info = await in_thread(find_kernel, kernel.path)
    assert info.alive
    link = KernelLink(info)
    await answered(link)
    await link.close()
    beating.cancel()
    context.destroy(linger=0)


async def _echo_late(socket, late_s):
    async def answer(message):
        await asyncio.sleep(late_s)
        await socket.send_multipart(message)

    async with asyncio.TaskGroup() as answers:
        while True:
            answers.create_task(answer(await socket.recv_multipart()))


@pytest.mark.parametrize("attached", [True, False])
async def test_a_stopped_kernel_is_unresponsive_not_gone(link, kernel, attached):
    if attached:
        await answered(link)
    halt(kernel.pid)
    reply = await ask(link, "ping", timeout_s=1.0)
    assert reply["error"]["code"] == "kernel_unresponsive"
    assert "stopped" in reply["error"]["message"]
    kernel.signal(signal.SIGCONT)
    await answered(link)


# --- lives


@pytest.mark.unbound("bridge.link.attached_link.RESTART_S")
async def test_a_kernel_that_died_is_gone_at_once(link, kernel):
    heard = []
    link.subscribe(heard.append)
    await eventually(lambda: heard, what="the subscription")
    kernel.kill()
    before = time.monotonic()
    await eventually(lambda: heard[-1].change == "lost", what="the death")
    reply = await ask(link, "ping")
    assert time.monotonic() - before < BOUND_S / 2
    assert reply["error"]["code"] == "kernel_gone"


async def test_a_read_under_way_when_the_kernel_dies_is_gone_after_a_bound(link, kernel):
    seq = (await ask(link, "read_changes"))["result"]["next"]
    reading = await under_way(link, "read_changes", since=seq, wait_s=50.0)
    kernel.kill()
    before = time.monotonic()
    assert (await reading)["error"]["code"] == "kernel_gone"
    assert time.monotonic() - before < RESTART_S + 15.0


@pytest.mark.unbound("bridge.link.attached_link.RESTART_S")
@pytest.mark.full
async def test_a_read_whose_kernel_was_shut_down_is_gone_without_waiting(link, kernel):
    seq = (await ask(link, "read_changes"))["result"]["next"]
    reading = await under_way(link, "read_changes", since=seq, wait_s=10.0)
    kernel.path.unlink()
    kernel.kill()
    before = time.monotonic()
    assert (await reading)["error"]["code"] == "kernel_gone"
    assert time.monotonic() - before < BOUND_S / 2


@pytest.mark.unbound("bridge.link.attached_link.RESTART_S")
async def test_a_read_under_way_is_answered_by_the_next_life_and_reports_it(link, kernel, sit_at):
    seq = (await ask(link, "read_changes"))["result"]["next"]
    boot = link.boot
    reading = await under_way(link, "read_changes", since=seq, wait_s=50.0)
    halt(kernel.pid)
    await in_thread(kernel.restart)
    await in_thread((await in_thread(sit_at, kernel)).run, STORY)
    reply = await reading
    assert reply["ok"], str(reply)
    assert reply["boot"] != boot
    assert "restarted" in reply["notifications"][0]


@pytest.mark.unbound("bridge.link.attached_link.RESTART_S")
async def test_a_run_under_way_when_the_kernel_dies_has_an_unknown_outcome_at_once(
    link, kernel, person
):
    person.run(STORY)
    person.start("import time; time.sleep(30)")
    running = await run_under_way(link)
    kernel.kill()
    before = time.monotonic()
    reply = await running
    assert time.monotonic() - before < BOUND_S / 2
    assert reply["error"]["code"] == "outcome_unknown"


async def test_what_was_under_way_never_runs_in_the_next_life(
    link, kernel, person, sit_at, tmp_path
):
    file = tmp_path / "touched"
    person.run(STORY)
    person.start("import time; time.sleep(30)")
    running = await run_under_way(link, path=str(file))
    halt(kernel.pid)
    queued = asyncio.create_task(
        ask(link, "run_variant", variant_id="demo.touch/Once", overrides={"path": str(file)})
    )
    await asyncio.sleep(0)
    await in_thread(kernel.restart)
    successor = await in_thread(sit_at, kernel)
    await in_thread(successor.run, STORY)
    assert (await running)["error"]["code"] == "outcome_unknown"
    assert (await queued)["error"]["code"] == "outcome_unknown"
    assert (await ask(link, "list_stories"))["result"]["total"] == 1
    last = await ask(link, "read_assertions", variant_id="demo.touch/Once")
    assert last["error"]["code"] == "cannot_run"
    assert not file.exists()


@pytest.mark.full
async def test_a_restart_that_a_read_reported_refuses_no_run_that_follows(link, kernel, sit_at):
    await answered(link)
    await in_thread(kernel.restart)
    successor = await in_thread(sit_at, kernel)
    await in_thread(successor.run, STORY)
    first, second = await ask(link, "list_stories"), await ask(link, "list_stories")
    assert "restarted" in first["notifications"][0]
    assert "notifications" not in second
    ran = await ask(link, "run_variant", variant_id="demo.touch/Once")
    assert ran["result"]["status"] == "pass", ran


@pytest.mark.full
async def test_runs_that_were_sent_before_a_reply_reported_the_restart_are_all_refused(
    link, kernel, sit_at
):
    await answered(link)
    await in_thread(kernel.restart)
    successor = await in_thread(sit_at, kernel)
    await in_thread(successor.run, STORY)
    calls = [ask(link, "list_stories")]
    calls += [ask(link, "run_variant", variant_id="demo.touch/Once") for _ in range(2)]
    read, *runs = await asyncio.gather(*calls)
    assert read["ok"]
    assert [run["error"]["code"] for run in runs] == ["kernel_restarted"] * 2
    ran = await ask(link, "run_variant", variant_id="demo.touch/Once")
    assert ran["result"]["status"] == "pass", ran


@pytest.mark.full
async def test_a_reply_that_reaches_no_caller_reports_no_restart(link, kernel, sit_at):
    await answered(link)
    await in_thread(kernel.restart)
    successor = await in_thread(sit_at, kernel)
    await in_thread(successor.run, STORY)
    unread = await link.request("ping", {}, view=View(), is_reported=False)
    assert unread["ok"]
    assert "notifications" not in unread
    refused = await ask(link, "run_variant", variant_id="demo.touch/Once")
    assert refused["error"]["code"] == "kernel_restarted"
    assert refused["next_steps"]


@pytest.mark.parametrize("is_refused_before", [False, True])
async def test_a_host_that_was_replaced_in_the_same_process_is_no_restart(
    link, person, is_refused_before
):
    person.run(STORY)
    await answered(link)
    boot = link.boot
    person.run("from repl_pair.runtime.kernel import attach as h")
    if is_refused_before:
        person.run("h.detach()")
        assert (await ask(link, "ping"))["error"]["code"] == "detached"
        person.run("h.attach()")
        await answered(link)
    person.run("h.detach(); h.attach(); del h")
    # A call that is attached again beside others takes none of them its connection.
    reading, runs = asyncio.create_task(ask(link, "list_stories")), []
    for _ in range(20):
        runs.append(asyncio.create_task(ask(link, "run_variant", variant_id="demo.touch/Once")))
        await asyncio.sleep(0)
    await reading
    ran = await asyncio.gather(*runs)
    assert [reply["ok"] and reply["result"]["status"] for reply in ran] == ["pass"] * 20, ran
    assert ({reply["boot"] for reply in ran}, link.boot) == ({boot}, boot)


async def test_closing_answers_what_is_under_way_and_leaves_the_kernel(link, kernel, person):
    seq = (await ask(link, "read_changes"))["result"]["next"]
    reading = await under_way(link, "read_changes", since=seq, wait_s=10.0)
    await link.close()
    assert (await reading)["error"]["code"] == "cancelled"
    assert person.run("1 + 1").value == "2"


# --- events


async def test_a_subscriber_receives_every_change_after_its_subscription_stands(link, person):
    heard = []
    undo = link.subscribe(heard.append)
    await eventually(lambda: heard, what="the subscription")
    assert (heard[0].member, heard[0].change) == (EVERYTHING, "subscribed")
    await in_thread(person.run, STORY)
    await eventually(lambda: any("story" in e.member for e in heard), what="the story's event")
    assert {e.boot for e in heard} == {link.boot}
    seqs = [e.seq for e in heard if e.member != EVERYTHING]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    undo()
    count = len(heard)
    await in_thread(person.run, STORY.replace("Once", "Twice"))
    await ask(link, "ping")
    assert len(heard) == count


@pytest.mark.unbound("bridge.link.watch.ARRIVE_S")
async def test_a_subscriber_is_notified_of_the_death_and_of_the_next_life(link, kernel):
    heard = []
    link.subscribe(heard.append)
    await eventually(lambda: heard, what="the subscription")
    first = link.boot
    await in_thread(kernel.restart)
    await eventually(lambda: len(heard) == 3, what="the next life")
    assert [(e.member, e.change) for e in heard] == [
        (EVERYTHING, "subscribed"),
        (EVERYTHING, "lost"),
        (EVERYTHING, "subscribed"),
    ]
    assert heard[-1].boot == link.boot != first


@pytest.mark.full
async def test_a_gap_in_the_events_is_reported(link, person):
    heard = []
    link.subscribe(heard.append)
    await eventually(lambda: heard, what="the subscription")
    await in_thread(person.run, STORY)
    await eventually(lambda: len(heard) > 1, what="an event")
    await in_thread(
        person.run,
        "from repl_pair.runtime.store import STORE\n"
        "STORE.seq += 9_999; STORE.emit('notices', 'late'); del STORE",
    )
    await eventually(lambda: heard[-1].member == "notices", what="the late event")
    assert [(e.member, e.change) for e in heard[-2:]] == [
        (EVERYTHING, "missed"),
        ("notices", "emit"),
    ]


ECHO_KERNEL = """
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

class Echo(Kernel):
    implementation = banner = "echo"
    implementation_version = "1"
    language_info = {"name": "echo", "mimetype": "text/plain", "file_extension": ".txt"}

    async def do_execute(self, code, silent, store_history=True, user_expressions=None,
                         allow_stdin=False, *, cell_meta=None, cell_id=None):
        return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}

IPKernelApp.launch_instance(kernel_class=Echo)
"""


async def test_attaching_needs_no_name_that_the_person_may_have_shadowed(link, person):
    names = "get_ipython = __import__ = type = len = getattr = exec = globals = dict = print"
    await asyncio.to_thread(person.run, f"{names} = 0")
    listed = await link.request("list_variables", {}, view=AGENT, timeout_s=BOUND_S)
    assert listed["ok"], str(listed)
    assert "len" in {one["id"] for one in listed["result"]["items"]}


async def test_files_replaced_under_a_living_kernel_ask_for_a_restart(
    start_kernel, sit_at, tmp_path
):
    folder = tmp_path / "installed" / "repl_pair"
    shutil.copytree(ROOT / "repl_pair", folder, ignore=shutil.ignore_patterns("__pycache__"))
    newer = "from repl_pair.wire import NEWER\n"
    kernels = [start_kernel(env={"PYTHONPATH": str(folder.parent)}) for _ in range(2)]
    await asyncio.to_thread(sit_at(kernels[0]).run, "import repl_pair.wire")
    links = [KernelLink(find_kernel(kernel.path)) for kernel in kernels]
    try:
        reply = await links[1].request("list_stories", {}, view=AGENT, timeout_s=BOUND_S)
        assert reply["ok"], str(reply)
        for name in ("kernel/attach.py", "ops/variables.py"):
            file = folder / "runtime" / name
            file.write_text(newer + file.read_text())
        for link in links:
            reply = await link.request("list_variables", {}, view=AGENT, timeout_s=BOUND_S)
            assert reply["error"]["code"] == "version_mismatch", str(reply)
            assert "were replaced while" in reply["error"]["message"]
            assert reply["hints"] == ["Ask the person to restart the kernel, then call again."]
    finally:
        for link in links:
            await link.close()


async def test_a_control_message_that_is_malformed_is_answered(link, kernel):
    await answered(link)
    line = Line(read_connection(kernel.path))
    try:
        for kind, content in ((REQUEST, {"client": [1]}), (ATTACH, {"client": "a", "pid": "x"})):
            async with asyncio.timeout(BOUND_S):
                answer = await line.ask(kind, content, answer=REPLY)
            assert not answer["ok"], answer
    finally:
        line.close()
