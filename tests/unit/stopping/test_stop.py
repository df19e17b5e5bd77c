"""The laws of stopping: what is meant is stopped, and no stop outlives its section."""

import asyncio
import contextvars
import ctypes
import gc
import inspect
import random
import signal
import subprocess
import sys
import threading
import time
import types
import weakref

import pytest
from bounds import BOUND_S
from waiting import frozen, wait_until

import repl_pair
from repl_pair.bridge import manifest
from repl_pair.bridge.replies import reply_timeout_s
from repl_pair.runtime.kernel import deadlines
from repl_pair.runtime.kernel.deadlines import GRACE_S, MAX_CANCELLED, Timers, _Entry
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.descriptors import input_schema
from repl_pair.runtime.op_base.table import TABLE, WAIT_S
from repl_pair.runtime.stopping.loops import close_unstarted
from repl_pair.runtime.stopping.sections import SignalSection, ThreadSection
from repl_pair.runtime.stopping.stop import (
    BY_THE_PERSON,
    STOPS,
    PendingStop,
    RunStopped,
    Stop,
    defer_stops,
    is_stop,
    stop_of,
    this_section,
    while_live,
)
from repl_pair.wire import ACCESS, View

LATE = Stop("error", "late")
STOPPING = (signal.SIGINT, signal.SIGURG)


def drive(coroutine):
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waited")


