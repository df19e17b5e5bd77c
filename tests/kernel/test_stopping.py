"""Deadlines, cancels and the person's Stop end the run that is meant, and touch nothing else."""

import ast
import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import asynccontextmanager

import pytest
from bounds import BOUND_S, DEADLINE_S, DEADLINES_S, GRACE, PATIENT
from waiting import eventually

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

GRACE_S = 1.0
AGENT = View(principal="agent", access=frozenset({"read", "run", "eval"}))
BY_PERSON = ("cannot_run", "interrupted by the person")
SOON_S = DEADLINE_S + 20 * GRACE_S
OVERDUE = ("error", f"not done within {DEADLINE_S:g} s")
STILL = ("error", f"not done within {DEADLINE_S:g} s, and it could not be stopped: it still runs")

# Each form of run waits, in its own way, for a file that the test makes.
STORIES = """
import asyncio, ctypes, select, subprocess, threading, time, warnings
from pathlib import Path
import repl_pair

held, free = ctypes.PyDLL(None), ctypes.CDLL(None)

def spins(over):
    while not over(): pass

def sleeps(over):
    time.sleep(10)

def locks(over):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=10)

def selects(over):
    select.select([], [], [], 10)

def waits(over):
    subprocess.run(["sleep", "10"])

def holds_the_interpreter(over):
    while not over(): held.usleep(100_000)

def frees_the_interpreter(over):
    while not over(): free.usleep(100_000)

def swallows_exceptions(over):
    while not over():
        try: time.sleep(0.01)
        except Exception: pass

def swallows_interrupts(over):
    while not over():
        try: time.sleep(0.01)
        except KeyboardInterrupt: pass

def swallows_three(over):
    left = 3
    while not over():
        try: time.sleep(0.01)
        except BaseException:
            left -= 1
            if left < 0: raise

def catches_one(over):
    try: time.sleep(10)
    except BaseException: pass

def insists(over):
    ended = False
    while not ended:
        try:
            with open(over.__self__.with_name("insisting"), "a") as hits: hits.write("x")
            while not over(): time.sleep(0.01)
            ended = True
        except BaseException: pass

async def spin(over):
    while not over(): time.sleep(0)

async def go_on(over):
    ended = False
    while not ended:
        try:
            while not over(): await asyncio.sleep(0.01)
            ended = True
        except BaseException: pass

async def awaits(over):
    await asyncio.sleep(2)

async def gathers(over):
    await asyncio.gather(spin(over), asyncio.sleep(2))

async def spins_without_awaiting(over):
    spins(over)

async def swallows_one_cancel(over):
    try: await asyncio.sleep(2)
    except asyncio.CancelledError: pass
    await asyncio.sleep(2)

async def ends_at_a_cancel(over):
    try: await asyncio.sleep(2)
    except asyncio.CancelledError: pass

async def shields(over):
    await asyncio.shield(go_on(over))

async def holds_a_child(over):
    child = asyncio.create_task(asyncio.sleep(2))
    await child

async def holds_a_stubborn_child(over):
    await asyncio.create_task(go_on(over))

async def insists_on_waiting(over):
    await go_on(over)

async def asks_a_thread(over):
    await asyncio.to_thread(time.sleep, 1.0)

FORMS = {f.__name__: f for f in list(globals().values()) if callable(f) and hasattr(f, "__code__")}

@repl_pair.story("plain", thread_safe=True)
def plain(form: str = "", folder: str = ""):
    if form:
        Path(folder, form).touch()
        FORMS[form](Path(folder, "over").exists)
    return "done"

@repl_pair.story("async", thread_safe=True)
async def asynchronous(form: str = "", folder: str = ""):
    Path(folder, form).touch()
    await FORMS[form](Path(folder, "over").exists)
    return "done"

repl_pair.variant("plain/It")
repl_pair.variant("async/It")
"""
PLAIN = [
    "spins",
    "sleeps",
    "locks",
    "selects",
    "waits",
    "holds_the_interpreter",
    "frees_the_interpreter",
    "swallows_exceptions",
    "swallows_interrupts",
    "swallows_three",
    "catches_one",
]
ASYNC = [
    "awaits",
    "gathers",
    "spins_without_awaiting",
    "swallows_one_cancel",
    "ends_at_a_cancel",
    "shields",
    "holds_a_child",
    "asks_a_thread",
]
STUBBORN_ASYNC = ["holds_a_stubborn_child", "insists_on_waiting"]
IN_C = ["sleeps", "locks", "selects", "waits", "catches_one"]
"""What a worker thread cannot be called back from."""


