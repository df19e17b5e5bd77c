"""Context variables that a run sets: they end with it."""

import asyncio
import contextvars
import decimal
from contextlib import nullcontext

import numpy
import pytest

import repl_pair
from repl_pair import check, step
from repl_pair.runtime.stopping.contexts import in_context
from repl_pair.runtime.stopping.stop import RunStopped, Stop

TENANT = contextvars.ContextVar("tenant", default="none")


def setting(n=1):
    TENANT.set("acme")
    decimal.getcontext().prec = 5
    numpy.seterr(all="ignore")
    return n


async def setting_later(n=1):
    await asyncio.sleep(0)
    return setting(n)


def has_set(_result=None):
    assert TENANT.get() == "acme"
    assert decimal.getcontext().prec == 5
    return True


def settings():
    return TENANT.get(), decimal.getcontext().prec, numpy.geterr()


@pytest.mark.parametrize("component", [setting, setting_later])
@pytest.mark.parametrize("where", ["run", "arun"])
def test_what_a_component_sets_in_its_context_ends_with_its_run(component, where):
    repl_pair.assertion("has_set")(has_set)
    repl_pair.story("app", component=component)
    repl_pair.variant("app/It", play=[["has_set"], check.result_equals(1)])
    before = settings()

    async def run():
        if where == "arun":
            return await repl_pair.arun("app/It", check=True)
        return repl_pair.run("app/It", check=True)

    if where == "run":
        repl_pair.run("app/It", check=True)
        assert settings() == before
    assert asyncio.run(_with_settings(run, before)) == "pass"


async def _with_settings(run, before):
    TENANT.set("mine")
    ran = await run()
    assert settings() == ("mine", *before[1:])
    return ran.status


def test_steps_of_one_run_share_a_context():
    class Shop:
        def enter(self):
            TENANT.set("acme")

        def read(self):
            return TENANT.get()

    repl_pair.story("app", component=Shop)
    repl_pair.variant(
        "app/It", play=[step.call("enter"), step.call("read"), check.path_equals("last", "acme")]
    )
    repl_pair.run("app/It", check=True)


def test_what_is_awaited_in_a_context_may_handle_its_cancellation():
    seen = []

    async def work():
        TENANT.set("acme")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            seen.append((TENANT.get(), error.args))
            return await asyncio.sleep(0, "handled")

    async def main():
        context = contextvars.copy_context()
        task = asyncio.ensure_future(in_context(context, work()))
        await asyncio.sleep(0)
        task.cancel("enough")
        return await task, TENANT.get(), context[TENANT]

    assert asyncio.run(main()) == ("handled", "none", "acme")
    assert seen == [("acme", ("enough",))]


def test_what_is_closed_in_a_context_is_closed_there():
    seen = []

    async def work():
        TENANT.set("acme")
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(TENANT.get())

    async def main():
        waiting = in_context(contextvars.copy_context(), work())
        waiting.send(None)
        waiting.close()

    asyncio.run(main())
    assert seen == ["acme"]


def test_a_cancellation_that_a_task_group_left_in_the_task_stops_no_later_run():
    async def stop():
        raise asyncio.CancelledError("by itself")

    repl_pair.story("job", component=stop)
    repl_pair.variant("job/A")

    async def fails():
        await asyncio.sleep(0)
        raise ValueError

    async def main():
        with pytest.raises(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(fails())
        return await repl_pair.arun("job/A")

    ran = asyncio.run(main())
    assert (ran.status, ran.reason) == ("error", "CancelledError: by itself")


class _Interrupted:
    """A context in which a signal comes once, when a step of the coroutine has ended."""

    def __init__(self):
        self.comes = True

    def run(self, fn, *args):
        given = fn(*args)
        if self.comes:
            self.comes = False
            raise RunStopped(Stop("error", "stopped"))
        return given


@pytest.mark.parametrize("catches", [False, True])
def test_what_a_signal_raises_between_two_steps_is_raised_in_the_coroutine(catches):
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        except RunStopped:
            ended.append("stopped")
            await asyncio.sleep(0)
            if not catches:
                raise
        return "caught"

    async def run():
        return await in_context(_Interrupted(), work())

    with nullcontext() if catches else pytest.raises(RunStopped):
        assert asyncio.run(run()) == "caught"
    assert ended == ["stopped"]
