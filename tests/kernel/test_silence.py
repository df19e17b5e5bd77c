"""A kernel that does not answer: why is reported, the last known is given, and nothing is lost."""

import asyncio
import os
import re
import signal
import time
from contextlib import asynccontextmanager
from functools import partial
from textwrap import indent

import pytest
from bounds import BOUND_S, DEADLINE_S
from halting import halt
from waiting import eventually

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link import kernel_link
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.bridge.silence.remembered import ALWAYS_KNOWN
from repl_pair.errors import next_step
from repl_pair.wire import View

from .conftest import HOLD, WAITS

pytestmark = pytest.mark.anyio

SOON_S = 15.0
"""What takes 1.5 s on a machine with nothing else to do."""
AGENT = View(principal="agent")
OTHER = View(principal="other")

STORY = """
import pathlib, time, repl_pair
@repl_pair.story("demo")
def demo(mark: str = "", sleep_s: float = 0.0):
    time.sleep(sleep_s)
    if mark:
        with open(mark, "a") as file: file.write("x")
repl_pair.variant("demo/It")
"""
COMPUTE = """
import collections, ctypes, functools, pathlib
is_ended = functools.partial(ctypes.PyDLL(None).access, {end!r}.encode(), 0)
pathlib.Path({gate!r}).touch(); _ = collections.deque(iter(is_ended, 0), maxlen=0)
"""
HOLDS = {
    "in a call that sleeps or waits": HOLD,
    "the main thread computes": COMPUTE,
}
HANDLER = """
import os
def slow(stream, ident, parent): os.mkfifo({gate!r}); open({gate!r}).close()
get_ipython().kernel.control_handlers["slow_request"] = slow
"""
"""Adds a handler that waits from when the gate exists until `gate.write_bytes(b"")`."""
OUT_OF_FILES = """
import os, resource
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
used = max(map(int, os.listdir("/proc/self/fd")))
resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, limits[1]))
taken = []
try:
    while True: taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    for number in taken[:{left}]: os.close(number)
"""
FORK = """
import multiprocessing, time
child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,), daemon=True)
child.start(); child.pid
"""
BLOCK_LOOP = f"""
import asyncio
def block():
{indent(WAITS, "    ")}
_ = asyncio.get_event_loop().call_later(0.1, block)
"""


@pytest.fixture
async def open_link(kernel):
    links = []

    def open_one():
        links.append(KernelLink(find_kernel(kernel.path)))
        return links[-1]

    yield open_one
    for link in links:
        await link.close()


@pytest.fixture
async def link(open_link, person):
    await asyncio.to_thread(person.run, STORY)
    return open_link()


@pytest.fixture
async def session(kernel):
    session = Session(Policy(), str(kernel.path))
    yield session
    await session.close()


@pytest.fixture
def marks(tmp_path):
    """What the runs of a name left behind: `marks("name")`, and `marks.path("name")`."""

    def read(name):
        return (tmp_path / name).read_text() if (tmp_path / name).exists() else ""

    read.path = lambda name: str(tmp_path / name)
    return read


@pytest.fixture
def hold(person, tmp_path):
    """Runs a cell in which C code holds the interpreter lock until `hold.end()`."""
    gate, end = tmp_path / "gate", tmp_path / "end"

    async def hold(code):
        cell = code.format(gate=str(gate), end=str(end)) + "'mine'"
        ran = asyncio.create_task(asyncio.to_thread(person.run, cell))
        await eventually(gate.exists, what="the cell's call into C")
        return ran

    def release():
        end.touch()
        if gate.is_fifo():
            os.close(os.open(gate, os.O_RDWR))

    hold.end = release
    yield hold
    release()


async def ask(link, op, view=AGENT, timeout_s=BOUND_S, on_progress=None, **args):
    return await link.request(op, args, view=view, timeout_s=timeout_s, on_progress=on_progress)


def run(link, mark="", timeout_s=BOUND_S, on_progress=None, **overrides):
    call = ask(
        link,
        "run_variant",
        timeout_s=timeout_s,
        on_progress=on_progress,
        variant_id="demo/It",
        overrides={"mark": mark, **overrides},
    )
    return asyncio.create_task(call)


async def until_state(state, call):
    """Repeat a call until it names the state: on a busy machine an examination may miss it."""

    async def named():
        reply = await call()
        shown = reply["result"] if reply["ok"] else reply["error"].get("detail", {})
        return reply if shown.get("state") == state else None

    return await eventually(named, what=state)


