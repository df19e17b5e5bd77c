"""Who shows panels of others now, so that a panel is made where the person's code may run."""

from typing import Protocol


class Opener(Protocol):
    """Shows panels of others: a shell, or a panel that shows one in itself."""

    def open(self, id: str) -> None:
        """Make the widget of a panel, on the thread that calls; a fault is shown in its place."""
        ...


OPENERS: dict[str, Opener] = {}
"""The openers of this process, by token."""