@pytest.fixture
def at_desk():
    return asyncio.to_thread


@pytest.fixture
async def link(kernel):
    async with linked(kernel) as link:
        yield link


@asynccontextmanager
async def linked(kernel):
    link = KernelLink(find_kernel(str(kernel.path)))
    yield link
    await link.close()


async def ask(link, op, on_progress=None, **args):
    return await link.request(op, args, view=AGENT, timeout_s=BOUND_S, on_progress=on_progress)


async def answer(link, form="", folder="", by="run", **args):
    """Run one form, or send code that calls it; give the record."""
    if by == "eval":
        wait = "await " * (form in ASYNC)
        code = f"Path({str(folder)!r}, {form!r}).touch()\n"
        code += f"{wait}FORMS[{form!r}](Path({str(folder)!r}, 'over').exists)"
        reply = await ask(link, "eval_code", code=code, **args)
        assert reply["ok"], str(reply)
        assert reply["result"]["error"]["type"] == "Stopped"
        return reply["result"]
    story = "async" if form in ASYNC + STUBBORN_ASYNC else "plain"
    overrides = {"form": form, "folder": str(folder)}
    reply = await ask(link, "run_variant", variant_id=f"{story}/It", overrides=overrides, **args)
    assert reply["ok"], str(reply)
    return reply["result"]


def start(*args, **kwargs):
    return asyncio.create_task(answer(*args, **kwargs))


async def stuck(link):
    return (await ask(link, "ping"))["result"].get("stuck", {})


def verdict(record):
    return record["status"], record["reason"]


# The person's own task and thread, which no stop may meet; the task is often in a step.
BEATS = """
import asyncio, threading, time
beats, hurt = {"task": 0, "thread": 0}, []

async def beat_in_a_task():
    while True:
        try:
            await asyncio.sleep(0.001)
            step = time.perf_counter() + 0.0007
            while time.perf_counter() < step: pass
        except BaseException as error: hurt.append(("task", repr(error)))
        beats["task"] += 1

def beat_in_a_thread():
    while True:
        try: time.sleep(0.001)
        except BaseException as error: hurt.append(("thread", repr(error)))
        beats["thread"] += 1

beating = asyncio.get_event_loop().create_task(beat_in_a_task())
threading.Thread(target=beat_in_a_thread, daemon=True).start()
"""
FELT = "[hurt, beating.done(), beats]"


# --- the deadline


@pytest.mark.parametrize("by", ["run", pytest.param("eval", marks=pytest.mark.full)])
async def test_every_run_on_the_main_lane_is_answered_at_its_deadline(
    link, person, at_desk, tmp_path, by
):
    await at_desk(person.run, STORIES + PATIENT)
    for form in PLAIN + ASYNC:
        begun = time.monotonic()
        record = await answer(link, form, tmp_path, by, timeout_s=DEADLINE_S)
        took = time.monotonic() - begun
        assert (form, *verdict(record), "still_running" in record) == (form, *OVERDUE, False)
        assert took < SOON_S, form
        assert (await at_desk(person.run, "sum(range(100_000)); 'fine'")).value == "'fine'"
    assert (await answer(link))["status"] == "pass"
    assert await stuck(link) == {}


FREEZE = """
import time
kept = time.monotonic, time.time
time.monotonic = time.time = lambda: 1_700_000_000.0
"""


async def test_a_deadline_is_met_and_leaves_no_thread_while_the_person_freezes_the_clock(
    link, person, at_desk, tmp_path
):
    await at_desk(person.run, STORIES)
    await at_desk(person.run, FREEZE + PATIENT)
    record = await answer(link, "spins", tmp_path, timeout_s=DEADLINE_S)
    assert verdict(record) == OVERDUE
    assert (await answer(link))["status"] == "pass"
    await at_desk(person.run, "time.monotonic, time.time = kept")
    await link.leave()
    threads = "[one.name for one in __import__('threading').enumerate()]"

    async def has_ended():
        return "repl_pair timers" not in (await at_desk(person.run, threads)).value

    await eventually(has_ended, what="the end of the thread of timers")


