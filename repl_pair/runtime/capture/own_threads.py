"""Threads beside those of the person: no debugger stops them, and their turn comes soon."""

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from repl_pair.records import Undo

SWITCH_INTERVAL_S = 2e-5
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


def shorten_switch_interval() -> Undo:
    """Let all threads return the interpreter lock after 0.02 ms, until the undo.

    The interval belongs to the process: what the person sets meanwhile stays.
    """
    before = sys.getswitchinterval() + 5e-7  # it is rounded down where it is set again
    if before < _SHORT_S:
        return lambda: None
    sys.setswitchinterval(SWITCH_INTERVAL_S)

    def restore() -> None:
        if sys.getswitchinterval() < _SHORT_S:
            sys.setswitchinterval(before)

    return restore


@contextmanager
def short_switch_interval() -> Generator[None]:
    """Let all threads return the interpreter lock after 0.02 ms, during the block.

    Every file that is imported releases the lock, and a thread that loops returns it only after
    the switch interval: seconds, for many files.
    """
    restore = shorten_switch_interval()
    try:
        yield
    finally:
        restore()
