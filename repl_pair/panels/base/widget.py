"""Panels as widgets: a view with its script, its style and its messages."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from typing import Any, TypedDict, cast

import traitlets
from anywidget import AnyWidget
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from repl_pair.errors import ReplPairError, error_text
from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.base.view import View
from repl_pair.runtime.ipython import ipython_module
from repl_pair.runtime.secrets.cleaning import valid_json

_WEB = re.compile(r"https?://", re.IGNORECASE)
_ALONE = {"target": "_blank", "rel": "noopener noreferrer"}


def _open_link(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, _env: Any
) -> str:
    tokens[at].attrs |= {"title": tokens[at].attrs["href"], **_ALONE}
    return renderer.renderToken(tokens, at, options, _env)


_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
_MARKDOWN.validateLink = lambda url: _WEB.match(url) is not None
_MARKDOWN.add_render_rule("link_open", _open_link)


def to_html(markdown: str) -> str:
    """Return Markdown as HTML that loads nothing; HTML in it stays text.

    A link to an address of the web opens in a tab of its own, any other one stays text.
    """
    return _MARKDOWN.render(str(markdown))


@cache
def script(cls: type[View[Any]]) -> str:
    """Return the ES module of a panel: the base, then the scripts that it names, its own last.

    Each stands beside the view, or beside a view that it extends.
    """
    names = ("base", *cls.scripts, cls.name)
    modules = [base.__module__ for base in cls.__mro__ if issubclass(base, View)]
    folders = [files(name.rpartition(".")[0]) for name in modules if "." in name]
    places = ([folder.joinpath(f"{name}.js") for folder in folders] for name in names)
    found = (next(place for place in each if place.is_file()) for each in places)
    return "\n".join(each.read_text("utf-8") for each in found)


@cache
def style() -> str:
    """Return the style of all panels: they share one sheet, and a prefix keeps it to them."""
    rooms = [room for room in files("repl_pair.panels").iterdir() if room.is_dir()]
    sheets = [part for room in rooms for part in room.iterdir() if part.name.endswith(".css")]
    sheets.sort(key=lambda part: (part.name != "base.css", part.name))
    return "\n".join(sheet.read_text("utf-8") for sheet in sheets)


def _saved(table: str) -> str:
    """Return a script that puts the table in the place of the output before it.

    It does so where that is the error which JupyterLab writes for a widget whose kernel is gone,
    whatever else the output holds. A page that does not trust the notebook runs no script.
    """
    body = files("repl_pair.panels.base").joinpath("saved.js").read_text("utf-8")
    literal = json.dumps(table).replace("<", "\\u003c")
    return f"<script>{{\n{body.replace('TABLE', literal)}}}</script>"


class Answer(TypedDict, total=False):
    """The answer to the ask `re`: JSON, or an `error`, with the `code` of a ReplPairError."""

    re: str
    answer: Any
    error: str
    code: str


class PanelWidget(AnyWidget):
    """Shows one view; what its script asks is answered on the panel thread.

    An ask is `{"ask": type, "id": text, "args": {…}}`, and is answered by an `Answer`. Any other
    message is a patch, which the view sends unasked: what changed, by slot.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    start = traitlets.Dict().tag(sync=True)

    def __init__(self, make: Callable[..., View[Any]], context: PanelContext) -> None:
        self.undos = ExitStack()
        self.view = view = make(context, self.send)
        self.undos.callback(view.close)
        try:
            start = valid_json(dict(view.start()))
            super().__init__(_esm=script(type(view)), _css=style(), start=start)
        except BaseException:
            self.undos.close()
            raise
        # A kernel receives a front end's messages on the thread that it published from last, thus
        # behind the cell that made the widget: receive them on the subshell they are sent to. A
        # kernel without subshells receives them behind cells anyway.
        comm: Any = self.comm
        if hasattr(comm, "_reply_subshell_for"):
            comm._reply_subshell_for = _where_sent
        self.undos.callback(PANEL_THREAD.subscribe(view.handle_changes, context))
        self.on_msg(self._receive)

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send a message; Jupyter sends none with half of a surrogate pair, which is replaced."""
        super().send(valid_json(content), buffers)

    def close(self) -> None:
        """Take the panel away, wherever it is shown."""
        self.undos.close()
        super().close()
        cast("Any", self).layout.close()  # ipywidgets makes one a widget, and leaves it

    def __repr__(self) -> str:
        return str(self.view.text()) or f"<panel {self.view.name}>"

    def _repr_mimebundle_(self, **_kwargs: Any) -> Any:
        data, metadata = super()._repr_mimebundle_()
        text = valid_json(str(self.view.text()))
        return data | {"text/plain": text, "text/html": to_html(text)}, metadata

    def _ipython_display_(self) -> None:
        """Show the panel, and behind it what shows its table once the kernel is gone."""
        data, metadata = self._repr_mimebundle_()
        display = ipython_module("display").display
        display(data, metadata=metadata, raw=True)
        display({"text/html": _saved(data["text/html"])}, raw=True)

    def _receive(self, _widget: Any, content: Mapping[str, Any], _buffers: Any) -> None:
        def reply() -> None:
            args = content.get("args", {})
            self.send({"re": content.get("id")} | answer(self.view, str(content["ask"]), args))

        if "ask" in content:
            PANEL_THREAD.submit(reply)


def _where_sent(_data: Any, subshell: str | None) -> str | None:
    return subshell


def answer(view: View[Any], ask: str, args: Mapping[str, Any]) -> Answer:
    """Answer one ask of a script; an exception becomes an `error`."""
    fn = getattr(view, f"on_{ask}", None)
    if fn is None:
        return {"error": f"The panel {view.name!r} answers no {ask!r}."}
    try:
        result = fn(**args)
        json.dumps(result)
    except ReplPairError as error:
        return {"error": error.message, "code": error.code}
    except Exception as error:  # noqa: BLE001  the panel shows it, whatever it is
        return {"error": error_text(error)}
    return {"answer": result}
