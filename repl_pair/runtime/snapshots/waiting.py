"""Which outputs wait for the person to accept them as stored ones, until they decide."""

from collections.abc import Mapping

from repl_pair.records import Undo, record
from repl_pair.runtime.snapshots.review import note_decision
from repl_pair.runtime.snapshots.store import SNAPSHOTS, About, SnapshotKey, Stored
from repl_pair.runtime.surface import PERSONS, Collection

MOST_WAITING = 200
"""How many outputs wait at once; past that, the one that waits longest is forgotten."""


@record
class Waiting:
    """What the last run of a variant gave for one name, where it is not as it was stored."""

    key: SnapshotKey
    given: Stored

    @property
    def text(self) -> str:
        """Return the text of the output."""
        return self.given.text

    @property
    def about(self) -> About:
        """Return what its identity is made of."""
        return self.given.about or {}

    @property
    def id(self) -> str:
        """Name it among those that wait."""
        return waiting_id(self.key.variant_id, self.key.name)


WAITING = Collection(name="snapshots/waiting", doc="Outputs that are not as they were stored.")
PERSONS.declare(WAITING)


def waiting_snapshots() -> Mapping[str, Waiting]:
    """Return all that waits, by its id."""
    return PERSONS.snapshot(WAITING.name)


def let_wait(waiting: Waiting) -> None:
    """Let an output wait, in the place of an earlier one of its name."""
    listed = waiting_snapshots()
    if len(listed) >= MOST_WAITING and waiting.id not in listed:
        PERSONS.remove(WAITING.name, next(iter(listed)))
    PERSONS.put(WAITING.name, waiting.id, waiting)


def stop_waiting(variant_id: str, name: str = "") -> Waiting | None:
    """Take an output out; None where none waits."""
    found: Waiting | None = PERSONS.item(WAITING.name, waiting_id(variant_id, name))
    if found is not None:
        PERSONS.remove(WAITING.name, found.id)
    return found


def waiting_id(variant_id: str, name: str) -> str:
    """Name what waits for a variant under a name."""
    return f"{variant_id}#{name}" if name else variant_id


def accept(waiting: Waiting) -> Undo:
    """Store what waits; the undo stores what was there before, and lets it wait again."""
    before = SNAPSHOTS.find(waiting.key)
    SNAPSHOTS.write(waiting.key, waiting.given)
    PERSONS.remove(WAITING.name, waiting.id, only=waiting)
    forget = note_decision(waiting.key, waiting.given, "accept")
    return lambda: _take_back(waiting, before, forget)


def reject(waiting: Waiting) -> Undo:
    """Drop what waits, so that what is stored stays; the undo lets it wait again."""
    PERSONS.remove(WAITING.name, waiting.id, only=waiting)
    forget = note_decision(waiting.key, waiting.given, "reject")
    return lambda: _wait_again(waiting, forget)


def _take_back(waiting: Waiting, before: Stored | None, forget: Undo) -> None:
    if before is None:
        SNAPSHOTS.remove(waiting.key)
    else:
        SNAPSHOTS.write(waiting.key, before)
    _wait_again(waiting, forget)


def _wait_again(waiting: Waiting, forget: Undo) -> None:
    """Let it wait, except where a later run gave something else meanwhile."""
    forget()
    PERSONS.put(WAITING.name, waiting.id, waiting, over=None)
