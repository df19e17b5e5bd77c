"""Outputs that wait for the person to accept them, and those that the person accepted."""

import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path

from repl_pair.errors import RequestError, error_text
from repl_pair.records import Undo, record
from repl_pair.runtime.loading.pytest_settings import read_share
from repl_pair.runtime.project.whole_files import locked
from repl_pair.runtime.registry.ids import name_run
from repl_pair.runtime.snapshots.artifacts import ACTUAL
from repl_pair.runtime.snapshots.records import About, SnapshotKey, Stored
from repl_pair.runtime.snapshots.store import SNAPSHOTS, SnapshotStore
from repl_pair.runtime.store import PERSON_STORE, Collection

ACCEPT = "REPL_PAIR_SNAPSHOT_ACCEPT"
"""The environment variable with the sentence on how what came is accepted."""
UPDATE = "REPL_PAIR_UPDATE_SNAPSHOTS"
"""The environment variable with which snapshots are stored as they come; `1` switches it on."""
TOLERANCE = "REPL_PAIR_IMAGE_TOLERANCE"
"""The environment variable with the share of the pixels of an image that may differ."""
ARTIFACTS = "REPL_PAIR_SNAPSHOT_ARTIFACTS"
"""The environment variable that names the folder for outputs that differ."""
SESSION = "REPL_PAIR_SNAPSHOT_SESSION"
"""The environment variable that names the folder of an update by several processes."""


@record
class Rules:
    """How stored outputs are held against what comes.

    `update` names what asks to store all that comes. `tolerance` is the share of the pixels of
    an image that may differ. `artifacts` gives the folder for outputs that differ.
    """

    update: str = ""
    accept: str = ""
    """How what came is accepted, where it is not by a call."""
    apart: str = "give each its own name, check.matches_snapshot('first'), or its own variant"
    """How outputs that differ are kept apart."""
    tolerance: float = 0.0
    artifacts: Callable[[], Path] | None = None
    met: dict[SnapshotKey, str] = field(default_factory=dict[SnapshotKey, str])
    """The digest of each output that an update has met: one name has one output."""
    session: Path | None = None
    """The folder in which the processes of one update note these digests for each other."""
    note: Callable[[SnapshotKey, str], None] = lambda _key, _became: None
    """Gets of each output what became of it: matched, stored or differs."""


_rules = Rules()


def current_rules() -> Rules:
    """Return the rules as they are set, else those of the environment."""
    rules, folder = _rules, os.environ.get(ARTIFACTS)
    if not rules.tolerance and os.environ.get(TOLERANCE):
        rules = replace(rules, tolerance=read_share(os.environ, TOLERANCE))
    if rules.artifacts is None and folder:
        rules = replace(rules, artifacts=lambda: Path(folder))
    if not rules.accept:
        rules = replace(rules, accept=os.environ.get(ACCEPT, ""))
    if rules.update or os.environ.get(UPDATE) != "1":
        return rules
    # A kernel's variants change while the variable stays.
    session = Path(given) if (given := os.environ.get(SESSION)) else None
    return replace(rules, update=f"{UPDATE} is set", met={}, session=session)


def first_given(rules: Rules, key: SnapshotKey, digest: str) -> str:
    """Return the digest of the first output that an update met under a key, perhaps this one.

    Where several processes update together, it is the first in all of them.
    """
    first = rules.met.setdefault(key, digest)
    if rules.session is None:
        return first
    place = json.dumps([str(SNAPSHOTS.path_of(key)), key.order])
    note = rules.session / sha256(place.encode()).hexdigest()
    with locked(rules.session):
        if not note.exists():
            note.write_text(first)
        return note.read_text()


def as_environment(rules: Rules) -> Mapping[str, str]:
    """Return the environment in which another process has these rules."""
    accept = {ACCEPT: rules.accept} if rules.accept else {}
    update = {UPDATE: "1"} if rules.update else {}
    tolerance = {TOLERANCE: str(rules.tolerance)} if rules.tolerance else {}
    artifacts = {} if rules.artifacts is None else {ARTIFACTS: str(rules.artifacts().resolve())}
    session = {} if rules.session is None else {SESSION: str(rules.session)}
    return {**accept, **update, **tolerance, **artifacts, **session}