async def test_every_run_on_a_worker_is_answered_at_its_deadline(link, person, at_desk, tmp_path):
    await at_desk(person.run, STORIES + GRACE.format(3))

    stands = {}

    async def timed(form):
        begun = time.monotonic()
        record = await answer(link, form, tmp_path, timeout_s=DEADLINE_S, lane="worker")
        still = record.get("still_running", False)
        stands[form] = [error["code"] for error in record.get("errors", ()) if "code" in error]
        return verdict(record), still, time.monotonic() - begun

    # What spins or holds the interpreter goes by itself: it takes the time of all others.
    alone = ["spins", "gathers", "spins_without_awaiting", "holds_the_interpreter"]
    together = [form for form in PLAIN + ASYNC if form not in alone]
    answers = dict(zip(together, await asyncio.gather(*map(timed, together)), strict=True))
    answers |= {form: await timed(form) for form in alone}
    for form, (shown, still, took) in answers.items():
        assert (form, shown, still) == (
            (form, STILL, True) if form in IN_C else (form, OVERDUE, False)
        )
        assert took < SOON_S, form
    for form in IN_C:
        assert (form, len(stands[form])) == (form, form in PLAIN)
    (tmp_path / "over").touch()
    late = await eventually(lambda: ended_late(link), what="the end of what was stuck")
    assert late["ended_late"] >= len(IN_C)
    assert (await at_desk(person.run, "'fine'")).value == "'fine'"


async def ended_late(link):
    """Return what is reported of stuck runs once there are none."""
    found = await stuck(link)
    return found if "count" not in found else None


async def test_a_run_that_catches_every_stop_holds_the_main_thread_and_everyone_is_notified(
    link, kernel, person, at_desk, tmp_path
):
    await at_desk(person.run, STORIES)
    before = (await ask(link, "read_changes"))["result"]["next"]
    begun = time.monotonic()
    record = await answer(link, "insists", tmp_path, timeout_s=DEADLINE_S)
    assert (*verdict(record), record["still_running"]) == (*STILL, True)
    assert time.monotonic() - begun < SOON_S
    found = await stuck(link)
    assert (found["count"], found["runs"][0]["what"]) == (1, "a run of plain/It")
    assert found["runs"][0] | {"stopping_s": 0} == {
        "what": "a run of plain/It",
        "lane": "main",
        "stopping_s": 0,
        "reason": OVERDUE[1],
    }
    waiting = await answer(link, wait_s=0.2)
    assert waiting["status"] == "cannot_run"
    assert waiting["reason"] == (
        "not started within 0.2 s: a run of plain/It that was asked to stop "
        f"{waiting['reason'].split(' s ago')[0].split()[-1]} s ago still runs; "
        "Stop (the square) or a restart ends it"
    )
    hidden = await link.request(
        "run_variant",
        {"variant_id": "plain/It", "wait_s": 0.1},
        view=View(principal="agent", tier="ops"),
        timeout_s=BOUND_S,
    )
    assert "plain" not in hidden["result"]["reason"]
    patient = start(link, wait_s=BOUND_S)
    (tmp_path / "over").touch()
    assert (await patient)["status"] == "pass"
    assert await stuck(link) == {"ended_late": 1}
    changes = (await ask(link, "read_changes", since=before))["result"]["items"]
    of_results = [(c["id"], c["count"]) for c in changes if c["member"] == "results"]
    assert of_results == [("plain/It", 2)]
    assert (await at_desk(person.run, "'fine'")).value == "'fine'"


@pytest.mark.full
async def test_a_late_record_is_dropped_and_the_answer_of_the_deadline_stands(
    link, person, at_desk, tmp_path
):
    await at_desk(person.run, STORIES)
    record = await answer(link, "insists", tmp_path, timeout_s=DEADLINE_S, lane="worker")
    assert record["still_running"]
    seen = (await ask(link, "read_changes"))["result"]["next"]
    (tmp_path / "over").touch()
    assert await eventually(lambda: ended_late(link), what="the end") == {"ended_late": 1}
    read = (await ask(link, "read_assertions", variant_id="plain/It"))["result"]
    assert verdict(read) == STILL
    assert (await ask(link, "read_changes", since=seen))["result"]["items"] == []
    passing = (await ask(link, "tests_passing", story_id="plain"))["result"]
    assert passing["status"] == "cannot_run"


