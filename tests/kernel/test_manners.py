"""An agent at work in a kernel must not be felt by the person who works there."""

import ast
import asyncio
import json
import signal
import time

import pytest

from repl_pair.bridge.discover import find_kernel
from repl_pair.bridge.kernel_link import KernelLink
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

BOUND_S = 25.0
AGENT = View(principal="agent")

STORIES = """
import asyncio, logging, sys, time, warnings
from pathlib import Path
import repl_pair
from repl_pair import check
from IPython.display import HTML, display

async def spin():
    while True: time.sleep(0)

@repl_pair.story("busy", thread_safe=True)
async def busy(how: str = "", mark: str = ""):
    if mark: Path(mark).touch()
    if how == "sleeps": time.sleep(60)
    while how == "loops": pass
    if how == "awaits": await asyncio.sleep(60)
    if how == "gathers": await asyncio.gather(spin())
    return "done"
repl_pair.variant("busy/It", play=[check.path_equals("result", "done")])

@repl_pair.story("brief")
def brief(spin_s: float = 0.0):
    until = time.perf_counter() + spin_s
    while time.perf_counter() < until: pass
    return "done"
repl_pair.variant("brief/It")

@repl_pair.story("noisy", thread_safe=True)
async def noisy(rounds: int = 1):
    for round in range(rounds):
        print("printed")
        sys.stderr.write("to stderr\\n")
        logging.getLogger("shop").warning("logged")
        display(HTML("<b>shown</b>"))
        warnings.warn("warned")
        await asyncio.sleep(0)
    if rounds == 1:
        sys.displayhook("hooked")
repl_pair.variant("noisy/It")
"""
# The gate is looked for by another thread: a loop that often lets go of the interpreter lock for
# a moment starves all other threads for seconds, whoever they are.
WAITS = """
import asyncio, os, threading, time
gates, until = [], time.monotonic() + 60
def look():
    while not os.path.exists({gate!r}): time.sleep(0.01)
    gates.append(True)
threading.Thread(target=look, daemon=True).start()
while not gates:
    assert time.monotonic() < until
    {step}
print("own output")
"mine"
"""
STOP_BETWEEN_CELLS = "import signal; get_ipython().kernel.saved_sigint_handler == signal.SIG_IGN"
STEPS = {
    "sleeps": "time.sleep(0.02)",
    "loops": "pass",
    "awaits": "await asyncio.sleep(0.02)",
}


@pytest.fixture
def at_desk():
    return asyncio.to_thread


@pytest.fixture
async def link(kernel):
    link = KernelLink(find_kernel(str(kernel.path)))
    yield link
    await link.close()


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


@pytest.fixture
def start_cell(person, gate, at_desk):
    """Starts a cell of the person's that ends when the gate is there."""

    async def start(how):
        return await at_desk(person.start, WAITS.format(gate=str(gate), step=STEPS[how]))

    return start


async def ask(link, op, on_progress=None, **args):
    return await link.request(op, args, view=AGENT, timeout_s=BOUND_S, on_progress=on_progress)


def run(link, variant_id="busy/It", on_progress=None, **args):
    return asyncio.create_task(ask(link, "run_variant", on_progress, variant_id=variant_id, **args))


async def eventually(condition, *, what):
    async with asyncio.timeout(BOUND_S):
        while not condition():
            await asyncio.sleep(0.005)


def said_by(ran):
    """Give what a cell put out: streams, results, errors, in order."""
    kinds = ("stream", "execute_result", "display_data", "error")
    return [
        m["content"].get("text") or m["content"].get("data", {}).get("text/plain")
        for m in ran.messages
        if m["msg_type"] in kinds
    ]


# --- while a cell runs


