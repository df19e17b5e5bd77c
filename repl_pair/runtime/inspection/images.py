"""What of a value can be shown as an image: encoded bytes, a picture of PIL, a matplotlib figure.

A figure is drawn from a copy, made while each part of it is looked at: what is not all of
installed packages is not drawn, for it would run.
"""

import base64
import copyreg
import io
import os
import pickle
import stat
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

from repl_pair.runtime.capture.capture import capture
from repl_pair.runtime.reading.stored import stored_fields
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_genuine,
    is_installed,
    is_of,
    module_of,
    name_of,
    qualname_of,
    real_class,
    space_of,
)

MOST_BYTES = 1_000_000
"""Of an image as encoded."""
_MOST_COPIED = 8_000_000
"""Bytes of a figure that is drawn; a longer one would hold the person's cells."""
_MOST_PIXELS, _LONGEST_SIDE, _DPI = 40_000_000, 1200, 100
_HEADS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_COPYING = frozenset(
    {"__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs__"}
    | {"__getnewargs_ex__", "__class__"}
)
_HEAP_TYPE = 1 << 9
_FLAGS = type.__dict__["__flags__"].__get__
_NO_IMAGE = "It holds code or objects of the person's classes, so it is not drawn here."


class Image(NamedTuple):
    """An image as encoded, or why there is none."""

    mime: str = ""
    data: str = ""
    why_not: str = ""


class _Unsafe(Exception):
    """Raised at a part of a figure that may have code of the person's, or is too large."""


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
    except _Unsafe as unsafe:
        return Image(why_not=str(unsafe))
    except Exception as error:  # noqa: BLE001  the libraries' code ran over what may be anything
        return Image(why_not=f"It could not be drawn: {name_of(real_class(error))}.")
    if data is None:
        return None
    mime = next((mime for head, mime in _HEADS.items() if data.startswith(head)), "")
    if not mime:
        return None
    if len(data) > MOST_BYTES:
        return Image(
            why_not=f"An image of {len(data):,} bytes is over the limit of {MOST_BYTES:,}."
        )
    if NEEDLES.find(data.decode("latin-1")):
        return None
    return Image(mime, base64.b64encode(data).decode())


def _maker_of(value: Any) -> Callable[[Any], bytes | None] | None:
    cls = real_class(value)
    if cls is bytes:
        return _head_of
    if is_genuine(cls, "IPython") and name_of(cls) == "Image":
        return lambda value: _head_of(stored_fields(value).get("data"))
    if is_genuine(cls, "PIL") and is_of(value, *_classes("PIL.Image", "Image")):
        return _encode_picture
    if is_genuine(cls, "matplotlib"):
        figures = _classes("matplotlib.figure", "Figure")
        return _draw if is_of(value, *figures, *_classes("matplotlib.axes", "Axes")) else None
    return None


def _classes(module: str, name: str) -> list[type[Any]]:
    found: Any = getattr(sys.modules.get(module), name, None)
    return [] if found is None else [found]


def _head_of(data: Any) -> bytes | None:
    """Return bytes that begin like an image, up to one byte more than the limit."""
    is_image = type(data) is bytes and any(map(data.startswith, _HEADS))
    return data if is_image else None


# --- PIL


def _encode_picture(picture: Any) -> bytes | None:
    """Return a picture as PNG, made smaller where it is large; of a file not loaded yet, the file.

    What PIL's own methods would do with the person's picture, such as load it, is not done.
    """
    stored = stored_fields(picture)
    core = stored.get("_im", stored.get("im"))
    if core is None:
        return _file_behind(stored.get("fp"))
    if name_of(real_class(core)) != "ImagingCore" or core.size[0] * core.size[1] > _MOST_PIXELS:
        raise _Unsafe(f"A picture of over {_MOST_PIXELS:,} pixels is not shown.")
    modes = {"1": "L", "L": "L", "LA": "RGBA", "PA": "RGBA", "RGBA": "RGBA"}
    module: Any = sys.modules["PIL.Image"]
    shown = module.Image()._new(core.convert(modes.get(core.mode, "RGB"), 0))
    shown.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
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
    return _head_of(os.pread(fd, MOST_BYTES + 1, 0)) if is_file and hasattr(os, "pread") else None


# --- matplotlib