async def hears(heard, text):
    """Wait until the text is in a message of progress."""
    await eventually(lambda: any(text in seen["message"] for seen in heard), what=text)


async def no_blocked_loop(session):
    """Wait until the status shows none: a loop that is slow for a moment is shown too."""

    async def is_free():
        return "loop_blocked_s" not in (await session.call("kernel_status"))["result"]

    await eventually(is_free, what="a loop that is not blocked")


async def last_known(link, op):
    """Ask until the lock is held and an old answer comes; gives it and what it took."""
    async with asyncio.timeout(BOUND_S):
        while True:
            reply, took = await timed(ask(link, op))
            if "age_s" in reply:
                return reply, took


async def timed(call):
    began = time.monotonic()
    return await call, time.monotonic() - began


async def remembered(link):
    """Wait until the link has read the registry by itself."""
    refresher = link._silence._refresher
    await eventually(lambda: refresher._known and refresher.is_done, what="a last known registry")


@asynccontextmanager
async def stopped(kernel):
    halt(kernel.pid)
    try:
        yield
    finally:
        kernel.signal(signal.SIGCONT)


# --- C code holds the interpreter lock


@pytest.mark.parametrize("how", HOLDS)
async def test_while_c_code_holds_the_lock_the_last_known_registry_is_given_and_runs_wait(
    link, open_link, session, person, hold, marks, how, monkeypatch
):
    monkeypatch.setattr(kernel_link, "BACKGROUND_S", BOUND_S)
    assert (await ask(link, "get_variant", variant_id="demo/It"))["ok"]
    await remembered(link)
    await asyncio.to_thread(person.run, STORY.replace('"demo', '"later'))
    assert (await ask(link, "get_variant", variant_id="later/It"))["ok"]
    await remembered(link)
    newcomer = open_link()
    await session.call("list_stories")
    count = (await asyncio.to_thread(person.run, "'before'")).reply["execution_count"]
    cell = await hold(HOLDS[how])
    heard = []
    waiting = run(link, marks.path("waited"), on_progress=heard.append)
    read = asyncio.create_task(ask(link, "read_failures"))
    others = asyncio.create_task(ask(link, "list_stories", view=OTHER))
    giving_up = partial(run, link, marks.path("given up"), timeout_s=1.2)
    given_up = asyncio.create_task(until_state("gil_held", giving_up))
    cancelled = [run(link, marks.path("cancelled")) for _ in range(3)]
    known = [asyncio.create_task(last_known(link, op)) for op in ALWAYS_KNOWN]
    status, took = await timed(until_state("gil_held", partial(session.call, "kernel_status")))
    newly, took_newly = await timed(until_state("gil_held", partial(ask, newcomer, "ping")))
    for task in cancelled:
        task.cancel()

    for op, task in zip(ALWAYS_KNOWN, known, strict=True):
        reply, took_known = await task
        assert took_known < SOON_S
        assert (reply["ok"], reply["boot"]) == (True, link.boot), op
        assert 0.0 < reply["age_s"] < BOUND_S
        seen = reply["notifications"][0]
        assert seen.startswith("Last known, "), seen
        assert "s old: its threads have waited for the interpreter lock for " in seen
        assert seen.endswith(f" s ({how}).")
    stories, _ = await known[0]
    assert [item["id"] for item in stories["result"]["items"]] == ["demo", "later"]
    assert "since." not in stories["notifications"][0]

    shown = status["result"]
    assert (shown["alive"], shown["code"]) == (True, "kernel_unresponsive")
    waited = f"its threads have waited for the interpreter lock for {shown['since_s']} s ({how})"
    assert waited in shown["why"]
    assert newly["error"]["code"] == "kernel_unresponsive"
    assert max(took, took_newly) < SOON_S

    refused = await given_up
    assert refused["error"]["code"] == "kernel_unresponsive"
    assert refused["next_steps"]
    waits = "its threads have waited for the interpreter lock for "
    await hears(heard, f"waiting: the kernel is alive, but {waits}")
    hold.end()
    ran = await cell
    assert (ran.value, ran.text) == ("'mine'", "")
    assert ran.reply["execution_count"] == count + 1
    assert (await read)["ok"]
    late = await others
    assert (late["ok"], "age_s" in late) == (True, False)
    assert (await waiting)["result"]["status"] == "pass"
    afterwards, took = await timed(ask(link, "list_stories"))
    assert (afterwards["ok"], "age_s" in afterwards) == (True, False)
    assert took < SOON_S
    assert "state" not in (await session.call("kernel_status"))["result"]
    assert [marks(name) for name in ("waited", "given up", "cancelled")] == ["x", "", ""]


