"""What of the outputs of a run is stored, and how its images differ from those that are."""

import io
import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.capture.bundles import DEFAULT_REPR, leaving_of, texts_of
from repl_pair.runtime.capture.comms import VIEW
from repl_pair.runtime.snapshots.made_up import fix_ids, fix_uuids, hide_addresses
from repl_pair.runtime.snapshots.states import Unstorable
from repl_pair.runtime.snapshots.texts import write_text
from repl_pair.wire import MIME

SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
TEXTS = ("image/svg+xml", "text/markdown", "text/html", "application/json", "text/latex")
"""What is compared of an output, the first that it has; all but SVG only beside a default repr."""
SHARPNESS = 0.1
"""How far the colour of a pixel may be off, from 0 to 1, before it counts as another one."""


def output_texts(outputs: Sequence[Mapping[str, Any]], hide: Callable[[str], str]) -> list[str]:
    """Return a text of each output that is equal in every process: made-up ids are counted.

    `hide` replaces the secrets in data and in what is binary; those of texts stay.
    """
    return [_text_of(leaving_of(bundle), hide) for bundle in outputs]


def _text_of(bundle: Mapping[str, Any], hide: Callable[[str], str]) -> str:
    """Return the first of TEXTS, but its text/plain where that says more than which object it is.

    With neither it is all that is left of the bundle. Unstorable where that was not kept whole.
    """
    (usual,) = texts_of([bundle])
    images = dict.fromkeys(kind for kind in SUFFIXES if kind in bundle)
    if images and _FIGURE.fullmatch(usual):  # it has none where it was left open, or returned
        (usual,) = texts_of([images])
    is_hollow = re.fullmatch(DEFAULT_REPR, usual) or hide_addresses(usual) != usual
    is_hollow = is_hollow or "text/plain" not in bundle
    kinds = TEXTS if is_hollow else TEXTS[:1]
    data = next((bundle[kind] for kind in kinds if bundle.get(kind) is not None), None)
    if data is not None:
        return fix_ids(_whole(data) if isinstance(data, str) else write_text(data, hide=str))
    rest = _rest_of(bundle, hide) if is_hollow else ""
    return fix_uuids(rest) if rest else fix_ids(_whole(usual))


_FIGURE = re.compile(r"<\w+ size \S+x\S+ with \d+ Axes>")
"""The text of a figure of matplotlib."""


def _rest_of(bundle: Mapping[str, Any], hide: Callable[[str], str]) -> str:
    """Return what is no known text of a bundle, each kind with its name; nothing if it has none."""
    kinds = sorted(kind for kind in bundle if kind not in _APART and bundle[kind] is not None)
    return "\n".join(f"{kind}:\n{_write_part(kind, bundle[kind], hide)}" for kind in kinds)


_APART = {"text/plain", *SUFFIXES, VIEW, MIME}
"""What is compared elsewhere, or is made anew by each run."""


def _write_part(kind: str, data: Any, hide: Callable[[str], str]) -> str:
    """Write one kind of a bundle: a text as it is, what is binary by its digest."""
    if not isinstance(data, str):
        return write_text(data, hide=hide)
    _whole(data)
    is_text = kind.startswith("text/") or kind.endswith(("script", "json", "xml"))
    raw = None if is_text else _bytes_of(hide(data))
    return data if raw is None else write_text(raw, hide=hide)


def output_images(outputs: Sequence[Mapping[str, Any]]) -> Mapping[str, bytes]:
    """Return the bitmaps among the outputs by place and kind: `0.png`."""
    return {
        f"{at}.{suffix}": image
        for at, bundle in enumerate(outputs)
        for mime, suffix in SUFFIXES.items()
        if (image := _bytes_of(leaving_of(bundle).get(mime))) is not None
    }


def _whole(data: str) -> str:
    """Return a part of a bundle; Unstorable where a sentence stands in place of what is too large.

    A digest would distinguish it, and confirm guesses of a secret in it.
    """
    if _CUT.fullmatch(data):
        raise Unstorable(f"an output was not kept whole: {data}; show less of it")
    return data


_CUT = re.compile(r"\[.{1,200} (?:is over the limit of \d+|more outputs were not kept)\]")


def _bytes_of(data: Any) -> bytes | None:
    if not isinstance(data, str):
        return None
    try:
        return b64decode("".join(_whole(data).split()), validate=True)
    except Error:
        return None


