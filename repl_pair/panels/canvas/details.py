"""What a variant is made of: its args with their sources, its phases, its docs, its body."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from repl_pair.panels.base.context import Focus
from repl_pair.panels.base.html import to_html
from repl_pair.panels.canvas.outputs import json_lines
from repl_pair.runtime.planning.explanation import explain
from repl_pair.runtime.registry.as_data import to_data
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.outcomes import PhaseRecord
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.docs import docs
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.truncate import Limits
from repl_pair.runtime.values.frozen import Secret
from repl_pair.wire import REDACTED

_SHORT = Limits(depth=4, width=20, text=400, nodes=120)


def args_lines(focus: Focus) -> Mapping[str, Any]:
    """Return a line for each effective arg: its path, its value, its source, and what it covers."""
    assert focus.variant is not None
    told = explain(focus.variant, modes=focus.modes, overrides=focus.overrides)
    return {"lines": [_line(line) for line in told["args"]], "conflicts": told["conflicts"]}


def phase_lines(record: RunRecord) -> Mapping[str, Any]:
    """Return the phases of a run; `share` is what each took of the longest."""
    longest = max((phase.elapsed_ms for phase in record.phases), default=0.0) or 1.0
    lines = [_phase(phase, longest) for phase in record.phases]
    registered = dict(record.registered)
    return {"phases": lines, "elapsed_ms": record.elapsed_ms, "registered": registered}


def docs_of(focus: Focus) -> Mapping[str, str]:
    """Return the documentation of the story that is looked at."""
    story = story_of(focus.variant) if focus.variant else focus.story
    return {"markup": to_html(docs(story or ""))}


def data_of(focus: Focus) -> Mapping[str, str]:
    """Return a registered body as JSON, and where it was registered."""
    kind, id = _named(focus)
    origin = REGISTRY.get(kind, id).origin
    place = f"{origin.label}, line {origin.line}" if origin.line else origin.label
    return {"text": json_lines(to_data(kind, id)), "place": place}


def _named(focus: Focus) -> tuple[str, str]:
    if focus.variant is not None:
        return "variant", focus.variant
    if focus.workspace is not None:
        return "workspace", focus.workspace
    return "story", focus.story or ""


def _line(line: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _phase(phase: PhaseRecord, longest: float) -> Mapping[str, Any]:
    said = {"phase": phase.phase, "elapsed_ms": phase.elapsed_ms}
    said |= {"share": phase.elapsed_ms / longest}
    return said if phase.error is None else said | {"error": _error(phase.error)}


def _error(error: Mapping[str, Any]) -> Mapping[str, str]:
    """Return what was raised, what ran then, and the line of the person's code."""
    file, line = error.get("file"), error.get("line")
    doing = ", ".join(_doing(error))
    return {
        "what": f"{error.get('type', '')}: {error.get('message', '')}",
        "doing": doing,
        "where": f"{file}, line {line}" if file else "",
    }


def _doing(error: Mapping[str, Any]) -> Iterable[str]:
    known = ("type", "message", "file", "line")
    return (f"{word} {value!r}" for word, value in error.items() if word not in known)
