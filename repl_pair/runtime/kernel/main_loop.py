"""Whether the event loop of the main thread comes round while no cell runs."""

import time
from collections.abc import Callable

from repl_pair.records import Undo


class MainLoop:
    """Puts a question to the main thread's loop and sees whether it comes back; see `MAIN_LOOP`."""

    def __init__(self) -> None:
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._question: object | None = None
        self._asked = 0.0

    def watch(self, call_soon: Callable[[Callable[[], None]], object]) -> Undo:
        """Take how to call a function on the loop, from any thread; the undo forgets it."""
        self._call_soon = call_soon

        def undo() -> None:
            self._call_soon = self._question = None

        return undo

    def blocked_s(self, *, busy: bool) -> float | None:
        """Return how long the loop has owed an answer; where it owes none, it is asked one.

        None where it owed none, or where the main thread is `busy` with a cell or a run: then the
        loop is theirs.
        """
        if busy or self._call_soon is None:
            self._question = None
            return None
        if self._question is None:
            self._question = question = object()
            self._asked = time.monotonic()
            self._call_soon(lambda: self._come_round(question))
            return None
        return time.monotonic() - self._asked

    def _come_round(self, question: object) -> None:
        if self._question is question:
            self._question = None


MAIN_LOOP = MainLoop()
"""The loop of this process's main thread."""
