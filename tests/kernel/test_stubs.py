"""Stubs in a kernel where a person works: the runs of an agent see them, and nobody else does."""

import ast
import asyncio
import random
import time
from collections import Counter

import pytest
from bounds import BOUND_S

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.errors import next_step
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
RUNS = 60

SHOP = """
import asyncio, itertools, os, sys, threading, time, types
from collections import Counter
from contextvars import ContextVar
import repl_pair

shop = sys.modules["shop"] = types.ModuleType("shop")
exec("def now(): return 'real'", vars(shop))
original, numbers, mine = shop.now, itertools.count(1), ContextVar("mine")

def own():
    number = next(numbers)
    mine.set(number)
    return repl_pair.stub("shop.now", lambda: number)

@repl_pair.loader("plain")
def plain():
    with own():
        yield

@repl_pair.loader("asynchronous")
async def asynchronous():
    with own():
        await asyncio.sleep(0)
        yield

@repl_pair.story("quote", thread_safe=True)
async def quote(lasts_s: float = 0.0):
    found, until = [], time.monotonic() + lasts_s
    for _ in range(5):
        found.append(shop.now() == mine.get())
        await asyncio.sleep(0)
    found.append(await asyncio.to_thread(shop.now) == mine.get())
    while time.monotonic() < until:
        found.append(shop.now() == mine.get())
    return [len(found) > 5, *set(found)]

repl_pair.variant("quote/Plain", loaders=["plain"])
repl_pair.variant("quote/Asynchronous", loaders=["asynchronous"])
"""
BESIDE = """
over, by_thread, by_task, by_cell = [], Counter(), Counter(), Counter()

def call_in_a_thread():
    while not over:
        by_thread[shop.now()] += 1
        time.sleep(0.0005)
threading.Thread(target=call_in_a_thread, daemon=True).start()

async def call_in_a_task():
    while not over:
        by_task[shop.now()] += 1
        await asyncio.sleep(0.0005)
task = asyncio.create_task(call_in_a_task())
"""
CELL = """
gates = []
def look():
    while not os.path.exists({gate!r}): time.sleep(0.01)
    gates.append(True)
threading.Thread(target=look, daemon=True).start()
while not gates:
    by_cell[shop.now()] += 1
"""
STATE = "[shop.now is original, shop.now()]"


@pytest.fixture
def at_desk():
    return asyncio.to_thread


@pytest.fixture
async def link(kernel, person, at_desk):
    await at_desk(person.run, SHOP)
    link = KernelLink(find_kernel(str(kernel.path)))
    yield link
    await link.close()


async def run(link, variant_id, **args):
    args = {"variant_id": variant_id, "wait_s": BOUND_S, **args}
    reply = await link.request("run_variant", args, view=AGENT, timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    return reply["result"]


async def seen_by_runs(link, lane):
    """Run both variants again and again, four at a time; count what they say of their stubs."""
    names = [f"quote/{'Plain' if n % 2 else 'Asynchronous'}" for n in range(RUNS // 2)]
    four = asyncio.Semaphore(4)

    async def one(name):
        async with four:
            return await run(link, name, lane=lane)

    answers = await asyncio.gather(*map(one, names))
    return Counter((a["status"], a.get("reason"), tuple(a.get("result", ()))) for a in answers)


async def test_runs_on_both_lanes_see_their_own_stubs_and_the_persons_calls_see_none(
    link, person, at_desk, tmp_path
):
    gate = tmp_path / "gate"
    await at_desk(person.run, BESIDE)
    cell = await at_desk(person.start, CELL.format(gate=str(gate)))
    by_workers = await seen_by_runs(link, "worker")
    gate.touch()
    await at_desk(person.finish, cell)
    on_main = await seen_by_runs(link, "main")
    counts = await at_desk(
        person.run, f"over.append(1)\n{STATE}, dict(by_cell), dict(by_thread), dict(by_task)"
    )
    state, *persons = ast.literal_eval(counts.value)
    print(f"\n{RUNS} runs on lanes worker and main; calls of cell, thread and task: {persons}")
    assert by_workers == on_main == {("pass", None, (True, True)): RUNS // 2}
    assert state == [True, "real"]
    assert [set(seen) for seen in persons] == [{"real"}] * 3
    assert all(seen["real"] >= 10 for seen in persons)


async def test_a_run_in_a_cell_has_what_an_asynchronous_loader_sets_and_leaves_none_of_it(
    link, person, at_desk
):
    for name in ("Plain", "Asynchronous"):
        for call in ("repl_pair.run({!r})", "await repl_pair.arun({!r})"):
            cell = f"record = {call.format(f'quote/{name}')}\n[record.status, record.result]"
            assert (await at_desk(person.run, cell)).value == "['pass', [True, True]]"
            assert (await at_desk(person.run, STATE)).value == "[True, 'real']"


@pytest.mark.full
@pytest.mark.parametrize("lane", ["main", "worker"])
async def test_runs_that_are_stopped_at_random_moments_leave_no_stub(link, person, at_desk, lane):
    ended = Counter()
    for round in range(100):
        name = f"quote/{'Plain' if round % 2 else 'Asynchronous'}"
        args = {"timeout_s": random.uniform(0.0005, 0.008), "overrides": {"lasts_s": 0.005}}
        result = await run(link, name, lane=lane, **args)
        ended[result["status"]] += 1
        until = time.monotonic() + BOUND_S * result.get("still_running", False)
        while (state := (await at_desk(person.run, STATE)).value) != "[True, 'real']":
            assert time.monotonic() < until, (state, result)
    print(f"\n100 runs on lane {lane}: {dict(ended)}")
    assert set(ended) == {"pass", "error"}, "no run was stopped, or each was"


UNSAFE = """
@repl_pair.story("unsafe", thread_safe={})
def unsafe():
    return "ran"
repl_pair.variant("unsafe/A")
"""


async def test_a_run_on_a_worker_takes_a_thread_safe_story_and_reports_it(link, person, at_desk):
    await at_desk(person.run, UNSAFE.format(False))
    args = {"variant_id": "unsafe/A", "lane": "worker"}
    reply = await link.request("run_variant", args, view=AGENT, timeout_s=BOUND_S)
    refused = reply["result"]
    assert (refused["status"], refused["result"]) == ("cannot_run", None)
    assert "at the same time as the person's cells" in refused["reason"]
    assert "repl_pair.story('unsafe', ..., thread_safe=True)" in refused["reason"]
    assert reply["next_steps"] == [next_step("run_variant", variant_id="unsafe/A", lane="main")]
    assert (await run(link, "unsafe/A"))["result"] == "ran"
    await at_desk(person.run, UNSAFE.format(True))
    assert (await run(link, "unsafe/A", lane="worker"))["result"] == "ran"
