"""Which notebook cell runs now, since when, and what its end means for registrations."""

import threading
import time
from collections.abc import Callable
from typing import Any

from repl_pair.records import Undo, record
from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.registry.origin import cell_origin
from repl_pair.runtime.registry.registry import REGISTRY


@record
class RunningCell:
    """A cell of the person's that is running."""

    label: str
    since: float

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.since


class CellTracker:
    """Follows the person's cells through IPython's own events."""

    def __init__(self) -> None:
        self.current: RunningCell | None = None
        self._ended: float | None = None
        self._depth = 0
        self._lock = threading.Lock()
        self._followers: dict[object, Callable[[], bool]] = {}
        self._at_end: dict[object, Callable[[], None]] = {}
        self._stop: Undo | None = None

    def is_busy(self) -> bool:
        """Return whether the main thread is taken, be it by a cell that began before the watch."""
        return self.current is not None or any(
            is_taken() for is_taken in tuple(self._followers.values())
        )

    def idle_s(self) -> float | None:
        """Return how long ago the last cell ended; None while one runs, or if none was seen."""
        if self._ended is None or self.is_busy():
            return None
        return round(time.monotonic() - self._ended, 1)

    def track(self, is_taken: Callable[[], bool] = lambda: False) -> Undo:
        """Follow the cells of the running shell, if there is one, until the last undo is called.

        `is_taken` tells whether the main thread is.
        """
        follower = object()
        with self._lock:
            self._followers[follower] = is_taken
            self._stop = self._stop or self._start(interactive_shell())

        def undo() -> None:
            with self._lock:
                self._followers.pop(follower, None)
                if self._stop is not None and not self._followers:
                    self._stop()

        return undo

    def at_end(self, fn: Callable[[], None]) -> Undo:
        """Call `fn` behind each cell, failed or not, when the registries are settled."""
        token = object()
        self._at_end[token] = fn

        def undo() -> None:
            self._at_end.pop(token, None)

        return undo

    def _start(self, shell: Any) -> Undo | None:
        if shell is None:
            return None
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)
        return lambda: self._end_watch(shell)

    def _begin(self, _info: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        REGISTRY.hold_retirement()
        place = cell_origin(interactive_shell())
        self.current = RunningCell(label=place.label, since=time.monotonic())

    def _end(self, result: Any) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth:
            # A cell that another one ran: what that one registers is not complete yet.
            return
        self.current, self._ended = None, time.monotonic()
        self._settle(result)
        for fn in tuple(self._at_end.values()):
            fn()

    def _settle(self, result: Any) -> None:
        failed = result is None or not result.success
        if failed:
            REGISTRY.keep_unrenewed()
        REGISTRY.allow_retirement()
        if failed:
            return
        REGISTRY.retire_stale()
        place = cell_origin(interactive_shell())
        if place.key != "console":
            REGISTRY.retire(place.key, _run_of(result, place.run))

    def _end_watch(self, shell: Any) -> None:
        for event, hook in (("pre_run_cell", self._begin), ("post_run_cell", self._end)):
            # Whoever emptied the list of hooks took ours out too.
            if hook in shell.events.callbacks[event]:
                shell.events.unregister(event, hook)
        self._stop = None
        self._depth = 0
        self.current = self._ended = None
        REGISTRY.allow_retirement()


def _run_of(result: Any, fallback: Any) -> Any:
    """Return the number under which the cell's registrations were entered."""
    count = getattr(result, "execution_count", None)
    return fallback if count is None else count


CELLS = CellTracker()
"""The cells of this process."""