@pytest.mark.full
async def test_the_person_may_trace_their_code_after_a_run_on_a_worker(link, person, at_desk):
    await at_desk(person.run, STORIES)
    assert (await answer(link, lane="worker"))["status"] == "pass"
    traced = "import sys\nsys.settrace(lambda *_: None)\nlen(str(1))\n(lambda: 'mine')()"
    assert (await at_desk(person.run, traced)).value == "'mine'"
    await at_desk(person.run, "sys.settrace(None)")


async def test_a_stuck_worker_is_replaced_and_counted(link, person, at_desk, tmp_path):
    await at_desk(person.run, STORIES)
    forms = ["insists", "insists", *STUBBORN_ASYNC]
    runs = [answer(link, form, tmp_path, timeout_s=DEADLINE_S, lane="worker") for form in forms]
    records = await asyncio.gather(*runs)
    assert [record.get("still_running") for record in records] == [True] * 4, records
    found = await stuck(link)
    assert (found["count"], len(found["runs"])) == (4, 4)
    assert (await answer(link, lane="worker"))["status"] == "pass"
    assert (await answer(link))["status"] == "pass"
    (tmp_path / "over").touch()
    assert await eventually(lambda: ended_late(link), what="the end") == {"ended_late": 4}


# --- an agent's cancel, and an agent that is gone


@pytest.mark.parametrize("lane", ["main", "worker"])
async def test_a_cancelled_call_stops_its_run_and_leaves_no_result(
    link, person, at_desk, tmp_path, lane
):
    await at_desk(person.run, STORIES)
    forms = [form for form in PLAIN + ASYNC if lane == "main" or form not in IN_C]
    for form in forms:
        running = start(link, form, tmp_path, lane=lane)
        await eventually((tmp_path / form).exists, what=form)
        running.cancel()
        begun = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await answer(link, wait_s=BOUND_S))["status"] == "pass"
        assert time.monotonic() - begun < SOON_S, form
        assert (await at_desk(person.run, "sum(range(100_000)); 'fine'")).value == "'fine'"
    error = (await ask(link, "read_assertions", variant_id="async/It"))["error"]
    assert "has not been run yet" in error["message"]


CLIENT = """
import asyncio, sys
from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View
async def main():
    link = KernelLink(find_kernel(sys.argv[1]))
    overrides = {"form": "sleeps", "folder": sys.argv[2]}
    args = {"variant_id": "plain/It", "overrides": overrides, "timeout_s": 0.5}
    await link.request("run_variant", args, view=View(), timeout_s=30)
asyncio.run(main())
"""


@pytest.mark.full
async def test_the_deadline_ends_the_run_of_a_client_that_was_killed(
    link, kernel, person, at_desk, tmp_path
):
    await at_desk(person.run, STORIES)
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(kernel.path), str(tmp_path)])
    await eventually((tmp_path / "sleeps").exists, what="the run")
    client.kill()
    client.wait()
    assert (await answer(link, wait_s=BOUND_S))["status"] == "pass"
    assert (await at_desk(person.run, "'fine'")).value == "'fine'"
    assert await stuck(link) == {}


SLOW_TO_LOOK_AT = """
import threading
from repl_pair.runtime.ops import variables

plain_type_name = variables.type_name

def slow_type_name(value):
    while "worker" in threading.current_thread().name: pass
    return plain_type_name(value)

variables.type_name = slow_type_name
thing = 1
"""


@pytest.mark.full
async def test_a_read_that_is_cancelled_gives_its_thread_back(link, person, at_desk):
    await at_desk(person.run, SLOW_TO_LOOK_AT)
    await ask(link, "ping")
    threads = "sum('worker' in t.name for t in threading.enumerate())"

    async def workers():
        return int((await at_desk(person.run, threads)).value)

    reading = asyncio.create_task(ask(link, "list_variables"))
    await eventually(workers, what="the reader's thread")
    reading.cancel()
    begun = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await reading

    async def is_gone():
        return not await workers()

    await eventually(is_gone, what="the end of the reader's thread")
    assert time.monotonic() - begun < SOON_S


