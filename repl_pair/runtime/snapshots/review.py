"""What becomes of outputs that differ, and the person's decisions, as a file."""

import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any, cast

from repl_pair.errors import RequestError
from repl_pair.records import record, to_dict
from repl_pair.runtime.snapshots.store import SnapshotKey, Stored, put_whole
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


def _ignore(_key: SnapshotKey, _became: str) -> None: ...


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
    note: Callable[[SnapshotKey, str], None] = _ignore
    """Told of each output what became of it: matched, stored or differs."""


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


def note_decision(key: SnapshotKey, given: Stored, decision: str) -> Callable[[], None]:
    """Note what was decided, in the place of an earlier decision; the undo forgets it."""
    noted = Decision(**to_dict(key), digest=given.digest, decision=decision)
    at = json.dumps([key.variant_id, key.content_hash, key.name])
    PERSONS.put(DECIDED.name, at, noted)
    return lambda: cast("None", PERSONS.remove(DECIDED.name, at, only=noted))


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
        said = f"{path}: a decision is accept or reject, not {wrong[0]!r}."
        raise RequestError("bad_arguments", said)
    return {one.key: one for one in decided}
