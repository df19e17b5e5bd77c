"""What of a value can be shown as an image: encoded bytes, pictures of PIL, matplotlib figures."""

import base64
import io
import os
import stat
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from repl_pair.runtime.capture.capture import capture
from repl_pair.runtime.inspection.figures import LONGEST_SIDE, NotDrawn, classes_at, draw_figure
from repl_pair.runtime.reading.stored_fields import stored_fields
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_genuine,
    is_of,
    name_of,
    real_class,
)

MAX_BYTES = 1_000_000
"""Of an image as encoded."""
_MAX_PIXELS = 40_000_000
_HEADS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class Image(NamedTuple):
    """An image as encoded, or why there is none."""

    mime: str = ""
    data: str = ""
    why_not: str = ""


def image_of(value: Any) -> Image | None:
    """Return the image of a value, encoded in base64; None for a value that is none.

    None of the person's code runs, and the value stays as it is. What holds a known secret, as its
    bytes or in a text of a figure, is not shown.
    """
    make = _maker_of(value)
    if make is None:
        return None
    try:
        with capture(exclusive=False):
            data = make(value)
    except NotDrawn as error:
        return Image(why_not=str(error))
    except Exception as error:  # noqa: BLE001  the libraries' code ran over what may be anything
        return Image(why_not=f"It could not be drawn: {name_of(real_class(error))}.")
    if data is None:
        return None
    mime = next((mime for head, mime in _HEADS.items() if data.startswith(head)), "")
    if not mime:
        return None
    if len(data) > MAX_BYTES:
        return Image(why_not=f"An image of {len(data):,} bytes is over the limit of {MAX_BYTES:,}.")
    if NEEDLES.find(data.decode("latin-1")):
        return None
    return Image(mime, base64.b64encode(data).decode())


def _maker_of(value: Any) -> Callable[[Any], bytes | None] | None:
    cls = real_class(value)
    if cls is bytes:
        return _head_of
    if is_genuine(cls, "IPython") and name_of(cls) == "Image":
        return lambda value: _head_of(stored_fields(value).get("data"))
    if is_genuine(cls, "PIL") and is_of(value, *classes_at("PIL.Image", "Image")):
        return _encode_picture
    if is_genuine(cls, "matplotlib"):
        drawn = [*classes_at("matplotlib.figure", "Figure"), *classes_at("matplotlib.axes", "Axes")]
        return draw_figure if is_of(value, *drawn) else None
    return None


def _head_of(data: Any) -> bytes | None:
    """Return bytes that begin like an image, up to one byte more than the limit."""
    is_image = type(data) is bytes and any(map(data.startswith, _HEADS))
    return data if is_image else None


def _encode_picture(picture: Any) -> bytes | None:
    """Return a picture as PNG, made smaller where it is large; of a file not loaded yet, the file.

    What PIL's own methods would do with the person's picture, such as load it, is not done.
    """
    stored = stored_fields(picture)
    core = stored.get("_im", stored.get("im"))
    if core is None:
        return _file_behind(stored.get("fp"))
    if name_of(real_class(core)) != "ImagingCore" or core.size[0] * core.size[1] > _MAX_PIXELS:
        raise NotDrawn(f"A picture of over {_MAX_PIXELS:,} pixels is not shown.")
    modes = {"1": "L", "L": "L", "LA": "RGBA", "PA": "RGBA", "RGBA": "RGBA"}
    module: Any = sys.modules["PIL.Image"]
    shown = module.Image()._new(core.convert(modes.get(core.mode, "RGB"), 0))
    shown.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    out = io.BytesIO()
    shown.save(out, "PNG")
    return out.getvalue()


def _file_behind(file: Any) -> bytes | None:
    """Return the bytes of an open file or buffer, which stays where it is in it."""
    if is_exactly(file, io.BytesIO):
        return _head_of(file.getvalue())
    if not is_exactly(file, io.BufferedReader):
        return None
    fd = file.fileno()
    is_file = stat.S_ISREG(os.fstat(fd).st_mode)
    return _head_of(os.pread(fd, MAX_BYTES + 1, 0)) if is_file and hasattr(os, "pread") else None