# --- the person's Stop


def interrupt(person):
    """Stop, as a front end asks for it."""
    control = person._file.connect_control()
    person._session.send(control, "interrupt_request", {})
    assert control.poll(BOUND_S * 1000)
    control.close()


@pytest.mark.parametrize(
    ("how", "by"), [("SIGINT", "run"), ("interrupt_request", "run"), ("interrupt_request", "eval")]
)
async def test_the_persons_stop_ends_an_agents_run_in_every_form(
    link, kernel, person, at_desk, tmp_path, how, by
):
    await at_desk(person.run, STORIES + BEATS)
    for form in PLAIN + ASYNC:
        running = start(link, form, tmp_path, by)
        await eventually((tmp_path / form).exists, what=form)
        begun = time.monotonic()
        kernel.signal(signal.SIGINT) if how == "SIGINT" else interrupt(person)
        record = await running
        assert (form, *verdict(record)) == (form, *BY_PERSON)
        # A signal that meets Python just before it sleeps is seen after the sleep.
        assert time.monotonic() - begun < SOON_S, form
        assert (await at_desk(person.run, "sum(range(100_000)); 'fine'")).value == "'fine'"
    if by == "run":
        read = (await ask(link, "read_assertions", variant_id="async/It"))["result"]
        assert verdict(read) == BY_PERSON
    hurt, ended, beats = ast.literal_eval((await at_desk(person.run, FELT)).value)
    assert (hurt, ended) == ([], False), "a stop met the person's own task or thread"
    assert min(beats.values()) > 20, beats


@pytest.mark.full
async def test_the_persons_stop_still_reaches_a_run_that_is_stuck(
    link, kernel, person, at_desk, tmp_path
):
    insisting = tmp_path / "insisting"

    async def press():
        before = insisting.stat().st_size
        kernel.signal(signal.SIGINT)
        await eventually(lambda: insisting.stat().st_size > before, what="the stop in the run")

    seldom = "from repl_pair.runtime.kernel import deadlines; deadlines.LATER_S = 3600"
    await at_desk(person.run, STORIES + seldom)
    running = start(link, "insists", tmp_path)
    await eventually(insisting.exists, what="the run")
    kernel.signal(signal.SIGINT)
    record = await running
    assert (*verdict(record), record["still_running"]) == (
        "error",
        "interrupted by the person, and it could not be stopped: it still runs",
        True,
    )
    for _ in range(6):  # of its own repl_pair stops it at most once more
        await press()
    (tmp_path / "over").touch()
    assert (await at_desk(person.run, "'fine'")).value == "'fine'"
    assert await stuck(link) == {"ended_late": 1}


async def test_stop_while_nothing_runs_is_ignored_as_ever(link, kernel, person, at_desk):
    await at_desk(person.run, STORIES)
    assert (await answer(link))["status"] == "pass"
    for _ in range(20):
        kernel.signal(signal.SIGINT)
        interrupt(person)
    assert (await at_desk(person.run, "sum(range(100_000)); 'fine'")).value == "'fine'"
    assert (await answer(link))["status"] == "pass"


async def test_the_persons_stop_of_a_cell_lets_the_waiting_run_go_on(link, kernel, person, at_desk):
    await at_desk(person.run, STORIES)
    cell = await at_desk(person.start, "for _ in range(1000): time.sleep(0.02)")
    waiting = start(link, wait_s=BOUND_S)
    await asyncio.sleep(0)
    assert (await ask(link, "read_failures"))["ok"]
    kernel.signal(signal.SIGINT)
    ran = await at_desk(person.finish, cell)
    assert ran.reply["ename"] == "KeyboardInterrupt"
    assert (await waiting)["status"] == "pass"
    assert (await at_desk(person.run, "'fine'")).value == "'fine'"


