"""The use of stored snapshots over all processes of a session, and which are unused."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest

from repl_pair.pytest_plugin.workers import USE_LINES, USES, is_worker, kept_in


class SnapshotUse(TypedDict):
    """The use of stored snapshots in one process, or in all; a run is `[id, modes, play]`.

    `folders` is whether all variants beside a folder were run, `used` are files, `possible` all
    combinations of modes by variant, `apart` the snapshots of plays that run on demand only.
    """

    folders: dict[str, bool]
    used: list[str]
    stored: list[str]
    asked: list[list[Any]]
    passed: list[list[Any]]
    possible: dict[str, list[list[str]]]
    apart: dict[str, dict[str, list[str]]]
    undecided: list[str]


def remove_unused(config: pytest.Config) -> None:
    """Find what is unused in the whole session, and remove it where snapshots are updated."""
    listed: list[SnapshotUse] = kept_in(config, USES)
    if not listed or is_worker(config) or config.getoption("collectonly"):
        return
    use = _join(listed)
    unused = sorted(find_unused(use))
    if updates := config.getoption("pair_update"):
        for path in unused:
            _remove(path)
    done = "removed" if updates else "unused; --pair-update removes them"
    kept_in(config, USE_LINES).extend(_lines(use, unused, done, config.invocation_params.dir))


def find_unused(use: SnapshotUse) -> Iterator[Path]:
    """Return the stored files that no run compared with, though runs passed that could have.

    That is: of a variant whose runs in the same modes all passed; of modes that the variant has
    no more, if all its runs passed; of a variant that is no more, if its file was run whole.
    """
    used = {Path(path) for path in use["used"]}
    for folder, is_whole in use["folders"].items():
        for path in _texts_in(Path(folder)):
            id = path.parent.relative_to(folder).as_posix()
            is_known = id in use["possible"]
            if path not in used and (_is_idle(use, id, path) if is_known else is_whole):
                yield path


def variants_in(folder: Path) -> set[str]:
    """Return the ids of the variants that have something in a folder."""
    return {path.parent.relative_to(folder).as_posix() for path in _texts_in(folder)}


def _is_idle(use: SnapshotUse, id: str, path: Path) -> bool:
    """Return whether all runs passed that could have asked for a file."""
    modes = _modes_at(path)
    passed = [one for one in use["passed"] if one[0] == id]
    asked = [one for one in use["asked"] if one[0] == id]
    if modes in use["possible"][id]:
        passed, asked = ([one for one in some if one[1] == modes] for some in (passed, asked))
    played = {play for _, _, play in passed}
    apart = use["apart"][id]
    left = {name for play, names in apart.items() if play not in played for name in names}
    stem = path.name.rpartition(".txt")[0].rpartition(".")[0]
    return bool(asked) and all(one in passed for one in asked) and stem not in left


def _modes_at(path: Path) -> Any:
    """Return the modes of what is stored, None where that was not kept."""
    try:
        about: Any = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        return about["slots"]["modes"]["shown"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _texts_in(folder: Path) -> Iterable[Path]:
    return folder.rglob("*.txt") if folder.is_dir() else ()


def _join(listed: list[SnapshotUse]) -> SnapshotUse:
    """Join the uses of all processes: each collects all, and runs a part."""
    first = listed[0]
    undecided = set(first["undecided"]).intersection(*(use["undecided"] for use in listed))
    joined: Any = {**first, "undecided": sorted(undecided)}
    for slot in ("used", "stored", "asked", "passed"):
        texts = {json.dumps(one) for use in listed for one in use[slot]}
        joined[slot] = list(map(json.loads, sorted(texts)))
    for slot in ("possible", "apart"):
        joined[slot] = {id: given for use in listed for id, given in use[slot].items()}
    return joined


def _lines(use: SnapshotUse, unused: list[Path], done: str, here: Path) -> Iterator[str]:
    if use["stored"]:
        yield f"snapshots stored: {', '.join(use['stored'])}"
    if unused:
        shown = (path.relative_to(here) if path.is_relative_to(here) else path for path in unused)
        yield "\n  ".join([f"snapshots {done}:", *map(str, shown)])
    if use["undecided"]:
        yield f"no run met these decisions of the review: {', '.join(use['undecided'])}"


def _remove(path: Path) -> None:
    """Remove a text with what is beside it, and folders that are empty then."""
    from repl_pair.runtime.snapshots.store import remove_stored  # only who updates removes

    remove_stored(path)
    for folder in list(path.parents)[:2]:
        if any(folder.iterdir()):
            return
        folder.rmdir()
