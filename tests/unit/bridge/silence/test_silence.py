"""The states of silence, known from readings: of real kernels where these can be made so."""

import asyncio
import os
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest
from ports import write_connection_file

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.line import now
from repl_pair.bridge.link.unresponsive import SilenceMonitor, WaitingCall
from repl_pair.bridge.silence.states import (
    Readings,
    Silence,
    ThreadReading,
    find_process,
    judge,
    judge_by_process,
    status_of,
)
from repl_pair.wire import Request, ok_reply

MAIN, ZMQ, IOPUB, CONTROL = 22392, 22394, 22395, 22403


def thread(tid, state="S", waits=0, busy=0.0, queueing=0.0):
    return ThreadReading(tid=tid, state=state, waits=waits, busy=busy, queueing=queueing)


def readings(*threads, **slots):
    seen = Readings(welcomes=False, main_tid=MAIN, control_tid=CONTROL, threads=threads)
    return replace(seen, **slots)


IN_C = readings(
    thread(MAIN), thread(ZMQ, waits=2), thread(IOPUB, waits=98), thread(CONTROL, waits=98)
)
IN_C = replace(IN_C, status="sleeping")
IN_C_ON_A_BUSY_MACHINE = readings(
    thread(MAIN),
    thread(IOPUB, "R", waits=60, queueing=0.6),
    thread(CONTROL, waits=60, queueing=0.7),
)
COMPUTING = readings(
    thread(MAIN, "R", busy=1.0),
    thread(ZMQ, waits=4),
    thread(IOPUB, "R", waits=99),
    thread(CONTROL, waits=100),
    status="running",
)
COMPUTING_BESIDE = readings(
    thread(MAIN, waits=99),
    thread(ZMQ, "R", waits=4),
    thread(IOPUB, waits=98, queueing=0.01),
    thread(CONTROL, "R", waits=98, queueing=0.01),
    thread(22571, "R", busy=0.99),
    status="sleeping",
)
CROWDED = readings(
    thread(MAIN, "R", busy=0.14, queueing=0.86),
    thread(IOPUB, waits=80),
    thread(CONTROL, "R", waits=75, queueing=0.27),
    status="running",
)
HANDLER_COMPUTES = readings(
    thread(MAIN),
    thread(ZMQ, "R", waits=5, queueing=0.04),
    thread(IOPUB, "R", waits=4, queueing=0.03),
    thread(CONTROL, "R", busy=0.76, queueing=0.25),
    welcomes=True,
    status="sleeping",
)
HANDLER_SLEEPS = readings(
    thread(MAIN),
    thread(ZMQ, waits=6),
    thread(IOPUB, waits=2),
    thread(CONTROL),
    welcomes=True,
    status="sleeping",
)
HANDLER_AWAITS = replace(HANDLER_SLEEPS, threads=(thread(MAIN), thread(CONTROL, waits=1)))
STOPPED = readings(
    thread(MAIN, "T"), thread(ZMQ, "T"), thread(CONTROL, "T"), heartbeat=False, status="stopped"
)
# Made up from here on: these states cannot be brought about at will.
TRACED = replace(STOPPED, status="tracing-stop")
FROZEN = readings(thread(MAIN), thread(CONTROL), heartbeat=False, status="sleeping")
ON_DISK = readings(
    thread(MAIN, "D"), thread(CONTROL, waits=1), heartbeat=False, status="disk-sleep"
)
SWAPPED = readings(thread(MAIN, "D"), thread(CONTROL, "D", waits=9), status="disk-sleep")
SWAPPED = replace(SWAPPED, pages_read=740)
CROWDED_OUT = readings(
    thread(MAIN, "R", busy=0.02, queueing=0.97), thread(CONTROL, "R", waits=3, queueing=0.9)
)
OUT_OF_FILES = readings(
    thread(MAIN), thread(ZMQ, "R", busy=0.4, queueing=0.6), heartbeat=False, status="sleeping"
)
OUT_OF_FILES = replace(OUT_OF_FILES, files_left=0)
QUIET = readings(thread(MAIN), thread(CONTROL, waits=1), status="sleeping")
ELSEWHERE = Readings(welcomes=False, status="sleeping")
WAITED = "its threads have waited for the interpreter lock for 3.1 s"


