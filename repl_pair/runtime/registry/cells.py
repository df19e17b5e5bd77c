"""Tracks the notebook cell that runs now, and retires stale registrations at its end."""

import threading
import time
from collections.abc import Callable
from typing import Any

from repl_pair.records import Undo, record
from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.registry.origin import cell_origin
from repl_pair.runtime.registry.registry import REGISTRY

MOST_ENDED = 500
"""How many of the latest cells it is remembered of how they ended."""


@record
class EndedCell:
    """How a cell of the person ended; `since` as of `time.monotonic`."""

    since: float
    seconds: float
    succeeded: bool


@record
class RunningCell:
    """A cell of the person that is running; `number` None of one that is no part of history."""

    label: str
    since: float
    number: int | None = None

    @property
    def seconds(self) -> float:
        """How long it has been running, in seconds."""
        return time.monotonic() - self.since


class CellTracker:
    """Tracks the person's cells through IPython's events; see `CELLS`."""

    def __init__(self) -> None:
        self.current: RunningCell | None = None
        self.ended: dict[int, EndedCell] = {}
        """How the latest cells ended that ran while cells were tracked, by their number."""
        self._ended: float | None = None
        self._depth = 0
        self._lock = threading.Lock()
        self._trackers: dict[object, Callable[[], bool]] = {}
        self._at_end: dict[object, Callable[[], None]] = {}
        self._stop: Undo | None = None

    def is_busy(self) -> bool:
        """Return whether a cell runs on the main thread, even if it began before `track`."""
        return self.current is not None or any(
            is_taken() for is_taken in tuple(self._trackers.values())
        )

    def idle_s(self) -> float | None:
        """Return how many seconds ago the last cell ended; None while one runs or if none has."""
        if self._ended is None or self.is_busy():
            return None
        return round(time.monotonic() - self._ended, 1)

    def track(self, is_taken: Callable[[], bool] = lambda: False) -> Undo:
        """Track the cells until the last undo; `is_taken`: the main thread is occupied."""
        token = object()
        with self._lock:
            self._trackers[token] = is_taken
            shell = interactive_shell()
            if self._stop is None and shell is not None:
                shell.events.register("pre_run_cell", self._begin)
                shell.events.register("post_run_cell", self._end)
                self._stop = lambda: self._end_tracking(shell)

        def undo() -> None:
            with self._lock:
                self._trackers.pop(token, None)
                if self._stop is not None and not self._trackers:
                    self._stop()

        return undo

    def at_end(self, fn: Callable[[], None]) -> Undo:
        """Call `fn` after each cell, failed or not, when stale entries are retired."""
        token = object()
        self._at_end[token] = fn

        def undo() -> None:
            self._at_end.pop(token, None)

        return undo

    def _begin(self, info: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        REGISTRY.hold_retirement()
        place = cell_origin(interactive_shell())
        number = place.run if getattr(info, "store_history", True) else None
        self.current = RunningCell(label=place.label, since=time.monotonic(), number=number)

    def _end(self, result: Any) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth:
            # This cell was run by another one, whose registrations are not complete yet.
            return
        cell, self.current, self._ended = self.current, None, time.monotonic()
        if cell is not None and cell.number is not None:
            succeeded = result is not None and result.success
            seconds = self._ended - cell.since
            self.ended[cell.number] = EndedCell(
                since=cell.since, seconds=seconds, succeeded=succeeded
            )
            if len(self.ended) > MOST_ENDED:
                del self.ended[next(iter(self.ended))]
        self._retire(result)
        for fn in tuple(self._at_end.values()):
            fn()

    def _retire(self, result: Any) -> None:
        if result is None or not result.success:
            REGISTRY.keep_unrenewed()
            REGISTRY.allow_retirement()
            return
        REGISTRY.allow_retirement()
        REGISTRY.retire_stale()
        place = cell_origin(interactive_shell())
        count = getattr(result, "execution_count", None)
        run = place.run if count is None else count
        REGISTRY.retire_scripts(run)
        if place.key != "console":
            REGISTRY.retire(place.key, run)

    def _end_tracking(self, shell: Any) -> None:
        for event, hook in (("pre_run_cell", self._begin), ("post_run_cell", self._end)):
            # The list of callbacks may have been emptied.
            if hook in shell.events.callbacks[event]:
                shell.events.unregister(event, hook)
        self._stop = None
        self._depth = 0
        self.current = self._ended = None
        self.ended.clear()
        REGISTRY.allow_retirement()


CELLS = CellTracker()
"""The cells of this process."""
