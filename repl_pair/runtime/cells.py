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
        self._undo: Undo | None = None

    def watch(self) -> Undo:
        """Begin to follow the cells of the running shell, once; nothing happens without a shell."""
        shell = interactive_shell()
        if self._undo is None and shell is not None:
            shell.events.register("pre_run_cell", self._begin)
            shell.events.register("post_run_cell", self._end)
            self._undo = lambda: self._stop(shell)
        return self._undo or (lambda: None)

    def _begin(self, _info: Any) -> None:
        place = cell_origin(interactive_shell())
        self.current = RunningCell(label=place.label, since=time.monotonic())

    def _end(self, result: Any) -> None:
        self.current = None
        if not result.success:
            REGISTRY.keep_unrenewed()
            return
        REGISTRY.settle()
        place = cell_origin(interactive_shell())
        if place.key != "console":
            REGISTRY.retire(place.key, _run_of(result, place.run))

    def _stop(self, shell: Any) -> None:
        shell.events.unregister("pre_run_cell", self._begin)
        shell.events.unregister("post_run_cell", self._end)
        self._undo = None
        self.current = None


def _run_of(result: Any, fallback: Any) -> Any:
    """Give the number under which the cell's registrations were entered."""
    count = getattr(result, "execution_count", None)
    return fallback if count is None else count


CELLS = CellWatch()
"""The cells of this process."""
