"""What is read of the threads of a process, on Linux."""

import ctypes
import os
import subprocess
import sys
import threading

import psutil
import pytest
from waiting import wait_until

from repl_pair.bridge.link.readings import _compare, _count
from repl_pair.bridge.silence.states import Readings, judge

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="threads are read from /proc")

PR_SET_NAME = 15


def test_a_thread_whose_name_is_cut_inside_a_letter_is_counted():
    named, end, ids = threading.Event(), threading.Event(), []

    def wait():
        ctypes.CDLL(None).prctl(PR_SET_NAME, "Загрузка данных".encode()[:15])
        ids.append(threading.get_native_id())
        named.set()
        end.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        named.wait()
        assert ids[0] in _count(os.getpid())
    finally:
        end.set()
        thread.join()


def test_a_process_that_ended_and_was_not_waited_for_has_ended():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    process = psutil.Process(ended.pid)
    wait_until(lambda: process.status() == psutil.STATUS_ZOMBIE, what="the end of the process")
    counted = _count(ended.pid)
    seen = _compare(Readings(heartbeat=False, control_tid=-1), process, counted, counted)
    ended.wait()
    assert judge(seen, None).state == "gone"
