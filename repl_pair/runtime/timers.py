"""One thread that calls functions later: deadlines and progress, whatever the kernel's loops do."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable

Undo = Callable[[], None]


class Timers:
    """Calls functions after a delay on one daemon thread that lives while something is due."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def after(self, delay_s: float, fn: Callable[[], None]) -> Undo:
        """Call `fn` once after `delay_s` seconds; the undo calls it off."""
        with self._changed:
            number = next(self._count)
            heapq.heappush(self._due, (time.monotonic() + delay_s, number, fn))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="repl_pair timers", daemon=True
                )
                self._thread.start()
            self._changed.notify()

        def undo() -> None:
            with self._changed:
                self._due = [entry for entry in self._due if entry[1] != number]
                heapq.heapify(self._due)
                self._changed.notify()

        return undo

    def every(self, period_s: float, fn: Callable[[], None]) -> Undo:
        """Call `fn` each `period_s` seconds until the undo."""
        ended = threading.Event()
        pending: list[Undo] = []

        def tick() -> None:
            if not ended.is_set():
                fn()
                pending[:] = [self.after(period_s, tick)]

        def undo() -> None:
            ended.set()
            for call_off in pending:
                call_off()

        pending.append(self.after(period_s, tick))
        return undo

    def _serve(self) -> None:
        while True:
            with self._changed:
                if not self._due:
                    self._thread = None
                    return
                wait = self._due[0][0] - time.monotonic()
                if wait > 0:
                    self._changed.wait(wait)
                    continue
                _, _, fn = heapq.heappop(self._due)
            fn()