async def test_who_leaves_a_kernel_that_does_not_answer_is_not_attached_again_by_calls_in_flight(
    link, hold, marks
):
    assert (await ask(link, "list_stories"))["ok"]
    cell = await hold(HOLDS["in a call that sleeps or waits"])
    reading, running = asyncio.create_task(ask(link, "read_failures")), run(link, marks.path("run"))
    await asyncio.sleep(0)
    await link.leave()
    assert (await reading)["error"]["code"] == "cancelled"
    error = (await running)["error"]
    assert error["code"] == "outcome_unknown"
    assert "was left while run_variant" in error["message"]
    assert (link.was_left, link.is_attached) == (True, False)
    hold.end()
    await cell


# --- its process is stopped


async def test_a_stopped_kernel_is_named_and_goes_on_where_it_was(kernel, link, session, marks):
    boot = (await ask(link, "list_stories"))["boot"]
    await session.call("list_stories")
    async with stopped(kernel):
        heard = []
        reading = asyncio.create_task(ask(link, "list_stories", on_progress=heard.append))
        waiting = run(link, marks.path("waited"))
        status, took = await timed(session.call("kernel_status"))
        newcomer = Session(Policy(), kernel.id)
        newly, took_newly = await timed(newcomer.call("kernel_status"))
        refused = await newcomer.call("list_stories")
        await newcomer.close()
        await hears(heard, "its process has been stopped for")
    for shown in (status["result"], newly["result"]):
        assert (shown["id"], shown["pid"], shown["alive"]) == (kernel.id, kernel.pid, True)
        assert (shown["state"], shown["code"]) == ("stopped", "kernel_unresponsive")
        assert "its process has been stopped" in shown["why"]
    assert status["result"]["since_s"] > 0.5
    assert max(took, took_newly) < SOON_S
    assert "its process has been stopped" in refused["error"]["message"]
    assert f"`kill -CONT {kernel.pid}`" in refused["hints"][0]
    answered = await reading
    assert (answered["ok"], answered["boot"], "age_s" in answered) == (True, boot, False)
    assert (await waiting)["result"]["status"] == "pass"
    assert (await ask(link, "list_stories"))["boot"] == boot
    assert marks("waited") == "x"


async def test_a_run_that_was_given_up_or_cancelled_while_the_kernel_stood_never_runs(
    kernel, link, marks
):
    assert (await ask(link, "list_stories"))["ok"]
    rounds, runs = 3, 14
    for _ in range(rounds):
        async with stopped(kernel):
            given_up = [run(link, marks.path("given up"), timeout_s=0.2) for _ in range(runs)]
            cancelled = [run(link, marks.path("cancelled")) for _ in range(runs)]
            refused = [await task for task in given_up]
            for task in cancelled:
                task.cancel()
            await asyncio.wait(cancelled)
        assert {reply["error"]["detail"]["state"] for reply in refused} == {"stopped"}
        # It is examined while it is slow: what was seen then says nothing of the next calls.
        assert (await run(link, marks.path("kept"), sleep_s=0.9))["result"]["status"] == "pass"
    print(f"{rounds * runs} runs given up, {rounds * runs} cancelled: 0 ran")
    assert [marks(name) for name in ("given up", "cancelled")] == ["", ""]
    assert marks("kept") == "x" * rounds


async def test_a_run_given_up_or_cancelled_behind_a_cell_never_runs_once_the_cell_ends(
    link, person, marks, hold, tmp_path
):
    assert (await ask(link, "list_stories"))["ok"]
    begun, taken = tmp_path / "begun", tmp_path / "taken"
    begin = f"import pathlib; pathlib.Path({str(begun)!r}).touch()"
    holding = asyncio.create_task(hold(begin + WAITS.format(gate=str(taken)) + HOLD))
    await eventually(begun.exists, what="the cell")
    given_up = [run(link, marks.path("given up"), timeout_s=3.0) for _ in range(20)]
    cancelled = [run(link, marks.path("cancelled")) for _ in range(20)]
    assert (await ask(link, "list_stories"))["ok"]  # by its answer the kernel has taken the runs
    taken.touch()
    cell = await holding
    assert {(await task)["error"]["code"] for task in given_up} == {"kernel_unresponsive"}
    for task in cancelled:
        task.cancel()
    hold.end()
    await cell
    assert (await run(link, marks.path("kept")))["result"]["status"] == "pass"
    assert [marks(name) for name in ("given up", "cancelled", "kept")] == ["", "", "x"]


