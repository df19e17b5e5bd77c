"""The loop on which runs wait for what is to be awaited."""

import subprocess
import sys

from bounds import BOUND_S

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
