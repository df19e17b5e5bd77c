"""What one panel knows: what it answers, what it follows, and what it says without a browser."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.runtime.results.markdown import Markdown

Send = Callable[[Mapping[str, Any]], None]
"""Sends one message to every place where the panel is shown; from any thread."""


class View:
    """One open panel. Its methods run on the panel thread, and never call the person's code.

    The browser's `ask("rows", {start: 0})` is answered by `on_rows(start=0)`, with JSON; what a
    view tells unasked is `{"type": …}`, a patch and never all of it.
    """

    name: ClassVar[str]
    """Names its script and style, which stand beside its module: `<name>.js`, `<name>.css`."""
    scripts: ClassVar[tuple[str, ...]] = ()
    """Scripts that it shares with other panels, by name; they come before its own."""
    title: ClassVar[str] = ""
    placement: ClassVar[str] = "bottom"
    is_shown: ClassVar[bool] = True
    """Whether the shell shows it before anyone asks."""

    def __init__(self, context: PanelContext, send: Send) -> None:
        self.context = context
        self.send = send

    def start(self) -> Mapping[str, Any]:
        """Get what the panel shows before its first answer; it may be saved with the notebook."""
        return {}

    def handle_changes(self, changes: Changes) -> None:
        """Take note of changes of the surface and the context (`panels/…`)."""

    def on_hello(self) -> None:
        """Answer the browser's first word."""

    def text(self) -> Markdown:
        """Describe what the panel shows where nothing runs; equal registries give equal text."""
        return Markdown("")

    def close(self) -> None:
        """Undo what the view began."""
