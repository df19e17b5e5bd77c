"""The person goes first: when threads take short turns beside a cell, and when agents rest."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.runtime.capture.own_threads import TURNS, travel_s
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.wire import USERNAME, monotonic

NAP_S = 0.01
"""How long the control thread sleeps; it may delay an interrupt by as much."""
CROWDED_S = 0.004
"""A request that follows an answer sooner than this comes from agents that make no pause.

Beside a busy cell the next request of eight agents takes longer than a millisecond to arrive.
"""
RECENT_S = 0.1
"""How long after a cell another one of the person is expected."""


class Throttle:
    """Slows down agents that send requests without a pause while the person needs the kernel."""

    def __init__(self) -> None:
        self._answered = 0.0

    def travel_s(self, sent: object) -> float:
        """Return how long a request took to arrive, or how long ago the answer before it was."""
        return min(travel_s(sent), monotonic() - self._answered)

    def give_way(self) -> None:
        """Release the interpreter lock for a moment, before a request, if the person needs it."""
        if monotonic() - self._answered >= CROWDED_S:
            return
        idle_s = CELLS.idle_s()
        if CELLS.current is not None or (idle_s is not None and idle_s <= RECENT_S):
            time.sleep(NAP_S)

    def note_answer(self) -> None:
        """Remember when a request was answered."""
        self._answered = monotonic()


def header_of(kernel: Any, channel: str) -> Mapping[str, Any]:
    """Return the header of the message that a kernel handles on a channel, or handled last."""
    return kernel.get_parent(channel).get("header", {})


class Turns:
    """Short turns for all threads where a cell meets a control message, until all is flushed.

    `works_beside` says whether a call runs on a thread of its own. All methods are called on the
    control thread, but for `note_status` of a cell and `end_call`.
    """

    def __init__(self, kernel: Any, works_beside: Callable[[], bool]) -> None:
        self._kernel = kernel
        self._works_beside = works_beside
        self.throttle = Throttle()
        self._handles = self._waits_to_restore = False

    def note_status(self, status: str, channel: str, header: Mapping[str, Any]) -> None:
        """Shorten or relax the turns at a status of the kernel for the message of that header."""
        if channel == "control":
            self._handles = status == "busy"
            if not self._handles:
                self._relax()
            elif header.get("username") == USERNAME and CELLS.is_busy():
                self._shorten(header)
        elif channel == "shell" and status == "busy" and self._handles:
            self._shorten({})

    def shorten_beside_cell(self) -> None:
        """Take short turns for the rest of a control message that was busy before this was made."""
        if CELLS.is_busy():
            self._shorten(header_of(self._kernel, "control"))

    def end_call(self) -> None:
        """Relax the turns once a call is answered, unless a control message does that."""
        if not self._handles:
            self._kernel.control_thread.io_loop.add_callback(self._relax)

    def _shorten(self, header: Mapping[str, Any]) -> None:
        """Take short turns, at most until what has the main thread now has ended."""
        TURNS.shorten(self.throttle.travel_s(header.get("date")))
        if not self._waits_to_restore:
            self._waits_to_restore = True
            self._kernel.io_loop.add_callback(self._restore)

    async def _restore(self) -> None:
        async with self._kernel._main_asyncio_lock:
            self._waits_to_restore = False
        TURNS.restore()

    def _relax(self) -> None:
        if not (self._handles or self._works_beside()):
            TURNS.relax()
