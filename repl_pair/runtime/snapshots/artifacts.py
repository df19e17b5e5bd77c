"""Outputs kept as files: what was expected, what came and the difference; and their acceptance."""

from collections.abc import Callable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.project.whole_files import write_whole
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.snapshots.places import file_stem, story_file
from repl_pair.runtime.snapshots.provenance import describe_about, describe_changes
from repl_pair.runtime.snapshots.records import SnapshotKey, Stored, Unreadable
from repl_pair.runtime.snapshots.store import SNAPSHOTS, SnapshotStore, shorten

EXPECTED, ACTUAL, DIFF = "expected", "actual", "diff"


def diff_lines(expected: str, actual: str, context: int = 1) -> list[str]:
    """Return how a text differs from the one expected, a line each."""
    old, new = expected.splitlines(), actual.splitlines()
    if old == new:  # only what ends the lines differs
        old, new = (list(map(repr, text.splitlines(keepends=True))) for text in (expected, actual))
    return list(unified_diff(old, new, "stored", "now", n=context, lineterm=""))


def keep_difference(
    place: Callable[[], Path],
    key: SnapshotKey,
    before: Stored | None,
    given: Stored,
    drawn: Mapping[str, bytes],
) -> str:
    """Keep both outputs and their difference; return a line that says where, or why they are not.

    `drawn` are the images that show where images differ, by name.
    """
    try:
        folder = place()
        forget_difference(folder, key)
        SnapshotStore(folder / ACTUAL).write(key, given)
        if before is not None:
            SnapshotStore(folder / EXPECTED).write(key, before)
            diff = _diff_place(folder, key)
            diff.parent.mkdir(parents=True, exist_ok=True)
            text = "".join(f"{line}\n" for line in diff_lines(before.text, given.text, 3))
            write_whole(diff.with_name(f"{diff.name}.diff"), text.encode(errors="replace"))
            for name, image in drawn.items():
                write_whole(diff.with_name(f"{diff.name}.{name}"), image)
    except OSError as error:
        return f"The output could not be kept: {error}."
    return f"{'The output is' if before is None else 'Both outputs are'} kept in {shorten(folder)}."


def forget_difference(folder: Path, key: SnapshotKey) -> None:
    """Remove what an earlier run kept of an output."""
    for name in (EXPECTED, ACTUAL):
        SnapshotStore(folder / name).remove(key)
    place = _diff_place(folder, key)
    for file in place.parent.iterdir() if place.parent.is_dir() else ():
        if file.name.startswith(f"{place.name}."):
            file.unlink()


def _diff_place(folder: Path, key: SnapshotKey) -> Path:
    """Return the path of a key's difference, without its suffix."""
    return story_file(folder / DIFF, key.variant_id).with_suffix("") / file_stem(key)


@record
class Accepted:
    """What became of one output: stored, or refused and why."""

    label: str
    refusal: str = ""
    note: str = ""
    """How what it was made of differs from what is here."""


def accept_rendered(folder: Path) -> list[Accepted]:
    """Store the outputs in the artifacts below a folder; RequestError `not_found` without any.

    Refused are those of variants and modes that are neither registered in this process nor stored
    with the project, those that can't be read, and two that differ under one key.
    """
    found = {file.parent for file in folder.rglob("*.txt") if file.parent.name == ACTUAL}
    stores = [SnapshotStore(place) for place in sorted(found)]  # of several runs, each apart
    if not stores:
        what = f"There is no folder {ACTUAL!r} with outputs below {folder}"
        raise RequestError("not_found", f"{what}: give what pytest --pair-artifacts kept.")
    return [*_faults(stores), *_accept_all(stores)]


def _faults(stores: list[SnapshotStore]) -> Iterator[Accepted]:
    for store in stores:
        for path in store.files():
            if (fault := store.read(path).fault) is not None:
                yield Accepted(label=f"{shorten(path)}:{fault[0]}", refusal=fault[1])


def _accept_all(stores: list[SnapshotStore]) -> Iterator[Accepted]:
    found = {key: None for store in stores for key in sorted(store.listed(), key=lambda k: k.order)}
    for key in found:
        yield _accept(key, [one for store in stores if (one := store.find(key)) is not None])


def _accept(key: SnapshotKey, given: list[Stored | Unreadable]) -> Accepted:
    bad = [str(one) for one in given if isinstance(one, Unreadable)]
    good = [one for one in given if isinstance(one, Stored)]
    if refusal := next(iter(bad), "") or _unknown(key):
        return Accepted(label=key.label, refusal=refusal)
    if len({one.digest for one in good}) > 1:
        what = "several runs gave outputs that differ; give the folder of one of them"
        return Accepted(label=key.label, refusal=what)
    SNAPSHOTS.write(key, good[0])
    note = _changes(key, good[0]) if _is_registered(key) else ""
    return Accepted(label=key.label, note=note)


def _unknown(key: SnapshotKey) -> str:
    if not _is_registered(key):
        if SNAPSHOTS.find(key) is not None:  # of a notebook of this project, as it was stored
            return ""
        near = did_you_mean(key.variant_id, REGISTRY.ids("variant"))
        how = "`pytest --pair-notebook --pair-update NOTEBOOK` stores what is new in a notebook"
        return f"no story file registers it.{near} {how}."
    modes = REGISTRY.ids("mode")
    missing = [mode for mode in key.modes if mode not in modes]
    return f"there is no mode {missing[0]!r}.{did_you_mean(missing[0], modes)}" if missing else ""


def _is_registered(key: SnapshotKey) -> bool:
    return REGISTRY.find("variant", key.variant_id) is not None


def _changes(key: SnapshotKey, given: Stored) -> str:
    try:
        now = describe_about(plan_variant(key.variant_id, modes=key.modes))
    except RequestError as error:
        return error.message
    return "" if given.about is None else describe_changes(given.about, now)
