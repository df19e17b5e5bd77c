"""The person goes first: agents that ask without a pause are slowed while a cell runs."""

import time

from repl_pair.runtime.cells import CELLS

NAP_S = 0.003
"""What the control thread rests, and so delays an interrupt at most."""
CROWDED_S = 0.004
"""A request that follows an answer sooner than this comes from agents that leave no pause.

Beside a busy cell the next one of eight agents takes longer than a millisecond to arrive.
"""
RECENT_S = 0.1
"""How long after a cell another one of the person's is expected."""


class Courtesy:
    """Tells agents that think between their calls from those that keep the thread busy."""

    def __init__(self) -> None:
        self._answered = 0.0

    def give_way(self) -> None:
        """Let go of the interpreter for a moment, before a request, if the person needs it."""
        if time.monotonic() - self._answered < CROWDED_S and _is_wanted():
            time.sleep(NAP_S)

    def note_answer(self) -> None:
        """Remember when a request was done with."""
        self._answered = time.monotonic()


def _is_wanted() -> bool:
    idle_s = CELLS.idle_s()
    return CELLS.current is not None or (idle_s is not None and idle_s <= RECENT_S)