@contextmanager
def rules_of(rules: Rules) -> Generator[None]:
    """Let these rules hold in this process during the block."""
    global _rules
    before, _rules = _rules, rules
    try:
        yield
    finally:
        _rules = before


ACCEPTED = Collection(name="snapshots/accepted", doc="The outputs that the person accepted.")
PERSON_STORE.declare(ACCEPTED)


def write_accepted(folder: str | Path) -> int:
    """Write the outputs that were accepted in this kernel to a folder, and give how many it is.

    `repl-pair accept FOLDER` stores them where what is stored is not this kernel's.
    """
    store = SnapshotStore(Path(folder) / ACTUAL)
    accepted: Mapping[str, WaitingSnapshot] = PERSON_STORE.snapshot(ACCEPTED.name)
    for one in accepted.values():
        store.write(one.key, one.given)
    return len(accepted)


MAX_WAITING = 200
"""How many outputs wait at once; past that, the one that waits longest is forgotten."""


@record
class WaitingSnapshot:
    """What the last run gave for one key, where it is not as it was stored."""

    key: SnapshotKey
    given: Stored

    @property
    def about(self) -> About:
        """Return what its identity is made of."""
        return self.given.about or {}

    @property
    def id(self) -> str:
        """Name it among those that wait."""
        return _id_of(self.key)


WAITING = Collection(name="snapshots/waiting", doc="Outputs that are not as they were stored.")
PERSON_STORE.declare(WAITING)


def waiting_snapshots() -> Mapping[str, WaitingSnapshot]:
    """Return all that waits, by its id."""
    return PERSON_STORE.snapshot(WAITING.name)


def let_wait(waiting: WaitingSnapshot) -> None:
    """Let an output wait, in the place of an earlier one of its key."""
    listed = waiting_snapshots()
    if len(listed) >= MAX_WAITING and waiting.id not in listed:
        PERSON_STORE.remove(WAITING.name, next(iter(listed)))
    PERSON_STORE.put(WAITING.name, waiting.id, waiting)


def take_waiting(variant_id: str, modes: Sequence[str]) -> tuple[WaitingSnapshot, ...]:
    """Take out all outputs of one variant in some modes."""
    meant = (variant_id, tuple(sorted(modes)))
    keys = [k for w in waiting_snapshots().values() if ((k := w.key).variant_id, k.modes) == meant]
    return tuple(found for key in keys if (found := stop_waiting(key)) is not None)


def stop_waiting(key: SnapshotKey) -> WaitingSnapshot | None:
    """Take an output out; None where none waits."""
    found: WaitingSnapshot | None = PERSON_STORE.item(WAITING.name, _id_of(key))
    if found is not None:
        PERSON_STORE.remove(WAITING.name, found.id)
    return found


def _id_of(key: SnapshotKey) -> str:
    run = name_run(key.variant_id, key.modes)
    return f"{run}#{key.name}" if key.name else run


def accept(waiting: WaitingSnapshot) -> Undo:
    """Store what waits; the undo stores what was there before, and lets it wait again.

    RequestError `cannot_run` where the file cannot be written: then it waits on.
    """
    before = SNAPSHOTS.find(waiting.key)
    try:
        SNAPSHOTS.write(waiting.key, waiting.given)
    except OSError as error:
        raise RequestError(
            "cannot_run", f"{waiting.key.label} was not stored, and waits on: {error_text(error)}."
        ) from error
    PERSON_STORE.remove(WAITING.name, waiting.id, only=waiting)
    PERSON_STORE.put(ACCEPTED.name, waiting.id, waiting)

    def undo() -> None:
        if isinstance(before, Stored):
            SNAPSHOTS.write(waiting.key, before)
        else:
            SNAPSHOTS.remove(waiting.key)
        PERSON_STORE.remove(ACCEPTED.name, waiting.id, only=waiting)
        _wait_again(waiting)

    return undo


def reject(waiting: WaitingSnapshot) -> Undo:
    """Drop what waits, so that what is stored stays; the undo lets it wait again."""
    PERSON_STORE.remove(WAITING.name, waiting.id, only=waiting)
    return lambda: _wait_again(waiting)


def _wait_again(waiting: WaitingSnapshot) -> None:
    # Except where a later run gave something else meanwhile.
    PERSON_STORE.put(WAITING.name, waiting.id, waiting, over=None)
