"""Tracks the notebook cell that runs now, and retires stale registrations at its end."""

import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from repl_pair.records import Undo, record
from repl_pair.runtime.capture.captured import current_capture
from repl_pair.runtime.ipython import kernel_shell, known_shells
from repl_pair.runtime.registry.origin import cell_origin
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import monotonic

MAX_ENDED = 500
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
        return monotonic() - self.since


class CellTracker:
    """Tracks the person's cells through IPython's events; see `CELLS`.

    Cells of a prompt beside an embedded kernel do not run on its main thread: they count only
    where they end.
    """

    def __init__(self) -> None:
        self._current: RunningCell | None = None
        self._context: Context | None = None
        self.count = 0
        """How many cells have ended, failed ones too, while cells were tracked."""
        self.ended: dict[int, EndedCell] = {}
        """How the latest cells ended that ran while cells were tracked, by their number."""
        self._ended: float | None = None
        self._depths: dict[tuple[int, int], int] = {}
        """How many cells run inside one another, by shell and thread: subshells have threads."""
        self._runs_on: int | None = None
        self._lock = threading.Lock()
        self._trackers: dict[object, Callable[[], bool]] = {}
        self._at_end: dict[object, Callable[[], None]] = {}
        self._stops: list[tuple[Any, Callable[..., None], Undo]] = []

    @property
    def current(self) -> RunningCell | None:
        """Return the cell that runs now; None once it has ended, also where no event says so."""
        if self._current is not None and self._ended_unseen(self._current):
            self._current = None
            self._depths.clear()
            REGISTRY.allow_retirement()
        return self._current

    def _ended_unseen(self, cell: RunningCell) -> bool:
        """Return whether a cell has ended that has emptied IPython's lists of callbacks."""
        shell: Any = kernel_shell()
        if self._sees_ends(shell):
            return False
        is_followed = cell.number is not None and shell.execution_count > cell.number + 1
        return is_followed or not any(is_taken() for is_taken in tuple(self._trackers.values()))

    def _sees_ends(self, shell: Any) -> bool:
        ends = [end for one, end, _ in self._stops if one is shell]
        return not ends or any(ends[0] is fn for fn in _callbacks(shell, "post_run_cell"))

    @property
    def context(self) -> Context | None:
        """The context variables as the last cell left them; None where no event says so."""
        return self._context if self._sees_ends(kernel_shell()) else None

    def is_busy(self) -> bool:
        """Return whether a cell runs on the main thread, even if it began before `track`."""
        return self.current is not None or any(
            is_taken() for is_taken in tuple(self._trackers.values())
        )

    def idle_s(self) -> float | None:
        """Return how many seconds ago the last cell ended; None while one runs or if none has."""
        if self._ended is None or self.is_busy():
            return None
        return round(monotonic() - self._ended, 1)

    def track(self, is_taken: Callable[[], bool] = lambda: False) -> Undo:
        """Track the cells until the last undo; `is_taken`: the main thread is occupied."""
        token = object()
        with self._lock:
            self._trackers[token] = is_taken
            tracked = [shell for shell, _, _ in self._stops]
            for shell in known_shells():
                if not any(shell is one for one in tracked):
                    self._stops.append((shell, *self._track(shell)))

        def undo() -> None:
            with self._lock:
                self._trackers.pop(token, None)
                if not self._trackers:
                    self._end_tracking()

        return undo

    def at_end(self, fn: Callable[[], None]) -> Undo:
        """Call `fn` after each cell, failed or not, when stale entries are retired."""
        token = object()
        self._at_end[token] = fn
        return lambda: self._at_end.pop(token, None)

    def _begin(self, shell: Any, info: Any) -> None:
        key = id(shell), threading.get_ident()
        depth = self._depths[key] = self._depths.get(key, 0) + 1
        if depth > 1:
            return
        REGISTRY.hold_retirement()
        is_main = threading.current_thread() is threading.main_thread()
        if shell is kernel_shell() and (self._current is None or is_main):
            place = cell_origin(shell)
            number = place.run if getattr(info, "store_history", True) else None
            self._runs_on = key[1]
            self._current = RunningCell(label=place.label, since=monotonic(), number=number)

    def _end(self, shell: Any, result: Any) -> None:
        key = id(shell), threading.get_ident()
        depth = self._depths.pop(key, 1) - 1
        if depth > 0:
            self._depths[key] = depth
            # This cell was run by another one, whose registrations are not complete yet.
            return
        if shell is kernel_shell() and self._runs_on in (None, key[1]):
            cell, self._current, self._ended = self._current, None, monotonic()
            self._note_ended(cell, self._ended, result)
            if current_capture() is None:  # no code of an agent's runs it
                self._context = copy_context()
        self._retire(shell, result)
        self.count += 1
        for fn in tuple(self._at_end.values()):
            fn()

    def _note_ended(self, cell: RunningCell | None, at: float, result: Any) -> None:
        if cell is None or cell.number is None:
            return
        succeeded = result is not None and result.success
        self.ended[cell.number] = EndedCell(
            since=cell.since, seconds=at - cell.since, succeeded=succeeded
        )
        if len(self.ended) > MAX_ENDED:
            del self.ended[next(iter(self.ended))]

    def _retire(self, shell: Any, result: Any) -> None:
        if result is None or not result.success:
            REGISTRY.keep_unrenewed()
            REGISTRY.allow_retirement()
            return
        REGISTRY.allow_retirement()
        REGISTRY.retire_stale()
        place = cell_origin(shell)
        count = getattr(result, "execution_count", None)
        run = place.run if count is None else count
        REGISTRY.retire_scripts(run)
        if place.key != "console":
            REGISTRY.retire(place.key, run)

    def _track(self, shell: Any) -> tuple[Callable[..., None], Undo]:
        begin, end = partial(self._begin, shell), partial(self._end, shell)
        hooks = {"pre_run_cell": begin, "post_run_cell": end}
        for event, hook in hooks.items():
            shell.events.register(event, hook)

        def undo() -> None:
            for event, hook in hooks.items():
                # The list of callbacks may have been emptied.
                if any(hook is fn for fn in _callbacks(shell, event)):
                    shell.events.unregister(event, hook)

        return end, undo

    def _end_tracking(self) -> None:
        while self._stops:
            self._stops.pop()[-1]()
        self._depths.clear()
        self._current = self._ended = self._context = None
        self.ended.clear()
        REGISTRY.allow_retirement()


def _callbacks(shell: Any, event: str) -> list[Any]:
    return shell.events.callbacks.get(event, [])


CELLS = CellTracker()
"""The cells of this process."""
