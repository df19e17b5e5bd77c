"""Threads beside those of the person: no debugger stops them, and their turn comes soon."""

import gc
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from types import FrameType, FunctionType
from typing import Any

from repl_pair.records import Undo

_SHORT_US = 18
"""A value that nobody chooses: where it is found later, code has set again what it read meanwhile.

What is read of it and set again is the same; of 19 it is 18.
"""
LATE_S = 0.1
"""A request that took longer to arrive met a cell that leaves other threads no turn."""


def start_thread(
    target: Callable[..., object], *args: Any, name: str, runs_cells: bool = False
) -> threading.Thread:
    """Start a daemon thread named `repl_pair NAME`; no breakpoint is reached in what it runs.

    pydevd stops every thread that lacks these marks when the person stands at a breakpoint, so
    that no deadline would be kept. Only where it `runs_cells`, or variants, is it traced as the
    person's threads are.
    """
    kind = threading.Thread if runs_cells else _UntracedThread
    thread = kind(target=target, args=args, name=f"repl_pair {name}", daemon=True)
    vars(thread).update(pydev_do_not_trace=True, is_pydev_daemon_thread=True)
    thread.start()
    return thread


class _UntracedThread(threading.Thread):
    """A thread without the functions of `threading.settrace` and `setprofile`.

    They are code of the person, which may wait for a lock of a cell, or raise.
    """

    def _bootstrap_inner(self) -> None:
        begin: Any = vars(threading.Thread)["_bootstrap_inner"]
        space: Any = vars(threading)
        if type(begin) is FunctionType and begin.__globals__ is space:  # else another's
            untraced = space | {"_trace_hook": None, "_profile_hook": None}
            begin = FunctionType(begin.__code__, untraced)
        begin(self)


class ServiceThread:
    """A thread that ends when it has nothing to do; its owner calls `start` when there is work.

    `start` and `end` are called with the owner's lock held. A forked process has no thread of its
    parent, so there `start` starts one.
    """

    def __init__(self, target: Callable[[], object], name: str) -> None:
        self._target, self._name = target, name
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Return whether there is one that has not called `end`."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread unless it is running."""
        if not self.is_running:
            self._thread = start_thread(self._target, name=self._name)

    def end(self) -> None:
        """Let the next `start` start another; the thread calls it and returns."""
        self._thread = None


@contextmanager
def frames_of_threads() -> Generator[dict[int, FrameType]]:
    """Give the frame in which each thread is, by its ident, for a block that follows `f_back`."""
    resume = pause_collection()
    latest = sys._current_frames()  # pyright: ignore[reportPrivateUsage]  the documented way
    try:
        # The frame of a generator that waits has no caller: the block's is two above this one.
        latest[threading.get_ident()] = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        yield latest
    finally:
        latest.clear()  # the frame of the block names it
        resume()


class _Collection:
    """The collection of garbage in this process, which rests while anybody pauses it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finalizer may come here again
        self._pauses = 0
        self._was_on = False

    def pause(self) -> Undo:
        """Let nothing be collected until the last undo; what is off stays off."""
        with self._lock:
            if not self._pauses:
                self._was_on = gc.isenabled()
                gc.disable()
            self._pauses += 1
        return self._resume

    def _resume(self) -> None:
        with self._lock:
            self._pauses -= 1
            if not self._pauses and self._was_on:
                gc.enable()


_COLLECTION = _Collection()


def pause_collection() -> Undo:
    """Let nothing be collected while the frames of other threads are read, until the undo.

    Python 3.11 may collect garbage while it makes the object of a frame. A finalizer then lets the
    frame's own thread go on, and end, and the process crashes.
    """
    return _COLLECTION.pause() if sys.version_info < (3, 12) else (lambda: None)


class _SwitchInterval:
    """The switch interval of this process, which is short while anybody holds it so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = set[object]()
        self._before = 0

    def hold(self) -> Undo:
        """Let all threads return the interpreter lock after 0.02 ms, until the last undo.

        The interval belongs to the process: what the person sets meanwhile stays.
        """
        holder = object()
        with self._lock:
            now = _read_interval()
            if now > _SHORT_US or (now != _SHORT_US and not self._holders):
                self._before = now
            if now > _SHORT_US:
                _set_interval(_SHORT_US)
            self._holders.add(holder)
        return partial(self._release, holder)

    def _release(self, holder: object) -> None:
        with self._lock:
            self._holders.discard(holder)
            if not self._holders and self._before and _read_interval() == _SHORT_US:
                _set_interval(self._before)


def _read_interval() -> int:
    """Return the switch interval in microseconds, of which the interpreter keeps whole ones."""
    return round(sys.getswitchinterval() * 1e6)


def _set_interval(us: int) -> None:
    sys.setswitchinterval((us + 0.5) / 1e6)  # it is rounded down


shorten_switch_interval = _SwitchInterval().hold


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
        self._lock = threading.Lock()
        self._undo: Undo | None = None
        self._to_end = False

    def shorten(self, travel_s: float = 0.0) -> None:
        """Shorten the switch interval, for a request that took so long to arrive."""
        with self._lock:
            self._undo = self._undo or shorten_switch_interval()
            self._to_end = self._to_end or travel_s >= LATE_S

    def relax(self) -> None:
        """Restore the switch interval once all is answered, unless a request came late."""
        with self._lock:
            if not self._to_end:
                self._restore()

    def restore(self) -> None:
        """Restore the switch interval."""
        with self._lock:
            self._restore()

    def _restore(self) -> None:
        if self._undo is not None:
            self._undo()  # first: a stop of the person may come between the lines
        self._undo, self._to_end = None, False


TURNS = ShortTurns()
"""Those of this process."""
