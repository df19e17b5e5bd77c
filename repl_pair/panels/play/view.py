"""The play panel: the lines of the last run, and the state that each of them left."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.panels.base.context import BODIES, FOCUS, RUNNING, PanelContext, head_of
from repl_pair.panels.base.describing import Hide, hide_of, phrase
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.source_links import link_to
from repl_pair.panels.base.view import View
from repl_pair.panels.play.messages import Lines, MomentShown, PlayHead, PlayPatch
from repl_pair.panels.play.rows import BEFORE, moment_of, plays_of, rows_of
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.debugger import Debugger, debug
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, table
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.snapshots.made_up import hide_addresses
from repl_pair.runtime.values.paths import below

HINT = "Choose a variant, or show one: repl_pair.show('story/Variant')"


class PlayView(View[PlayPatch]):
    """Assertions and steps of the last run, with a walk through the states that they left."""

    name = "play"
    title = "Play"
    scripts = ("diff", "links")

    def __init__(self, context: PanelContext, send: Callable[[PlayPatch], None]) -> None:
        super().__init__(context, send)
        self._run: RunRecord | None = None
        self._variant: str | None = None
        self._debugger: Debugger | None = None
        self._sent: PlayHead | None = None
        self._moment: int | None = None
        self._read()

    def handle_changes(self, changes: Changes) -> None:
        """Send another run, else another line in focus, else the head where it changed."""
        before, moment = self._sent, self.context.focus.moment
        is_other = self.context.focus.variant != self._variant
        # What announces the run that is shown may come after the person has walked on in it.
        if is_other or self.context.last_run is not self._run:
            self._read()
            self.send({"run": self.on_lines()})
        elif FOCUS in changes and moment != self._moment:
            self._moment = moment
            self.send({"moment": moment})
        elif RUNNING in changes or any(member.startswith(BODIES) for member in changes):
            head = self._head()
            if head != before:
                self._sent = head
                self.send({"head": head})

    def on_lines(self) -> Lines:
        """Return the head, a row for each line, and which of them is in focus."""
        head = self._sent = self._head()
        entry = self._entry()
        plays = () if entry is None or head.get("stale") else plays_of(entry)
        rows = [] if self._debugger is None else rows_of(self._debugger, plays)
        return {"head": head, "rows": rows, "moment": self.context.focus.moment}

    def on_moment(self, index: int) -> MomentShown | None:
        """Focus on one line, and return it in full; None before any run."""
        if self._debugger is None:
            return None
        moment = moment_of(self._debugger, index, self._entry())
        self._set_moment(moment["index"])
        return moment

    def on_resume(self, index: int, names: Sequence[str], failures: bool) -> int:
        """Return the next line behind `index` that failed, or has one of the names.

        Where there is none, it is the last one; -1 before any run.
        """
        moments = () if self._debugger is None else self._debugger.moments
        later = moments[index + 1 :]
        stops = (m.index for m in later if m.name in names or (failures and m.failed))
        return next(stops, len(moments) - 1)

    def on_run(self, variant: str, play: str | None = None) -> None:
        """Run the variant in focus, or one named play of it alone."""
        self.check_focus(variant)
        self.context.run_focus(plays=[] if play is None else [play])

    def on_snapshot(self) -> None:
        """Show the snapshots that wait for the person."""
        self.context.open_panel("snapshot")

    def text(self) -> Markdown:
        """Return the lines of the run as a table, without times and known secrets."""
        variant, run = self.context.focus.variant, self.context.last_run
        if variant is None:
            return Markdown(prose(HINT))
        if run is None:
            return Markdown(f"{code(variant)} has not been run yet.")
        what_if = " in a run with args or modes of its own" if run.what_if else ""
        head = f"{code(variant)} **{run.status}**{what_if}, {run.total} assertions"
        hide = hide_of(run)
        rows = [_text_row(run, n, hide) for n in range(len(run.assertions))]
        return Markdown("\n\n".join(filter(None, [head, table(("", "line", "reason"), rows)])))

    def _read(self) -> None:
        self._variant = self.context.focus.variant
        run = self._run = self.context.last_run
        self._debugger = None if run is None else debug(run)
        # It opens at the first line that failed, else at the last one.
        self._set_moment(None if run is None else self.on_resume(BEFORE, (), failures=True))

    def _set_moment(self, moment: int | None) -> None:
        self._moment = moment
        self.context.set_focus(replace(self.context.focus, moment=moment))

    def _entry(self) -> Entry | None:
        variant = self.context.focus.variant
        return None if variant is None else REGISTRY.find("variant", variant)

    def _head(self) -> PlayHead:
        run, entry = self.context.last_run, self._entry()
        ran = () if run is None else run.plays
        return {
            "story": self.context.focus.story,
            "registered": entry is not None,
            "link": link_to(entry),
            "plays": [
                {"name": play.name, "auto_run": play.auto_run, "ran": play.name in ran}
                for play in (() if entry is None else plays_of(entry))
            ],
            **head_of(self.context, run),
        }


def _text_row(run: RunRecord, index: int, hide: Hide) -> Sequence[str]:
    outcome = run.assertions[index]
    secret = below(below(run.sensitive, "assertions"), index)
    sent = send_out({"payload": outcome.payload}, sensitive=secret, secrets=run.secrets)
    shown: Any = sent.value
    words = hide(f"{outcome.assertion} {phrase(shown['payload'])}".strip())
    reason = hide_addresses(hide(outcome.reason))
    return "pass" if outcome.passed else "FAIL", code(words), cell(reason)
