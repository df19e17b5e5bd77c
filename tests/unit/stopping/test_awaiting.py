"""What a run awaits on another loop is awaited in one task, which ends with the run."""

import asyncio
import contextvars
import gc
import signal
import weakref
from concurrent.futures import Future

import anyio
import pytest
from waiting import wait_until

import repl_pair
from repl_pair import check
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.running.runner import execute
from repl_pair.runtime.stopping.awaiting import await_together, hold_task
from repl_pair.runtime.stopping.loops import PRIVATE, drive, end_tasks, on_loop
from repl_pair.runtime.stopping.stop import BY_THE_PERSON, STUCK_S


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    assert asyncio.all_tasks(loop) == set()
    loop.close()


@pytest.fixture(params=["here", "on the private loop"])
def run(request, loop):
    """Runs a variant on a loop of this thread, as under pytest, or as `run` does."""

    def run_here(id):
        return drive(execute(plan_variant(id), wait_for=on_loop(loop)))

    yield repl_pair.run if request.param != "here" else run_here
    wait_until(lambda: not asyncio.all_tasks(PRIVATE.loop), what="the end of the tasks of the run")
    PRIVATE.close_idle()


async def in_group():
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 0)
        yield "group"
        group.cancel_scope.cancel()


async def in_scope():
    with anyio.move_on_after(60):
        yield "scope"


async def in_timeout():
    async with asyncio.timeout(60):
        yield "timeout"


async def in_asyncio_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(0))
        yield "asyncio group"


@pytest.mark.parametrize("held", [in_group, in_scope, in_timeout, in_asyncio_group])
def test_a_loader_holds_what_belongs_to_its_task_across_its_yield(run, held):
    async def both(a, b):
        await asyncio.sleep(0)
        return [a, b]

    repl_pair.loader("held")(held)
    repl_pair.loader("other")(in_group)
    repl_pair.story("app", component=both)
    args = {"a": repl_pair.ref("held"), "b": repl_pair.ref("other")}
    repl_pair.variant("app/It", args=args, play=[check.path_equals("result[1]", "group")])
    ran = run("app/It")
    assert ran.status == "pass", ran.phases


async def fails():
    await asyncio.sleep(0)
    raise ValueError("of a child")


async def starts_a_child(group):
    group.create_task(fails())


async def waits_for_its_child(group):
    group.create_task(fails())
    await asyncio.Event().wait()


@pytest.mark.parametrize("component", [starts_a_child, waits_for_its_child])
def test_a_child_that_fails_is_reported(run, component):
    async def held():
        async with asyncio.TaskGroup() as group:
            yield group

    repl_pair.loader("held")(held)
    repl_pair.story("app", component=component)
    repl_pair.variant("app/It", args={"group": repl_pair.ref("held")})
    ran = run("app/It")
    assert ran.status == "error"
    assert "of a child" in str(ran.phases)


def test_what_cancels_itself_last_ends_like_any_other(run):
    async def component():
        asyncio.current_task().cancel()
        return 1

    repl_pair.story("app", component=component)
    repl_pair.variant("app/It", play=[check.result_equals(1)])
    assert run("app/It").status == "pass"


def test_nothing_that_was_awaited_is_kept(loop):
    class Value:
        pass

    async def make():
        return Value()

    async def fail():
        raise ValueError(Value())

    with await_together():
        hold_task()
        wait_for = on_loop(loop)
        kept = weakref.ref(drive(wait_for(make())))
        with pytest.raises(ValueError, match="Value") as raised:
            drive(wait_for(fail()))
        of_error = weakref.ref(raised.value.args[0])
        del raised
        gc.collect()
        assert (kept(), of_error()) == (None, None)


def test_what_is_stopped_before_it_is_begun_never_begins(loop):
    begun = []

    async def work():
        begun.append(1)

    with await_together() as there:
        hold_task()
        first, second, third = Future(), Future(), Future()
        task = there.begin(loop, asyncio.sleep(0), first, contextvars.copy_context())
        loop.run_until_complete(asyncio.sleep(0.01))
        assert there.begin(loop, work(), second, contextvars.copy_context()) is task
        task.task.cancel(BY_THE_PERSON)
        loop.run_until_complete(asyncio.sleep(0))
        assert isinstance(second.exception(0), asyncio.CancelledError)
        assert there.begin(loop, work(), third, contextvars.copy_context()) is task
        loop.run_until_complete(asyncio.sleep(0.01))
        assert (third.result(0), begun) == (None, [1])


def test_a_task_that_waits_for_its_run_ends_with_its_loop(loop):
    with await_together() as there:
        hold_task()
        first, second = Future(), Future()
        task = there.begin(loop, asyncio.sleep(0), first, contextvars.copy_context())
        loop.run_until_complete(asyncio.sleep(0.01))
        assert not task.task.done()
        assert end_tasks(loop)
        other = there.begin(loop, asyncio.sleep(0, "more"), second, contextvars.copy_context())
        loop.run_until_complete(asyncio.sleep(0.01))
        assert (other is task, second.result(0)) == (False, "more")


def test_a_run_that_is_left_to_its_cleanup_does_not_hold_up_the_end_of_its_loop(request):
    """As of a person who presses Ctrl-C in pytest."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    async def held():
        yield 1

    async def component(held):
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(2 * STUCK_S)

    repl_pair.loader("held")(held)
    repl_pair.story("app", component=component)
    repl_pair.variant("app/It", args={"held": repl_pair.ref("held")})
    with asyncio.Runner() as runner:
        own = runner.get_loop()
        own.call_later(0.1, signal.raise_signal, signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            drive(execute(plan_variant("app/It"), wait_for=on_loop(own)))
    assert own.is_closed()


def test_a_live_object_holds_up_nobody_who_waits_for_all_tasks():
    async def held():
        yield 1

    async def plain(held=None):
        return 1

    async def waits():
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        return len(rest)

    repl_pair.loader("held")(held)
    repl_pair.story("app", component=plain)
    repl_pair.variant("app/It", args={"held": repl_pair.ref("held")})
    repl_pair.variant("app/Plain")
    repl_pair.story("other", component=waits)
    repl_pair.variant("other/It")
    with repl_pair.live("app/Plain"):
        assert repl_pair.run("other/It").result == 0
    with repl_pair.live("app/It") as live:
        assert repl_pair.run("other/It").result == 1
        assert live.is_open
    PRIVATE.close_idle()
