"""The trace panel: what the last run did and put out, a row each."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from repl_pair.panels.base.context import BODIES, FOCUS, RUNNING, PanelContext, head_of
from repl_pair.panels.base.describing import (
    SHORT,
    Hide,
    Places,
    call_phrase,
    hide_of,
    literal,
    to_json,
)
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.trace.messages import (
    CopiedRows,
    Page,
    Run,
    Span,
    TraceHead,
    TracePatch,
    TraceRow,
)
from repl_pair.records import to_dict
from repl_pair.runtime.reading.bounded import cut_text
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.runtime.results.markdown import Markdown, code, table
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.paths import below
from repl_pair.wire import Json

PAGE = 500
"""How many rows one answer holds."""
KINDS = ("phase", "event", "effect", "warning", "log", "stdout", "stderr", "beside")
"""The kinds in the order of the list: a run records an order within each kind only."""
MAX_COPIED = 2_000
"""How many rows are copied at once."""
LONGEST = 300
"""How many characters of a row are shown in the list."""
_TEXTS = {"stdout": "stdout", "stderr": "stderr", "beside": "unattributed"}


class TraceView(View[TracePatch]):
    """Phases, events, effects, logs and output of the last run, with a filter."""

    name = "trace"
    title = "Trace"
    is_shown = False

    def __init__(self, context: PanelContext, send: Callable[[TracePatch], None]) -> None:
        super().__init__(context, send)
        self._run: RunRecord | None = None
        self._rows: Sequence[TraceRow] = ()
        self._variant: str | None = None
        self._sent: TraceHead | None = None
        self._read()

    def handle_changes(self, changes: Changes) -> None:
        """Send another run without its rows, or the head where the run became stale."""
        variant = self.context.focus.variant
        keys = changes.get(RESULTS.name, frozenset())
        if keys is None or variant in keys or (FOCUS in changes and variant != self._variant):
            self._read()
            self.send({"run": self.on_start()})
        elif RUNNING in changes or any(member.startswith(BODIES) for member in changes):
            head = self._head()
            if head != self._sent:
                self._sent = head
                self.send({"head": head})

    def on_start(self) -> Run:
        """Return what stands above the rows: how many of each kind, and the phases as spans."""
        self._sent = self._head()
        spans = [] if self._run is None else _spans_of(self._run)
        return {"head": self._sent, "counts": _count_kinds(self._rows), "spans": spans}

    def on_rows(self, kinds: Sequence[str], text: str = "", start: int = 0) -> Page:
        """Return a page of the rows that are chosen, and how many there are."""
        chosen = _choose(self._rows, kinds, text)
        page = chosen[start : start + PAGE]
        rows: list[TraceRow] = [{**row, "text": cut_text(row["text"], LONGEST)} for row in page]
        return {"total": len(chosen), "start": start, "rows": rows}

    def on_row(self, at: int) -> dict[str, Json]:
        """Return one row in full: its kind, its place, and slots by its kind; empty if it left."""
        if self._run is None or at >= len(self._rows):
            return {}
        return _show_details(self._run, self._rows[at], hide_of(self._run))

    def on_json(self, kinds: Sequence[str], text: str = "") -> CopiedRows:
        """Return the chosen rows as JSON text, the first ones of very many."""
        chosen = _choose(self._rows, kinds, text)
        rows = [self.on_row(row["at"]) for row in chosen[:MAX_COPIED]]
        left = len(chosen) - len(rows)
        return {"text": json.dumps(rows, indent=1, ensure_ascii=False), "left": left}

    def on_run(self, variant: str) -> None:
        """Run the variant in focus."""
        self.check_focus(variant)
        self.context.run_focus()

    def text(self) -> Markdown:
        """Return how many rows there are of each kind."""
        if self._run is None:
            return Markdown("Nothing has been run yet.")
        counts = _count_kinds(self._rows).items()
        rows = [(kind, str(count)) for kind, count in counts if count]
        return Markdown(f"{code(self._run.variant_id)}\n\n{table(('kind', 'rows'), rows)}")

    def _head(self) -> TraceHead:
        is_there = REGISTRY.find("variant", self.context.focus.variant or "") is not None
        return {"registered": is_there, **head_of(self.context, self._run)}

    def _read(self) -> None:
        self._variant = self.context.focus.variant
        self._run = self.context.last_run
        self._rows = () if self._run is None else _rows_of(self._run)


def _rows_of(run: RunRecord) -> list[TraceRow]:
    rows: list[TraceRow] = []
    hide = hide_of(run)
    for kind in KINDS:
        for place, text in enumerate(_texts(run, kind, hide)):
            failed = kind == "phase" and run.phases[place].error is not None
            rows.append(TraceRow(at=len(rows), kind=kind, place=place, text=text, failed=failed))
    return rows


def _choose(rows: Sequence[TraceRow], kinds: Collection[str], text: str) -> list[TraceRow]:
    """Return the rows of these kinds that hold all words of a text."""
    words = text.casefold().split()
    rows = [row for row in rows if row["kind"] in kinds]
    return [row for row in rows if all(word in row["text"].casefold() for word in words)]


def _count_kinds(rows: Sequence[TraceRow]) -> Mapping[str, int]:
    counts = Counter(row["kind"] for row in rows)
    return {kind: counts[kind] for kind in KINDS}


def _spans_of(run: RunRecord) -> list[Span]:
    """Return the phases as spans: each begins where the one before it ended."""
    spans: list[Span] = []
    begin = 0.0
    for place, phase in enumerate(run.phases):
        ms, failed = phase.elapsed_ms, phase.error is not None
        spans.append(Span(place=place, phase=phase.phase, begin=begin, ms=ms, failed=failed))
        begin += ms
    return spans


def _show_details(run: RunRecord, row: TraceRow, hide: Hide) -> dict[str, Json]:
    kind, place = row["kind"], row["place"]
    about: dict[str, Json] = {"kind": kind, "place": place}
    if kind == "phase":
        phase: Any = hide(to_json(to_dict(run.phases[place])))
        return about | phase
    secret = _secret(run, f"{kind}s", place)
    if kind == "event":
        name, payload = run.events[place]
        sent = to_json(to_plain(payload), secret=below(secret, 1))
        return {**about, "name": str(name), "payload": hide(sent)}
    if kind == "effect":
        effect = run.effects[place]
        sides = {"payload": effect.payload, "response": effect.response}
        shown = {n: to_json(to_plain(v), secret=below(secret, n)) for n, v in sides.items()}
        return {**about, "name": effect.id, "stubbed": effect.stubbed, **hide(shown)}
    return {**about, "text": row["text"]}


def _secret(run: RunRecord, slot: str, place: int) -> Places:
    return below(below(run.sensitive, slot), place)


def _texts(run: RunRecord, kind: str, hide: Hide) -> Iterator[str]:
    if kind == "phase":
        for phase in run.phases:
            error = "" if phase.error is None else f": {phase.error.get('message', '')}"
            yield hide(f"{phase.phase} {phase.elapsed_ms:.3f} ms{error}")
    elif kind == "event":
        for at, (name, payload) in enumerate(run.events):
            secret = below(_secret(run, "events", at), 1)
            yield hide(call_phrase(str(name), to_plain(payload), secret))
    elif kind == "effect":
        for at, effect in enumerate(run.effects):
            secret = _secret(run, "effects", at)
            call = call_phrase(effect.id, to_plain(effect.payload), below(secret, "payload"))
            response = to_json(to_plain(effect.response), SHORT, below(secret, "response"))
            yield hide(f"{call} → {literal(response)}{' (stubbed)' if effect.stubbed else ''}")
    elif kind in _TEXTS:
        yield from hide(getattr(run, _TEXTS[kind])).splitlines()
    else:
        yield from hide(run.warnings if kind == "warning" else run.logs)
