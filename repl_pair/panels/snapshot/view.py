"""The snapshot panel: outputs that differ from the stored ones, for the person to decide on."""

from collections.abc import Callable, Sequence

from repl_pair.errors import RequestError
from repl_pair.panels.base.context import FOCUS, PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.snapshot import messages
from repl_pair.panels.snapshot.comparing import compare
from repl_pair.records import Undo, record
from repl_pair.runtime.registry.ids import name_run
from repl_pair.runtime.results.markdown import Markdown, cell, code, table
from repl_pair.runtime.snapshots.provenance import describe_changes
from repl_pair.runtime.snapshots.records import Stored, Unreadable
from repl_pair.runtime.snapshots.review import (
    WAITING,
    WaitingSnapshot,
    accept,
    reject,
    waiting_snapshots,
)
from repl_pair.runtime.snapshots.store import SNAPSHOTS


@record
class Decision:
    """What the person decided, until they leave and it can no longer be undone."""

    waiting: WaitingSnapshot
    row: messages.SnapshotRow
    baseline: Stored | None
    undo: Undo


class SnapshotView(View[messages.SnapshotPatch]):
    """Outputs that differ from the stored ones: compare them, accept or reject."""

    name = "snapshot"
    title = "Snapshots"
    placement = "modal"
    is_shown = False
    scripts = ("diff", "images")
    waits_in = WAITING.name

    @staticmethod
    def count_waiting() -> int:
        """Return how many outputs are not as they were stored."""
        return len(waiting_snapshots())

    def __init__(
        self, context: PanelContext, send: Callable[[messages.SnapshotPatch], None]
    ) -> None:
        super().__init__(context, send)
        self._decided: dict[str, Decision] = {}
        self._compared: dict[str, str] = {}
        """The digest of each output as the person saw it last."""

    def handle_changes(self, changes: Changes) -> None:
        """Send the snapshots that wait, or the one in focus."""
        if WAITING.name in changes:
            self.send({"list": self.on_list()})
        elif FOCUS in changes:
            self.send({"focus": self._in_focus()})

    def on_list(self) -> messages.Snapshots:
        """Return the snapshots that wait, and those whose decision can be undone."""
        waiting = waiting_snapshots()
        self._decided = {id: d for id, d in self._decided.items() if id not in waiting}
        rows = [_row(one, _baseline_of(one)[0], "") for one in waiting.values()]
        rows += [decided.row for decided in self._decided.values()]
        rows.sort(key=lambda row: row["id"])
        return {"rows": rows, "waiting": len(waiting), "id": self._in_focus()}

    def on_compare(self, id: str) -> messages.Comparison:
        """Compare one snapshot with its baseline."""
        decided = self._decided.get(id)
        if decided is not None:
            return compare(decided.waiting, decided.baseline)
        waiting = self._waiting(id)
        self._compared[id] = waiting.given.digest
        return compare(waiting, _baseline_of(waiting)[1])

    def on_accept(self, ids: Sequence[str], digest: str = "") -> None:
        """Store these snapshots as the baselines; `digest` is that of the one that is shown."""
        self._decide(ids, digest, "accepted", accept)

    def on_reject(self, ids: Sequence[str], digest: str = "") -> None:
        """Drop these snapshots, and keep the baselines; `digest` as in `on_accept`."""
        self._decide(ids, digest, "rejected", reject)

    def on_undo(self, ids: Sequence[str]) -> None:
        """Undo all of these decisions, or none where one is forgotten or a newer output stored."""
        for id in ids:
            _refuse_newer(self._decision(id))
        for id in ids:
            self._decided.pop(id).undo()

    def on_leave(self) -> None:
        """Forget how to undo the decisions."""
        self._decided.clear()

    def on_run(self, id: str) -> None:
        """Run the variant of a decision again."""
        self.context.run(self._decision(id).waiting.key.variant_id)

    def text(self) -> Markdown:
        """Return the snapshots that wait."""
        rows = [
            (code(_run_of(one)), cell(one.key.name), _baseline_of(one)[0])
            for _, one in sorted(waiting_snapshots().items())
        ]
        return Markdown(table(("variant", "snapshot", "why"), rows) or "No snapshot waits.")

    def _decide(
        self, ids: Sequence[str], digest: str, what: str, act: Callable[[WaitingSnapshot], Undo]
    ) -> None:
        chosen = [self._waiting(id) for id in ids]
        for waiting in chosen:
            given = waiting.given.digest
            if (digest or self._compared.get(waiting.id, given)) != given:
                what = f"{waiting.id} gave another output since it was shown; look at it again."
                raise RequestError("cannot_run", what)
        for waiting in chosen:
            why, baseline = _baseline_of(waiting)
            row = _row(waiting, why, what)
            undo = act(waiting)
            self._decided[row["id"]] = Decision(
                waiting=waiting, row=row, baseline=baseline, undo=undo
            )

    def _waiting(self, id: str) -> WaitingSnapshot:
        waiting = waiting_snapshots().get(id)
        if waiting is None:
            raise RequestError("not_found", f"{id} does not wait any more: run it again.")
        return waiting

    def _decision(self, id: str) -> Decision:
        if id not in self._decided:
            raise RequestError("not_found", f"{id}: its decision can't be undone any more.")
        return self._decided[id]

    def _in_focus(self) -> str | None:
        """Return the id of the first snapshot of the variant in focus."""
        variant = self.context.focus.variant
        listed = sorted(waiting_snapshots().items())
        return next((id for id, one in listed if one.key.variant_id == variant), None)


def _refuse_newer(decided: Decision) -> None:
    key, is_accepted = decided.waiting.key, decided.row["decided"] == "accepted"
    stored = SNAPSHOTS.find(key) if is_accepted else None
    if isinstance(stored, Stored) and stored.digest != decided.waiting.given.digest:
        what = f"{decided.waiting.id}: another output was stored since; nothing was undone."
        raise RequestError("cannot_run", what)


def _row(waiting: WaitingSnapshot, why: str, decided: str) -> messages.SnapshotRow:
    return {
        "id": waiting.id,
        "variant": _run_of(waiting),
        "name": waiting.key.name,
        "why": why,
        "decided": decided,
    }


def _run_of(waiting: WaitingSnapshot) -> str:
    return name_run(waiting.key.variant_id, waiting.key.modes)


def _baseline_of(waiting: WaitingSnapshot) -> tuple[str, Stored | None]:
    """Return why a snapshot waits, in words, and its stored baseline."""
    found = SNAPSHOTS.find(waiting.key)
    if isinstance(found, Stored):
        changed = found.about is not None and describe_changes(found.about, waiting.about)
        return ("the variant changed" if changed else "the output changed"), found
    is_unreadable = isinstance(found, Unreadable)
    return ("what is stored can't be read" if is_unreadable else "nothing is stored yet"), None
