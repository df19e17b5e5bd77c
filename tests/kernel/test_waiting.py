"""Many readers that wait in one kernel: they share a thread, and each is answered and let go."""

import asyncio
import time

import psutil
import pytest
from bounds import BOUND_S
from waiting import wait_until

from repl_pair.wire import View, raise_for_error

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
READERS = 64
LONG_S = 50
APP = """
import repl_pair
app = repl_pair.surface("app")
loss = app.cell("loss", float, default=0.5, expose=True)
"""
CHANGE = "loss.set(0.25); repl_pair.tag('another')"
WAITING = """
from repl_pair.runtime.clients.own_calls import OWN_CALLS
print(sum(len(submit.__self__.lanes._waiters._waiting) for submit in OWN_CALLS._handlers.values()))
"""
WAITS = {
    "read_changes": {},
    "read_member": {"member": "app/loss"},
    "await_members": {"watched": ["app/loss"]},
}


@pytest.fixture
async def begin(link, person):
    """Lets readers wait, each op in its turn, until there are `total`; gives their calls."""
    await asyncio.to_thread(person.run, APP)

    async def ask(op, args, wait_s=0.0):
        asked = args | {"wait_s": wait_s}
        reply = await link.request(op, asked, view=AGENT, timeout_s=wait_s + BOUND_S)
        return raise_for_error(reply)

    async def begin(count, *, wait_s, total=0):
        calls = []
        for n in range(count):
            op, args = list(WAITS.items())[n % len(WAITS)]
            now = await ask(op, args)
            known = {"marks": now["marks"]} if "marks" in now else {"since": now["next"]}
            calls.append(asyncio.ensure_future(ask(op, args | known, wait_s)))
        if total:
            await until_waiting(person, total)
        return calls

    return begin


async def until_waiting(person, count):
    def waiting():
        return int(person.run(WAITING).text) == count

    await asyncio.to_thread(wait_until, waiting, what=f"{count} waiting readers")


def is_news(answer):
    return bool(answer.get("items") or answer.get("value") or answer.get("changed"))


async def test_readers_that_wait_share_one_thread_and_one_change_answers_them_all(
    begin, person, kernel
):
    process = psutil.Process(kernel.pid)
    first = await begin(1, wait_s=LONG_S, total=1)
    threads = process.num_threads()
    more = await begin(READERS, wait_s=LONG_S, total=READERS + 1)
    is_shared = lambda: process.num_threads() <= threads + 1  # noqa: E731  others may yet end
    await asyncio.to_thread(wait_until, is_shared, what="one thread of all readers")
    began = time.monotonic()
    await asyncio.to_thread(person.run, CHANGE)
    answers = await asyncio.gather(*first, *more)
    assert time.monotonic() - began < LONG_S / 2, "their time ended, and no change did"
    assert all(map(is_news, answers))
    await until_waiting(person, 0)


async def test_readers_that_wait_are_answered_when_their_time_is_over(begin, person):
    began = time.monotonic()
    answers = await asyncio.gather(*await begin(READERS, wait_s=1.0))
    assert time.monotonic() - began >= 1.0
    assert not any(map(is_news, answers))
    await until_waiting(person, 0)


@pytest.mark.parametrize("how", ["cancelled", "gone"])
async def test_a_reader_that_is_cancelled_or_gone_waits_no_more(begin, person, link, how):
    calls = await begin(READERS, wait_s=LONG_S, total=READERS)
    for call in calls[1:]:
        call.cancel()
    await asyncio.gather(*calls[1:], return_exceptions=True)
    await until_waiting(person, 1)
    if how == "gone":
        await link.close()
    else:
        calls[0].cancel()
    await asyncio.gather(calls[0], return_exceptions=True)
    await until_waiting(person, 0)
