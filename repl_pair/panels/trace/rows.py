"""The rows of a run: its phases, events, effects, warnings, logs and lines of output."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from repl_pair.panels.base.describing import SHORT, Places, call_phrase, literal, to_json
from repl_pair.panels.trace.messages import Span, TraceRow
from repl_pair.records import record, to_dict
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.paths import below
from repl_pair.wire import Json

KINDS = ("phase", "event", "effect", "warning", "log", "stdout", "stderr", "beside")
"""The kinds in the order of the list: a run records an order within each kind only."""
MOST_COPIED = 2_000
"""How many rows are copied at once."""
LONGEST = 300
"""How many characters of a row are shown in the list."""
_TEXTS = {"stdout": "stdout", "stderr": "stderr", "beside": "unattributed"}


@record
class Row:
    """One thing that a run did or put out; `place` counts those of its kind from 0."""

    kind: str
    place: int
    text: str
    failed: bool = False


def rows_of(run: RunRecord) -> tuple[Row, ...]:
    """Return every row of a run."""
    failed = {at for at, phase in enumerate(run.phases) if phase.error is not None}
    return tuple(
        Row(kind=kind, place=at, text=text, failed=kind == "phase" and at in failed)
        for kind in KINDS
        for at, text in enumerate(_texts(run, kind))
    )


def choose(rows: Sequence[Row], kinds: Collection[str], text: str) -> list[int]:
    """Return the places of the rows of these kinds that hold all words of a text."""
    words = text.casefold().split()
    return [
        at
        for at, row in enumerate(rows)
        if row.kind in kinds and all(word in row.text.casefold() for word in words)
    ]


def count_kinds(rows: Sequence[Row]) -> Mapping[str, int]:
    """Count the rows of each kind."""
    counts = Counter(row.kind for row in rows)
    return {kind: counts[kind] for kind in KINDS}


def spans_of(run: RunRecord) -> list[Span]:
    """Return the phases as spans: each begins where the one before it ended."""
    spans: list[Span] = []
    begin = 0.0
    for place, phase in enumerate(run.phases):
        ms = phase.elapsed_ms
        failed = phase.error is not None
        spans.append(
            {"place": place, "phase": phase.phase, "begin": begin, "ms": ms, "failed": failed}
        )
        begin += ms
    return spans


def show_row(row: Row, at: int) -> TraceRow:
    """Return a row as the list shows it."""
    text = row.text if len(row.text) <= LONGEST else f"{row.text[:LONGEST]}…"
    return {"at": at, "kind": row.kind, "place": row.place, "text": text, "failed": row.failed}


def show_details(run: RunRecord, row: Row) -> dict[str, Json]:
    """Return a row in full: its kind and place, and slots by its kind."""
    return {"kind": row.kind, "place": row.place, **_details(run, row)}


def _details(run: RunRecord, row: Row) -> dict[str, Json]:
    if row.kind == "phase":
        phase: Any = to_json(to_dict(run.phases[row.place]))
        return phase
    if row.kind == "event":
        name, payload = run.events[row.place]
        secret = below(_secret(run, "events", row.place), 1)
        return {"name": str(name), "payload": to_json(to_plain(payload), secret=secret)}
    if row.kind == "effect":
        effect = run.effects[row.place]
        payload, response = to_plain(effect.payload), to_plain(effect.response)
        secret = _secret(run, "effects", row.place)
        return {
            "name": effect.id,
            "stubbed": effect.stubbed,
            "payload": to_json(payload, secret=below(secret, "payload")),
            "response": to_json(response, secret=below(secret, "response")),
        }
    return {"text": row.text}


def _secret(run: RunRecord, slot: str, place: int) -> Places:
    return below(below(run.sensitive, slot), place)


def _texts(run: RunRecord, kind: str) -> Iterator[str]:
    if kind == "phase":
        for phase in run.phases:
            error = "" if phase.error is None else f": {phase.error.get('message', '')}"
            yield f"{phase.phase} {phase.elapsed_ms:.3f} ms{error}"
    elif kind == "event":
        for at, (name, payload) in enumerate(run.events):
            secret = below(_secret(run, "events", at), 1)
            yield call_phrase(str(name), to_plain(payload), secret)
    elif kind == "effect":
        for at, effect in enumerate(run.effects):
            secret = _secret(run, "effects", at)
            call = call_phrase(effect.id, to_plain(effect.payload), below(secret, "payload"))
            response = to_json(to_plain(effect.response), SHORT, below(secret, "response"))
            yield f"{call} → {literal(response)}{' (stubbed)' if effect.stubbed else ''}"
    elif kind in _TEXTS:
        yield from getattr(run, _TEXTS[kind]).splitlines()
    else:
        yield from run.warnings if kind == "warning" else run.logs
