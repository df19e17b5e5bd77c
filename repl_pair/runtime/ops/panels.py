"""Ops on panels, and the hosts that show the panels of third parties."""

from typing import Protocol

from repl_pair.runtime.ops.table import WAIT_S, op, timeout_deadline


class PanelHost(Protocol):
    """Shows panels of third parties: a shell, or a panel that shows another one in itself."""

    def open(self, id: str) -> None:
        """Make the widget of a panel, on the caller's thread; a fault is shown in its place."""
        ...


PANEL_HOSTS: dict[str, PanelHost] = {}
"""The panel hosts of this process, by token."""
OPENING_S = 60.0


@op(
    access="run",
    lane="main",
    toolset="panel",
    internal=True,
    persons=True,
    deadline=timeout_deadline(OPENING_S),
)
def open_panel(
    host: str, panel_id: str, wait_s: float = WAIT_S, timeout_s: float = OPENING_S
) -> None:
    """Have a host make the widget of a panel; does nothing where the host is closed by now."""
    del wait_s, timeout_s  # the kernel's host reads them
    if host in PANEL_HOSTS:
        PANEL_HOSTS[host].open(panel_id)
