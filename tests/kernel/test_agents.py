"""Many agents on one kernel, and one agent on many: each gets its own answers, and its turn."""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack, aclosing

import pytest
from bounds import BOUND_S
from waiting import wait_until

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENTS = 8
CALLS = 2_000
STORIES = """
import repl_pair, time
for n in range(20):
    repl_pair.story(f"s{n:02}", component=lambda tell=n: tell, thread_safe=True, doc=f"Story {n}.")
    for m in range(n + 1):
        repl_pair.variant(f"s{n:02}/V{m:02}", doc=f"{n} {m}")
ran = []
@repl_pair.story("long")
def long(who: int = 0):
    ran.append(time.time())
    total = sum(range(20_000))
    return who
repl_pair.variant("long/It")
"""
ARRIVALS = """
import threading, time
kernel = get_ipython().kernel
arrived = []
def feed_identities(*args, own=kernel.session.feed_identities, **options):
    if threading.current_thread() is kernel.shell_channel_thread:
        arrived.append(time.time())
    return own(*args, **options)
kernel.session.feed_identities = feed_identities
"""
WAITED = """
sum(at > arrived[-1] for at in ran)
"""
"""From when the kernel has the message: before that, it waits for a core of a busy machine."""


@pytest.fixture
async def links(kernel, person):
    person.run(STORIES)
    async with AsyncExitStack() as stack:
        found = find_kernel(str(kernel.path))
        yield [await stack.enter_async_context(aclosing_link(found)) for _ in range(AGENTS)]


def aclosing_link(found):
    link = KernelLink(found)
    link.aclose = link.close
    return aclosing(link)


def view_of(agent):
    return View(principal=f"agent {agent}")


async def ask(link, agent, op, **args):
    async with asyncio.timeout(BOUND_S):
        reply = await link.request(op, args, view=view_of(agent), timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    return reply["result"]


async def attach(links):
    """Let each agent attach first: that takes turns, and the first would be far ahead."""
    await asyncio.gather(*(ask(link, agent, "ping") for agent, link in enumerate(links)))


def questions(seed):
    """Return endless calls of each lane, each with what its answer must be."""
    chance = random.Random(seed)
    while True:
        n = chance.randrange(20)
        m = chance.randrange(n + 1)
        variant = f"s{n:02}/V{m:02}"
        lane = chance.choice(("inline", "inline", "inline", "read", "worker", "main"))
        if lane == "inline":
            args = {"story_id": f"s{n:02}", "limit": 200}
            yield "list_variants", args, lambda got, n=n: got["total"] == n + 1
        elif lane == "read":
            yield "get_variant", {"variant_id": variant}, lambda got, v=variant: got["id"] == v
        else:
            args = {"variant_id": variant, "lane": lane}
            yield "run_variant", args, lambda got, n=n: got["result"] == n


async def test_of_many_interleaved_calls_each_gets_its_own_answer(links):
    right = Counter()

    async def work(agent, seed):
        asked = questions(seed)
        for _ in range(CALLS // AGENTS // 4):
            op, args, fits = next(asked)
            got = await ask(links[agent], agent, op, **args)
            assert fits(got), (op, args, got)
            right[op, args.get("lane", "")] += 1

    await asyncio.gather(*(work(agent, agent * 4 + n) for agent in range(AGENTS) for n in range(4)))
    print(dict(right))
    assert right.total() >= CALLS - AGENTS * 4
    assert len(right) == 4


async def test_no_agent_is_starved(links):
    await attach(links)
    done = Counter()
    enough = asyncio.Event()

    async def read(agent):
        while not enough.is_set():
            await ask(links[agent], agent, "list_stories")
            done[agent] += 1
            if done[agent] >= 100:
                enough.set()

    await asyncio.gather(*map(read, range(AGENTS)))
    print(f"reads by agent when the first had 100: {sorted(done.values())}")
    assert min(done.values()) >= 50


async def test_runs_take_turns_in_the_order_they_came_and_the_persons_cells_among_them(
    links, person
):
    await attach(links)
    going = True

    async def run(agent):
        count = 0
        while going:
            got = await ask(links[agent], agent, "run_variant", variant_id="long/It", wait_s=30.0)
            assert got["status"] == "pass"
            count += 1
        return count

    person.run(ARRIVALS)
    running = [asyncio.ensure_future(run(agent)) for agent in range(AGENTS)]
    await asyncio.to_thread(wait_until, lambda: person.run("len(ran)").value != "0", what="a run")
    waits = [int((await asyncio.to_thread(person.run, WAITED)).value) for _ in range(60)]
    going = False
    counts = await asyncio.gather(*running)
    print(f"runs by agent {counts}, runs that a cell of the person's waited for {waits}")
    assert max(waits) <= 3 * AGENTS
    assert min(counts) >= max(counts) // 2 - 1


async def test_a_call_that_one_agent_cancels_does_not_affect_the_others(links):
    async def break_off(agent):
        for n in range(30):
            args = {"variant_id": "long/It"} if n % 2 else {"since": 0, "wait_s": 5.0}
            op = "run_variant" if n % 2 else "read_changes"
            task = asyncio.ensure_future(ask(links[agent], agent, op, **args))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})

    async def go_on(agent):
        for n in range(30):
            got = await ask(links[agent], agent, "list_variants", story_id=f"s{n % 20:02}")
            assert got["total"] == n % 20 + 1

    await asyncio.gather(*map(break_off, range(4)), *map(go_on, range(4, AGENTS)))
    assert (await ask(links[0], 0, "run_variant", variant_id="long/It"))["status"] == "pass"


async def test_one_agent_on_four_kernels_is_answered_by_the_one_it_named(start_kernel, sit_at):
    kernels = [start_kernel() for _ in range(4)]
    for n, kernel in enumerate(kernels):
        sit_at(kernel).run(f"import repl_pair\nrepl_pair.story('only{n}', component=lambda: {n})")
    session = Session(Policy())

    async def look(n):
        reply = await session.call("list_stories", kernel=kernels[n].id)
        assert reply["kernel"]["id"] == kernels[n].id
        return reply["kernel"]["boot"], [item["id"] for item in reply["result"]["items"]]

    order = [chance % 4 for chance in random.Random(4).sample(range(400), 400)]
    answers = await asyncio.gather(*map(look, order))
    assert [ids for _, ids in answers] == [[f"only{n}"] for n in order]
    assert len({boot for boot, _ in answers}) == 4
    kernels[2].kill()
    dead = await session.call("list_stories", kernel=kernels[2].id)
    assert dead["error"]["code"] == "kernel_gone"
    assert (await look(3))[1] == ["only3"]
    print(f"{len(answers)} interleaved calls to 4 kernels, each answered by its own")
    await session.close()
