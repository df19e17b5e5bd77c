"""Makes the widget of a panel: of a built-in view, or of what a third party's function returns."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Never, cast

from ipywidgets import Widget

from repl_pair.errors import RequestError
from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.base.view import View
from repl_pair.panels.base.widget import PanelWidget
from repl_pair.runtime.capture.bundles import mime_bundle
from repl_pair.runtime.registry.model import Component, Entry
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


def open_entry(entry: Entry, context: PanelContext) -> Widget:
    """Make the widget of a panel; calls its `render`, with the context if it takes a parameter."""
    render: Any = resolve_render(entry)
    if isinstance(render, type) and issubclass(render, View):
        return PanelWidget(cast("type[View[Any]]", render), context)
    parameters = inspect.signature(cast("Any", render)).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes_context = any(each.kind in positional for each in parameters)
    result = render(context) if takes_context else render()
    if isinstance(result, Widget):
        return result
    bundle = {"text/plain": result if isinstance(result, str) else repr(result)}
    if not isinstance(result, str):
        bundle |= mime_bundle(result)
    return PanelWidget(partial(StaticView, bundle=bundle), context)


def ref_of(widget: Any) -> str:
    """Name a widget for the script of another panel, which shows it in itself."""
    return getattr(widget, "ref", None) or f"IPY_MODEL_{widget.model_id}"


def resolve_render(entry: Entry) -> Callable[..., Any]:
    """Return the function that renders a panel, or that of another panel which it names.

    RequestError `not_found` where that panel is not registered, `bad_arguments` where panels name
    each other in a circle.
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
