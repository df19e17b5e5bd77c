"""Detects an event loop of the main thread that is blocked while no cell runs."""

import time
from collections.abc import Callable

from repl_pair.records import Undo


class MainLoop:
    """Schedules a probe on the main thread's loop and measures its delay; see `MAIN_LOOP`."""

    def __init__(self) -> None:
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._probe: object | None = None
        self._probed_at = 0.0

    def watch(self, call_soon: Callable[[Callable[[], None]], object]) -> Undo:
        """Set how to call a function on the loop from any thread; the undo unsets it."""
        self._call_soon = call_soon

        def undo() -> None:
            self._call_soon = self._probe = None

        return undo

    def blocked_s(self, *, busy: bool) -> float | None:
        """Return how many seconds the current probe has waited; start a probe where there is none.

        None for a new probe, and where the main thread is `busy` with a cell or a run.
        """
        if busy or self._call_soon is None:
            self._probe = None
            return None
        if self._probe is None:
            self._probe = probe = object()
            self._probed_at = time.monotonic()
            self._call_soon(lambda: self._end_probe(probe))
            return None
        return time.monotonic() - self._probed_at

    def _end_probe(self, probe: object) -> None:
        if self._probe is probe:
            self._probe = None


MAIN_LOOP = MainLoop()
"""The loop of this process's main thread."""
