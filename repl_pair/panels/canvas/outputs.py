"""What a run put out, as a browser can show it: MIME bundles, the result, and what was said."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from repl_pair.panels.base.html import to_html
from repl_pair.runtime.results.record import RunRecord

WIDGET = "application/vnd.jupyter.widget-view+json"
LONGEST_STREAM = 20_000
"""How many characters of a stream are shown, its last."""
_BITMAPS = ("image/png", "image/jpeg", "image/gif")
_TEXTS = ("image/svg+xml", "text/html", "text/plain", "text/latex")
_STREAMS = ("stdout", "stderr", "unattributed")
_LINES = ("warnings", "logs")


def show_outputs(record: RunRecord, *, most: int | None = None) -> dict[str, Any]:
    """Return the outputs of a run, or the first of them; where there are none, its result."""
    bundles = [show_bundle(bundle) for bundle in record.outputs[:most]]
    left_out = len(record.outputs) - len(bundles)
    said = {"outputs": bundles} | ({"left_out": left_out} if left_out else {})
    return said if record.outputs else said | {"result": record.shown}


def show_bundle(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a browser can show of a MIME bundle; Markdown as HTML, a widget by its id."""
    said: dict[str, Any] = {
        mime: bundle[mime] for mime in (*_BITMAPS, *_TEXTS) if isinstance(bundle.get(mime), str)
    }
    for mime in _BITMAPS:
        if str(said.get(mime, "")).startswith("["):  # a sentence on an image that was too large
            said["text/plain"] = said.pop(mime)
    if isinstance(bundle.get("text/markdown"), str):
        said["markup"] = markup(bundle["text/markdown"])
    widget: Any = bundle.get(WIDGET)
    if isinstance(widget, Mapping):
        said["widget"] = str(cast("Mapping[str, Any]", widget).get("model_id", ""))
    return said or {"text/plain": _named(bundle)}


def show_streams(record: RunRecord) -> Sequence[Mapping[str, Any]]:
    """Return what was printed, warned and logged, each as one text; what is empty is left out."""
    texts = {name: str(getattr(record, name)) for name in _STREAMS}
    texts |= {name: "\n".join(getattr(record, name)) for name in _LINES}
    return [
        {
            "name": name,
            "text": text[-LONGEST_STREAM:],
            "left_out": max(0, len(text) - LONGEST_STREAM),
        }
        for name, text in texts.items()
        if text.strip()
    ]


def markup(text: str) -> str:
    """Return Markdown as HTML that asks nothing of the net."""
    return to_html(text.replace("![", "!\\["))


def json_lines(data: Any) -> str:
    """Write JSON data as a person reads it."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def _named(bundle: Mapping[str, Any]) -> str:
    return (
        f"No part of this output can be shown here: {', '.join(sorted(bundle)) or 'it is empty'}."
    )
