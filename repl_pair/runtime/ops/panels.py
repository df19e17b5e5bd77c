"""The op by which a panel whose `render` is the person's code is made between their cells."""

from collections.abc import Mapping
from typing import Any

from repl_pair.runtime.openers import OPENERS
from repl_pair.runtime.ops.table import WAIT_S, op

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
