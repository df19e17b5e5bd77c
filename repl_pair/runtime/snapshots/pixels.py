"""Compares two images pixel by pixel, with pillow and pixelmatch."""

import io
from typing import Any

from PIL import Image
from pixelmatch import pixelmatch

from repl_pair.runtime.snapshots.records import ImageDifference

SHARPNESS = 0.1
"""How far the colour of a pixel may be off, from 0 to 1, before it counts as another one."""


def compare_pixels(expected: bytes, actual: bytes, *, tolerance: float) -> ImageDifference | None:
    """Return how an image looks different from the one expected, None where it does not.

    `tolerance` is the share of pixels, 0 to 1, that may look different.
    """
    try:
        before, after = (Image.open(io.BytesIO(one)).convert("RGBA") for one in (expected, actual))
    except (OSError, SyntaxError):  # what is cut, or no image at all
        return ImageDifference(words="its bytes differ, and they are not an image")
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