@pytest.mark.parametrize("how", STEPS)
async def test_beside_a_running_cell_reads_answer_and_runs_wait(
    link, person, gate, start_cell, at_desk, how
):
    await at_desk(person.run, STORIES)
    count = (await at_desk(person.run, "'before'")).reply["execution_count"]
    cell = await start_cell(how)
    for op, args in [
        ("list_stories", {}),
        ("list_variants", {"story_id": "busy"}),
        ("get_story", {"story_id": "busy"}),
        ("get_variant", {"variant_id": "busy/It"}),
        ("snapshot_identity", {"variant_id": "busy/It"}),
        ("read_failures", {}),
        ("read_changes", {"since": 0}),
        ("list_variables", {}),
    ]:
        reply = await ask(link, op, **args)
        assert reply["ok"], reply
    assert (await ask(link, "ping"))["result"]["busy"] is True
    heard = []
    waiting = run(link, on_progress=heard.append, wait_s=BOUND_S)
    given_up = await ask(link, "run_variant", variant_id="busy/It", wait_s=0.2)
    assert given_up["result"]["status"] == "cannot_run"
    assert given_up["result"]["reason"].startswith("not started within 0.2 s: ")
    assert len(given_up["next_steps"]) == 2
    await eventually(lambda: heard, what="progress")
    assert not waiting.done()
    gate.touch()
    ran = await at_desk(person.finish, cell)
    assert said_by(ran) == ["own output\n", "'mine'"]
    assert ran.reply["execution_count"] == count + 1
    assert (await waiting)["result"]["status"] == "pass"
    after = await at_desk(person.run, "[_, __, len(In), sorted(Out)[-2:]]")
    assert after.reply["execution_count"] == count + 2
    assert ast.literal_eval(after.value) == ["mine", "before", count + 3, [count, count + 1]]


async def test_progress_names_the_cell_that_is_waited_for_and_how_long(
    link, person, gate, start_cell, at_desk
):
    await at_desk(person.run, STORIES)
    await ask(link, "ping")
    cell = await start_cell("sleeps")
    heard = []
    waiting = run(link, on_progress=heard.append, wait_s=BOUND_S)
    await eventually(lambda: len(heard) > 1, what="progress")
    assert [p["message"] for p in heard[:2]] == [
        "waiting: the person's cell In[2] has been running for 1 s",
        "waiting: the person's cell In[2] has been running for 2 s",
    ]
    given_up = (await ask(link, "run_variant", variant_id="busy/It", wait_s=0.0))["result"]
    assert "the person's cell In[2] has been running for" in given_up["reason"]
    gate.touch()
    await at_desk(person.finish, cell)
    assert (await waiting)["ok"]


@pytest.mark.parametrize("how", STEPS)
async def test_no_deadline_and_no_cancel_of_an_agents_reaches_the_persons_cell(
    link, person, gate, start_cell, at_desk, how, tmp_path
):
    await at_desk(person.run, STORIES)
    cell = await start_cell(how)
    mark = {"mark": str(tmp_path / "mark")}
    overdue = run(link, overrides={"how": "loops"}, timeout_s=0.05, wait_s=BOUND_S)
    cancelled = [run(link, overrides=mark, wait_s=BOUND_S) for _ in range(5)]
    impatient = run(link, overrides=mark, timeout_s=0.01, wait_s=0.1)
    assert (await impatient)["result"]["status"] == "cannot_run"
    await ask(link, "ping")
    for task in cancelled:
        task.cancel()
    await asyncio.wait(cancelled)
    await ask(link, "ping")
    gate.touch()
    ran = await at_desk(person.finish, cell)
    assert said_by(ran) == ["own output\n", "'mine'"]
    assert (await overdue)["result"]["reason"] == "not done within 0.05 s"
    assert not (tmp_path / "mark").exists()
    assert (await at_desk(person.run, STOP_BETWEEN_CELLS)).value == "True"


async def test_the_persons_stop_of_a_cell_lets_the_waiting_run_go_on(
    link, kernel, person, gate, start_cell, at_desk
):
    await at_desk(person.run, STORIES)
    cell = await start_cell("sleeps")
    waiting = run(link, wait_s=BOUND_S)
    await ask(link, "ping")
    kernel.signal(signal.SIGINT)
    ran = await at_desk(person.finish, cell)
    assert ran.reply["ename"] == "KeyboardInterrupt"
    assert (await waiting)["result"]["status"] == "pass"
    assert (await at_desk(person.run, "'fine'")).value == "'fine'"


# --- while a run runs


def interrupt(person):
    """Stop, as a front end asks for it."""
    control = person._file.connect_control()
    person._session.send(control, "interrupt_request", {})
    assert control.poll(BOUND_S * 1000)
    control.close()


@pytest.mark.parametrize("how", ["sleeps", "loops", "awaits", "gathers"])
async def test_the_persons_stop_ends_an_agents_run(link, kernel, person, at_desk, tmp_path, how):
    await at_desk(person.run, STORIES)
    for stop in (lambda: kernel.signal(signal.SIGINT), lambda: interrupt(person)):
        mark = tmp_path / f"mark-{stop}"
        running = run(link, overrides={"how": how, "mark": str(mark)})
        await eventually(mark.exists, what="the run")
        stop()
        answer = (await running)["result"]
        assert (answer["status"], answer["reason"]) == ("cannot_run", "interrupted by the person")
        ran = await at_desk(person.run, "sum(range(200_000)); 'fine'")
        assert ran.value == "'fine'"
    assert (await ask(link, "run_variant", variant_id="busy/It"))["result"]["status"] == "pass"


