"""The commands of the palette: one row each."""

from collections.abc import Callable

from repl_pair.panels.base.context import PanelContext
from repl_pair.records import record
from repl_pair.runtime.clients.clients import pause, resume
from repl_pair.runtime.registry.registry import REGISTRY


@record
class Command:
    """One command; `act` is called on the panel thread."""

    title: str
    act: Callable[[PanelContext], None]


def run_focus(context: PanelContext) -> None:
    """Run what is in focus: one variant, or all of a story."""
    focus = context.focus
    if focus.variant is not None:
        context.run_focus()
    elif focus.story is not None:
        run_all(context, f"{focus.story}/")


def run_all(context: PanelContext, prefix: str = "") -> None:
    """Run every variant whose id starts with a prefix, one after another."""
    context.batch.add(REGISTRY.ids("variant", prefix))


COMMANDS = {
    "run": Command(title="Run the variant or story in focus", act=run_focus),
    "run_all": Command(title="Run all variants", act=run_all),
    "pause": Command(title="Pause agents", act=lambda _context: pause()),
    "resume": Command(title="Resume agents", act=lambda _context: resume()),
    "snapshots": Command(
        title="Review the snapshots that wait", act=lambda context: context.open_panel("snapshot")
    ),
    "remarks": Command(
        title="Review the remarks on what is in focus",
        act=lambda context: context.open_panel("review"),
    ),
}
"""Every command, by id."""
