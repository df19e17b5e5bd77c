"""A process that a test halts: the signal takes effect later than the call that sends it."""

import os
import signal
import time
from pathlib import Path

from bounds import BOUND_S


def halt(pid: int) -> None:
    """Stop a process, and return once each of its threads stands still."""
    os.kill(pid, signal.SIGSTOP)
    until = time.monotonic() + BOUND_S
    while not _stands_still(pid):
        assert time.monotonic() < until, f"process {pid} is not stopped within {BOUND_S:g} s"
        time.sleep(0.002)


def _stands_still(pid: int) -> bool:
    stats = [task.joinpath("stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)
