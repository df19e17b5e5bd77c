"""Turns of the interpreter lock beside code that loops, and the frames of other threads."""

import gc
import os
import queue
import subprocess
import sys
import threading

import pytest
from bounds import BOUND_S

from repl_pair.runtime.capture.own_threads import (
    ServiceThread,
    frames_of_threads,
    short_switch_interval,
    shorten_switch_interval,
    start_thread,
)
from repl_pair.runtime.op_base.table import Table

SHORT_S, LONG_S = 18e-6, 0.02


@pytest.fixture(autouse=True)
def long_turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(LONG_S)
    yield
    sys.setswitchinterval(before)


def test_turns_are_short_during_the_block_and_as_before_after_it():
    with short_switch_interval():
        assert sys.getswitchinterval() == pytest.approx(SHORT_S)
        with short_switch_interval():
            assert sys.getswitchinterval() == pytest.approx(SHORT_S)
        assert sys.getswitchinterval() == pytest.approx(SHORT_S)
    assert sys.getswitchinterval() == pytest.approx(LONG_S)


def test_turns_are_short_until_the_last_of_several_ends():
    first, second = shorten_switch_interval(), shorten_switch_interval()
    first()
    assert sys.getswitchinterval() == pytest.approx(SHORT_S)
    second()
    assert sys.getswitchinterval() == pytest.approx(LONG_S)


@pytest.mark.parametrize("interval", [0.01, 1e-6])
def test_turns_that_the_person_sets_meanwhile_stay(interval):
    with short_switch_interval():
        sys.setswitchinterval(interval)
    assert sys.getswitchinterval() == pytest.approx(interval)
    with short_switch_interval():
        assert sys.getswitchinterval() <= SHORT_S
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_code_that_restores_what_it_read_meanwhile_leaves_no_short_turns_behind():
    with short_switch_interval():
        read = sys.getswitchinterval()
    sys.setswitchinterval(read)
    with short_switch_interval():
        pass
    assert sys.getswitchinterval() == pytest.approx(LONG_S)


def test_the_module_of_an_op_is_imported_in_short_turns(tmp_path, monkeypatch):
    (tmp_path / "of_an_op.py").write_text("import sys\nturn_s = sys.getswitchinterval()\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert Table({"late": "of_an_op"}).get("late") is None
    assert sys.modules["of_an_op"].turn_s == pytest.approx(SHORT_S)
    monkeypatch.delitem(sys.modules, "of_an_op")


FOLLOWING = """
import gc, sys, threading, time
from repl_pair.runtime.capture.own_threads import frames_of_threads

class Waits:
    def __init__(self): self.me = self
    def __del__(self): time.sleep(0.0002)

def deep(n): return deep(n - 1) if n else time.sleep(0.0001)

def start_threads():
    while True:
        threading.Thread(target=deep, args=(20,), daemon=True).start()
        time.sleep(0.0001)

for _ in range(3):
    threading.Thread(target=start_threads, daemon=True).start()
until, n = time.monotonic() + 2, 0
while time.monotonic() < until:
    n += 1
    gc.set_threshold(100_000)
    Waits(), Waits()
    with frames_of_threads() as latest:
        gc.set_threshold(3 + n % 40)
        for frame in latest.values():
            while frame is not None: frame = frame.f_back
print(gc.isenabled())
"""


def test_the_frames_of_threads_that_end_can_be_followed():
    ran = subprocess.run([sys.executable, "-c", FOLLOWING], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr[-400:]


def test_collection_rests_until_the_last_block_ends_and_stays_off_where_it_was_off():
    with frames_of_threads(), frames_of_threads():
        pass
    assert gc.isenabled()
    gc.disable()
    try:
        with frames_of_threads() as latest:
            assert latest[threading.get_ident()] is sys._getframe()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("runs_cells", [True, False])
def test_only_threads_that_run_cells_are_traced_as_the_persons_are(runs_cells):
    traced, before = [], (threading.gettrace(), threading.getprofile())

    def note(frame, _event, _arg):
        traced.append(frame.f_code.co_name)

    threading.settrace(note)
    threading.setprofile(note)
    try:
        thread = start_thread(lambda: None, name="tests", runs_cells=runs_cells)
        thread.join(BOUND_S)
    finally:
        threading.settrace(before[0])
        threading.setprofile(before[1])
    assert ("<lambda>" in traced, bool(traced)) == (runs_cells, runs_cells)


def test_a_thread_is_started_once_until_it_ends_and_then_again():
    begun, go_on = queue.SimpleQueue(), threading.Event()
    thread = ServiceThread(lambda: (begun.put(threading.current_thread()), go_on.wait()), "tests")
    thread.start()
    thread.start()
    first = begun.get(timeout=BOUND_S)
    assert begun.empty()
    thread.end()
    thread.start()
    second = begun.get(timeout=BOUND_S)
    assert second is not first
    go_on.set()
    for one in (first, second):
        one.join(BOUND_S)
    assert not thread.is_running


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_starts_the_threads_that_its_parent_had():
    code = """
import os, threading
from repl_pair.runtime.kernel.deadlines import Timers
timers = Timers()
called = threading.Event()
timers.after(0.0, called.set)
assert called.wait(60)
if child := os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
called.clear()
timers.after(0.0, called.set)
os._exit(0 if called.wait(60) else 1)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
