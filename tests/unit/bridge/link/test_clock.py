"""Requests carry times of the kernel's clock: none begins after its caller gave it up."""

import time
from types import SimpleNamespace

import pytest

from repl_pair.bridge.link import clock as clocks
from repl_pair.bridge.link.clock import KernelClock
from repl_pair.errors import RequestError
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.wire import LATE, Request, error_reply, ok_reply

ASKED = Request(op="run_variant", call="c")


def job(begin_by):
    op = TABLE.visible(ASKED.view)["run_variant"]
    return Job(op=op, args={}, call=Call(), reply=lambda reply: None, begin_by=begin_by)


@pytest.fixture
def here(monkeypatch):
    """The time here, in whole seconds: sums of it are exact."""
    here = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(clocks, "time", SimpleNamespace(monotonic=lambda: here.now))
    return here


def test_a_kernels_clock_is_never_taken_to_be_further_ahead_than_it_is(here):
    read_s = here.now + 100.0
    assert KernelClock(read_s).ahead_s == 100.0
    here.now += 2.0  # the reading was so long on its way
    assert KernelClock(read_s).ahead_s == 98.0


def test_a_request_is_fresh_for_a_while_and_never_longer_than_its_caller_waits(here):
    clock = KernelClock(here.now + 50.0)
    bounded = clock.bound(ASKED, here.now + 10.0, 0.25)
    assert (bounded.take_by, bounded.begin_by) == (1050.25, 1060.0)
    short = clock.bound(ASKED, here.now + 0.125, 0.25)
    assert short.take_by == short.begin_by == 1050.125
    assert Request.from_wire(short.to_wire()) == short


def test_only_the_refusal_of_a_late_request_is_one_and_corrects_the_clock(here):
    clock = KernelClock(here.now + 50.0)
    late = RequestError("cancelled", "", detail={LATE: here.now + 60.0})
    assert not clock.was_late(error_reply(RequestError("cancelled", "")))
    assert not clock.was_late(ok_reply({LATE: 1.0}))
    assert clock.ahead_s == 50.0
    assert clock.was_late(error_reply(late))
    assert clock.ahead_s == 60.0
    earlier = RequestError("cancelled", "", detail={LATE: here.now + 1.0})
    assert clock.was_late(error_reply(earlier))
    assert clock.ahead_s == 60.0


def test_a_job_begins_before_its_time_is_up_and_not_after():
    assert job(None).begin()
    assert job(time.monotonic() + 60.0).begin()
    assert not job(time.monotonic() - 0.001).begin()
