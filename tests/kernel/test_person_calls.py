"""What a run calls that would end the kernel, ask its person, or stay with them."""

import asyncio

import pytest
from bounds import BOUND_S

from repl_pair.runtime.capture.person_calls import NO_STDIN
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=frozenset({"read", "run", "eval"}))
LANES = ("main", "worker", "eval")
STORIES = """
import builtins, getpass, logging, os, subprocess, sys
import repl_pair
from IPython import get_ipython
from multiprocessing import get_context

def quit_as_a_cell_does(): get_ipython().ev("quit()")
def ask_exit(): get_ipython().ask_exit()
def sys_exit(): sys.exit(3)
def os_exit(): os._exit(4)
def ask(): input("name? ")
def get_pass(): getpass.getpass()
def raw_input(): get_ipython().kernel.raw_input("name? ")
def page(): get_ipython().run_line_magic("pinfo", "len")
def next_input(): get_ipython().set_next_input("x = 1")
def edit():
    payload = {"source": "edit_magic", "filename": "a.py"}
    get_ipython().payload_manager.write_payload(payload)
def child():
    process = get_context("fork").Process(target=print)
    process.start()
    process.join()
    return process.exitcode
def log():
    logging.warning("logged")
    logging.getLogger().setLevel(5)
    return len(logging.root.handlers)

WAYS = (
    quit_as_a_cell_does, exit, ask_exit, sys_exit, os_exit, ask, get_pass, raw_input,
    page, next_input, edit, child, log,
)
for way in WAYS:
    name = getattr(way, "__name__", "exit")
    repl_pair.story(f"calls.{name}", thread_safe=True)(lambda way=way: way())
    repl_pair.variant(f"calls.{name}/It")
"""
# Between two cells, when ipykernel has put back what it replaces for a cell.
LOOK = """
import builtins, getpass
def look():
    ask, get = builtins.input, getpass.getpass
    seen.append([ask.__name__, ask.__self__ is builtins, get.__name__])
seen = []
get_ipython().kernel.io_loop.call_later(0.05, look);
"""
OWN = ["input", True, "unix_getpass"]


async def in_thread(fn, *args):
    return await asyncio.to_thread(fn, *args)


async def run(link, way, lane):
    args = {"variant_id": f"calls.{way}/It", "lane": lane}
    op, args = ("eval_code", {"code": f"{way}()"}) if lane == "eval" else ("run_variant", args)
    reply = await link.request(op, args, view=AGENT, timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    ran = reply["result"]
    if lane != "eval":
        return ran
    error = ran.get("error", {})
    reason = f"{error.get('type')}: {error.get('message')}"
    return {"result": ran.get("value"), "reason": reason, **ran}


async def read_prompts(person):
    await in_thread(person.run, LOOK)
    async with asyncio.timeout(BOUND_S):
        while (seen := (await in_thread(person.run, "seen")).value) == "[]":
            await asyncio.sleep(0.02)
    return seen


@pytest.mark.parametrize("lane", LANES)
async def test_what_would_end_or_ask_ends_the_run_alone(link, person, lane):
    await in_thread(person.run, STORIES)
    await in_thread(person.run, "kept = object(); before = id(kept)")
    for way in ("quit_as_a_cell_does", "exit", "ask_exit", "sys_exit", "os_exit"):
        ran = await run(link, way, lane)
        assert (ran["status"], ran["reason"].partition(":")[0]) == ("error", "SystemExit"), ran
    for way in ("ask", "get_pass", "raw_input"):
        ran = await run(link, way, lane)
        assert (ran["status"], ran["reason"]) == ("error", f"EOFError: {NO_STDIN}"), ran
    assert (await run(link, "child", lane))["result"] == 0
    assert (await in_thread(person.run, "id(kept) == before")).value == "True"
    assert await read_prompts(person) == repr([OWN])


async def test_a_run_beside_a_cell_does_not_ask_under_it(link, person):
    await in_thread(person.run, STORIES)
    cell = await in_thread(person.start, "answer = input('mine? '); answer")
    ran = await run(link, "ask", "worker")
    assert ran["reason"] == f"EOFError: {NO_STDIN}"
    await in_thread(person.answer_input, "Ann")
    assert (await in_thread(person.finish, cell)).value == "'Ann'"
    assert await read_prompts(person) == repr([OWN])


@pytest.mark.parametrize("lane", LANES)
async def test_what_a_run_would_put_before_the_person_is_its_output(link, person, lane):
    await in_thread(person.run, STORIES)
    shown = {way: (await run(link, way, lane))["outputs"] for way in ("page", "next_input", "edit")}
    assert "Signature" in shown["page"][0]["text/plain"]
    assert shown["next_input"] == [{"text/plain": "x = 1"}]
    assert shown["edit"] == [{"text/plain": "a.py"}]
    assert (await in_thread(person.run, "1")).reply["payload"] == []


@pytest.mark.parametrize("lane", LANES)
async def test_what_a_run_sets_on_the_root_logger_ends_with_it(link, person, lane):
    await in_thread(person.run, STORIES)
    before = (await in_thread(person.run, "logging.root.handlers, logging.root.level")).value
    assert (await run(link, "log", lane))["result"] == 1
    assert (
        await in_thread(person.run, "logging.root.handlers, logging.root.level")
    ).value == before


OUTLIVES = """
import threading
began, go, ran = threading.Event(), threading.Event(), []
def ask_late(): began.set(); go.wait(); input("late? ")
repl_pair.story("late", thread_safe=True)(ask_late)
repl_pair.variant("late/It")
late = threading.Thread(target=lambda: ran.append(repl_pair.run("late/It").reason))
late.start()
began.wait()
"""


async def test_a_run_that_outlives_the_cell_that_began_it_asks_nobody(link, person):
    await in_thread(person.run, STORIES)
    await in_thread(person.run, OUTLIVES)
    found = await in_thread(person.run, "go.set(); late.join(); ran")
    assert found.value == repr([f"EOFError: {NO_STDIN}"])
    assert await read_prompts(person) == repr([OWN])


async def test_prompts_are_the_originals_after_an_attach_beside_a_cell(link, person):
    cell = await in_thread(person.start, "import time; time.sleep(0.7); got = input('name? '); got")
    assert (await link.request("ping", {}, view=AGENT, timeout_s=BOUND_S))["ok"]
    await in_thread(person.answer_input, "Ann")
    assert (await in_thread(person.finish, cell)).value == "'Ann'"
    assert await read_prompts(person) == repr([OWN])