@pytest.mark.parametrize("form", ["sleeps", "spins", "awaits"])
async def test_a_run_of_the_persons_own_is_stopped_as_a_cell(
    kernel, person, at_desk, tmp_path, form
):
    await at_desk(person.run, STORIES)
    state = "[warnings.filters[:], warnings.showwarning]"
    before = (await at_desk(person.run, state)).value
    variant_id = "async/It" if form in ASYNC else "plain/It"
    overrides = {"form": form, "folder": str(tmp_path)}
    run = f"repl_pair.run({variant_id!r}, overrides={overrides})"
    cell = await at_desk(person.start, run)
    await eventually((tmp_path / form).exists, what="the run")
    kernel.signal(signal.SIGINT)
    ran = await at_desk(person.finish, cell)
    assert ran.reply["ename"] == "KeyboardInterrupt"
    assert (await at_desk(person.run, state)).value == before
    assert (await at_desk(person.run, "repl_pair.run('plain/It').status")).value == "'pass'"


# --- where in a run a stop comes

PHASES = """
import asyncio, time
from pathlib import Path
import repl_pair
from repl_pair import check

torn_down, where = [], {"mark": "", "stop": "", "teardown": ""}

def linger(phase):
    if where["stop"] == phase:
        Path(where["mark"]).touch()
        time.sleep(30)

@repl_pair.loader("first")
def first():
    yield 1
    torn_down.append("first")

@repl_pair.loader("second")
def second():
    yield 2
    torn_down.append("second")
    linger("teardown")
    if where["teardown"] == "hangs": time.sleep(3)
    torn_down.append("second ended")

@repl_pair.loader("third")
def third():
    linger("load")
    return 3

@repl_pair.assertion("slow")
def slow(settled):
    linger("play")
    return True

@repl_pair.story("phased", args={"a": repl_pair.ref("first"), "b": repl_pair.ref("second"),
                                 "c": repl_pair.ref("third")})
def phased(a: int, b: int, c: int):
    linger("render")
    return a
repl_pair.variant("phased/It", play=[["slow"]])

def state():
    import sys, warnings
    return [str(x) for x in (sys.displayhook, warnings.showwarning,
                             warnings.filters, get_ipython().display_pub.publish)]
"""


async def test_a_stop_in_any_phase_tears_down_once_and_leaves_nothing_behind(
    link, kernel, person, at_desk, tmp_path
):
    await at_desk(person.run, PHASES + PATIENT)
    await ask(link, "ping")
    before = (await at_desk(person.run, "state()")).value
    for phase in ("load", "render", "play", "teardown"):
        for by_person in (False, True):
            mark = tmp_path / f"{phase}-{by_person}"
            setting = {"mark": str(mark), "stop": phase, "teardown": ""}
            await at_desk(person.run, f"where.update({setting})")
            for limit_s in (BOUND_S,) if by_person else DEADLINES_S:
                await at_desk(person.run, "torn_down.clear()")
                running = asyncio.create_task(
                    ask(link, "run_variant", variant_id="phased/It", timeout_s=limit_s)
                )
                if by_person:
                    await eventually(mark.exists, what=phase)
                    kernel.signal(signal.SIGINT)
                record = (await running)["result"]
                if mark.exists():
                    break
            overdue = ("error", f"not done within {limit_s:g} s")
            assert (phase, *verdict(record)) == (phase, *(BY_PERSON if by_person else overdue))
            torn_down = ast.literal_eval((await at_desk(person.run, "torn_down")).value)
            cut = ["second", "first"]
            whole = ["second", "second ended", "first"]
            assert torn_down == (cut if phase == "teardown" else whole)
            assert (await at_desk(person.run, "state()")).value == before


@pytest.mark.full
async def test_a_teardown_that_hangs_after_a_stop_is_itself_stopped(
    link, person, at_desk, tmp_path
):
    await at_desk(person.run, PHASES + PATIENT)
    setting = {"mark": str(tmp_path / "mark"), "stop": "render", "teardown": "hangs"}
    await at_desk(person.run, f"where.update({setting})")
    begun = time.monotonic()
    record = (await ask(link, "run_variant", variant_id="phased/It", timeout_s=DEADLINE_S))[
        "result"
    ]
    assert verdict(record) == OVERDUE
    assert 0.5 < time.monotonic() - begun < SOON_S
    assert (await at_desk(person.run, "torn_down")).value == "['second', 'first']"


# --- races

