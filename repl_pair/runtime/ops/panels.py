"""Ops on panels, and who shows the panels of others now."""

from collections.abc import Mapping
from typing import Any, Protocol

from repl_pair.runtime.ops.table import WAIT_S, op


class Opener(Protocol):
    """Shows panels of others: a shell, or a panel that shows one in itself."""

    def open(self, id: str) -> None:
        """Make the widget of a panel, on the thread that calls; a fault is shown in its place."""
        ...


OPENERS: dict[str, Opener] = {}
"""The openers of this process, by token."""


OPENING_S = 60.0


def _deadline(args: Mapping[str, Any]) -> float:
    return float(args.get("timeout_s", OPENING_S))


@op(access="run", lane="main", toolset="panel", internal=True, persons=True, deadline=_deadline)
def open_panel(
    opener: str, panel_id: str, wait_s: float = WAIT_S, timeout_s: float = OPENING_S
) -> None:
    """Have an opener make the widget of a panel; nothing where it is closed by now."""
    del wait_s, timeout_s  # the host reads them
    if opener in OPENERS:
        OPENERS[opener].open(panel_id)
