"""What becomes of outputs that are not as they were stored, for as long as somebody sets it."""

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from repl_pair.records import record
from repl_pair.runtime.snapshot_review import Decision
from repl_pair.runtime.snapshot_store import SnapshotKey

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
    """Give the rules as they are set, else those of the environment."""
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
