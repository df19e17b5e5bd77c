"""Threads beside those of the person: no debugger stops them, and their turn comes soon."""

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

SWITCH_INTERVAL_S = 1e-4
_SHORT_S = 2 * SWITCH_INTERVAL_S
"""The interpreter keeps whole microseconds, rounded down: what is set is not what is read."""


def start_thread(target: Callable[..., object], *args: Any, name: str) -> threading.Thread:
    """Start a daemon thread named `repl_pair NAME`; no breakpoint is reached in what it runs.

    pydevd stops every thread that lacks these marks when the person stands at a breakpoint, so
    that no deadline would be kept.
    """
    thread = threading.Thread(target=target, args=args, name=f"repl_pair {name}", daemon=True)
    vars(thread).update(pydev_do_not_trace=True, is_pydev_daemon_thread=True)
    thread.start()
    return thread


@contextmanager
def short_switch_interval() -> Generator[None]:
    """Let all threads return the interpreter lock after 0.1 ms, during the block.

    Every file that is imported releases the lock, and a thread that loops returns it only after
    the switch interval: seconds, for many files. The lock's interval belongs to the process.
    """
    before = sys.getswitchinterval()
    if before < _SHORT_S:
        yield
        return
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        if sys.getswitchinterval() < _SHORT_S:
            sys.setswitchinterval(before)
