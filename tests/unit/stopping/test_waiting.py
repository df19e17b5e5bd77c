"""Coroutines that wait on one thread: no event is lost, and none of them holds up another."""

import threading
import time

import pytest
from bounds import BOUND_S
from waiting import finish, frozen, wait_until

from repl_pair.runtime.stopping import waiting
from repl_pair.runtime.stopping.waiting import Waiters, WaitEvent


@pytest.fixture
def waiters():
    threads = []

    def start(serve):
        threads.append(threading.Thread(target=serve))
        threads[-1].start()

    waiters = Waiters(start)
    waiters.threads = threads
    yield waiters
    waiters.close()
    for thread in threads:
        thread.join(BOUND_S)
        assert not thread.is_alive()


def test_an_event_that_was_set_before_the_wait_ends_one_wait():
    event = WaitEvent()
    for _ in range(2):
        event.set()
    assert finish(event.wait(BOUND_S)) is True
    assert finish(event.wait(0.01)) is False


def test_a_wait_lasts_its_time_beside_those_that_end_and_takes_one_thread(waiters):
    ended, done = [], threading.Event()

    async def wait(name, seconds):
        began = waiting.monotonic()
        assert not await WaitEvent().wait(seconds)
        assert waiting.monotonic() - began >= seconds
        ended.append(name)
        if len(ended) == 3:
            done.set()

    with frozen(waiting):
        for name, seconds in (("long", 0.3), ("short", 0.1), ("none", 0.0)):
            waiters.add(wait(name, seconds))
        wait_until(lambda: [one.until > 0 for one in waiters._waiting.copy()] == [True, True])
    assert done.wait(BOUND_S)
    assert (ended, len(waiters.threads)) == (["none", "short", "long"], 1)


def test_no_change_is_lost_between_a_look_and_the_wait(waiters):
    rounds, seen, done = 20_000, [], threading.Event()
    events = [WaitEvent() for _ in range(4)]

    async def follow(event):
        while len(state) < rounds:
            assert await event.wait(BOUND_S)
        seen.append(len(state))
        if len(seen) == len(events):
            done.set()

    state = []
    for event in events:
        waiters.add(follow(event))
    for n in range(rounds):
        state.append(n)
        for event in events:
            event.set()
    assert done.wait(BOUND_S)
    assert seen == [rounds] * len(events)


def test_a_set_while_the_wait_begins_ends_it(waiters):
    class SetsThen(WaitEvent):
        def __setattr__(self, slot, value):
            if slot == "wake" and "wake" in vars(self):
                self.set()
            super().__setattr__(slot, value)

    done = threading.Event()

    async def wait():
        assert await SetsThen().wait(BOUND_S)
        done.set()

    began = time.monotonic()
    waiters.add(wait())
    assert done.wait(BOUND_S)
    assert time.monotonic() - began < BOUND_S / 2


def test_a_call_that_fails_and_a_thread_that_cannot_be_started_end_no_other_wait(waiters):
    done, start = threading.Event(), waiters._start

    async def fail():
        raise ValueError

    async def end():
        done.set()

    def refuse(_serve):
        raise RuntimeError("can't start new thread")

    waiters._start = refuse
    with pytest.raises(RuntimeError):
        waiters.add(end())
    waiters._start = start
    waiters.add(fail())
    waiters.add(end())
    assert done.wait(BOUND_S)
