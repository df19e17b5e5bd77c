"""Coroutines that wait on one thread: no ring is lost, and none of them holds up another."""

import threading
import time

import pytest
from bounds import BOUND_S
from waiting import finish

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


def test_an_alarm_that_rang_before_the_wait_ends_one_wait():
    alarm = WaitEvent()
    for _ in range(2):
        alarm.ring()
    assert finish(alarm.wait(BOUND_S)) is True
    assert finish(alarm.wait(0.01)) is False


def test_a_wait_lasts_its_time_beside_those_that_end_and_takes_one_thread(waiters):
    ended, done = [], threading.Event()

    async def wait(name, seconds):
        began = time.monotonic()
        assert not await WaitEvent().wait(seconds)
        assert time.monotonic() - began >= seconds
        ended.append(name)
        if len(ended) == 3:
            done.set()

    for name, seconds in (("long", 0.3), ("short", 0.1), ("none", 0.0)):
        waiters.add(wait(name, seconds))
    assert done.wait(BOUND_S)
    assert (ended, len(waiters.threads)) == (["none", "short", "long"], 1)


def test_no_change_is_lost_between_a_look_and_the_wait(waiters):
    rounds, seen, done = 20_000, [], threading.Event()
    alarms = [WaitEvent() for _ in range(4)]

    async def follow(alarm):
        while len(state) < rounds:
            assert await alarm.wait(BOUND_S)
        seen.append(len(state))
        if len(seen) == len(alarms):
            done.set()

    state = []
    for alarm in alarms:
        waiters.add(follow(alarm))
    for n in range(rounds):
        state.append(n)
        for alarm in alarms:
            alarm.ring()
    assert done.wait(BOUND_S)
    assert seen == [rounds] * len(alarms)


def test_a_ring_while_the_wait_begins_ends_it(waiters):
    class RingsThen(WaitEvent):
        def __setattr__(self, slot, value):
            if slot == "wake" and "wake" in vars(self):
                self.ring()
            super().__setattr__(slot, value)

    done = threading.Event()

    async def wait():
        assert await RingsThen().wait(BOUND_S)
        done.set()

    began = time.monotonic()
    waiters.add(wait())
    assert done.wait(BOUND_S)
    assert time.monotonic() - began < BOUND_S / 2
