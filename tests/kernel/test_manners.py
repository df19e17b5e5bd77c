"""An agent at work in a kernel must not be felt by the person who works there."""

import ast
import asyncio
import re
import time

import pytest
from bounds import BOUND_S, PATIENT
from waiting import eventually

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=frozenset({"read", "run", "eval"}))

STORIES = """
import asyncio, logging, sys, time, warnings
from pathlib import Path
import repl_pair
from repl_pair import check
from IPython.display import HTML, display

@repl_pair.story("busy", thread_safe=True)
async def busy(how: str = "", mark: str = ""):
    if mark: Path(mark).touch()
    if how == "sleeps": time.sleep(60)
    while how == "loops": pass
    if how == "awaits": await asyncio.sleep(60)
    return "done"
repl_pair.variant("busy/It", play=[check.path_equals("result", "done")])

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


async def is_busy(link):
    return (await ask(link, "ping")).get("result", {}).get("busy")


def output_of(ran):
    """Return what a cell put out as one text: a stream may come in pieces."""
    parts = [m["content"] for m in ran.messages if m["msg_type"] in OUTPUTS]
    texts = [p.get("text") or p.get("ename") or p["data"]["text/plain"] for p in parts]
    return "".join(texts)


OUTPUTS = ("stream", "execute_result", "display_data", "error")


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
        assert reply["ok"], str(reply)
    await eventually(lambda: is_busy(link), what="a busy kernel")
    heard = []
    waiting = run(link, on_progress=heard.append, wait_s=BOUND_S)
    code = {"code": "answer = await busy()\n_ = __ = In = answer\nanswer", "scope": "user"}
    evaluating = asyncio.create_task(ask(link, "eval_code", **code, wait_s=BOUND_S))
    for op, args in [("run_variant", {"variant_id": "busy/It"}), ("eval_code", code)]:
        given_up = await ask(link, op, **args, wait_s=0.2)
        assert given_up["result"]["status"] == "cannot_run"
        assert given_up["result"]["reason"].startswith("not started within 0.2 s: ")
        assert len(given_up["next_steps"]) == 3
    await eventually(lambda: heard, what="progress")
    assert not waiting.done()
    gate.touch()
    ran = await at_desk(person.finish, cell)
    assert output_of(ran) == "own output\n'mine'"
    assert ran.reply["execution_count"] == count + 1
    assert (await waiting)["result"]["status"] == "pass"
    assert (await evaluating)["result"]["value"] == "done"
    after = await at_desk(person.run, "[_, __, len(In), sorted(Out)[-2:]]")
    assert after.reply["execution_count"] == count + 2
    assert ast.literal_eval(after.value) == ["mine", "before", count + 3, [count, count + 1]]


RUNNING = re.compile(r"waiting: the person's cell In\[2\] has been running for (\d+) s")


async def test_progress_names_the_cell_that_is_waited_for_and_how_long(
    link, person, gate, start_cell, at_desk
):
    await at_desk(person.run, STORIES)
    await ask(link, "ping")
    begun, cell = time.monotonic(), await start_cell("sleeps")
    heard = []
    waiting = run(link, on_progress=heard.append, wait_s=BOUND_S)
    seconds = lambda: [int(n) for p in heard for n in RUNNING.findall(p["message"])]  # noqa: E731
    await eventually(lambda: len(seconds()) > 1, what="progress")
    assert 1 <= seconds()[0] < seconds()[1] <= time.monotonic() - begun + 1, heard
    given_up = (await ask(link, "run_variant", variant_id="busy/It", wait_s=0.0))["result"]
    assert "the person's cell In[2] has been running for" in given_up["reason"]
    gate.touch()
    await at_desk(person.finish, cell)
    assert (await waiting)["ok"]


@pytest.mark.parametrize("how", STEPS)
async def test_no_deadline_and_no_cancel_of_an_agents_reaches_the_persons_cell(
    link, person, gate, start_cell, at_desk, how, tmp_path
):
    await at_desk(person.run, STORIES + PATIENT)
    cell = await start_cell(how)
    mark = {"mark": str(tmp_path / "mark")}
    overdue = run(link, overrides={"how": "loops"}, timeout_s=0.05, wait_s=BOUND_S)
    cancelled = [run(link, overrides=mark, wait_s=BOUND_S) for _ in range(5)]
    impatient = run(link, overrides=mark, timeout_s=0.01, wait_s=0.1)
    assert (await impatient)["result"]["status"] == "cannot_run"
    assert (await ask(link, "read_failures"))["ok"]
    for task in cancelled:
        task.cancel()
    await asyncio.wait(cancelled)
    assert (await ask(link, "read_failures"))["ok"]
    gate.touch()
    ran = await at_desk(person.finish, cell)
    assert output_of(ran) == "own output\n'mine'"
    assert (await overdue)["result"]["reason"] == "not done within 0.05 s"
    assert not (tmp_path / "mark").exists()
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


@pytest.mark.parametrize("lane", ["main", "worker", "eval"])
async def test_what_a_run_puts_out_lands_in_its_record_and_nowhere_else(
    link, person, at_desk, lane
):
    await at_desk(person.run, STORIES)
    await at_desk(person.run, "import logging; logging.basicConfig(force=True)")
    await at_desk(person.run, "'mine'")
    rounds = 2 if lane == "worker" else 1
    how = {"variant_id": "noisy/It", "overrides": {"rounds": rounds}, "lane": lane}
    how = {"code": "await noisy()"} if lane == "eval" else how
    reply = await ask(link, "eval_code" if lane == "eval" else "run_variant", **how)
    answer = reply["result"]
    assert answer["stdout"] == "printed\n" * rounds
    shown = [output["text/html"] for output in answer["outputs"] if "text/html" in output]
    assert shown == ["<b>shown</b>"] * rounds
    before, own = await at_desk(rest_of_iopub, person, "print(_)")
    assert before == []
    assert own == [{"name": "stdout", "text": "mine\n"}]
    if lane != "worker":
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