@pytest.mark.parametrize("how", ["sleeps", "loops", "awaits"])
async def test_a_run_of_the_persons_own_is_stopped_as_a_cell(
    kernel, person, at_desk, tmp_path, how
):
    await at_desk(person.run, STORIES)
    state = "import warnings; [warnings.filters[:], warnings.showwarning]"
    before = (await at_desk(person.run, state)).value
    mark = tmp_path / "mark"
    overrides = {"how": how, "mark": str(mark)}
    cell = await at_desk(person.start, f"repl_pair.run('busy/It', overrides={overrides})")
    await eventually(mark.exists, what="the run")
    kernel.signal(signal.SIGINT)
    ran = await at_desk(person.finish, cell)
    assert ran.reply["ename"] == "KeyboardInterrupt"
    assert (await at_desk(person.run, state)).value == before
    assert (await at_desk(person.run, "repl_pair.run('busy/It').status")).value == "'pass'"


async def test_two_hundred_races_of_a_run_with_its_deadline_leave_no_stray_interrupt(
    link, person, at_desk
):
    await at_desk(person.run, STORIES)
    await ask(link, "ping")
    statuses = []
    for round in range(200):
        args = {"timeout_s": 0.004, "overrides": {"spin_s": 0.002 + 0.00002 * round}}
        reply = await ask(link, "run_variant", variant_id="brief/It", **args)
        statuses.append(reply["result"]["status"])
        ran = await at_desk(person.run, f"sum(range(2000)); {round}")
        assert ran.value == str(round)
        assert ran.text == ""
    assert set(statuses) == {"pass", "error"}, "the race was never close"
    assert (await at_desk(person.run, STOP_BETWEEN_CELLS)).value == "True"


# --- what a run puts out


KINDS = ("stream", "display_data", "update_display_data", "execute_result", "error")


def rest_of_iopub(person, code):
    """Run a cell; give all that came on iopub before it, and what the cell itself put out."""
    sent = person._session.send(person._shell, "execute_request", {"code": code, "silent": False})
    before, own = [], []
    while True:
        assert person._iopub.poll(BOUND_S * 1000)
        _, message = person._session.recv(person._iopub)
        mine = message["parent_header"].get("msg_id") == sent["header"]["msg_id"]
        if mine and message["content"].get("execution_state") == "idle":
            return before, own
        if message["msg_type"] in KINDS:
            (own if mine else before).append(message["content"])


@pytest.mark.parametrize("lane", ["main", "worker"])
async def test_what_a_run_puts_out_lands_in_its_record_and_nowhere_else(
    link, person, at_desk, lane
):
    await at_desk(person.run, STORIES)
    await at_desk(person.run, "import logging; logging.basicConfig(force=True)")
    await at_desk(person.run, "'mine'")
    rounds = 1 if lane == "main" else 2
    reply = await ask(
        link, "run_variant", variant_id="noisy/It", overrides={"rounds": rounds}, lane=lane
    )
    answer = reply["result"]
    assert answer["stdout"] == "printed\n" * rounds
    shown = [output["text/html"] for output in answer["outputs"] if "text/html" in output]
    assert shown == ["<b>shown</b>"] * rounds
    before, own = await at_desk(rest_of_iopub, person, "print(_)")
    assert before == []
    assert own == [{"name": "stdout", "text": "mine\n"}]
    if lane == "main":
        assert answer["warnings"] == ["UserWarning: warned"]
        assert {"text/plain": "'hooked'"} in answer["outputs"]


async def test_a_cell_and_a_worker_that_print_at_once_each_keep_their_own(
    link, person, at_desk, gate
):
    await at_desk(person.run, STORIES)
    cell = await at_desk(
        person.start,
        f"import os, time\nuntil, n = time.monotonic() + 30, 0\n"
        f"while not os.path.exists({str(gate)!r}) and time.monotonic() < until:\n"
        "    print('own'); n += 1; time.sleep(0.001)\nn",
    )
    overrides = {"rounds": 30}
    reply = await ask(
        link, "run_variant", variant_id="noisy/It", overrides=overrides, lane="worker"
    )
    gate.touch()
    ran = await at_desk(person.finish, cell)
    assert reply["result"]["stdout"] == "printed\n" * 30
    assert ran.text == "own\n" * int(ran.value)


# --- coming and going

