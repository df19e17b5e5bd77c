"""The parts of a variant: what its run put out, its args with sources, its phases, its body."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from repl_pair.panels.base.context import Focus
from repl_pair.panels.base.describing import Hide, hide_of, literal
from repl_pair.panels.base.widget import to_html
from repl_pair.panels.canvas import messages
from repl_pair.runtime.assertions.verdicts import WIDE
from repl_pair.runtime.capture.bundles import DEFAULT_REPR
from repl_pair.runtime.capture.comms import VIEW
from repl_pair.runtime.planning.explanation import explain
from repl_pair.runtime.registry.as_data import to_data
from repl_pair.runtime.registry.outcomes import PhaseRecord
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.values.frozen import Secret
from repl_pair.wire import REDACTED

LONGEST_STREAM = 20_000
"""How many characters of a stream are shown, its last."""
_BITMAPS = ("image/png", "image/jpeg", "image/gif")
_TEXTS = ("image/svg+xml", "text/html", "text/plain", "text/latex")
_STREAMS = ("stdout", "stderr", "unattributed")
_LINES = ("warnings", "logs")
_SHORT = Limits(depth=4, width=20, text=400, nodes=120)


def output_of(record: RunRecord, most: int | None = None) -> messages.Output:
    """Return the outputs of a run, or the first `most`; its result where there are none."""
    hide = hide_of(record)
    texts = {name: hide(str(getattr(record, name))) for name in _STREAMS}
    texts |= {name: hide("\n".join(getattr(record, name))) for name in _LINES}
    output: messages.Output = {
        "status": record.status,
        "reason": hide(record.reason),
        "outputs": [_bundle(bundle, hide) for bundle in record.outputs[:most]],
        "streams": [
            {
                "name": name,
                "text": text[-LONGEST_STREAM:],
                "left_out": max(0, len(text) - LONGEST_STREAM),
            }
            for name, text in texts.items()
            if text.strip()
        ],
    }
    if left_out := len(record.outputs) - len(output["outputs"]):
        output["left_out"] = left_out
    if not record.outputs:
        output["result"] = hide(record.shown)
    return output


def _bundle(bundle: Mapping[str, Any], hide: Hide) -> dict[str, str]:
    parts: dict[str, str] = {
        mime: bundle[mime] if mime in _BITMAPS else hide(bundle[mime])
        for mime in (*_BITMAPS, *_TEXTS)
        if isinstance(bundle.get(mime), str)
    }
    if re.fullmatch(DEFAULT_REPR, parts.get("text/plain", "")):
        parts |= _source_of(bundle, hide)
    for mime in _BITMAPS:
        if parts.get(mime, "").startswith("["):  # a sentence on an image that was too large
            parts["text/plain"] = parts.pop(mime)
    if isinstance(bundle.get("text/markdown"), str):
        parts["markup"] = to_html(hide(bundle["text/markdown"]))
    widget: Any = bundle.get(VIEW)
    if isinstance(widget, Mapping):
        parts["widget"] = str(cast("Mapping[str, Any]", widget).get("model_id", ""))
        models: str = getattr(bundle, "models", "")
        parts["models"] = models and json.dumps(hide(json.loads(models)))
    names = ", ".join(sorted(bundle)) or "it is empty"
    return parts or {"text/plain": f"No part of this output can be shown here: {names}."}


def _source_of(bundle: Mapping[str, Any], hide: Hide) -> dict[str, str]:
    """Return LaTeX or JSON as text, which no element of a panel draws."""
    data = bundle.get("text/latex", bundle.get("application/json"))
    if data is None:
        return {}
    shown = hide(data)
    is_text = isinstance(shown, str)
    return {"text/plain": shown if is_text else json.dumps(shown, indent=2, ensure_ascii=False)}


def args_lines(focus: Focus) -> messages.Args:
    """Return a line for each effective arg: its path, its value, its source, and what it covers."""
    assert focus.variant is not None
    explained = explain(focus.variant, modes=focus.modes, overrides=focus.overrides)
    lines = [
        messages.ArgLine(
            path=line["path"], covers=list(map(_value, line.get("covers", ()))), **_value(line)
        )
        for line in explained["args"]
    ]
    return {"lines": lines, "conflicts": explained["conflicts"]}


def phase_lines(record: RunRecord) -> messages.Phases:
    """Return the phases of a run."""
    longest = max((phase.elapsed_ms for phase in record.phases), default=0.0) or 1.0
    hide = hide_of(record)
    lines = [_phase(phase, longest, hide) for phase in record.phases]
    return {"phases": lines, "elapsed_ms": record.elapsed_ms, "registered": record.registered}


def data_of(focus: Focus) -> messages.Data:
    """Return the registered body in focus as JSON, secrets hidden, and where it was registered."""
    kind, id = focus.target or ("story", "")
    origin = REGISTRY.get(kind, id).origin
    place = f"{origin.label}, line {origin.line}" if origin.line else origin.label
    data = send_out(to_data(kind, id), limits=WIDE).value
    return {"text": json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False), "place": place}


def _value(line: Mapping[str, Any]) -> messages.CoveredValue:
    if type(line["value"]) is Secret:
        return {"value": REDACTED, "source": line["source"]}
    shown = send_out(line["value"], limits=_SHORT).value
    return {"value": literal(shown), "source": line["source"]}


def _phase(phase: PhaseRecord, longest: float, hide: Hide) -> messages.PhaseLine:
    line: messages.PhaseLine = {
        "phase": phase.phase,
        "elapsed_ms": phase.elapsed_ms,
        "share": phase.elapsed_ms / longest,
    }
    if phase.error is not None:
        where = ("raised_in", "decorator", "patch", "loader", "derived", "play", "step", "event")
        about = [f"{word} {phase.error[word]!r}" for word in where if word in phase.error]
        if file := phase.error.get("file"):
            about.append(f"{file}, line {phase.error.get('line')}")
        line["error"] = hide(f"{phase.error.get('type', '')}: {phase.error.get('message', '')}")
        line["about"] = hide(" · ".join(about))
    return line
