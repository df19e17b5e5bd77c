"""A kernel that a program of the package starts for itself, such as the demo."""

import subprocess
import sys

import psutil
from waiting import wait_until

STARTS = """
import time
from repl_pair.bridge.scratch_kernel import scratch_kernel
with scratch_kernel() as kernel:
    print(kernel.pid, flush=True)
    time.sleep(600)
"""


def test_it_ends_where_the_program_is_killed():
    with subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE) as program:
        kernel = psutil.Process(int(program.stdout.readline()))
        program.kill()
    wait_until(lambda: not kernel.is_running(), what=f"the end of {kernel}")
