"""The snapshot panel: outputs that differ from the stored ones, for the person to decide on."""

from collections.abc import Callable, Sequence

from repl_pair.errors import RequestError
from repl_pair.panels.base.context import FOCUS, PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.snapshot.messages import Comparison, SnapshotPatch, SnapshotRow, Snapshots
from repl_pair.panels.snapshot.rows import baseline_of, compare, why_it_waits
from repl_pair.records import Undo, record
from repl_pair.runtime.results.markdown import Markdown, cell, code, table
from repl_pair.runtime.snapshots.review import WAITING, Waiting, accept, reject, waiting_snapshots
from repl_pair.runtime.snapshots.store import Stored

WHY = {
    "new": "nothing is stored yet",
    "output": "the output changed",
    "content": "the variant changed",
}


@record
class Decision:
    """What the person decided, until they leave and it can no longer be undone."""

    waiting: Waiting
    what: str
    why: str
    baseline: Stored | None
    undo: Undo


class SnapshotView(View[SnapshotPatch]):
    """Outputs that differ from the stored ones: compare them, accept or reject."""

    name = "snapshot"
    title = "Snapshots"
    placement = "modal"
    is_shown = False
    scripts = ("diff", "images")

    def __init__(self, context: PanelContext, send: Callable[[SnapshotPatch], None]) -> None:
        super().__init__(context, send)
        self._decided: dict[str, Decision] = {}

    def handle_changes(self, changes: Changes) -> None:
        """Send the snapshots that wait, or the one in focus."""
        if WAITING.name in changes:
            self.send({"list": self.on_list()})
        elif FOCUS in changes:
            self.send({"focus": self._in_focus()})

    def on_list(self) -> Snapshots:
        """Return the snapshots that wait, and those whose decision can be undone."""
        waiting = waiting_snapshots()
        self._decided = {id: d for id, d in self._decided.items() if id not in waiting}
        rows = [_row(one, why_it_waits(one), "") for one in waiting.values()]
        rows += [_row(d.waiting, d.why, d.what) for d in self._decided.values()]
        rows.sort(key=lambda row: row["id"])
        return {"rows": rows, "waiting": len(waiting), "id": self._in_focus()}

    def on_compare(self, id: str) -> Comparison:
        """Compare one snapshot with its baseline."""
        decided = self._decided.get(id)
        if decided is not None:
            return compare(decided.waiting, decided.baseline)
        waiting = self._waiting(id)
        return compare(waiting, baseline_of(waiting))

    def on_accept(self, ids: Sequence[str]) -> None:
        """Store these snapshots as the baselines."""
        self._decide(ids, "accepted", accept)

    def on_reject(self, ids: Sequence[str]) -> None:
        """Drop these snapshots, and keep the baselines."""
        self._decide(ids, "rejected", reject)

    def on_undo(self, ids: Sequence[str]) -> None:
        """Undo decisions."""
        for id in ids:
            if id in self._decided:
                self._decided.pop(id).undo()

    def on_leave(self) -> None:
        """Forget how to undo the decisions."""
        self._decided.clear()

    def on_run(self, id: str) -> None:
        """Run the variant of a decision again."""
        if id in self._decided:
            self.context.run(self._decided[id].waiting.key.variant_id)

    def text(self) -> Markdown:
        """Return the snapshots that wait."""
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
        waiting = waiting_snapshots().get(id)
        if waiting is None:
            raise RequestError("not_found", f"{id} does not wait any more: run it again.")
        return waiting

    def _in_focus(self) -> str | None:
        """Return the id of the first snapshot of the variant in focus."""
        variant = self.context.focus.variant
        listed = sorted(waiting_snapshots().items())
        return next((id for id, one in listed if one.key.variant_id == variant), None)


def _row(waiting: Waiting, why: str, decided: str) -> SnapshotRow:
    return {
        "id": waiting.id,
        "variant": waiting.key.variant_id,
        "name": waiting.key.name,
        "why": why,
        "decided": decided,
    }