async def test_a_run_given_up_never_begins_even_where_its_cancel_cannot_be_read(
    link, person, marks, tmp_path
):
    gate, ends = tmp_path / "gate", tmp_path / "ends"
    await asyncio.to_thread(person.run, HANDLER.format(gate=str(gate)))
    assert (await ask(link, "list_stories"))["ok"]
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(ends)))
    given_up = run(link, marks.path("given up"), timeout_s=DEADLINE_S)
    await ask(link, "ping")
    link.line.send("slow_request", {})
    await eventually(gate.exists, what="the handler")
    assert (await given_up)["error"]["code"] == "kernel_unresponsive"
    ends.touch()
    await asyncio.to_thread(person.finish, cell)
    kept = run(link, marks.path("kept"))
    await asyncio.to_thread(gate.write_bytes, b"")
    assert (await kept)["result"]["status"] == "pass"
    assert [marks(name) for name in ("given up", "kept")] == ["", "x"]


async def test_a_silent_kernel_that_dies_is_reported_at_once(kernel, link, marks):
    assert (await ask(link, "list_stories"))["ok"]
    halt(kernel.pid)
    heard = []
    waiting = run(link, marks.path("lost"), on_progress=heard.append)
    await eventually(lambda: heard, what="the silence")
    kernel.kill()
    reply, took = await timed(waiting)
    assert reply["error"]["code"] == "outcome_unknown"
    assert took < SOON_S


@pytest.mark.parametrize("is_waited_for", [True, False])
async def test_a_kernel_that_dies_while_a_process_forked_from_it_lives_is_reported_soon(
    kernel, link, session, person, marks, is_waited_for
):
    assert (await ask(link, "list_stories"))["ok"]
    assert (await session.call("list_stories"))["ok"]
    child = int((await asyncio.to_thread(person.run, FORK)).value)
    try:
        waiting = run(link, marks.path("lost"), sleep_s=600.0)
        reading = asyncio.create_task(ask(link, "read_changes", wait_s=600.0))
        assert (await ask(link, "ping"))["ok"]
        kernel.signal(signal.SIGKILL)
        if is_waited_for:
            kernel.process.wait()
        ran, took = await timed(waiting)
        read, took_read = await timed(reading)
        status, took_status = await timed(session.call("kernel_status"))
    finally:
        os.kill(child, signal.SIGKILL)
        kernel.process.wait()
    assert (ran["error"]["code"], read["error"]["code"]) == ("outcome_unknown", "kernel_gone")
    assert (status["result"]["alive"], status["result"]["code"]) == (False, "kernel_gone")
    assert max(took, took_read, took_status) < SOON_S


# --- its channel, its loop, our handlers


async def test_a_handler_that_blocks_the_control_channel_is_reported_and_outlasted(
    link, session, person, tmp_path
):
    gate = tmp_path / "gate"
    await asyncio.to_thread(person.run, HANDLER.format(gate=str(gate)))
    await ask(link, "list_stories")
    await remembered(link)
    await session.call("list_stories")
    link.line.send("slow_request", {})
    await eventually(gate.exists, what="the handler")
    reading = asyncio.create_task(ask(link, "list_stories"))
    asking = partial(session.call, "kernel_status")
    status, took = await timed(until_state("control_blocked", asking))
    assert took < SOON_S
    assert status["result"]["alive"]
    assert "by a handler that sleeps or waits" in status["result"]["why"]
    await asyncio.to_thread(gate.write_bytes, b"")
    answered = await reading
    assert (answered["ok"], "age_s" in answered) == (True, False)


