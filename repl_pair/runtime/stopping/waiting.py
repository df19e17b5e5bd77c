"""Waiting that holds no thread: a coroutine that waits is kept until its event is set."""

import logging
import threading
from _queue import Empty, SimpleQueue  # gevent replaces that of `queue`
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import copy_context
from typing import Any, NamedTuple

from repl_pair.wire import monotonic

_log = logging.getLogger(__name__)


class WaitEvent:
    """Wakes the one coroutine that waits for it."""

    def __init__(self) -> None:
        self.is_set = False
        self.wake: Callable[[], object] = lambda: None

    def set(self) -> None:
        """End the wait, from any thread; where none has begun, the next one ends at once."""
        if not self.is_set:
            self.is_set = True
            self.wake()

    async def wait(self, timeout_s: float) -> bool:
        """Wait until it is set, and clear it; False when the time ran out."""
        until = monotonic() + timeout_s
        while not self.is_set and monotonic() < until:
            await _Pause(self, until)
        was_set, self.is_set = self.is_set, False
        return was_set


class _Pause(NamedTuple):
    event: WaitEvent
    until: float

    def __await__(self) -> Generator["_Pause"]:
        yield self


class _Waiter:
    """A coroutine, and until when it waits."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self.work = work
        self.context = copy_context()
        self.until = 0.0


class Waiters:
    """Coroutines that run on one thread, and wait there beside each other.

    They await events and nothing else, and must not block the thread. It is started
    with `start` at the first need.
    """

    def __init__(self, start: Callable[[Callable[[], None]], object]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._runs = False
        self._waiting: set[_Waiter] = set()
        # An event may be set in a destructor, in the middle of a `put`: this queue bears that.
        self._woken: SimpleQueue[_Waiter | None] = SimpleQueue()

    def add(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine, from any thread; it never runs where the thread cannot be started."""
        waiter = _Waiter(work)
        with self._lock:
            if not self._runs:
                self._begin(work)
            self._waiting.add(waiter)
            self._woken.put(waiter)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._start(self._serve)
        except RuntimeError:
            work.close()
            raise
        self._runs = True

    def close(self) -> None:
        """End the thread once those have run that are awake by now."""
        with self._lock:
            if self._runs:
                self._runs = False
                self._woken.put(None)

    def _serve(self) -> None:
        while (waiter := self._next()) is not None:
            if waiter in self._waiting:
                self._resume(waiter)

    def _next(self) -> _Waiter | None:
        with suppress(Empty):
            return self._woken.get_nowait()
        first = min(self._waiting.copy(), key=lambda waiter: waiter.until, default=None)
        if first is None:
            return self._woken.get()
        try:
            return self._woken.get(timeout=max(0.0, first.until - monotonic()))
        except Empty:
            return first

    def _resume(self, waiter: _Waiter) -> None:
        """Run a coroutine up to its next wait."""
        try:
            pause: _Pause = waiter.context.run(waiter.work.send, None)
        except StopIteration:
            self._waiting.discard(waiter)
            return
        except Exception:  # noqa: BLE001  all others that wait need this thread
            self._waiting.discard(waiter)
            _log.exception("a call that waits failed")
            return
        waiter.until = pause.until
        pause.event.wake = lambda: self._woken.put(waiter)
        if pause.event.is_set:  # before its wake was set
            self._woken.put(waiter)