@pytest.mark.parametrize(
    ("seen", "state", "why"),
    [
        (
            IN_C,
            "gil_held",
            f"{WAITED} (in a call that sleeps or waits)",
        ),
        (
            replace(IN_C, control_tid=None),
            "gil_held",
            f"{WAITED} (in a call that sleeps or waits)",
        ),
        (
            IN_C_ON_A_BUSY_MACHINE,
            "gil_held",
            f"{WAITED} (in a call that sleeps or waits)",
        ),
        (
            COMPUTING,
            "gil_held",
            f"{WAITED} (the main thread computes)",
        ),
        (
            CROWDED,
            "gil_held",
            f"{WAITED} (the main thread computes)",
        ),
        (
            COMPUTING_BESIDE,
            "gil_held",
            f"{WAITED} (another thread computes)",
        ),
        (
            HANDLER_COMPUTES,
            "control_blocked",
            "its control channel has been blocked for 3.1 s by a handler that computes",
        ),
        (
            HANDLER_SLEEPS,
            "control_blocked",
            "its control channel has been blocked for 3.1 s by a handler that sleeps or waits",
        ),
        (
            HANDLER_AWAITS,
            "control_blocked",
            "its control channel has been blocked for 3.1 s by a handler that sleeps or waits",
        ),
        (
            STOPPED,
            "stopped",
            "its process has been stopped for 3.1 s (a signal, Ctrl-Z for one)",
        ),
        (TRACED, "stopped", "its process has been stopped for 3.1 s (a debugger)"),
        (
            FROZEN,
            "starved",
            "its process has got no time to run for 3.1 s "
            "(frozen, as in a paused container, or swapped out)",
        ),
        (
            ON_DISK,
            "starved",
            "its process has got no time to run for 3.1 s (it waits for a disk or file server)",
        ),
        (
            SWAPPED,
            "starved",
            "its process has hardly got time to run for 3.1 s "
            "(it reads its memory back from disk: swapped out)",
        ),
        (
            CROWDED_OUT,
            "starved",
            "its process has hardly got time to run for 3.1 s "
            "(other processes have the processors)",
        ),
        (
            OUT_OF_FILES,
            "out_of_files",
            "it has taken no connection for 3.1 s: its process has too many open files",
        ),
        (
            replace(OUT_OF_FILES, files_left=900),
            "unknown",
            "its heartbeat has been silent for 3.1 s, while its process runs",
        ),
        (replace(FROZEN, files_left=0, status="gone"), "gone", "its process has ended"),
        (QUIET, "unknown", "it has been silent for 3.1 s, and nothing shows why"),
        (
            ELSEWHERE,
            "gil_held_or_blocked",
            f"{WAITED}, or its control channel is blocked: this system does not show which",
        ),
        (
            replace(ELSEWHERE, welcomes=True),
            "control_blocked",
            "its control channel has been blocked for 3.1 s by a handler of it",
        ),
        (replace(ELSEWHERE, status="gone", heartbeat=False), "gone", "its process has ended"),
        (
            replace(ELSEWHERE, status="gone"),
            "unknown",
            "its earlier process has ended, and what has its ports now has not answered for 3.1 s",
        ),
        (Readings(answers=True), "slow_op", "the kernel answers, and is at work on the call"),
    ],
)
def test_each_state_is_named_from_what_one_look_saw(seen, state, why):
    silence = judge(seen, 3.14)
    assert (silence.state, silence.since_s, silence.why) == (state, 3.1, why)


def test_a_silence_whose_beginning_is_not_known_claims_no_duration():
    silence = judge(STOPPED, None)
    assert (silence.since_s, silence.why) == (
        None,
        "its process has been stopped (a signal, Ctrl-Z for one)",
    )


