"""The snapshot panel: outputs that are not as they were stored, for the person to decide on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.panels.base.context import FOCUS, PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import Send, View
from repl_pair.panels.snapshot.rows import baseline_of, compare, why_it_waits
from repl_pair.records import Undo, record
from repl_pair.runtime.results.markdown import Markdown, cell, code, table
from repl_pair.runtime.snapshots.store import Stored
from repl_pair.runtime.snapshots.waiting import WAITING, Waiting, accept, reject, waiting_snapshots

WHY = {
    "new": "nothing is stored yet",
    "output": "the output changed",
    "content": "the variant changed",
}


@record
class Decision:
    """What the person decided, as long as they may take it back."""

    waiting: Waiting
    what: str
    why: str
    baseline: Stored | None
    undo: Undo


class SnapshotView(View):
    """Outputs that are not as they were stored: compare them, accept or reject."""

    name = "snapshot"
    title = "Snapshots"
    placement = "modal"
    is_shown = False
    scripts = ("diff", "images")

    def __init__(self, context: PanelContext, send: Send) -> None:
        super().__init__(context, send)
        self._decided: dict[str, Decision] = {}

    def handle_changes(self, changes: Changes) -> None:
        """Tell what waits now."""
        if WAITING.name in changes:
            self.send({"type": "list", **self.on_list()})
        elif FOCUS in changes:
            self.send({"type": "focus", "id": self._looked_at()})

    def on_list(self) -> Mapping[str, Any]:
        """Return all that waits, and what was decided and may be taken back."""
        waiting = waiting_snapshots()
        self._decided = {id: d for id, d in self._decided.items() if id not in waiting}
        rows = [_row(one, why_it_waits(one), "") for one in waiting.values()]
        rows += [_row(d.waiting, d.why, d.what) for d in self._decided.values()]
        rows.sort(key=lambda row: row["id"])
        return {"rows": rows, "waiting": len(waiting), "id": self._looked_at()}

    def on_compare(self, id: str) -> Mapping[str, Any]:
        """Return baseline and actual, how they differ, and what changed in the identity."""
        decided = self._decided.get(id)
        if decided is not None:
            return compare(decided.waiting, decided.baseline)
        waiting = self._waiting(id)
        return compare(waiting, baseline_of(waiting))

    def on_accept(self, ids: Sequence[str]) -> None:
        """Store what waits, in the place of the baselines."""
        self._decide(ids, "accepted", accept)

    def on_reject(self, ids: Sequence[str]) -> None:
        """Drop what waits, and keep the baselines."""
        self._decide(ids, "rejected", reject)

    def on_undo(self, ids: Sequence[str]) -> None:
        """Take decisions back."""
        for id in ids:
            decided = self._decided.pop(id, None)
            if decided is not None:
                decided.undo()

    def on_leave(self) -> None:
        """Let the decisions stand."""
        self._decided.clear()

    def on_run(self, id: str) -> None:
        """Run the variant of a decision again."""
        if id in self._decided:
            self.context.run(self._decided[id].waiting.key.variant_id)

    def text(self) -> Markdown:
        """List what waits."""
        rows = [
            (code(one.key.variant_id), cell(one.key.name), WHY[why_it_waits(one)])
            for _, one in sorted(waiting_snapshots().items())
        ]
        return Markdown(table(("variant", "snapshot", "why"), rows) or "No snapshot waits.")

    def _decide(self, ids: Sequence[str], what: str, act: Callable[[Waiting], Undo]) -> None:
        for waiting in map(self._waiting, ids):
            why, baseline = why_it_waits(waiting), baseline_of(waiting)
            self._decided[waiting.id] = Decision(
                waiting=waiting, what=what, why=why, baseline=baseline, undo=act(waiting)
            )

    def _waiting(self, id: str) -> Waiting:
        found = waiting_snapshots().get(id)
        if found is None:
            raise RequestError("not_found", f"{id} does not wait any more: run it again.")
        return found

    def _looked_at(self) -> str | None:
        """Name what waits of the variant that is looked at."""
        variant = self.context.focus.variant
        listed = sorted(waiting_snapshots().items())
        return next((id for id, one in listed if one.key.variant_id == variant), None)


def _row(waiting: Waiting, why: str, decided: str) -> dict[str, Any]:
    return {
        "id": waiting.id,
        "variant": waiting.key.variant_id,
        "name": waiting.key.name,
        "why": why,
        "decided": decided,
    }