async def test_a_callback_that_blocks_the_loop_is_named_while_no_cell_runs(
    link, session, person, tmp_path
):
    await ask(link, "list_stories")
    await no_blocked_loop(session)
    gate = tmp_path / "gate"
    before = time.monotonic()
    await asyncio.to_thread(person.run, BLOCK_LOOP.format(gate=str(gate)))
    async with asyncio.timeout(BOUND_S):
        while "loop_blocked_s" not in (await session.call("kernel_status"))["result"]:
            await asyncio.sleep(0.01)
    heard = []
    waiting = run(link, on_progress=heard.append)
    assert (await ask(link, "list_stories"))["ok"]
    is_meant = re.compile(
        r"waiting: no cell runs, but the kernel's event loop has been blocked for [1-9]\d* s by a "
        "callback in the person's code"
    ).fullmatch
    await eventually(lambda: any(is_meant(seen["message"]) for seen in heard), what="progress")
    reply = await session.call("kernel_status")
    status, step_of_status = reply["result"], reply["next_steps"]
    assert (status["busy"], status["cell"]) == (False, None)
    assert 1.0 <= status["loop_blocked_s"] < time.monotonic() - before
    assert step_of_status == [next_step("read_stacks")]
    gate.touch()
    assert (await waiting)["result"]["status"] == "pass"
    await no_blocked_loop(session)


async def test_a_kernel_that_the_person_detached_reports_it_within_a_second(link, person, marks):
    assert (await ask(link, "list_stories"))["ok"]
    await asyncio.to_thread(person.run, "%load_ext repl_pair\n%pair detach")
    calls = [ask(link, "list_stories"), ask(link, "ping"), run(link, marks.path("detached"))]
    replies, took = await timed(asyncio.gather(*calls))
    assert [reply["error"]["code"] for reply in replies] == ["detached"] * 3
    assert "%pair attach" in replies[0]["error"]["message"]
    assert "nothing was run" in replies[0]["error"]["message"]
    assert took < SOON_S
    await asyncio.to_thread(person.run, "%pair attach")
    assert (await ask(link, "list_stories"))["ok"]
    assert marks("detached") == ""


async def test_a_call_that_found_our_handlers_unloaded_brings_them_back_and_runs_once(
    link, person, marks
):
    assert (await ask(link, "list_stories"))["ok"]
    await asyncio.to_thread(
        person.run,
        "from repl_pair.runtime.kernel.attach import CLIENTS, detach\n"
        "detach(); CLIENTS._refused_at = None",
    )
    reply, took = await timed(run(link, marks.path("once")))
    assert reply["result"]["status"] == "pass"
    assert took < SOON_S
    assert marks("once") == "x"


@pytest.mark.parametrize("left", [0, 1])
async def test_a_kernel_that_has_too_many_open_files_is_reported_as_that(
    open_link, session, person, left
):
    await asyncio.to_thread(person.run, OUT_OF_FILES.format(left=left))
    link = open_link()
    reply = await ask(link, "list_stories", timeout_s=2.0)
    status = (await session.call("kernel_status"))["result"]
    await asyncio.to_thread(person.run, "resource.setrlimit(resource.RLIMIT_NOFILE, limits)")
    assert "its process has too many open files" in reply["error"]["message"]
    assert "raise `ulimit -n`" in reply["hints"][0]
    assert (status["alive"], status["state"]) == (True, "out_of_files")
    assert (await session.call("list_stories"))["ok"]


async def test_a_kernel_that_answers_no_call_of_repl_pair_is_not_taken_for_one_that_does(
    link, person, tmp_path
):
    gate = tmp_path / "gate"
    code = f"import sys; sys.stdout = None; open({str(gate)!r}, 'w').close()"
    await asyncio.to_thread(person.start, code)
    await eventually(gate.exists, what="the cell that takes stdout away")
    asking = partial(ask, link, "list_stories", timeout_s=2.0)
    error = (await until_state("no_replies", asking))["error"]
    assert error["code"] == "kernel_unresponsive"
    assert error["detail"]["since_s"] >= 2.0
    assert "no reply of repl_pair has come for" in error["message"]


async def test_a_slow_run_is_waited_for_and_nothing_is_reported_of_silence(link, session, marks):
    runs = []

    async def is_quiet():
        runs.append(heard := [])
        reply = await run(link, marks.path("slow"), on_progress=heard.append, sleep_s=2.2)
        assert reply["result"]["status"] == "pass"
        return not [seen for seen in heard if "alive" in seen["message"]]

    await eventually(is_quiet, what="a run that a busy machine left time to answer")
    assert marks("slow") == "x" * len(runs)
