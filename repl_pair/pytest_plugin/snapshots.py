"""Stored snapshots under pytest: the rules of a run, and what the session made of them."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from repl_pair.errors import AuthoringError
from repl_pair.pytest_plugin.choices import Choice
from repl_pair.pytest_plugin.files import project_of
from repl_pair.pytest_plugin.snapshot_use import SnapshotUse, gone_folders, is_partial
from repl_pair.pytest_plugin.workers import is_worker
from repl_pair.records import mutable, replace
from repl_pair.runtime.loading.project import find_files
from repl_pair.runtime.loading.pytest_settings import read_share
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.snapshots.artifacts import forget_difference
from repl_pair.runtime.snapshots.places import folder_beside, folder_of
from repl_pair.runtime.snapshots.records import SnapshotKey
from repl_pair.runtime.snapshots.review import SESSION, Rules, as_environment, rules_of
from repl_pair.runtime.snapshots.store import SNAPSHOTS, SnapshotStore
from repl_pair.runtime.sweeps.matrix import has_combination

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
    _session(file.config).files[file.path] = ({item.nodeid for item in items}, choices)


def note_chosen(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Note which files are run whole."""
    session, chosen = _session(config), {item.nodeid for item in items}
    session.whole = {path for path, (ids, _) in session.files.items() if ids <= chosen}


def note_run(config: pytest.Config, choice: Choice, record: RunRecord) -> None:
    """Note a run that went to its end, and so asked for all of its snapshots."""
    if record.status == "pass":
        _session(config).passed.add((choice.entry.id, choice.modes, choice.play))


def rules_in(config: pytest.Config, marks: Sequence[str] = ()) -> AbstractContextManager[None]:
    """Let the rules of this session hold for a block.

    `marks` are those that choose one of the parameters with which the block's variant runs: all
    have one snapshot, which no update can give outputs that differ.
    """
    rules = _session(config).rules
    if marks:
        apart = f"give each parameter its own variant, with marks=[{', '.join(marks)}]"
        accept = f"{rules.accept} Where it is not the same with each parameter, {apart}."
        rules = replace(rules, accept=accept, apart=apart)
    return rules_of(rules)


def share_rules(config: pytest.Config) -> None:
    """Let the rules of this session hold in the kernels that it starts."""
    patch, session = pytest.MonkeyPatch(), _session(config)
    if session.rules.update:
        session.rules = replace(session.rules, session=_notes_folder(config))
    for name, value in as_environment(session.rules).items():
        patch.setenv(name, value)
    config.add_cleanup(patch.undo)


def _notes_folder(config: pytest.Config) -> Path:
    """Return the folder in which all processes of a session note what they stored."""
    if is_worker(config) and (given := os.environ.get(SESSION)):
        return Path(given)
    folder = TemporaryDirectory(prefix="repl_pair-")
    config.add_cleanup(folder.cleanup)
    return Path(folder.name)


