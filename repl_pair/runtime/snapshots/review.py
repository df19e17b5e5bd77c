"""Outputs that wait for the person to accept them, and what the person decided."""

import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import Undo, record, to_dict
from repl_pair.runtime.snapshots.store import SNAPSHOTS, About, SnapshotKey, Stored, put_whole
from repl_pair.runtime.surface import PERSONS, Collection


@record
class Decision:
    """Accepts or rejects one output: that of `digest`, and no other one."""

    variant_id: str
    content_hash: str
    digest: str
    decision: str
    name: str = ""

    @property
    def key(self) -> SnapshotKey:
        """Return the key under which the output is stored."""
        return SnapshotKey(
            variant_id=self.variant_id, content_hash=self.content_hash, name=self.name
        )

    def accepts(self, given: Stored) -> bool:
        """Return whether this very output is accepted."""
        return self.decision == "accept" and self.digest == given.digest


UPDATE = "REPL_PAIR_UPDATE_SNAPSHOTS"
"""The environment variable with which snapshots are stored as they come; `1` switches it on."""


@record
class Rules:
    """How stored outputs are held against what comes.

    `update` names what asks to store all that comes. `tolerance` is the share of the pixels of
    an image that may differ. `artifacts` is the folder for images that differ.
    """

    update: str = ""
    accept: str = ""
    """How what came is accepted, where it is not by a call."""
    tolerance: float = 0.0
    artifacts: Path | None = None
    decided: Mapping[SnapshotKey, Decision] = field(default_factory=dict[SnapshotKey, Decision])
    note: Callable[[SnapshotKey, str], None] = lambda _key, _became: None
    """Gets of each output what became of it: matched, stored or differs."""


_rules = Rules()


def current_rules() -> Rules:
    """Return the rules as they are set, else those of the environment."""
    if _rules.update or os.environ.get(UPDATE) != "1":
        return _rules
    return replace(_rules, update=f"{UPDATE} is set")


@contextmanager
def rules_of(rules: Rules) -> Generator[None]:
    """Let these rules hold in this process during the block."""
    global _rules
    before, _rules = _rules, rules
    try:
        yield
    finally:
        _rules = before


DECISIONS = ("accept", "reject")
DECIDED = Collection(name="snapshots/decided", doc="What the person decided of outputs.")
PERSONS.declare(DECIDED)


def write_review(path: str | Path) -> int:
    """Write what was accepted and rejected in this kernel to a file, and give how many it is.

    `pytest --pair-review FILE` applies it where what is stored is not this kernel's.
    """
    decided = [to_dict(one) for one in PERSONS.snapshot(DECIDED.name).values()]
    decided.sort(key=lambda one: (one["variant_id"], one["name"], one["content_hash"]))
    put_whole(Path(path), (json.dumps(decided, indent=1) + "\n").encode())
    return len(decided)


def read_review(path: Path) -> Mapping[SnapshotKey, Decision]:
    """Read such a file; RequestError `bad_arguments` for anything else."""
    try:
        listed: Any = json.loads(path.read_text(encoding="utf-8"))
        decided = [Decision(**one) for one in listed]
    except (OSError, ValueError, TypeError) as error:
        raise RequestError("bad_arguments", f"{path} is no review: {error}") from error
    if wrong := [one.decision for one in decided if one.decision not in DECISIONS]:
        what = f"{path}: a decision is accept or reject, not {wrong[0]!r}."
        raise RequestError("bad_arguments", what)
    return {one.key: one for one in decided}


MOST_WAITING = 200
"""How many outputs wait at once; past that, the one that waits longest is forgotten."""


@record
class Waiting:
    """What the last run of a variant gave for one name, where it is not as it was stored."""

    key: SnapshotKey
    given: Stored

    @property
    def about(self) -> About:
        """Return what its identity is made of."""
        return self.given.about or {}

    @property
    def id(self) -> str:
        """Name it among those that wait."""
        return _waiting_id(self.key.variant_id, self.key.name)


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
    found: Waiting | None = PERSONS.item(WAITING.name, _waiting_id(variant_id, name))
    if found is not None:
        PERSONS.remove(WAITING.name, found.id)
    return found


def _waiting_id(variant_id: str, name: str) -> str:
    return f"{variant_id}#{name}" if name else variant_id


def accept(waiting: Waiting) -> Undo:
    """Store what waits; the undo stores what was there before, and lets it wait again."""
    before = SNAPSHOTS.find(waiting.key)
    SNAPSHOTS.write(waiting.key, waiting.given)
    wait_again = _decide(waiting, "accept")

    def undo() -> None:
        if before is None:
            SNAPSHOTS.remove(waiting.key)
        else:
            SNAPSHOTS.write(waiting.key, before)
        wait_again()

    return undo


def reject(waiting: Waiting) -> Undo:
    """Drop what waits, so that what is stored stays; the undo lets it wait again."""
    return _decide(waiting, "reject")


def _decide(waiting: Waiting, decision: str) -> Undo:
    PERSONS.remove(WAITING.name, waiting.id, only=waiting)
    noted = Decision(**to_dict(waiting.key), digest=waiting.given.digest, decision=decision)
    at = json.dumps([noted.variant_id, noted.content_hash, noted.name])
    PERSONS.put(DECIDED.name, at, noted)

    def wait_again() -> None:
        PERSONS.remove(DECIDED.name, at, only=noted)
        # Except where a later run gave something else meanwhile.
        PERSONS.put(WAITING.name, waiting.id, waiting, over=None)

    return wait_again
