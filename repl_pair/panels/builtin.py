"""The panels that ship with the package, registered as any third party's are."""

from typing import Any

from repl_pair.panels.agent.view import AgentView
from repl_pair.panels.base.view import View
from repl_pair.panels.canvas.view import CanvasView
from repl_pair.panels.controls.view import ControlsView
from repl_pair.panels.explorer.view import ExplorerView
from repl_pair.panels.play.view import PlayView
from repl_pair.panels.review.view import ReviewView
from repl_pair.panels.snapshot.view import SnapshotView
from repl_pair.panels.trace.view import TraceView
from repl_pair.panels.variables.view import VariablesView
from repl_pair.runtime.registry.model import Component, Entry, Origin, Panel
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.registry import REGISTRY

VIEWS: tuple[type[View[Any]], ...] = (
    AgentView,
    CanvasView,
    ControlsView,
    ExplorerView,
    PlayView,
    ReviewView,
    SnapshotView,
    TraceView,
    VariablesView,
)
"""The built-in views."""
_ORIGIN = Origin(key=BUILTIN, label="repl_pair", line=0)


def register_panels() -> None:
    """Register the built-in panels, except those that were replaced."""
    for view in VIEWS:
        if REGISTRY.find("panel", view.name) is None:
            doc = (view.__doc__ or "").partition("\n")[0]
            body = Panel(
                title=view.title, placement=view.placement, render=Component.of(view), doc=doc
            )
            REGISTRY.register("panel", view.name, body, origin=_ORIGIN)


def find_view(entry: Entry) -> type[View[Any]] | None:
    """Return the built-in view of a panel; None for a panel of a third party."""
    is_builtin = entry.origin.key == BUILTIN
    return next((view for view in VIEWS if is_builtin and view.name == entry.id), None)


def shows_at_once(entry: Entry) -> bool:
    """Return whether a shell shows a panel before anyone asks for it."""
    view = find_view(entry)
    return entry.body.placement != "modal" if view is None else view.is_shown