def use_in(session: pytest.Session) -> SnapshotUse:
    """Return what this process met, as plain data."""
    met, config = _session(session.config), session.config
    is_all = config.args_source is not _FROM_ARGS and not is_partial(session)
    # `--lf`, `--ignore` and `testpaths` leave out files that no hook of pytest's names.
    whole = replace(project_of(config), folders=[config.rootpath])
    unread: list[OSError] = []  # a folder of files that other users collect
    is_all = is_all and {*find_files(whole, unread.append)} <= met.whole and not unread
    folders = _folders(met, config.rootpath if is_all else None)
    stores = [SnapshotStore(folder) for folder in folders]
    kept = dict[str, set[tuple[str, ...]]]()
    for key in (key for store in stores for key in store.listed()):
        kept.setdefault(key.variant_id, set()).add(key.modes)
    is_readable = all(store.read(path).fault is None for store in stores for path in store.files())
    every = [choice for _, choices in met.files.values() for choice in choices]
    listed = [choice for choice in every if choice.entry.id in kept]
    known = [entry for id in kept if (entry := REGISTRY.find("variant", id)) is not None]
    passed = (one for one in met.passed if one[0] in kept)
    return {
        "folders": {str(folder): is_whole for folder, is_whole in folders.items()},
        "gone": gone_folders(session),
        "files": [] if is_readable else sorted({str(_file_of(choice)) for choice in every}),
        "used": [
            [str(SNAPSHOTS.path_of(key)), key.variant_id, list(key.modes), key.name]
            for key in met.noted
        ],
        "stored": sorted(key.label for key, how in met.noted.items() if how == "stored"),
        "met": [[key.label, digest] for key, digest in met.rules.met.items()],
        "asked": [[c.entry.id, sorted(c.modes), c.play] for c in listed],
        "passed": [[id, sorted(modes), play] for id, modes, play in passed],
        "possible": {
            e.id: [list(modes) for modes in kept[e.id] if has_combination(e.id, modes)]
            for e in known
        },
        "apart": {entry.id: _apart(entry) for entry in known},
    }


def _file_of(choice: Choice) -> Path:
    return SNAPSHOTS.path_of(SnapshotKey(variant_id=choice.entry.id))


def _session(config: pytest.Config) -> Session:
    found = config.stash.get(_SESSION, None)
    if found is None:
        asked: str | None = config.getoption("pair_artifacts")
        kept = None if asked is None else config.invocation_params.dir / asked / "snapshots"
        noted: dict[SnapshotKey, str] = {}

        def note(key: SnapshotKey, became: str) -> None:
            if noted.get(key) == "differs":  # as with another parameter of a fixture
                return
            noted[key] = became
            if kept is not None and kept.is_dir() and became != "differs":
                forget_difference(kept, key)

        rules = Rules(
            update="--pair-update" if config.getoption("pair_update") else "",
            accept="pytest --pair-update stores what this run gave.",
            tolerance=_read_tolerance(config),
            artifacts=_cache_of(config) if kept is None else lambda: kept,
            note=note,
        )
        found = config.stash[_SESSION] = Session(rules=rules, noted=noted)
    return found


def _cache_of(config: pytest.Config) -> Callable[[], Path] | None:
    cache: Any = getattr(config, "cache", None)
    return None if cache is None else lambda: cache.mkdir("repl_pair-snapshots")


def _read_tolerance(config: pytest.Config) -> float:
    try:
        return read_share({TOLERANCE: config.getini(TOLERANCE)}, TOLERANCE)
    except AuthoringError as error:
        raise pytest.UsageError(error.message) from error


def _folders(session: Session, root: Path | None) -> dict[Path, bool]:
    """Return the folders of stored snapshots, each with whether all that it is for was chosen.

    That of a helper is for all files of its project; of one outside of `root`, of others too. There
    is no `root` where not all files were chosen.
    """
    files = session.files
    found = {folder_beside(path.resolve()): path in session.whole for path in files}
    firsts = {c.entry.origin.key: c for _, listed in files.values() for c in listed}
    for choice in firsts.values():
        folder = folder_of(choice.entry.id)
        is_whole = root is not None and folder.is_relative_to(root.resolve())
        found.setdefault(folder, is_whole and session.whole == files.keys())
    return found


def _apart(entry: Entry) -> dict[str, list[str]]:
    """Return the named plays that no run takes unasked, each with its snapshots' names."""
    found: dict[str, list[str]] = {}
    for play in entry.body.plays:
        if not play.auto_run:
            steps = [step for step in play.steps if step[0] == "matches_snapshot"]
            given = [next(iter(step[1:]), "") for step in steps]
            found[play.name] = [n if isinstance(n, str) else "" for n in given]
    return found


_FROM_ARGS = pytest.Config.ArgsSource.ARGS
_SESSION = pytest.StashKey[Session]()
