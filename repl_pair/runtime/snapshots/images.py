"""How the images of a stored output differ from those of a run: by bytes, else pixel by pixel."""

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.snapshots.store import Images, SnapshotKey, SnapshotStore, put_whole

SHARPNESS = 0.1
"""How far the colour of a pixel may be off, from 0 to 1, before it counts as another one."""


@record
class ImageDifference:
    """How two images differ; `diff` is a PNG that shows where, if pixels were compared."""

    words: str
    diff: bytes = b""


def compare_images(expected: bytes, actual: bytes, *, tolerance: float) -> ImageDifference | None:
    """Return how an image differs from the one expected, None where it does not.

    `tolerance` is the share of pixels, 0 to 1, that may look different. Pixels are compared where
    pillow and pixelmatch are installed.
    """
    if expected == actual:
        return None
    if find_spec("PIL") is None or find_spec("pixelmatch") is None:
        words = "its bytes differ; to compare its pixels, pip install 'repl-pair[ci]'"
        return ImageDifference(words=words)
    # Only images of other bytes pay for what looks at pixels.
    from PIL import Image, UnidentifiedImageError
    from pixelmatch import pixelmatch

    try:
        before, after = (Image.open(io.BytesIO(one)).convert("RGBA") for one in (expected, actual))
    except UnidentifiedImageError:
        return ImageDifference(words="its bytes differ, and they are no image")
    if before.size != after.size:
        sizes = ["{} x {}".format(*image.size) for image in (before, after)]
        return ImageDifference(words=f"it was {sizes[0]} pixels and is {sizes[1]}")
    old, new = before.tobytes(), after.tobytes()
    drawn: Any = bytearray(len(old))
    pixels = before.width * before.height
    count = 0 if old == new else pixelmatch(old, new, *before.size, drawn, threshold=SHARPNESS)
    if count <= tolerance * pixels:
        return None
    file = io.BytesIO()
    Image.frombytes("RGBA", before.size, bytes(drawn)).save(file, "PNG")
    words = f"{count} of {pixels} pixels differ ({count / pixels:.2%}), over {tolerance:.2%}"
    return ImageDifference(words=words, diff=file.getvalue())


def find_faults(
    key: SnapshotKey, stored: Images, given: Images, tolerance: float, folder: Path | None
) -> list[str]:
    """Return what differs, an image a line; with a folder, what was expected and came is there."""
    place = folder and SnapshotStore(folder).path_of(key).with_suffix("")
    faults: list[str] = []
    for name in sorted({*stored, *given}):
        if name not in given or name not in stored:
            faults.append(f"image {name} {'is gone' if name in stored else 'is not stored yet'}")
            continue
        found = compare_images(stored[name], given[name], tolerance=tolerance)
        if found is not None:
            faults.append(f"image {name}: {found.words}{f'; see {place}' if place else ''}")
            if place is not None:
                place.mkdir(parents=True, exist_ok=True)
                put_whole(place / f"expected.{name}", stored[name])
                put_whole(place / f"actual.{name}", given[name])
                if found.diff:
                    put_whole(place / f"diff.{Path(name).stem}.png", found.diff)
    return faults
