"""What differs, kept as files: what was expected, what came and the difference."""

from collections.abc import Callable, Mapping
from difflib import unified_diff
from pathlib import Path

from repl_pair.runtime.snapshots.places import file_stem, story_file
from repl_pair.runtime.snapshots.store import SnapshotStore, put_whole, shorten
from repl_pair.runtime.snapshots.stored import SnapshotKey, Stored

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
            put_whole(diff.with_name(f"{diff.name}.diff"), text.encode(errors="replace"))
            for name, image in drawn.items():
                put_whole(diff.with_name(f"{diff.name}.{name}"), image)
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


def find_rendered(folder: Path) -> list[SnapshotStore]:
    """Return what runs gave in the artifacts below a folder, those of several runs each apart."""
    found = {file.parent for file in folder.rglob("*.txt") if file.parent.name == ACTUAL}
    return [SnapshotStore(place) for place in sorted(found)]


def _diff_place(folder: Path, key: SnapshotKey) -> Path:
    """Return the path of a key's difference, without its suffix."""
    return story_file(folder / DIFF, key.variant_id).with_suffix("") / file_stem(key)