def _draw(value: Any) -> bytes | None:
    """Return a figure, or the one that axes are in, as PNG, drawn from a copy of its parts."""
    (kind,), stored = _classes("matplotlib.figure", "Figure"), stored_fields(value)
    figure = value if real_class(value) is kind else None
    for name in () if figure is not None else ("_parent_figure", "figure"):
        figure = stored[name] if real_class(stored.get(name)) is kind else figure
    if figure is None:
        raise _Unsafe(_NO_IMAGE)
    copied = _copy(figure, kind)
    texts = [part.get_text() for part in copied.findobj(_has_text)]
    if NEEDLES.find("\n".join(texts)):
        raise _Unsafe("A secret stands in a text of the figure.")
    width, height = copied.get_size_inches()
    copied.set_dpi(min(_DPI, _LONGEST_SIDE / max(width, height)))
    out = io.BytesIO()
    copied.canvas.print_png(out)
    return out.getvalue()


def _has_text(part: Any) -> bool:
    return hasattr(part, "get_text")


def _copy(figure: Any, kind: Any) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # the person imported matplotlib

    state = {name: part for name, part in stored_fields(figure).items() if name != "canvas"}
    _check_names(state)
    written, copied = _Bounded(), kind.__new__(kind)
    _Copier(written, figure).dump(state)
    written.seek(0)
    reader = pickle.Unpickler(written)
    reader.persistent_load = lambda pid, /: copied
    copied.__dict__.update(reader.load())
    FigureCanvasAgg(copied)
    return copied


class _Bounded(io.BytesIO):
    def write(self, data: Any, /) -> int:
        """Write within the bound."""
        if self.tell() > _MOST_COPIED:
            raise _Unsafe(f"A figure of over {_MOST_COPIED:,} bytes is not drawn here.")
        return super().write(data)


class _Copier(pickle.Pickler):
    """Copies all parts of a figure, each looked at before any code of its class could run."""

    def __init__(self, file: Any, figure: Any) -> None:
        super().__init__(file, protocol=5)
        self._figure = figure
        self.dispatch_table = {
            cls: reduce for cls, reduce in copyreg.dispatch_table.items() if _is_of_library(reduce)
        }

    def persistent_id(self, obj: Any) -> str | None:
        """Name the figure itself, so that it is not copied by its own code."""
        return "figure" if obj is self._figure else None

    def reducer_override(self, obj: Any) -> Any:
        """Let a part be copied; _Unsafe for one that is not all of installed packages."""
        is_code = is_exactly(obj, FunctionType, BuiltinFunctionType) or is_of(obj, type)
        if not _is_librarys(obj if is_code else real_class(obj)):
            raise _Unsafe(_NO_IMAGE)
        if not is_code:
            _check_names(stored_fields(obj))
        return NotImplemented


def _check_names(stored: dict[Any, Any]) -> None:
    """Refuse what an instance has in the place of what its class does when it is copied."""
    if any(type(name) is not str or name in _COPYING for name in stored):
        raise _Unsafe(_NO_IMAGE)


def _is_librarys(code: Any) -> bool:
    """Return whether a class or function stands under its name in a module that is installed."""
    is_class = is_of(code, type)
    if is_exactly(code, BuiltinFunctionType) or (is_class and not _FLAGS(code) & _HEAP_TYPE):
        return True  # both are C code's
    if not is_class and not is_exactly(code, FunctionType):
        return False
    module = module_of(code) if is_class else code.__module__
    if is_class and not module:  # that of functions of Cython names no module as its own
        homes = [vars(home) for name, home in [*sys.modules.items()] if name[:8] == "_cython_"]
        return any(space.get(name_of(code)) is code for space in homes)
    if type(module) is not str or not is_installed(module.partition(".")[0]):
        return False
    found: Any = sys.modules.get(module)
    for name in (qualname_of(code) if is_class else code.__qualname__).split("."):
        inside = space_of(found) if is_of(found, type) else stored_fields(found)
        found = inside.get(name)
    return found is code


def _is_of_library(reduce: Any) -> bool:
    """Return whether a function that copies instances is an installed module's, named or not."""
    if not is_exactly(reduce, FunctionType):
        return _is_librarys(reduce)
    module = reduce.__module__
    home = sys.modules.get(module) if type(module) is str else None
    is_its = home is not None and reduce.__globals__ is vars(home)
    return is_its and is_installed(module.partition(".")[0])
