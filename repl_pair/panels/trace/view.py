"""The trace panel: what the last run did and put out, row by row."""

import json
from collections.abc import Callable, Sequence

from repl_pair.panels.base.context import FOCUS, RUNNING, PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.run_state import run_state
from repl_pair.panels.base.view import View
from repl_pair.panels.trace.messages import CopiedRows, Head, Page, Run, TracePatch
from repl_pair.panels.trace.rows import (
    MOST_COPIED,
    Row,
    choose,
    count_kinds,
    rows_of,
    show_details,
    show_row,
    spans_of,
)
from repl_pair.runtime.results.last import RESULTS, last_result
from repl_pair.runtime.results.markdown import Markdown, code, table
from repl_pair.runtime.results.record import RunRecord
from repl_pair.wire import Json

PAGE = 500
"""How many rows one answer holds."""


class TraceView(View[TracePatch]):
    """Phases, events, effects, logs and output of the last run, with a filter."""

    name = "trace"
    title = "Trace"
    is_shown = False

    def __init__(self, context: PanelContext, send: Callable[[TracePatch], None]) -> None:
        super().__init__(context, send)
        self._run: RunRecord | None = None
        self._rows: Sequence[Row] = ()
        self._variant: str | None = None
        self._sent: Head | None = None
        self._read()

    def handle_changes(self, changes: Changes) -> None:
        """Send another run without its rows, or the head where the run became stale."""
        variant = self.context.focus.variant
        keys = changes.get(RESULTS.name, frozenset())
        if keys is None or variant in keys or (FOCUS in changes and variant != self._variant):
            self._read()
            self.send({"run": self.on_start()})
        elif RUNNING in changes or any(member.startswith("registry/") for member in changes):
            head = self._head()
            if head != self._sent:
                self._sent = head
                self.send({"head": head})

    def on_start(self) -> Run:
        """Return what stands above the rows: how many of each kind, and the phases as spans."""
        self._sent = self._head()
        spans = [] if self._run is None else spans_of(self._run)
        return {"head": self._sent, "counts": count_kinds(self._rows), "spans": spans}

    def on_rows(self, kinds: Sequence[str], text: str = "", start: int = 0) -> Page:
        """Return a page of the rows that are chosen, and how many there are."""
        chosen = choose(self._rows, kinds, text)
        page = [show_row(self._rows[at], at) for at in chosen[start : start + PAGE]]
        return {"total": len(chosen), "start": start, "rows": page}

    def on_row(self, at: int) -> dict[str, Json]:
        """Return one row in full: its kind, its place, and slots by its kind; empty if it left."""
        if self._run is None or at >= len(self._rows):
            return {}
        return show_details(self._run, self._rows[at])

    def on_json(self, kinds: Sequence[str], text: str = "") -> CopiedRows:
        """Return the chosen rows as JSON text, the first ones of very many."""
        chosen = choose(self._rows, kinds, text)
        rows = [self.on_row(at) for at in chosen[:MOST_COPIED]]
        left = len(chosen) - len(rows)
        return {"text": json.dumps(rows, indent=1, ensure_ascii=False), "left": left}

    def on_run(self) -> None:
        """Run the variant in focus."""
        self.context.run_focus()

    def text(self) -> Markdown:
        """Return how many rows there are of each kind."""
        if self._run is None:
            return Markdown("Nothing has been run yet.")
        counts = count_kinds(self._rows).items()
        rows = [(kind, str(count)) for kind, count in counts if count]
        return Markdown(f"{code(self._run.variant_id)}\n\n{table(('kind', 'rows'), rows)}")

    def _read(self) -> None:
        self._variant = self.context.focus.variant
        self._run = None if self._variant is None else last_result(self._variant)
        self._rows = () if self._run is None else rows_of(self._run)

    def _head(self) -> Head:
        running = self.context.running.get(self._variant or "")
        return {"variant": self._variant, "running": running, **run_state(self._run)}