def spin(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def in_a_thread(fn):
    """Run a function on a thread of its own; give what it gave."""
    found = []
    thread = threading.Thread(target=lambda: found.append(fn()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture(autouse=True)
def interrupts_are_as_before():
    # A library of an earlier test, such as polars, may have a handler below that of Python.
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    before = [*map(signal.getsignal, STOPPING), system_handler()]
    yield
    assert [*map(signal.getsignal, STOPPING), system_handler()] == before


def system_handler():
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int)(("PyOS_getsig", ctypes.pythonapi))
    return get(signal.SIGINT)


def set_system_handler(handler):
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    prototype(("PyOS_setsig", ctypes.pythonapi))(signal.SIGINT, handler)


# --- no stop outlives its section


class Races:
    """Runs of a fraction of a millisecond, each with another thread that stops it about then.

    That thread goes on sending stops until after the section: none of them may be felt there.
    """

    def __init__(self, kind, *, is_async):
        self.kind, self.is_async = kind, is_async
        self.stopped = self.done = self.strays = 0

    def run(self, count):
        for _ in range(count):
            end = threading.Event()
            try:
                stopper = asyncio.run(self.one(end)) if self.is_async else drive(self.one(end))
                spin(0.0001)
            except BaseException:
                self.strays += 1
            end.set()
            stopper.join()
        return self

    async def one(self, end):
        section = self.kind(asyncio.current_task() if self.is_async else None)
        go = threading.Event()
        stopper = threading.Thread(target=self.insist, args=(section, go, end))
        stopper.start()

        async def work():
            go.set()
            spin(0.0004)

        try:
            await while_live(section, work)
            self.done += 1
        except STOPS:
            self.stopped += 1
        section.close()
        return stopper

    def insist(self, section, go, end):
        go.wait()
        spin(random.random() * 0.0008)
        section.stop(LATE)
        while not end.is_set():
            section.send()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("kind", [SignalSection, ThreadSection])
def test_no_stop_outlives_its_section(kind, is_async, monkeypatch):
    # A stop that meets a destructor is reported by Python, not raised; the next one is.
    monkeypatch.setattr(sys, "unraisablehook", lambda _unraisable: None)
    races, count, rounds = Races(kind, is_async=is_async), 250 if is_async else 800, 0
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        # In a context of its own: a section is of the context that it was made in.
        run = lambda: contextvars.copy_context().run(races.run, count)  # noqa: E731
        until = time.monotonic() + BOUND_S
        while min(races.stopped, races.done) <= count // 50 and time.monotonic() < until:
            rounds += 1
            run() if kind is SignalSection else in_a_thread(run)
    finally:
        sys.setswitchinterval(interval)
    print(kind.__name__, vars(races))
    assert races.strays == 0
    assert races.stopped + races.done == rounds * count
    assert min(races.stopped, races.done) > count // 50, "the race was never close"


def test_a_stop_that_comes_before_the_section_is_live_is_raised_when_it_is():
    for kind in (SignalSection, ThreadSection):
        section = kind(None)
        section.stop(LATE)
        section.stop(Stop("cannot_run", "later still"))
        ran = []

        async def work(ran=ran):
            ran.append(True)

        with pytest.raises(RunStopped) as raised:
            drive(while_live(section, work))
        section.close()
        assert (raised.value.stop, ran) == (LATE, [])


def test_a_stop_is_sent_again_to_what_catches_it_but_not_into_a_teardown_that_just_began(
    monkeypatch,
):
    monkeypatch.setattr("repl_pair.runtime.stopping.stop.TEARDOWN_S", BOUND_S)
    section = SignalSection(None)
    hits = []

    async def work():
        for _ in range(3):
            try:
                section.stop(LATE)
                spin(0.01)
            except RunStopped:
                hits.append("run")
        section.begin_teardown()
        section.send()
        spin(0.01)
        section._teardown_until = 0.0
        try:
            section.send()
            spin(0.01)
        except RunStopped:
            hits.append("teardown")

    drive(while_live(section, work))
    section.close()
    assert hits == ["run", "run", "run", "teardown"]


# --- the signal


def test_the_signal_stops_a_run_for_the_person_and_for_nobody_before_or_after():
    section = SignalSection(None)
    reported = []
    section.when_stopped = lambda: reported.append(section.wanted)

    async def work():
        signal.raise_signal(signal.SIGINT)
        spin(BOUND_S)

    with pytest.raises(RunStopped) as raised:
        drive(while_live(section, work))
    signal.raise_signal(signal.SIGINT)
    assert (stop_of(raised.value), reported) == (BY_THE_PERSON, [BY_THE_PERSON])
    section.close()


def test_a_signal_in_the_handler_itself_does_no_harm():
    section = SignalSection(None)
    depth = []

    def press_again():
        depth.append(1)
        if len(depth) < 3:
            signal.raise_signal(signal.SIGINT)

    section.when_stopped = press_again

    async def work():
        signal.raise_signal(signal.SIGINT)
        spin(BOUND_S)

    with pytest.raises(RunStopped):
        drive(while_live(section, work))
    section.close()
    assert len(depth) == 3


def refuse(_number, _frame):
    raise AssertionError("a signal came through")


@pytest.mark.parametrize(
    "handler", [signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler, refuse]
)
def test_the_handler_of_before_is_back_after_the_section(handler):
    own = signal.signal(signal.SIGINT, handler)
    try:
        section = SignalSection(None)
        assert signal.getsignal(signal.SIGINT) != handler
        section.close()
        assert signal.getsignal(signal.SIGINT) == handler
    finally:
        signal.signal(signal.SIGINT, own)


def test_a_handler_that_python_does_not_know_of_is_back_after_the_section():
    own, ignore = system_handler(), 1
    try:
        set_system_handler(ignore)
        section = SignalSection(None)
        assert system_handler() != ignore
        section.close()
        assert system_handler() == ignore
    finally:
        set_system_handler(own)


def action(number):
    """Return the handler, the begin of the mask and the flags: the rest is not set."""
    found = ctypes.create_string_buffer(512)
    ctypes.CDLL(None).sigaction(number, None, found)
    return found.raw[:16], found.raw[136:140]


@pytest.mark.parametrize("number", STOPPING)
def test_the_flags_of_a_handler_are_back_after_the_section(number):
    own = signal.signal(number, lambda *_: None)
    try:
        signal.siginterrupt(number, False)
        before = action(number)
        section = SignalSection(None)
        assert action(number) != before
        section.close()
        assert action(number) == before
    finally:
        signal.signal(number, own)


def test_a_run_that_lets_an_interrupt_end_the_process_is_stopped_as_any_other():
    section = SignalSection(None)

    async def work():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        in_a_thread(lambda: section.stop(LATE))

    with pytest.raises(RunStopped):
        drive(while_live(section, work))
    section.close()


@pytest.mark.parametrize("number", STOPPING)
def test_a_run_that_changed_the_signal_has_not_changed_it_for_what_comes_after_it(number):
    section = SignalSection(None)

    async def work():
        signal.signal(number, refuse)

    drive(while_live(section, work))
    signal.raise_signal(number)
    section.close()


def test_the_signal_cancels_what_awaits_and_leaves_other_tasks_of_the_loop_alone():
    async def spins():
        for _ in range(300):
            spin(0.001)
            await asyncio.sleep(0)
        return "whole"

    async def run():
        section = SignalSection(asyncio.current_task())

        async def work():
            await asyncio.sleep(BOUND_S)

        with pytest.raises(asyncio.CancelledError) as raised:
            await while_live(section, work)
        found = stop_of(raised.value)
        section.close()
        return found

    async def main():
        foreign = asyncio.get_running_loop().create_task(spins(), context=contextvars.Context())
        running = asyncio.create_task(run())
        await asyncio.sleep(0.05)
        threading.Timer(0.05, lambda: signal.pthread_kill(MAIN, signal.SIGINT)).start()
        return await running, await foreign

    assert asyncio.run(main()) == (BY_THE_PERSON, "whole")


MAIN = threading.main_thread().ident


def test_an_idle_loop_is_woken_by_the_stop():
    async def run():
        section = SignalSection(asyncio.current_task())

        async def work():
            timer = threading.Timer(0.05, lambda: section.stop(LATE))
            asyncio.get_running_loop().call_soon(timer.start)  # once this task waits
            await asyncio.sleep(BOUND_S)

        with pytest.raises(asyncio.CancelledError):
            await while_live(section, work)
        section.close()

    begun = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - begun < BOUND_S / 2


def test_a_child_that_spins_is_cancelled_not_failed():
    """A failed task that is not awaited would be reported in the person's output."""

    async def run():
        section = SignalSection(asyncio.current_task())
        children = []

        async def child():
            for delay in (0.05, 0.1, 0.15):
                threading.Timer(delay, lambda: section.stop(LATE)).start()
            spin(BOUND_S)

        async def work():
            children.append(asyncio.create_task(child()))
            await asyncio.sleep(BOUND_S)

        with pytest.raises(asyncio.CancelledError):
            await while_live(section, work)
        section.close()
        await asyncio.sleep(0)
        return children[0].cancelled()

    assert asyncio.run(run()) is True


class InterruptedLoop(asyncio.SelectorEventLoop):
    """A loop that is interrupted where it puts a step on its list, once it is `armed`."""

    armed = False

    def call_soon(self, *args, **named):
        if self.armed:
            self.armed = False
            signal.raise_signal(signal.SIGINT)
        return super().call_soon(*args, **named)


class InterruptedInAsyncio(InterruptedLoop):
    call_soon = types.FunctionType(
        InterruptedLoop.call_soon.__code__,
        {**globals(), "__name__": "asyncio.base_events"},
        closure=InterruptedLoop.call_soon.__closure__,
    )


async def lets_others_run(loop):
    loop.armed = True
    await asyncio.sleep(0)
    await asyncio.sleep(BOUND_S)


async def wakes_a_sibling(loop):
    waited = loop.create_future()

    async def wait():
        await waited

    async def wake():
        loop.armed = True
        waited.set_result(None)
        await asyncio.sleep(BOUND_S)

    async with asyncio.TaskGroup() as group:
        group.create_task(wait())
        group.create_task(wake())


@pytest.mark.parametrize(
    ("loop_of", "work"),
    [(InterruptedLoop, lets_others_run), (InterruptedInAsyncio, wakes_a_sibling)],
)
def test_a_signal_while_the_loop_puts_a_step_on_its_list_loses_no_task(loop_of, work):
    """A task whose step is lost never runs again; a kernel's main thread would wait for it."""
    loop, found = loop_of(), []

    async def run():
        section = SignalSection(asyncio.current_task())
        try:
            await while_live(section, lambda: work(loop))
        except STOPS as error:
            found.append(stop_of(error))
        section.close()

    running = loop.create_task(run(), context=contextvars.copy_context())
    loop.run_until_complete(asyncio.wait({running}, timeout=BOUND_S))
    left = asyncio.all_tasks(loop)
    loop.close()
    assert (found, left) == ([BY_THE_PERSON], set())


# --- sections in sections


def test_a_stop_comes_through_when_what_was_set_apart_is_over():
    section = SignalSection(None)
    passed = []

    async def work():
        with defer_stops():
            section.stop(LATE)
            spin(0.01)
            passed.append("set apart")
        passed.append("never")

    with pytest.raises(RunStopped):
        drive(while_live(section, work))
    section.close()
    assert passed == ["set apart"]


TRACED = """
import operator, sys, threading
from repl_pair.runtime.stopping.sections import raise_in
from repl_pair.runtime.stopping.stop import PendingStop

gate, begun, ended = threading.Lock(), threading.Lock(), []
def wait():
    try:
        # In one call, at whose end alone the stop can come.
        list(map(operator.call, (begun.release, gate.acquire)))
    except PendingStop:
        ended.append("stopped")
def called():
    return 1
gate.acquire()
begun.acquire()
worker = threading.Thread(target=wait)
worker.start()
begun.acquire()
raise_in(worker.ident, PendingStop)
{then}
sys.settrace(lambda *_: None)
called()
sys.settrace(None)
gate.release()
worker.join()
print(ended)
"""


@pytest.mark.parametrize(
    ("then", "ended"),
    [("", "['stopped']"), ("raise_in(worker.ident, None)", "[]")],
    ids=["raised", "called off"],
)
def test_threads_that_are_traced_go_on_while_a_stop_waits_for_another_one(then, ended):
    run = [sys.executable, "-c", TRACED.format(then=then)]
    out = subprocess.run(run, capture_output=True, text=True, check=True, timeout=BOUND_S)
    assert out.stdout.strip() == ended


def test_a_section_is_none_of_other_threads_nor_of_what_outlives_it():
    section = SignalSection(None)
    assert this_section() is section
    context = contextvars.copy_context()
    assert in_a_thread(lambda: context.run(this_section)) is not section
    section.close()
    assert this_section() is not section


def test_what_is_no_stop_is_the_runs_own_fault():
    class Odd(BaseException):
        pass

    def odd():
        raise Odd("as pytest.fail is")

    repl_pair.story("odd", component=odd)
    repl_pair.variant("odd/It")
    record = repl_pair.run("odd/It")
    assert (record.status, record.reason) == ("error", "Odd: as pytest.fail is")


def test_an_interrupt_is_the_codes_own_where_that_of_the_person_arrives_as_a_stop():
    error = KeyboardInterrupt("by itself")
    assert is_stop(error)  # outside all sections it is the person's
    section = SignalSection(None)
    try:
        assert not is_stop(error)
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        assert (is_stop(error), stop_of(error)) == (True, BY_THE_PERSON)
        signal.signal(signal.SIGINT, handler)
        signal.raise_signal(signal.SIGINT)
        assert (is_stop(error), stop_of(error)) == (True, BY_THE_PERSON)
    finally:
        section.close()
    section = ThreadSection(None)
    assert not is_stop(error)
    section.wanted = LATE
    assert (is_stop(error), stop_of(error)) == (True, LATE)
    section.close()


def test_every_clean_up_runs_though_one_is_stopped():
    undone = []

    def clean(name, error):
        yield name
        undone.append(name)
        if error:
            raise error

    repl_pair.loader("one")(lambda: clean("one", None))
    repl_pair.loader("two")(lambda: clean("two", PendingStop()))

    def stopped(a, b):
        raise PendingStop

    args = {"a": repl_pair.ref("one"), "b": repl_pair.ref("two")}
    repl_pair.story("cleaned", component=stopped, args=args)
    repl_pair.variant("cleaned/It")
    with pytest.raises(PendingStop):
        repl_pair.run("cleaned/It")
    assert undone == ["two", "one"]


# --- how long a caller waits


@pytest.mark.parametrize("wait_s", [0.0, 0.5, 9.0, 11.0, 30.0, 50.0, 120.0])
def test_a_caller_outwaits_the_answer_that_the_kernel_gives_at_the_deadline(wait_s):
    descriptors = {descriptor["name"]: descriptor for descriptor in manifest.load()}
    ops = TABLE.visible(View(access=frozenset(ACCESS)))
    assert len(ops) > len(descriptors) / 2
    for op in ops.values():
        for given in ({}, {"wait_s": wait_s}, {"wait_s": wait_s, "timeout_s": wait_s}):
            args = {n: v for n, v in given.items() if n in input_schema(op)["properties"]}
            waits_s = float(args.get("wait_s", WAIT_S)) if op.lane == "main" else 0.0
            answered_s = waits_s + (op.deadline(args) or 0.0) + GRACE_S
            assert answered_s < reply_timeout_s(descriptors[op.name], args), (op.name, args)


# --- timers and jobs


def test_timers_call_in_order_what_was_not_called_off():
    timers, called = Timers(), []
    with frozen(deadlines):
        undo = timers.after(0.02, lambda: called.append("never"))
        timers.after(0.03, lambda: called.append("second"))
        timers.after(0.01, lambda: called.append("first"))
        timers.after(0.015, lambda: [][0])  # its failure is logged
        undo()
        wait_until(timers._new_entries.empty)
    wait_until(lambda: len(called) == 2)
    assert called == ["first", "second"]
    end = timers.every(0.001, lambda: called.append("again"))
    wait_until(lambda: called.count("again") > 3)
    end()
    timers.close()
    wait_until(lambda: "repl_pair timers" not in {t.name for t in threading.enumerate()})
    late = []
    timers.after(0.0, lambda: late.append(True))
    wait_until(lambda: late)


def test_timers_hold_nothing_of_what_they_have_called():
    class Held:
        def call(self):
            called.append(True)

    timers, called, held = Timers(), [], Held()
    timers._linger_s = BOUND_S
    is_held = weakref.ref(held)
    timers.after(0.0, held.call)
    del held
    wait_until(lambda: called and is_held() is None)
    assert "repl_pair timers" in {t.name for t in threading.enumerate()}
    timers.close()


def test_timers_that_were_cancelled_are_not_kept_until_they_would_be_due():
    timers, reached = Timers(), []
    for _ in range(2_000):
        timers.after(100.0, list)()
    timers.after(0.0, lambda: reached.append(True))
    wait_until(lambda: reached)
    kept = sum(type(one) is _Entry for one in gc.get_objects())
    assert kept < 3 * MAX_CANCELLED
    timers.close()


@pytest.fixture
def job():
    replies = []
    job = Job(op=TABLE.find("list_tags", View()), args={}, call=Call(), reply=replies.append)
    job.replies = replies
    return job


def test_a_job_is_answered_once_and_does_not_begin_afterwards(job):
    ended = []
    job.at_end(lambda: ended.append(True))
    assert job.answer({"ok": False}, not_started=True)
    assert not job.answer({"ok": True})
    assert not job.begin()
    assert (job.replies, ended, job.ended) == ([{"ok": False}], [True], True)


def test_a_job_is_answered_also_where_what_waits_for_that_fails(job):
    followed = []
    job.at_answer(lambda: 1 / 0)
    job.at_answer(lambda: followed.append(True))
    assert job.answer({"ok": True})
    assert (job.replies, job.ended, followed) == ([{"ok": True}], True, [True])


def test_a_job_that_has_begun_is_not_given_up_and_ends_when_its_lane_reports_it(job):
    assert job.begin()
    assert not job.answer({"ok": False}, not_started=True)
    assert job.answer({"ok": True})
    assert (job.replies, job.ended) == ([{"ok": True}], False)
    job.end()
    assert job.ended


def test_a_job_that_is_asked_to_stop_reports_it_once_and_hands_the_stop_to_its_section(job):
    reported = []
    job.on_stop = lambda: reported.append(job.requested_stop)
    job.begin()
    job.stop(LATE)
    job.stop(Stop("error", "again"))
    section = ThreadSection(None)
    job.run_in(section)
    assert (section.wanted, reported) == (LATE, [LATE])
    section.close()


def test_what_came_of_a_call_is_settled_once():
    call, woken = Call(), []
    call.at_cancel(lambda: woken.append("before"))
    call.cancel()
    call.at_cancel(lambda: woken.append("after"))
    assert woken == ["before", "after"]
    assert (call.decided, call.decide(), call.decide(), call.decided) == (False, True, False, True)


def test_a_coroutine_that_a_task_has_taken_up_is_not_closed_with_those_that_nobody_awaits():
    async def give():
        return 1

    async def stopped():
        taken, left = give(), give()
        task = asyncio.ensure_future(taken)
        try:
            raise RunStopped(BY_THE_PERSON)
        except RunStopped as error:
            close_unstarted(error)
        return await task, inspect.getcoroutinestate(left)

    assert asyncio.run(stopped()) == (1, inspect.CORO_CLOSED)
