"""The outputs of a run as a browser can show them: MIME bundles, the result, and the streams."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from repl_pair.panels.base.widget import to_html
from repl_pair.panels.canvas.messages import Output, Stream
from repl_pair.runtime.results.record import RunRecord

WIDGET = "application/vnd.jupyter.widget-view+json"
LONGEST_STREAM = 20_000
"""How many characters of a stream are shown, its last."""
_BITMAPS = ("image/png", "image/jpeg", "image/gif")
_TEXTS = ("image/svg+xml", "text/html", "text/plain", "text/latex")
_STREAMS = ("stdout", "stderr", "unattributed")
_LINES = ("warnings", "logs")


def output_of(record: RunRecord, most: int | None = None) -> Output:
    """Return the outputs of a run, or the first `most`; its result where there are none."""
    output: Output = {
        "status": record.status,
        "reason": record.reason,
        "outputs": [_bundle(bundle) for bundle in record.outputs[:most]],
        "streams": _streams(record),
    }
    if left_out := len(record.outputs) - len(output["outputs"]):
        output["left_out"] = left_out
    if not record.outputs:
        output["result"] = record.shown
    return output


def _bundle(bundle: Mapping[str, Any]) -> dict[str, str]:
    parts: dict[str, str] = {
        mime: bundle[mime] for mime in (*_BITMAPS, *_TEXTS) if isinstance(bundle.get(mime), str)
    }
    for mime in _BITMAPS:
        if parts.get(mime, "").startswith("["):  # a sentence on an image that was too large
            parts["text/plain"] = parts.pop(mime)
    if isinstance(bundle.get("text/markdown"), str):
        parts["markup"] = markup(bundle["text/markdown"])
    widget: Any = bundle.get(WIDGET)
    if isinstance(widget, Mapping):
        parts["widget"] = str(cast("Mapping[str, Any]", widget).get("model_id", ""))
    names = ", ".join(sorted(bundle)) or "it is empty"
    return parts or {"text/plain": f"No part of this output can be shown here: {names}."}


def _streams(record: RunRecord) -> Sequence[Stream]:
    """Return what was printed, warned and logged, each as one text; empty ones are left out."""
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
    """Return Markdown as HTML that loads nothing from the net."""
    return to_html(text.replace("![", "!\\["))
