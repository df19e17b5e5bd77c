"""`show`: the shell, one panel of it, or one variant in it; as text where no widget can be."""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from repl_pair.panels import text
from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.results.links import Link
from repl_pair.runtime.results.markdown import Markdown

if TYPE_CHECKING:
    from repl_pair.panels.base.widget import PanelWidget


def show(
    id: str | None = None,
    *,
    panel: str | None = None,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> "PanelWidget | Markdown":
    """Show the panels over everything that is registered; `panel` shows that one alone.

    With an id of a story, variant or workspace, or the URL of a shared one, it is what they look
    at; a variant is run first, in this cell. Where nothing shows widgets, its text is all there is:
    the same in a saved notebook, and equal for equal registries and results. RequestError
    `not_found` for an unknown id.
    """
    if not _shows_widgets():
        return text.show(id, modes=modes, overrides=overrides)
    said = text.say(id, modes=modes, overrides=overrides)
    # Only who sees widgets pays for them.
    from repl_pair.panels.base.context import Focus, PanelContext
    from repl_pair.panels.base.widget import PanelWidget
    from repl_pair.panels.shell.view import Shell

    link = said.about
    focus = Focus(
        story=_story_of(id, link),
        variant=link.variant,
        workspace=link.workspace,
        modes=link.modes,
        overrides=link.overrides,
        tab=link.tab,
        substrate=link.substrate,
    )
    return PanelWidget(partial(Shell, said=said.text, only=panel), PanelContext(focus))


def _story_of(id: str | None, link: Link) -> str | None:
    if link.variant is not None:
        return story_of(link.variant)
    return id if link.workspace is None else None


def _shows_widgets() -> bool:
    """Return whether somebody looks who can be shown widgets: a kernel's front end, or marimo's."""
    marimo = sys.modules.get("marimo")
    in_kernel = getattr(interactive_shell(), "kernel", None) is not None
    in_marimo = marimo is not None and marimo.running_in_notebook()
    return (in_kernel or in_marimo) and find_spec("anywidget") is not None