RACERS = """
import asyncio, sys, threading, time, warnings
import repl_pair

def until(seconds):
    return time.perf_counter() + seconds

@repl_pair.story("spins", thread_safe=True)
def spins(for_s: float = 0.0):
    end = until(for_s)
    while time.perf_counter() < end: pass
    print("done")

@repl_pair.story("sleeps", thread_safe=True)
def sleeps(for_s: float = 0.0):
    end = until(for_s)
    while time.perf_counter() < end: time.sleep(0.0003)

@repl_pair.story("awaits", thread_safe=True)
async def awaits(for_s: float = 0.0):
    end = until(for_s)
    while time.perf_counter() < end: await asyncio.sleep(0.0003)

@repl_pair.story("gathers", thread_safe=True)
async def gathers(for_s: float = 0.0):
    await asyncio.gather(awaits(for_s), asyncio.sleep(for_s))

@repl_pair.story("insists", thread_safe=True)
def insists(for_s: float = 0.0):
    end, ended = until(2.6), False
    while not ended:
        try:
            while time.perf_counter() < end: time.sleep(0.005)
            ended = True
        except BaseException: pass

for name in ("spins", "sleeps", "awaits", "gathers", "insists"):
    repl_pair.variant(name + "/It")

def state():
    return [str(x) for x in (sys.displayhook, warnings.showwarning,
                             warnings.filters, get_ipython().kernel.saved_sigint_handler)]
"""
RACES = 2_000


class Tally:
    """What came of the races of one lane; its deadline moves to where half of them pass."""

    def __init__(self):
        self.timeout_s = 0.0028
        self.races = 0
        self.statuses = Counter()
        self.still_running = 0

    def take(self, name, reply):
        assert reply["ok"], json.dumps(reply["error"])
        record = reply["result"]
        self.races += 1
        self.statuses[record["status"]] += 1
        self.still_running += record.get("still_running", False)
        assert record.get("still_running", False) == (name == "insists"), (name, record)
        if name != "insists":
            self.timeout_s *= 0.98 if record["status"] == "pass" else 1.02


async def race(link, tally, name, for_s, lane):
    timeout_s = 0.05 if name == "insists" else tally.timeout_s
    args = {"overrides": {"for_s": for_s}, "timeout_s": timeout_s, "wait_s": BOUND_S}
    tally.take(name, await ask(link, "run_variant", variant_id=f"{name}/It", lane=lane, **args))


@pytest.mark.full
async def test_two_thousand_races_with_a_deadline_leave_no_stray_interrupt(
    link, kernel, person, at_desk
):
    await at_desk(person.run, RACERS + BEATS + PATIENT)
    await ask(link, "ping")
    before = (await at_desk(person.run, "state()")).value
    names = ("spins", "sleeps", "awaits", "gathers")
    tallies = {"main": Tally(), "worker": Tally()}
    other_texts = {}
    for round in range(RACES // 2):
        name = "insists" if round in (300, 600) else names[round % 4]
        if name == "insists":
            await at_desk(person.run, GRACE.format(0.1))
        for_s = 0.0015 + 0.0000025 * round
        async with asyncio.TaskGroup() as group:
            for lane, tally in tallies.items():
                group.create_task(race(link, tally, name, for_s, lane))
            cell = group.create_task(at_desk(person.run, f"sum(range(2000)); print({round})"))
        if name == "insists":
            await at_desk(person.run, PATIENT)
        if (ran := cell.result()).text != f"{round}\n":
            other_texts[round] = [(m["msg_type"], m["content"]) for m in ran.messages]
    print({lane: (t.races, dict(t.statuses), t.still_running) for lane, t in tallies.items()})
    assert sum(tally.races for tally in tallies.values()) == RACES
    assert other_texts == {}
    assert (await at_desk(person.run, "state()")).value == before
    hurt, ended, beats = ast.literal_eval((await at_desk(person.run, FELT)).value)
    assert (hurt, ended) == ([], False), "a stop met the person's own task or thread"
    assert min(beats.values()) > 100, beats
    for tally in tallies.values():
        assert tally.statuses["pass"] > 20, "the race was never close"
        assert tally.statuses["error"] > 20, "the race was never close"
        assert tally.still_running == 2
    assert await eventually(lambda: ended_late(link), what="the end") == {"ended_late": 4}
    assert (await at_desk(person.run, "'fine'")).value == "'fine'"
