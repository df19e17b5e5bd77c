"""Which stored snapshots no run uses, and their removal."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from repl_pair.pytest_plugin.snapshot_use import SnapshotUse
from repl_pair.pytest_plugin.workers import USE_LINES, USES, is_worker, kept_in
from repl_pair.records import row
from repl_pair.runtime.snapshots.records import SnapshotKey, Unreadable
from repl_pair.runtime.snapshots.store import SnapshotStore, shorten


@row
class Unused:
    """A stored snapshot that no run uses; without a key, a file that can't be read."""

    file: Path
    key: SnapshotKey | None

    def __str__(self) -> str:
        return f"{shorten(self.file)}{f': {self.key.label}' if self.key else ''}"


def remove_unused(config: pytest.Config) -> bool:
    """Find what is unused in the whole session, and remove it where snapshots are updated.

    Gives whether all that is left can be read, and each name was given one output.
    """
    listed: list[SnapshotUse] = kept_in(config, USES)
    if is_worker(config) or config.getoption("collectonly"):
        return True
    use = _join(listed)
    unused, unreadable = find_unused(use)
    if updates := config.getoption("pair_update"):
        _remove(unused)
    done = "removed" if updates else "unused; --pair-update removes them"
    kept_in(config, USE_LINES).extend(_lines(use, [str(one) for one in unused], done))
    if unreadable:
        what = "snapshots that can't be read; fix or remove these files:"
        kept_in(config, USE_LINES).append("\n  ".join([what, *map(str, unreadable)]))
    labels = Counter(label for label, _ in use["met"])
    if twice := [label for label, digests in labels.items() if digests > 1]:
        what = "snapshots that were given outputs that differ, by several processes; give each its "
        kept_in(config, USE_LINES).append("\n  ".join([f"{what}own name or variant:", *twice]))
    return not unreadable and not twice


def find_unused(use: SnapshotUse) -> tuple[Sequence[Unused], Sequence[Unreadable]]:
    """Return what no run compared with, though runs passed that could have, and what is unreadable.

    Unused is what is stored of a variant whose runs in the same modes all passed; of modes that the
    variant has no more, if all its runs passed; of a variant that is no more, if its file was run
    whole; and of a file with stories that is no more.
    """
    used = {(file, _key(rest)) for file, *rest in use["used"]}
    gone = dict.fromkeys(use["gone"], True)
    unused: list[Unused] = []
    unreadable: list[Unreadable] = []
    for folder, is_whole in (use["folders"] | gone).items():
        store, known = SnapshotStore(Path(folder)), use["possible"]
        for path in store.files():
            story = store.read(path)
            if story.fault is not None and is_whole and str(path) not in use["files"]:
                unused.append(Unused(path, None))
            elif story.fault is not None:
                place = f"{shorten(path)}:{story.fault[0]}"
                unreadable.append(Unreadable(place=place, what=story.fault[1]))
            for key in story.entries if story.fault is None else ():
                is_idle = _is_idle(use, key) if key.variant_id in known else is_whole
                if folder in gone or ((str(path), key) not in used and is_idle):
                    unused.append(Unused(path, key))
    return unused, unreadable


def _remove(unused: Iterable[Unused]) -> None:
    """Remove what is unused, and folders that are empty then."""
    for one in unused:
        if one.key is not None:
            SnapshotStore(one.file.parent).remove(one.key)
        else:
            one.file.unlink()
            rmtree(one.file.with_suffix(""), ignore_errors=True)
        for folder in list(one.file.parents)[:2]:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _is_idle(use: SnapshotUse, key: SnapshotKey) -> bool:
    """Return whether all runs passed that could have asked for a snapshot."""
    modes = list(key.modes)
    passed = [one for one in use["passed"] if one[0] == key.variant_id]
    asked = [one for one in use["asked"] if one[0] == key.variant_id]
    if modes in use["possible"][key.variant_id]:
        passed, asked = ([one for one in some if one[1] == modes] for some in (passed, asked))
    played = {play for _, _, play in passed}
    apart = use["apart"][key.variant_id]
    left = {name for play, names in apart.items() if play not in played for name in names}
    return bool(asked) and all(one in passed for one in asked) and key.name not in left


def _key(words: Sequence[Any]) -> SnapshotKey:
    variant_id, modes, name = words
    return SnapshotKey(variant_id=variant_id, modes=tuple(modes), name=name)


def _join(listed: list[SnapshotUse]) -> SnapshotUse:
    """Join the uses of all processes: each collects all, and runs a part."""
    joined: Any = {**listed[0]}
    for slot in ("files", "used", "stored", "met", "asked", "passed"):
        texts = {json.dumps(one) for use in listed for one in use[slot]}
        joined[slot] = list(map(json.loads, sorted(texts)))
    for slot in ("possible", "apart"):
        joined[slot] = {id: given for use in listed for id, given in use[slot].items()}
    joined["gone"] = [one for one in listed[0]["gone"] if all(one in use["gone"] for use in listed)]
    return joined


def _lines(use: SnapshotUse, unused: list[str], done: str) -> Iterator[str]:
    if use["stored"]:
        yield f"snapshots stored: {', '.join(use['stored'])}"
    if unused:
        yield "\n  ".join([f"snapshots {done}:", *unused])
