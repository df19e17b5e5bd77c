"""One thread that calls functions later: for deadlines and progress, independent of loops."""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from repl_pair.records import Undo, mutable

_log = logging.getLogger(__name__)


@mutable
class _Entry:
    at: float
    fn: Callable[[], None] | None


LINGER_S = 0.5
"""How long the idle thread stays: a short wait costs less than a new thread."""


class Timers:
    """Calls functions later, on one thread that ends when idle; a signal handler may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._count = itertools.count()
        self._due = 0
        self._linger_s = LINGER_S
        self._new_entries: SimpleQueue[_Entry | None] = SimpleQueue()

    def after(self, delay_s: float, fn: Callable[[], None]) -> Undo:
        """Call `fn` once after `delay_s` seconds; the undo cancels it."""
        entry = _Entry(at=time.monotonic() + delay_s, fn=fn)
        with self._lock:
            self._due += 1
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="repl_pair timers", daemon=True
                )
                self._thread.start()
        self._new_entries.put(entry)

        def undo() -> None:
            self._claim(entry)

        return undo

    def every(self, period_s: float, fn: Callable[[], None]) -> Undo:
        """Call `fn` each `period_s` seconds until the undo."""
        ended = threading.Event()
        pending: list[Undo] = []

        def tick() -> None:
            fn()
            pending[:] = [self.after(period_s, tick)]
            if ended.is_set():
                undo()

        def undo() -> None:
            ended.set()
            for cancel in pending:
                cancel()

        pending.append(self.after(period_s, tick))
        return undo

    def close(self) -> None:
        """Let the thread end as soon as nothing is due."""
        self._linger_s = 0.0
        self._new_entries.put(None)

    def _claim(self, entry: _Entry) -> Callable[[], None] | None:
        """Return the function to call, to the first caller only."""
        with self._lock:
            fn, entry.fn = entry.fn, None
            self._due -= fn is not None
            return fn

    def _serve(self) -> None:
        waiting: list[tuple[float, int, _Entry]] = []
        until = time.monotonic() + self._linger_s
        while self._goes_on(until):
            while waiting and waiting[0][0] <= time.monotonic():
                fn = self._claim(heapq.heappop(waiting)[2])
                try:
                    if fn is not None:
                        fn()
                except Exception:  # noqa: BLE001  all later deadlines need this thread
                    _log.exception("a timer's function failed")
            wait_s = (waiting[0][0] if waiting else until) - time.monotonic()
            try:
                wait_s = max(0.0, min(wait_s, self._linger_s or LINGER_S))
                entry = self._new_entries.get(timeout=wait_s)
            except Empty:
                continue
            if entry is not None:
                heapq.heappush(waiting, (entry.at, next(self._count), entry))
                until = time.monotonic() + self._linger_s

    def _goes_on(self, until: float) -> bool:
        with self._lock:
            if self._due or (self._linger_s and time.monotonic() < until):
                return True
            self._thread = None
            return False