def test_a_thread_that_polls_now_and_then_does_not_wait_for_the_lock():
    polling = readings(thread(MAIN), thread(ZMQ, waits=7), thread(CONTROL, waits=7))
    assert judge(replace(polling, control_tid=None), 1.0).state == "unknown"


def test_a_process_that_is_not_there_is_gone_unless_its_kernel_is_connected():
    assert judge_by_process(None).state == "gone"
    assert judge_by_process(None, connected=True).state == "starved"
    assert status_of(psutil.Process()) in (psutil.STATUS_RUNNING, psutil.STATUS_SLEEPING)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are read from /proc")
def test_a_process_that_lacks_the_thread_of_its_kernel_is_another_one():
    own, other = threading.get_native_id(), os.getppid()
    assert find_process(os.getpid(), own) == psutil.Process()
    assert find_process(other, own) is None
    assert find_process(other) == psutil.Process(other)


def monitor(kernel=None, is_attaching=False):
    """A monitor of a link that is never examined in the test."""
    link = SimpleNamespace(
        kernel=kernel, line=None, attachment=None, process=None, is_attaching=is_attaching
    )

    async def send(_request):
        return None

    return SilenceMonitor(link, send)


@pytest.mark.parametrize(
    ("op", "args", "examined"),
    [
        ("read_changes", {"wait_s": 30.0}, True),
        ("await_members", {"wait_s": 0.0}, True),
        ("await_members", {"wait_s": 30.0}, False),
    ],
)
def test_a_request_that_waits_for_no_caller_is_no_reason_to_examine_the_kernel(op, args, examined):
    async def begin():
        watching = monitor()
        waiting = WaitingCall(
            request=Request(op=op, args=args, call="c"), bound=asyncio.timeout(1), until=1.0
        )
        with watching.attend(waiting):
            return watching._timer is not None

    assert asyncio.run(begin()) is examined


@pytest.mark.parametrize(
    ("others", "state", "why"),
    [
        ([ok_reply({})], "slow_op", "answers other calls"),
        ([], "no_replies", "no reply of repl_pair has come for 0.0 s, while its control channel"),
    ],
)
def test_other_calls_are_answered_only_where_one_was_while_the_caller_waited(
    tmp_path, others, state, why
):
    file, _ = write_connection_file(str(tmp_path / "kernel.json"))
    kernel = KernelInfo(id="k", name="python3", pid=None, path=file, notebook=None, alive=True)

    async def explain():
        began = now()
        asyncio.get_running_loop().time = lambda: began
        watching, request = monitor(kernel), Request(op="ping", args={}, call="c")
        waiting = WaitingCall(request=request, bound=asyncio.timeout(1), until=1.0)
        watching._last = now(), judge(Readings(answers=True), 1.0)
        for reply in others:
            watching.keep(request, reply)
        return await watching.explain(waiting)

    error = asyncio.run(explain())
    assert error.detail["state"] == state
    assert f"Kernel k (python3) is alive, but {why}" in error.message


@pytest.mark.parametrize(
    ("state", "is_attaching", "ends"),
    [
        ("starved", False, True),
        ("control_blocked", False, True),
        ("starved", True, False),
        ("control_blocked", True, False),
        ("gil_held", True, True),
    ],
)
def test_a_status_waits_while_its_own_import_explains_the_silence(state, is_attaching, ends):
    kernel = KernelInfo(id="k", name="python3", pid=None, path="", notebook=None, alive=True)
    seen = Silence(state=state, since_s=2.0, why="…")

    async def examined():
        watching = monitor(kernel, is_attaching)
        waiting = WaitingCall(
            request=Request(op="ping", args={}, call="c"),
            bound=asyncio.timeout(None),
            until=now() + 60,
            since=now() - 60,
        )
        left = [seen, seen, seen]

        async def examine(_since):
            if len(left) == 1:
                watching._waiting.clear()
            return left.pop()

        watching._examine = examine
        async with waiting.bound:
            watching._waiting[waiting] = None
            await watching._examine_while_waiting()
        return waiting.answer

    assert bool(asyncio.run(examined())) is ends
