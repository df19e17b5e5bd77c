"""What is read of the threads of a process, on Linux."""

import ctypes
import os
import sys
import threading

import pytest

from repl_pair.bridge.link.readings import _count

PR_SET_NAME = 15


@pytest.mark.skipif(sys.platform != "linux", reason="threads are read from /proc")
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
