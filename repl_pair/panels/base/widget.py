"""One panel as a widget: a view, its script and style, and its messages."""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypedDict

import traitlets
from anywidget import AnyWidget
from markdown_it import MarkdownIt

from repl_pair.errors import ReplPairError, error_text
from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.base.view import View

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def to_html(markdown: str) -> str:
    """Return Markdown as HTML; HTML in it stays text."""
    return _MARKDOWN.render(str(markdown))


def script(view: View[Any]) -> str:
    """Return the ES module of a panel: the base, then the scripts that it names, its own last."""
    return _script(type(view), ("base", *view.scripts, view.name))


@cache
def _script(cls: type[View[Any]], names: tuple[str, ...]) -> str:
    """Join scripts; each stands beside the view, or beside a view that it extends."""
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


class Answer(TypedDict, total=False):
    """The answer to one ask: `answer` is JSON, or `error` is the text of what went wrong.

    `re` is the id of the ask, `code` that of a ReplPairError.
    """

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
        self.view = make(context, self.send)
        super().__init__(_esm=script(self.view), _css=style(), start=dict(self.view.start()))
        # A kernel receives a front end's messages on the thread that it published from last, thus
        # behind the cell that made the widget: receive them on the subshell they are sent to. A
        # kernel without subshells receives them behind cells anyway.
        comm: Any = self.comm
        if hasattr(comm, "_reply_subshell_for"):
            comm._reply_subshell_for = _where_sent
        self._undo = context.follow(self.view.handle_changes)
        self.on_msg(self._receive)

    @property
    def ref(self) -> str:
        """Name this widget for the script of another panel, which shows it in itself."""
        return f"anywidget:{self.model_id}"

    def close(self) -> None:
        """Take the panel away, wherever it is shown."""
        self._undo()
        self.view.close()
        super().close()

    def __repr__(self) -> str:
        return str(self.view.text()) or f"<panel {self.view.name}>"

    def _repr_mimebundle_(self, **_kwargs: Any) -> Any:
        data, metadata = super()._repr_mimebundle_()
        text = self.view.text()
        return data | {"text/plain": str(text), "text/html": to_html(text)}, metadata

    def _receive(self, _widget: Any, content: Mapping[str, Any], _buffers: Any) -> None:
        if "ask" in content:
            PANEL_THREAD.submit(partial(self._answer, content))

    def _answer(self, content: Mapping[str, Any]) -> None:
        args = content.get("args", {})
        self.send({"re": content.get("id")} | answer(self.view, str(content["ask"]), args))


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
