"""The loop on which runs wait for what is to be awaited."""

import subprocess
import sys
import threading

from bounds import BOUND_S

from repl_pair.runtime.stopping.loops import LoopThread

FORKS = """
import os
import signal

import repl_pair


async def later():
    return 1


repl_pair.story("later", component=later)
repl_pair.variant("later/A")
assert repl_pair.run("later/A").status == "pass"
if (child := os.fork()) == 0:
    signal.alarm(BOUND)  # without a thread for its loop it would wait for ever
    os._exit(repl_pair.run("later/A").status != "pass")
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_process_that_was_forked_awaits_on_a_thread_of_its_own():
    program = FORKS.replace("BOUND", str(int(BOUND_S)))
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=3 * BOUND_S
    )
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_a_loop_that_ends_reads_what_is_awaited_while_no_other_thread_adds_to_it():
    one, is_held = LoopThread("loop of a test"), []

    class Awaited(dict):
        def items(self):
            is_held.append(one._lock._is_owned())
            return super().items()

    one._lock, one._awaited = threading.RLock(), Awaited()
    one.loop.call_soon_threadsafe(one._loop.stop)
    one._thread.join(BOUND_S)
    assert is_held == [True]
