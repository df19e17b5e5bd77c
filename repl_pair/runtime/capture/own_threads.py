"""Threads beside those of the person: no debugger stops them, and their turn comes soon."""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from repl_pair.records import Undo

SWITCH_INTERVAL_S = 2e-5
_SHORT_S = 2 * SWITCH_INTERVAL_S
"""The interpreter keeps whole microseconds, rounded down: what is set is not what is read."""
LATE_S = 0.1
"""A request that took longer to arrive met a cell that leaves other threads no turn."""


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
    """Let all threads return the interpreter lock after 0.02 ms, until the last undo.

    The interval belongs to the process: what the person sets meanwhile stays.
    """
    global _before
    holder = object()
    with _lock:
        _holders.add(holder)
        interval = sys.getswitchinterval()
        if interval >= _SHORT_S:
            _before = interval + 5e-7  # it is rounded down where it is set again
            sys.setswitchinterval(SWITCH_INTERVAL_S)

    def restore() -> None:
        global _before
        with _lock:
            _holders.discard(holder)
            if _holders or _before is None:
                return
            if sys.getswitchinterval() < _SHORT_S:
                sys.setswitchinterval(_before)
            _before = None

    return restore


_lock = threading.Lock()
_holders: set[object] = set()
_before: float | None = None
"""The interval that the last undo restores."""


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


def travel_s(sent: object) -> float:
    """Return how long ago a message was sent, by the date in its header; 0 without one."""
    return time.time() - sent.timestamp() if isinstance(sent, datetime) else 0.0


class ShortTurns:
    """Lets threads take short turns while requests are answered beside code of the person.

    Code that releases the interpreter lock for moments, and more often than the switch interval,
    takes it again before another thread is awake: each step of another thread takes a second.
    Beside such code, where a request comes late, turns stay short until `restore`.
    """

    def __init__(self) -> None:
        self._undo: Undo | None = None
        self._to_end = False

    def shorten(self, travel_s: float = 0.0) -> None:
        """Shorten the switch interval, for a request that took so long to arrive."""
        self._undo = self._undo or shorten_switch_interval()
        self._to_end = self._to_end or travel_s >= LATE_S

    def relax(self) -> None:
        """Restore the switch interval once all is answered, unless a request came late."""
        if not self._to_end:
            self.restore()

    def restore(self) -> None:
        """Restore the switch interval."""
        undo, self._undo, self._to_end = self._undo, None, False
        if undo is not None:
            undo()


TURNS = ShortTurns()
"""Those of this process."""
