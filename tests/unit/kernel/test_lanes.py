"""The turns of a loop: calls of agents one at a time, and the person's cells between them."""

import asyncio
from types import SimpleNamespace

from repl_pair.runtime.kernel.lanes import JobQueue
from repl_pair.runtime.stopping.stop import Section


def test_a_cell_waits_for_two_calls_at_most_however_many_are_queued():
    order = []

    async def perform(job, _section):
        order.append(job.name)
        await asyncio.sleep(0)

    async def go():
        lock, ended = asyncio.Lock(), []
        turns = JobQueue(lock, lambda _task: Section())
        for name in "abcdefgh":
            job = SimpleNamespace(name=name, end=lambda: ended.append(None))
            turns.queue(job, perform)
        await asyncio.sleep(0)
        async with lock:
            order.append("cell")
        while len(ended) < 8:
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(go(), 30))
    assert order.index("cell") <= 2
    assert [name for name in order if name != "cell"] == list("abcdefgh")
