"""Events are hints: whoever is slow or late finds out, reads again, and then knows it all."""

import asyncio

import pytest
from bounds import BOUND_S

from repl_pair.bridge.link import iopub
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

MANY = 5_000
VIEW = View(principal="agent")
BEGIN = """
import repl_pair
@repl_pair.story("load")
def load(n: int = 0): return n
"""
REGISTER = """
for n in range({first}, {last}):
    repl_pair.variant("load/" + f"{{n:05}}".ljust({width}, "x"), args={{"n": n}})
"""
RUN_ALL = """
import repl_pair
training = repl_pair.surface("training")
loss = training.cell("loss", int, expose=True)
rows = training.collection("rows", dict[str, int], expose=True)
log = training.stream("log", int, expose=True)
for n in range({first}, {first} + 3):
    loss.set(n)
    rows["a"] = n
    log.push(n)
"""
ALONE = """
from repl_pair.runtime.kernel import host
assert host.EVENTS_PER_MESSAGE > 1
host.EVENTS_PER_MESSAGE = 1
"""


@pytest.fixture
def ears(monkeypatch):
    """The sockets on which the links of this process hear events."""
    opened = []
    subscribe = iopub._subscribe

    def opening(line, *topics):
        opened.append((*subscribe(line, *topics), *topics))
        return opened[-1][:2]

    monkeypatch.setattr(iopub, "_subscribe", opening)
    return opened


@pytest.fixture
def register(person):
    person.run(BEGIN)

    def register(first, last, *, width=5):
        person.run(REGISTER.format(first=first, last=last, width=width))

    return register


class Reader:
    """Keeps what the kernel holds as events tell it, and reads again where they say so."""

    def __init__(self, link):
        self.link = link
        self.events = []
        self.missed = 0
        self.news = asyncio.Event()
        link.subscribe(self.take)

    def take(self, event):
        self.events.append(event)
        self.missed += event.change == "missed"
        self.news.set()

    async def until(self, condition):
        async with asyncio.timeout(BOUND_S):
            while not condition():
                self.news.clear()
                await self.news.wait()

    async def subscribed(self):
        await self.until(lambda: any(e.change == "subscribed" for e in self.events))
        self.events.clear()

    async def read_all(self):
        reply = await self.link.request("list_variants", {"limit": 1}, view=VIEW)
        return reply["result"]["total"], reply["seq"]


@pytest.mark.unbound("bridge.link.watch.ARRIVE_S")
async def test_a_loop_of_five_thousand_registrations_reaches_a_reader_one_by_one(link, register):
    reader = Reader(link)
    await reader.subscribed()
    await asyncio.to_thread(register, 0, MANY)
    total, seq = await reader.read_all()
    await reader.until(lambda: reader.events and reader.events[-1].seq >= seq)
    seen = [e for e in reader.events if e.member == "registry/variant"]
    print(f"{len(seen)} of {MANY} registrations received, {reader.missed} gaps")
    assert (total, len(seen), reader.missed) == (MANY, MANY, 0)
    assert [e.seq for e in seen] == list(range(seen[0].seq, seen[0].seq + MANY))


@pytest.mark.full
async def test_a_slow_reader_notices_the_gap_and_reads_again(link, register, person):
    reader = Reader(link)
    await reader.subscribed()
    person.run(ALONE)
    # The cells run on this thread: the reader's loop stands still meanwhile, its sockets fill up.
    # The person's may not: zmq drops from 1000 messages on, and counts them read by the 500.
    for first in range(0, MANY, 100):
        register(first, first + 100, width=8_000)
    await asyncio.to_thread(register, MANY, MANY + 1)
    await reader.read_all()
    await reader.until(lambda: reader.missed)
    seen = {e.seq for e in reader.events if e.member == "registry/variant"}
    total, _ = await reader.read_all()
    print(f"{len(seen)} of {MANY + 1} registrations received, {reader.missed} gaps, {total} reread")
    assert len(seen) < MANY, "the reader was not slow enough to miss any"
    assert total == MANY + 1


async def test_what_is_lost_at_the_end_is_noticed_too(ears, link, register):
    reader = Reader(link)
    await reader.subscribed()
    await asyncio.to_thread(register, 0, 3)
    seen, seq = await reader.read_all()
    await reader.until(lambda: reader.events and reader.events[-1].seq == seq)
    ((socket, _, topic),) = ears
    socket.unsubscribe(topic.encode())
    await asyncio.to_thread(register, 3, 10)
    reader.events.clear()
    total, seq = await reader.read_all()
    await reader.until(lambda: reader.missed)
    assert (seen, total) == (3, 10)
    assert [(e.change, e.seq) for e in reader.events] == [("missed", seq)]


@pytest.mark.full
async def test_a_reader_that_follows_by_reading_loses_nothing_or_is_notified(link, register):
    begun = await link.request("read_changes", {}, view=VIEW)
    since, found, gaps = begun["result"]["next"], [], 0
    writing = asyncio.ensure_future(asyncio.to_thread(register, 0, MANY))
    while len(found) < MANY and not gaps:
        args = {"since": since, "wait_s": 5.0}
        answer = (await link.request("read_changes", args, view=VIEW))["result"]
        found += [item["id"] for item in answer["items"] if item["member"] == "registry/variant"]
        since, gaps = answer["next"], gaps + bool(answer.get("gap"))
    await writing
    assert gaps == 0
    assert found == [f"load/{n:05}" for n in range(MANY)]


@pytest.mark.full
async def test_a_reader_further_behind_than_is_kept_is_reported_of_the_gap(link, register):
    begun = (await link.request("read_changes", {}, view=VIEW))["result"]["next"]
    for first in range(0, 15_000, MANY):
        await asyncio.to_thread(register, first, first + MANY)
    answer = (await link.request("read_changes", {"since": begun}, view=VIEW))["result"]
    assert answer["gap"] is True
    listed = (await link.request("list_variants", {"limit": 1}, view=VIEW))["result"]
    assert listed["total"] == 15_000


async def test_who_reads_on_after_a_restart_reads_what_the_same_cells_gave_anew(
    link, kernel, person, sit_at
):
    async def read(op, **args):
        return (await link.request(op, args, view=VIEW))["result"]

    async def read_on(name, **args):
        args |= {"member": f"training/{name}", "since": next_of[name]}
        answer = await read("read_member", **args)
        return {name: answer[name] for name in answer if name not in ("kind", "revision", "next")}

    person.run(RUN_ALL.format(first=1))
    names = ("loss", "rows", "log")
    answers = [await read("read_member", member=f"training/{name}") for name in names]
    next_of = dict(zip(names, [answer["next"] for answer in answers], strict=True))
    begun = (await read("read_changes"))["next"]
    assert await read_on("loss") == {"timed_out": True}
    await asyncio.to_thread(kernel.restart)
    again = await asyncio.to_thread(sit_at, kernel)
    await asyncio.to_thread(again.run, RUN_ALL.format(first=100))
    assert await read_on("loss") == {"value": 102}
    assert await read_on("rows", key="a") == {"value": 102}
    assert await read_on("log") == {"entries": [100, 101, 102], "gap": True}
    assert (await read("read_changes", since=begun))["gap"] is True
