"""How the images of a stored output differ from those of a run, said and kept."""

from collections.abc import Mapping
from pathlib import Path

from repl_pair.runtime.pixels import ImageDifference, compare_images
from repl_pair.runtime.snapshot_store import FileSnapshots, Images, SnapshotKey, put_whole


def find_faults(
    key: SnapshotKey, stored: Images, given: Images, tolerance: float, folder: Path | None
) -> list[str]:
    """Say what differs, an image a line; with a folder, what was expected and came is there."""
    faults: list[str] = []
    for name in sorted({*stored, *given}):
        if name not in given or name not in stored:
            faults.append(f"image {name} {'is gone' if name in stored else 'is not stored yet'}")
            continue
        found = compare_images(stored[name], given[name], tolerance=tolerance)
        if found is not None:
            place = _keep(key, name, stored[name], given[name], found, folder)
            faults.append(f"image {name}: {found.words}{place}")
    return faults


def _keep(
    key: SnapshotKey,
    name: str,
    expected: bytes,
    actual: bytes,
    found: ImageDifference,
    folder: Path | None,
) -> str:
    if folder is None:
        return ""
    place = FileSnapshots(folder).path_of(key).with_suffix("")
    kept: Mapping[str, bytes] = {
        f"expected.{name}": expected,
        f"actual.{name}": actual,
        f"diff.{Path(name).stem}.png": found.diff,
    }
    place.mkdir(parents=True, exist_ok=True)
    for file, image in kept.items():
        if image:
            put_whole(place / file, image)
    return f"; see {place}"
