"""Stored snapshots under pytest: the rules of a run, and what the session made of them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import Any

import pytest

from repl_pair.errors import RequestError
from repl_pair.pytest_plugin.choices import Choice
from repl_pair.pytest_plugin.snapshot_use import SnapshotUse, variants_in
from repl_pair.records import mutable
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.snapshots.review import Decision, Rules, read_review, rules_of
from repl_pair.runtime.snapshots.store import (
    SNAPSHOTS,
    SnapshotKey,
    folder_beside,
    folder_of,
    stem_of,
)
from repl_pair.runtime.sweeps.matrix import pair

TOLERANCE = "repl_pair_image_tolerance"
_Files = dict[Path, tuple[set[str], Sequence[Choice]]]
_Runs = set[tuple[str, tuple[str, ...], str | None]]


@mutable
class Session:
    """What one process of a session met of stored snapshots."""

    rules: Rules
    noted: dict[SnapshotKey, str]
    files: _Files = field(default_factory=_Files)
    """The ids of each file's items, and its variants."""
    passed: _Runs = field(default_factory=_Runs)
    whole: set[Path] = field(default_factory=set[Path])


def note_file(file: pytest.Module, choices: Sequence[Choice], items: Iterable[pytest.Item]) -> None:
    """Note what a file with stories has, before anything is left out."""
    ids = {item.nodeid for item in items}
    _session(file.config).files[file.path] = (ids, choices)


def note_chosen(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Note which files are run whole."""
    session, chosen = _session(config), {item.nodeid for item in items}
    session.whole = {path for path, (ids, _) in session.files.items() if ids <= chosen}


def note_run(config: pytest.Config, choice: Choice, record: RunRecord) -> None:
    """Note a run that went to its end, and so asked for all of its snapshots."""
    if record.status == "pass":
        _session(config).passed.add((choice.entry.id, choice.modes, choice.play))


def rules_in(config: pytest.Config) -> AbstractContextManager[None]:
    """Let the rules of this session hold for a block."""
    return rules_of(_session(config).rules)


def use_in(config: pytest.Config) -> SnapshotUse:
    """Return what this process met, as plain data."""
    session = _session(config)
    folders = _folders(session)
    kept = {id for folder in folders for id in variants_in(folder)}
    listed = [c for _, choices in session.files.values() for c in choices if c.entry.id in kept]
    known = [entry for id in kept if (entry := REGISTRY.find("variant", id)) is not None]
    return {
        "folders": {str(folder): source in session.whole for folder, source in folders.items()},
        "used": sorted(str(SNAPSHOTS.path_of(key)) for key in session.noted),
        "stored": sorted(_label(key) for key, how in session.noted.items() if how == "stored"),
        "asked": [[c.entry.id, list(c.modes), c.play] for c in listed],
        "passed": [[id, list(modes), play] for id, modes, play in session.passed if id in kept],
        "possible": {e.id: [list(one.modes) for one in pair([e.id])] for e in known},
        "apart": {entry.id: _apart(entry) for entry in known},
        "undecided": sorted(map(_label, session.rules.decided.keys() - session.noted.keys())),
    }


def _session(config: pytest.Config) -> Session:
    found = config.stash.get(_SESSION, None)
    if found is None:
        noted: dict[SnapshotKey, str] = {}
        rules = Rules(
            update="--pair-update" if config.getoption("pair_update") else "",
            accept="pytest --pair-update stores what this run gave.",
            decided=_read_decisions(config),
            tolerance=_read_tolerance(config),
            artifacts=_artifacts(config),
            note=noted.__setitem__,
        )
        found = config.stash[_SESSION] = Session(rules=rules, noted=noted)
    return found


def _read_decisions(config: pytest.Config) -> Mapping[SnapshotKey, Decision]:
    review: str | None = config.getoption("pair_review")
    try:
        return {} if review is None else read_review(config.invocation_params.dir / review)
    except RequestError as error:
        raise pytest.UsageError(error.message) from error


def _read_tolerance(config: pytest.Config) -> float:
    given: str = config.getini(TOLERANCE)
    try:
        share = float(given)
    except ValueError:
        share = -1
    if 0 <= share <= 1:
        return share
    raise pytest.UsageError(f"{TOLERANCE} is a share from 0 to 1, not {given!r}.")


def _artifacts(config: pytest.Config) -> Path | None:
    """Return the folder for images that differ: the one that is asked for, else pytest's cache."""
    asked: str | None = config.getoption("pair_artifacts")
    if asked is not None:
        return config.invocation_params.dir / asked / "snapshots"
    cache: Any = getattr(config, "cache", None)
    return None if cache is None else cache.mkdir("repl_pair-snapshots")


def _folders(session: Session) -> dict[Path, Path | None]:
    """Return the folders of stored snapshots, each with the file with stories that it is beside."""
    found: dict[Path, Path | None] = {folder_beside(path.resolve()): path for path in session.files}
    firsts = {c.entry.origin.key: c for _, listed in session.files.values() for c in listed}
    for choice in firsts.values():
        found.setdefault(folder_of(choice.entry.id), None)
    return found


def _apart(entry: Entry) -> dict[str, list[str]]:
    """Return the named plays that no run takes unasked, each with its snapshots' names."""
    found: dict[str, list[str]] = {}
    for play in entry.body.plays:
        if not play.auto_run:
            steps = [step for step in play.steps if step[0] == "matches_snapshot"]
            given = [next(iter(step[1:]), "") for step in steps]
            found[play.name] = [stem_of(n if isinstance(n, str) else "") for n in given]
    return found


def _label(key: SnapshotKey) -> str:
    return f"{key.variant_id} {key.name!r}" if key.name else key.variant_id


_SESSION = pytest.StashKey[Session]()
