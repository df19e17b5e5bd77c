"""What a panel of the person's gave that is no widget: a MIME bundle, shown as it is."""

from collections.abc import Mapping
from typing import Any

from repl_pair.panels.desk import Desk
from repl_pair.panels.view import Send, View
from repl_pair.runtime.results.markdown import Markdown, prose


class StaticView(View):
    """Shows one MIME bundle."""

    name = "static_view"

    def __init__(self, desk: Desk, send: Send, *, bundle: Mapping[str, Any]) -> None:
        super().__init__(desk, send)
        self._bundle = bundle

    def on_bundle(self) -> Mapping[str, Any]:
        """Give the bundle."""
        return self._bundle

    def text(self) -> Markdown:
        """Give its plain text."""
        return Markdown(prose(str(self._bundle.get("text/plain", ""))))
