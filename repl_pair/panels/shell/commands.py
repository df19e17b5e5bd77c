"""What can be done from the palette: one row a command."""

from collections.abc import Callable

from repl_pair.panels.base.context import PanelContext
from repl_pair.records import record
from repl_pair.runtime.registry.registry import REGISTRY


@record
class Command:
    """Something to do at a context, in words."""

    title: str
    act: Callable[[PanelContext], None]


def run_focus(context: PanelContext) -> None:
    """Run what is looked at: one variant, or all of a story."""
    focus = context.focus
    if focus.variant is not None:
        context.run_focus()
    elif focus.story is not None:
        run_all(context, f"{focus.story}/")


def run_all(context: PanelContext, prefix: str = "") -> None:
    """Run every variant whose id starts with a prefix, one after another."""
    context.batch.add(REGISTRY.ids("variant", prefix))


def review_snapshots(context: PanelContext) -> None:
    """Show the outputs that wait to be accepted or rejected."""
    context.open_panel("snapshot")


COMMANDS = {
    "run": Command(title="Run what is looked at", act=run_focus),
    "run_all": Command(title="Run all variants", act=run_all),
    "snapshots": Command(title="Review the snapshots that wait", act=review_snapshots),
}
"""Every command, by id."""
