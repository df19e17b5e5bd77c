"""Which notebook cell runs now, since when, and what its end means for registrations."""

import time
from collections.abc import Callable
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.origin import cell_origin, interactive_shell
from repl_pair.runtime.registry import REGISTRY

Undo = Callable[[], None]


@record
class RunningCell:
    """A cell of the person's that is running."""

    label: str
    since: float

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.since


class CellWatch:
    """Follows the person's cells through IPython's own events."""

    def __init__(self) -> None:
        self.current: RunningCell | None = None
        self._depth = 0
        self._undo: Undo | None = None
        self._is_taken: Callable[[], bool] = lambda: False

    def is_busy(self) -> bool:
        """Tell whether the main thread is taken, be it by a cell that began before the watch."""
        return self.current is not None or self._is_taken()

    def watch(self, is_taken: Callable[[], bool] | None = None) -> Undo:
        """Begin to follow the cells of the running shell; nothing happens without a shell.

        `is_taken` tells whether the main thread is. The undo ends what this call began, if it did.
        """
        self._is_taken = is_taken or self._is_taken
        shell = interactive_shell()
        if self._undo is None and shell is not None:
            shell.events.register("pre_run_cell", self._begin)
            shell.events.register("post_run_cell", self._end)
            self._undo = lambda: self._stop(shell)
            return self.stop
        return lambda: None

    def stop(self) -> None:
        """Follow cells no more."""
        if self._undo is not None:
            self._undo()

    def _begin(self, _info: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        REGISTRY.hold()
        place = cell_origin(interactive_shell())
        self.current = RunningCell(label=place.label, since=time.monotonic())

    def _end(self, result: Any) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth:
            # A cell that another one ran: what that one registers is not complete yet.
            return
        self.current = None
        failed = result is None or not result.success
        if failed:
            REGISTRY.keep_unrenewed()
        REGISTRY.let_go()
        if failed:
            return
        REGISTRY.settle()
        place = cell_origin(interactive_shell())
        if place.key != "console":
            REGISTRY.retire(place.key, _run_of(result, place.run))

    def _stop(self, shell: Any) -> None:
        shell.events.unregister("pre_run_cell", self._begin)
        shell.events.unregister("post_run_cell", self._end)
        self._undo = None
        self._is_taken = lambda: False
        self._depth = 0
        self.current = None
        REGISTRY.let_go()


def _run_of(result: Any, fallback: Any) -> Any:
    """Give the number under which the cell's registrations were entered."""
    count = getattr(result, "execution_count", None)
    return fallback if count is None else count


CELLS = CellWatch()
"""The cells of this process."""
