"""The play panel: the lines of the last run, what each left, and a walk through them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.panels.base.context import FOCUS, RUNNING, PanelContext
from repl_pair.panels.base.describing import phrase
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.source_links import link_to
from repl_pair.panels.base.view import Send, View
from repl_pair.panels.play.rows import first_opened, moment_of, plays_of, rows_of
from repl_pair.runtime.registry.model import Entry, Play
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.debugger import Debugger, debug
from repl_pair.runtime.results.last import RESULTS, is_stale, last_result
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, table
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.snapshots.forms import hide_addresses

HINT = "Choose a variant, or show one: repl_pair.show('story/Variant')"


class PlayView(View):
    """Assertions and steps of the last run, with a walk through the states that they left."""

    name = "play"
    title = "Play"
    scripts = ("diff", "links")

    def __init__(self, context: PanelContext, send: Send) -> None:
        super().__init__(context, send)
        self._debugger: Debugger | None = None
        self._told: Mapping[str, Any] = {}
        self._looked_at: int | None = None
        self._read()

    def handle_changes(self, changes: Changes) -> None:
        """Tell of another run or variant at once, of all else where it changed what is said."""
        variant = self.context.focus.variant
        ran = RESULTS.name in changes and _has(changes[RESULTS.name], variant)
        before, moment = self._told, self.context.focus.moment
        if ran or (FOCUS in changes and before.get("variant") != variant):
            self._read()
            self.send({"type": "run", **self.on_lines()})
        elif FOCUS in changes and moment != self._looked_at:
            self._looked_at = moment
            self.send({"type": "moment", "moment": moment})
        elif RUNNING in changes or any(member.startswith("registry/") for member in changes):
            told = self._head()
            if told != before:
                self._told = told
                self.send({"type": "head", "head": told})

    def on_lines(self) -> Mapping[str, Any]:
        """Return the head, a row for each line, and which of them is opened."""
        self._told = self._head()
        entry = self._entry()
        plays = () if entry is None or self._told.get("stale") else plays_of(entry)
        rows = [] if self._debugger is None else rows_of(self._debugger, plays)
        return {"head": self._told, "rows": rows, "moment": self.context.focus.moment}

    def on_moment(self, index: int) -> Mapping[str, Any]:
        """Look at one line, and give all there is to it."""
        if self._debugger is None:
            return {}
        told = moment_of(self._debugger, index, self._entry())
        self._look_at(told["index"])
        return told

    def on_resume(self, index: int, names: Sequence[str], failures: bool) -> int:
        """Return the next line behind `index` that fails, or is headed by one of the names.

        Where there is none, it is the last one.
        """
        debugger = self._debugger
        if debugger is None:
            return -1
        debugger.clear_breakpoints()
        known = {moment.name for moment in debugger.moments}
        for name in known.intersection(names):
            debugger.break_at(name)
        if failures:
            debugger.break_on_failure()
        debugger.position = index
        debugger.resume()
        return debugger.position

    def on_run(self, play: str | None = None) -> None:
        """Run the variant as it is looked at, perhaps one named play of it alone."""
        self.context.run_focus(plays=[] if play is None else [play])

    def on_snapshot(self) -> None:
        """Show the snapshots that wait for the person."""
        self.context.open_panel("snapshot")

    def text(self) -> Markdown:
        """Return the lines of the run as a table, without times and known secrets."""
        variant, run = self.context.focus.variant, self._run()
        if variant is None:
            return Markdown(prose(HINT))
        if run is None:
            return Markdown(f"{code(variant)} has not been run yet.")
        head = f"{code(variant)} **{run.status}**, {run.total} assertions"
        rows = [_said(run, n) for n in range(len(run.assertions))]
        return Markdown("\n\n".join(filter(None, [head, table(("", "line", "reason"), rows)])))

    def _read(self) -> None:
        """Take the last run of what is looked at, and open it at what failed."""
        run = self._run()
        self._debugger = None if run is None else debug(run)
        self._look_at(None if self._debugger is None else first_opened(self._debugger))

    def _look_at(self, moment: int | None) -> None:
        self._looked_at = moment
        self.context.set_focus(replace(self.context.focus, moment=moment))

    def _run(self) -> RunRecord | None:
        variant = self.context.focus.variant
        return None if variant is None else last_result(variant)

    def _entry(self) -> Entry | None:
        variant = self.context.focus.variant
        return None if variant is None else REGISTRY.find("variant", variant)

    def _head(self) -> Mapping[str, Any]:
        focus, run, entry = self.context.focus, self._run(), self._entry()
        plays = () if entry is None else plays_of(entry)
        told = {
            "variant": focus.variant,
            "story": focus.story,
            "registered": entry is not None,
            "running": self.context.running.get(focus.variant or ""),
            "link": None if entry is None else link_to(entry.origin),
            "plays": [_play(play, run) for play in plays],
        }
        return told if run is None else told | _of_run(run)


def _of_run(run: RunRecord) -> dict[str, Any]:
    passed = sum(outcome.passed for outcome in run.assertions)
    return {
        "status": run.status,
        "reason": run.reason,
        "stale": is_stale(run),
        "total": run.total,
        "passed": passed,
        "modes": list(run.active_modes),
        "elapsed_ms": run.elapsed_ms,
    }


def _play(play: Play, run: RunRecord | None) -> dict[str, Any]:
    ran = run is not None and play.name in run.plays
    return {"name": play.name, "auto_run": play.auto_run, "lines": len(play.steps), "ran": ran}


def _said(run: RunRecord, index: int) -> Sequence[str]:
    outcome = run.assertions[index]
    secret = [path[2:] for path in run.sensitive if path[:2] == ("assertions", str(index))]
    said = send_out({"payload": outcome.payload}, sensitive=secret, request=run.asked)
    shown: Any = said.value
    words = f"{outcome.assertion} {phrase(shown['payload'])}".strip()
    reason = hide_addresses(outcome.reason)
    return "pass" if outcome.passed else "FAIL", code(words), cell(reason)


def _has(keys: frozenset[str] | None, key: str | None) -> bool:
    return keys is None or key in keys
