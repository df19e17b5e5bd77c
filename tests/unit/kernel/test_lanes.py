"""The turns of a loop: calls of agents one at a time, and the person's cells between them."""

import asyncio
from asyncio import Event
from contextvars import Context, ContextVar
from types import SimpleNamespace

from bounds import BOUND_S
from waiting import wait_until

from repl_pair.runtime.kernel import deadlines
from repl_pair.runtime.kernel.deadlines import Deadlines
from repl_pair.runtime.kernel.jobs import Job, describe_holder
from repl_pair.runtime.kernel.lanes import JobQueue
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.stopping.stop import Section
from repl_pair.wire import View, ok_reply


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


def test_a_job_sets_nothing_in_the_persons_context_also_where_that_is_empty():
    persons, name = Context(), ContextVar("name")

    async def perform(_job, _section):
        name.set("agent's")

    async def go():
        turns, ended = JobQueue(asyncio.Lock(), lambda _: Section(), None, lambda: persons), Event()
        turns.queue(SimpleNamespace(end=ended.set), perform)
        await ended.wait()

    asyncio.run(asyncio.wait_for(go(), BOUND_S))
    assert name not in persons


def test_a_call_that_was_answered_and_only_ends_holds_up_no_other():
    job = Job(op=TABLE.get("run_variant"), args={}, call=Call(id="1"), reply=lambda _reply: None)
    assert describe_holder(job, View()) == "another call of run_variant is running"
    job.begin()
    job.answer(ok_reply(None))
    assert describe_holder(job, View()) is None


def test_a_call_that_has_its_turn_is_not_held_up_by_itself(monkeypatch):
    monkeypatch.setattr(deadlines, "ON_ITS_WAY_S", BOUND_S)
    given_up = []
    kept = Deadlines(
        blocked_by=lambda _view: "another call of run_variant is running",
        give_up=lambda job, _reason: given_up.append(job.call.id),
        answer_for=lambda _job: None,
    )

    def make(id, *, has_turn):
        job = Job(op=TABLE.get("run_variant"), args={"wait_s": 0}, call=Call(id=id), reply=len)
        job.has_turn = has_turn
        kept.watch(job)
        return job

    first, second = make("its turn", has_turn=True), make("behind it", has_turn=False)
    wait_until(lambda: given_up)
    assert given_up == ["behind it"]
    for job in (first, second):
        job.answer({})
    kept.close()