STATE = """
def _state():
    import json, logging, signal, sys, threading
    shell = get_ipython()
    kernel = shell.kernel
    hooks = {n: sorted(map(str, fns)) for n, fns in shell.events.callbacks.items()}
    return json.dumps({
        "handlers": sorted(kernel.control_handlers),
        "hooks": hooks,
        "patched": [
            *(n for n in ("write", "flush") if n in vars(sys.stdout) or n in vars(sys.stderr)),
            *(n for n in ("publish",) if n in vars(shell.display_pub)),
            *(n for n in ("trigger",) if n in vars(shell.events)),
        ],
        "logging": [str(logging.Logger.callHandlers), logging.Logger.callHandlers.__module__],
        "displayhook": str(sys.displayhook),
        "filters": str(__import__("warnings").filters),
        "showwarning": str(__import__("warnings").showwarning),
        "excepthook": [str(sys.excepthook), str(threading.excepthook)],
        "sigint": str(kernel.saved_sigint_handler),
        "threads": sorted(t.name for t in threading.enumerate()),
        "names": sorted(n for n in shell.user_ns if not n.startswith("_")),
    })
print(_state())
"""


async def test_after_a_detach_the_kernel_is_as_before_the_attach(link, person, at_desk):
    await at_desk(person.run, STORIES)

    async def state():
        return json.loads((await at_desk(person.run, STATE)).text)

    before = await state()
    assert "repl_pair_request" not in before["handlers"]
    await ask(link, "ping")
    attached = await state()
    assert "repl_pair_request" in attached["handlers"]
    for variant_id in ("busy/It", "noisy/It", "brief/It"):
        assert (await ask(link, "run_variant", variant_id=variant_id))["result"]["status"] == "pass"
    overrides = {"how": "awaits"}
    await ask(link, "run_variant", variant_id="busy/It", overrides=overrides, timeout_s=0.05)
    await at_desk(person.run, "%load_ext repl_pair\n%pair detach")
    await at_desk(person.run, "%unload_ext repl_pair")
    until = time.monotonic() + BOUND_S
    after = await state()
    while after != before and time.monotonic() < until:
        after = await state()
    assert after == before


async def test_a_detach_answers_who_waits_and_an_attach_takes_up_again(
    link, person, at_desk, gate, start_cell
):
    await at_desk(person.run, f"{STORIES}\n%load_ext repl_pair")
    await ask(link, "ping")
    cell = await at_desk(
        person.start,
        WAITS.format(gate=str(gate), step=STEPS["sleeps"]) + "\n%pair detach",
    )
    waiting = run(link, wait_s=BOUND_S)
    await ask(link, "ping")
    gate.touch()
    await at_desk(person.finish, cell)
    assert (await waiting)["error"]["code"] == "cancelled"
    await at_desk(person.run, "%pair attach")
    later = KernelLink(link.kernel)
    assert (await ask(later, "run_variant", variant_id="busy/It"))["result"]["status"] == "pass"
    await later.close()


async def test_the_pair_magic_says_what_it_did(link, kernel, person, at_desk, tmp_path):
    async def pair(line):
        return (await at_desk(person.run, f"%pair {line}")).text

    await at_desk(person.run, "%load_ext repl_pair")
    assert "not attached: %pair attach. stories: 0, variants: 0" in await pair("")
    assert "Register a story in a cell" in await pair("status")
    attached = await pair("attach")
    assert f"-m repl_pair mcp --kernel {kernel.path}" in attached
    assert (await ask(link, "ping"))["ok"]
    assert ", attached. stories: 0" in await pair("status")
    assert (await pair(f"load {tmp_path}")).startswith("not_found: ")
    (tmp_path / "pyproject.toml").write_text("[tool.repl_pair]\nstories = ['mine_*.py']\n")
    source = "import repl_pair\nrepl_pair.story('a', component=lambda: 0)\n"
    source += "repl_pair.variant('a/A')\n"
    (tmp_path / "mine_one.py").write_text(source)
    assert "stories: 1, variants: 1" in await pair(f"load {tmp_path}")
    assert (await ask(link, "run_variant", variant_id="a/A"))["result"]["result"] == 0
    (tmp_path / "mine_one.py").write_text(source.replace("a/A", "a/Renamed"))
    await pair(f"load {tmp_path}")
    listed = (await ask(link, "list_variants"))["result"]["items"]
    assert [item["id"] for item in listed] == ["a/Renamed"]
    assert "Nearest: status" in await pair("statu")
    assert await pair("detach") == "Detached.\n"
    assert await pair("detach") == "Nothing was attached.\n"
    assert "not attached" in await pair("status")
