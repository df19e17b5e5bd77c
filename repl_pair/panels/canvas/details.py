"""The parts of a variant: its args with their sources, its phases, its docs, its body."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from repl_pair.panels.base.context import Focus
from repl_pair.panels.canvas.messages import (
    ArgLine,
    Args,
    Data,
    PhaseLine,
    Phases,
)
from repl_pair.runtime.planning.explanation import explain
from repl_pair.runtime.registry.as_data import to_data
from repl_pair.runtime.registry.outcomes import PhaseRecord
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.truncate import Limits
from repl_pair.runtime.values.frozen import Secret
from repl_pair.wire import REDACTED

_SHORT = Limits(depth=4, width=20, text=400, nodes=120)


def args_lines(focus: Focus) -> Args:
    """Return a line for each effective arg: its path, its value, its source, and what it covers."""
    assert focus.variant is not None
    explained = explain(focus.variant, modes=focus.modes, overrides=focus.overrides)
    lines = [_line(line) for line in explained["args"]]
    return {"lines": lines, "conflicts": explained["conflicts"]}


def phase_lines(record: RunRecord) -> Phases:
    """Return the phases of a run."""
    longest = max((phase.elapsed_ms for phase in record.phases), default=0.0) or 1.0
    lines = [_phase(phase, longest) for phase in record.phases]
    registered = dict(record.registered)
    return {"phases": lines, "elapsed_ms": record.elapsed_ms, "registered": registered}


def data_of(focus: Focus) -> Data:
    """Return the registered body in focus as JSON, and where it was registered."""
    kind, id = focus.target or ("story", "")
    origin = REGISTRY.get(kind, id).origin
    place = f"{origin.label}, line {origin.line}" if origin.line else origin.label
    text = json.dumps(to_data(kind, id), indent=2, ensure_ascii=False, allow_nan=False)
    return {"text": text, "place": place}


def _line(line: Mapping[str, Any]) -> ArgLine:
    covers: Sequence[Mapping[str, Any]] = line.get("covers", ())
    return {
        "path": line["path"],
        "value": _text(line["value"]),
        "source": line["source"],
        "covers": [{"value": _text(c["value"]), "source": c["source"]} for c in covers],
    }


def _text(value: Any) -> str:
    if type(value) is Secret:
        return REDACTED
    return json.dumps(send_out(value, limits=_SHORT).value, ensure_ascii=False)


def _phase(phase: PhaseRecord, longest: float) -> PhaseLine:
    line: PhaseLine = {
        "phase": phase.phase,
        "elapsed_ms": phase.elapsed_ms,
        "share": phase.elapsed_ms / longest,
    }
    if phase.error is not None:
        known = ("type", "message", "file", "line")
        about = [f"{word} {value!r}" for word, value in phase.error.items() if word not in known]
        if file := phase.error.get("file"):
            about.append(f"{file}, line {phase.error.get('line')}")
        line["error"] = f"{phase.error.get('type', '')}: {phase.error.get('message', '')}"
        line["about"] = " · ".join(about)
    return line
