"""One panel as a widget: a view, its script and style, and its messages."""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

import traitlets
from anywidget import AnyWidget

from repl_pair.errors import ReplPairError, error_text
from repl_pair.panels.base.desk import Desk
from repl_pair.panels.base.html import to_html
from repl_pair.panels.base.pump import PUMP
from repl_pair.panels.base.view import View

_STATIC = files("repl_pair.panels").joinpath("static")


@cache
def script(*names: str) -> str:
    """Return the ES module of a panel: the base, then the scripts of these names, its own last."""
    return "\n".join(_STATIC.joinpath(f"{name}.js").read_text("utf-8") for name in ("base", *names))


@cache
def style() -> str:
    """Return the style of all panels: they share one sheet, and a prefix keeps it to them."""
    sheets = sorted(
        (part for part in _STATIC.iterdir() if part.name.endswith(".css")),
        key=lambda part: (part.name != "base.css", part.name),
    )
    return "\n".join(sheet.read_text("utf-8") for sheet in sheets)


class PanelWidget(AnyWidget):
    """Shows one view; what the browser asks is answered on the pump's thread.

    An ask is `{"ask": type, "id": n, "given": {…}}`; its answer `{"re": n, "said": …}`, or
    `{"re": n, "error": text}`. What the view tells unasked has a `type`.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    start = traitlets.Dict().tag(sync=True)

    def __init__(self, make: Callable[..., View], desk: Desk) -> None:
        self.view = make(desk, self.send)
        esm = script(*self.view.scripts, self.view.name)
        super().__init__(_esm=esm, _css=style(), start=dict(self.view.start()))
        _hear_beside_cells(self.comm)
        self._undo = desk.follow(self.view.hear)
        self.on_msg(self._take)

    @property
    def ref(self) -> str:
        """Name this widget for another's script."""
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

    def _take(self, _widget: Any, content: Mapping[str, Any], _buffers: Any) -> None:
        if "ask" in content:
            PUMP.do(partial(self._answer, content))

    def _answer(self, content: Mapping[str, Any]) -> None:
        given = content.get("given", {})
        self.send({"re": content.get("id")} | answer(self.view, str(content["ask"]), given))


def _hear_beside_cells(comm: Any) -> None:
    """Have a front end's messages taken where it sends them: on a subshell, beside a running cell.

    A kernel takes them on the thread that it published from last, thus behind the cell of whoever
    made the widget. Kernels that know no such thing take them behind cells anyway.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = _where_it_was_sent


def _where_it_was_sent(_data: Any, asked: str | None) -> str | None:
    return asked


def answer(view: View, ask: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Answer what a browser asks a view; a fault is said there, and nowhere else."""
    fn = getattr(view, f"on_{ask}", None)
    if fn is None:
        return {"error": f"The panel {view.name!r} answers no {ask!r}."}
    try:
        said = fn(**given)
        json.dumps(said)
    except ReplPairError as error:
        return {"error": error.message, "code": error.code}
    except Exception as error:  # noqa: BLE001  the panel shows it, whatever it is
        return {"error": error_text(error)}
    return {"said": said}