@record
class ImageDifference:
    """How two images differ; `diff` is a PNG that shows where, if pixels were compared."""

    words: str
    diff: bytes = b""


def compare_images(expected: bytes, actual: bytes, *, tolerance: float) -> ImageDifference | None:
    """Return how an image differs from the one expected, None where it does not.

    `tolerance` is the share of pixels, 0 to 1, that may look different, in each frame; of 16-bit
    images, that may have another value. Pixels are compared where pillow and pixelmatch are
    installed.
    """
    if expected == actual:
        return None
    if find_spec("PIL") is None or find_spec("pixelmatch") is None:
        words = "its bytes differ; to compare its pixels, pip install pillow pixelmatch"
        return ImageDifference(words=words)
    # Only images of other bytes pay for what looks at pixels.
    from PIL import Image

    try:
        before, after = map(_frames, (expected, actual))
    except (OSError, SyntaxError):  # what is cut, or no image at all
        return ImageDifference(words="its bytes differ, and they are not an image")
    if len(before) != len(after):
        return ImageDifference(words=f"it had {len(before)} frames and has {len(after)}")
    was, now = ([frame.info.get("duration") for frame, _ in each] for each in (before, after))
    if was != now:
        return ImageDifference(words=f"its frames stayed for {was} ms and stay for {now}")
    for (was, was_low), (now, now_low) in zip(before, after, strict=True):
        if was.size != now.size:
            sizes = ["{} x {}".format(*frame.size) for frame in (was, now)]
            return ImageDifference(words=f"it was {sizes[0]} pixels and is {sizes[1]}")
        if was.mode != now.mode:
            return ImageDifference(words=f"its pixels were {was.mode} and are {now.mode}")
        is_deep = was.mode != "RGBA" or was != was_low or now != now_low
        pairs = (was, was_low), (now, now_low)
        count, drawn = _values_apart(*pairs) if is_deep else _looks_apart(was, now)
        pixels = was.width * was.height
        if count > tolerance * pixels:
            break
    else:
        return None
    file = io.BytesIO()
    Image.frombytes("L" if is_deep else "RGBA", was.size, bytes(drawn)).save(file, "PNG")
    words = f"{count} of {pixels} pixels differ ({count / pixels:.2%}), over {tolerance:.2%}"
    return ImageDifference(words=words, diff=file.getvalue())


_LOW = {"RGB;16B": "RGB;16L", "RGBA;16B": "RGBA;16L", "LA;16B": "RGBA"}
"""How pillow reads the lower halves of 16-bit colours, which it leaves out, as it names them."""


def _frames(image: bytes) -> Sequence[tuple[Any, Any]]:
    """Return each frame, as RGBA unless it is of deeper greys, and again with the lower halves."""
    from PIL import Image, ImageSequence

    def read(ways: Mapping[str, str]) -> Iterator[Any]:
        frames: Any = ImageSequence.Iterator(Image.open(io.BytesIO(image)))
        for frame in frames:
            if any(str(tile[3]) in ways for tile in frame.tile):
                frame.tile = [(*tile[:3], ways[tile[3]]) for tile in frame.tile]
            # `convert` clips what is above 255.
            yield frame.copy() if frame.mode[0] in "IF" else frame.convert("RGBA")

    return list(zip(read({}), read(_LOW), strict=True))


def _looks_apart(was: Any, now: Any) -> tuple[int, bytearray]:
    """Return how many pixels look different, and a drawing of where."""
    from pixelmatch import pixelmatch

    old, new = was.tobytes(), now.tobytes()
    drawn: Any = bytearray(len(old))
    size: tuple[int, int] = was.size
    count = 0 if old == new else pixelmatch(old, new, *size, drawn, threshold=SHARPNESS)
    return count, drawn


def _values_apart(*pairs: Sequence[Any]) -> tuple[int, bytes]:
    """Return how many pixels of more than 8 bits have another value, and a mask of them."""
    was, now = (zip(*map(_values_of, pair), strict=True) for pair in pairs)
    mask = bytes(255 * (one != other) for one, other in zip(was, now, strict=True))
    return mask.count(255), mask


def _values_of(frame: Any) -> Any:
    raw: Any = memoryview(frame.tobytes())
    return raw.cast(_WORDS[frame.mode[:4]])


_WORDS = {"I;16": "H", "I": "I", "F": "I", "RGBA": "I"}
"""A pixel's value by its mode, as numbers that equal themselves."""
