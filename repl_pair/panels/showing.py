"""`show`: the shell, one panel, or one variant in it; as text where no widgets are shown."""

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.text import build_text
from repl_pair.runtime.ipython import interactive_shell, ipython_module
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.origin import cell_message
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.markdown import Markdown

if TYPE_CHECKING:
    from repl_pair.panels.base.widget import PanelWidget

_SHOWN: dict[str, tuple[str | None, list["PanelWidget"]]] = {}
"""By cell, the message of the run of it that showed something last, and what that showed."""


def show(
    id: str | None = None,
    *,
    panel: str | None = None,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> "PanelWidget | Markdown":
    """Show the panels over everything that is registered; `panel` shows that one alone.

    An id of a story, variant or workspace, or the URL of a shared one, is their focus; a variant
    is run first, in this cell. Where nothing shows widgets, the answer is text, also that of a
    `panel`: the same as in a saved notebook, and equal for equal registries and results, with
    `[redacted]` for known secrets. RequestError `not_found` for an unknown id.
    """
    marimo, shell = sys.modules.get("marimo"), interactive_shell()
    has_front_end = getattr(shell, "kernel", None) is not None or (
        marimo is not None and marimo.running_in_notebook()
    )
    has_widgets = find_spec("anywidget") is not None
    if panel is not None and has_widgets:
        # The widget libraries take longer to import than the rest of the package.
        from repl_pair.panels.builtin import register_panels

        register_panels()
        REGISTRY.get("panel", panel)
    shown = build_text(id, modes=modes, overrides=overrides)
    if not has_front_end or not has_widgets:
        for bundle in shown.outputs if shell is not None else ():
            ipython_module("display").display(dict(bundle), raw=True)
        if panel is None or not has_widgets:
            return shown.text
    from repl_pair.panels.shell.view import open_shell

    link = shown.about
    story = id if link.variant is None else story_of(link.variant)
    shared = ("variant", "workspace", "modes", "overrides", "tab", "substrate")
    opened = open_shell(
        shown.text,
        only=panel,
        story=story if link.variant or not link.workspace else None,
        **{slot: getattr(link, slot) for slot in shared},
    )
    if has_front_end:
        _keep(opened, shell)
        return opened
    try:
        return opened.view.text()
    finally:
        opened.close()


def _keep(opened: "PanelWidget", shell: Any) -> None:
    """Close what an earlier run of this cell showed; a cell without an id is another each time."""
    cell, run = cell_message(shell)
    if cell is None:
        return
    before, widgets = _SHOWN.get(cell, (None, []))
    if run != before:
        for widget in widgets:
            PANEL_THREAD.submit(widget.close)
        widgets = []
    _SHOWN[cell] = run, [*widgets, opened]
