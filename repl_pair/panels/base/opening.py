"""Panels opened: the widget of a view, or of what a `render` returns."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Never, cast

from ipywidgets import Widget

from repl_pair.errors import RequestError
from repl_pair.panels.base.context import FOLLOWED, PanelContext
from repl_pair.panels.base.panel_thread import Follows
from repl_pair.panels.base.view import View
from repl_pair.panels.base.widget import PanelWidget
from repl_pair.records import Undo, holding, record
from repl_pair.runtime.capture.bundles import mime_bundle
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.markdown import Markdown, prose


class StaticView(View[Never]):
    """Shows one MIME bundle."""

    name = "static_view"

    def __init__(
        self, context: PanelContext, send: Callable[[Never], None], *, bundle: Mapping[str, Any]
    ) -> None:
        super().__init__(context, send)
        self._bundle = bundle

    def on_bundle(self) -> Mapping[str, Any]:
        """Return the bundle."""
        return self._bundle

    def text(self) -> Markdown:
        """Return its plain text."""
        return Markdown(prose(str(self._bundle.get("text/plain", ""))))


@record
class GivenWidget:
    """A widget that a `render` gave: it may be shown elsewhere too, so a close leaves it."""

    widget: Widget
    close: Undo


def open_entry(entry: Entry, context: PanelContext) -> PanelWidget | GivenWidget:
    """Make the widget of a panel; calls its `render`, with the context if it takes a parameter.

    What that follows ends with the panel.
    """
    render: Any = resolve_render(entry)
    if isinstance(render, type) and issubclass(render, View):
        return PanelWidget(cast("type[View[Any]]", render), context)
    parameters = inspect.signature(cast("Any", render)).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes_context = any(each.kind in positional for each in parameters)
    follows = Follows()
    try:
        with holding(FOLLOWED, follows):
            result = render(context) if takes_context else render()
        if isinstance(result, Widget) and not isinstance(result, PanelWidget):
            return GivenWidget(widget=result, close=follows.close)
        if not isinstance(result, PanelWidget):
            bundle = {"text/plain": result if isinstance(result, str) else repr(result)}
            bundle |= {} if isinstance(result, str) else mime_bundle(result)
            result = PanelWidget(partial(StaticView, bundle=bundle), context)
        result.undos.callback(follows.close)
        return result
    except BaseException:
        follows.close()
        raise


def ref_of(opened: PanelWidget | GivenWidget) -> str:
    """Name a widget for the script of another panel, which shows it in itself."""
    if isinstance(opened, PanelWidget):
        return f"anywidget:{opened.model_id}"
    return f"IPY_MODEL_{opened.widget.model_id}"


def resolve_render(entry: Entry) -> Callable[..., Any]:
    """Return what renders a panel; `bad_arguments` where panels only name each other."""
    return rendering_of(entry).body.render.resolve()


def rendering_of(entry: Entry) -> Entry:
    """Return the panel that renders for one: itself, or the one that it names in the end."""
    seen = [entry.id]
    while isinstance(entry.body.render, str):
        if entry.body.render in seen:
            chain = " → ".join([*seen, entry.body.render])
            raise RequestError("bad_arguments", f"No panel renders anything: {chain}.")
        entry = REGISTRY.get("panel", entry.body.render)
        seen.append(entry.id)
    return entry


def find_rendering(id: str) -> Entry | None:
    """Return the panel that renders for one as registered now; None where none does."""
    try:
        return rendering_of(REGISTRY.get("panel", id))
    except RequestError:
        return None
