"""How a panel becomes a widget: a view, one of a third party, or text where nothing runs."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from ipywidgets import Widget

from repl_pair.errors import RequestError
from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.base.view import Send, View
from repl_pair.panels.base.widget import PanelWidget
from repl_pair.runtime.capture.bundles import mime_bundle
from repl_pair.runtime.registry.model import Component, Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.markdown import Markdown, prose


class StaticView(View):
    """Shows one MIME bundle."""

    name = "static_view"

    def __init__(self, context: PanelContext, send: Send, *, bundle: Mapping[str, Any]) -> None:
        super().__init__(context, send)
        self._bundle = bundle

    def on_bundle(self) -> Mapping[str, Any]:
        """Return the bundle."""
        return self._bundle

    def text(self) -> Markdown:
        """Return its plain text."""
        return Markdown(prose(str(self._bundle.get("text/plain", ""))))


def open_entry(entry: Entry, context: PanelContext) -> Widget:
    """Make the widget of a panel; calls its `render`, with the context if it takes one."""
    render = resolve_render(entry)
    if isinstance(render, type) and issubclass(render, View):
        return PanelWidget(render, context)
    given = _call(cast("Callable[..., Any]", render), context)
    if isinstance(given, Widget):
        return given
    return PanelWidget(partial(StaticView, bundle=_bundle(given)), context)


def ref_of(widget: Any) -> str:
    """Name a widget for a script that shows it."""
    return getattr(widget, "ref", None) or f"IPY_MODEL_{widget.model_id}"


def resolve_render(entry: Entry) -> Callable[..., Any]:
    """Return the function that renders a panel; another panel's, where it names one.

    RequestError `not_found` where that one is not registered, `bad_arguments` where they name each
    other.
    """
    seen = [entry.id]
    render: str | Component = entry.body.render
    while isinstance(render, str):
        if render in seen:
            chain = " → ".join([*seen, render])
            raise RequestError("bad_arguments", f"No panel renders anything: {chain}.")
        seen.append(render)
        render = REGISTRY.get("panel", render).body.render
    return render.resolve()


def _call(render: Callable[..., Any], context: PanelContext) -> Any:
    parameters = inspect.signature(render).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return render(context) if any(each.kind in positional for each in parameters) else render()


def _bundle(given: Any) -> Mapping[str, Any]:
    if isinstance(given, str):
        return {"text/plain": given}
    return {"text/plain": repr(given)} | dict(mime_bundle(given))
