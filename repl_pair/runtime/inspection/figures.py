"""Draws a figure of matplotlib from a copy, made while each part of it is looked at.

What is not all of installed packages is not drawn, for it would run.
"""

import copyreg
import io
import pickle
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache, wraps
from types import BuiltinFunctionType, FunctionType
from typing import Any

from repl_pair.runtime.reading.fields import is_static
from repl_pair.runtime.reading.stored_fields import stored_fields
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.renderings import texts_of_figure
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_installed,
    is_of,
    module_of,
    name_of,
    qualname_of,
    real_class,
    space_of,
)

LONGEST_SIDE, _DPI = 1200, 100
"""Of what is drawn, in pixels."""
_MAX_COPIED = 8_000_000
"""Bytes of a figure that is drawn; a longer one would hold the person's cells."""
_COPYING = frozenset(
    {"__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs__"}
    | {"__getnewargs_ex__", "__class__"}
)
_DRAWING = threading.Lock()
"""Figures are drawn one at a time, since what opens fonts is replaced meanwhile."""
_NO_IMAGE = "It holds code or objects of the person's classes, so it is not drawn here."


class NotDrawn(Exception):
    """Raised at a part of a figure that may have code of the person's, or is too large."""


def classes_at(module: str, name: str) -> list[type[Any]]:
    """Return the class of this name where its module is imported, else none."""
    found: Any = getattr(sys.modules.get(module), name, None)
    return [] if found is None else [found]


def draw_figure(value: Any) -> bytes | None:
    """Return a figure, or the one that axes are in, as PNG, drawn from a copy of its parts."""
    (kind,), stored = classes_at("matplotlib.figure", "Figure"), stored_fields(value)
    figure = value if real_class(value) is kind else None
    for name in () if figure is not None else ("_parent_figure", "figure"):
        figure = stored[name] if real_class(stored.get(name)) is kind else figure
    if figure is None:
        raise NotDrawn(_NO_IMAGE)
    copied = _copy(figure, kind)
    if NEEDLES.find(texts_of_figure(copied)):
        raise NotDrawn("A secret stands in a text of the figure.")
    width, height = copied.get_size_inches()
    copied.set_dpi(min(_DPI, LONGEST_SIDE / max(width, height)))
    out = io.BytesIO()
    with _DRAWING, _own_fonts():
        copied.canvas.print_png(out)
    return out.getvalue()


@contextmanager
def _own_fonts() -> Generator[None]:
    """Close the fonts that this thread opens: matplotlib keeps them, by thread, in one cache."""
    fonts: Any = sys.modules["matplotlib.font_manager"]
    shared, here = fonts._get_font, threading.get_ident()
    opened = lru_cache(maxsize=None)(shared.__wrapped__)

    @wraps(shared)
    def get_font(*args: Any, **named: Any) -> Any:
        return (opened if threading.get_ident() == here else shared)(*args, **named)

    get_font.__dict__.update(cache_clear=shared.cache_clear, cache_info=shared.cache_info)
    fonts._get_font = get_font
    try:
        yield
    finally:
        fonts._get_font = shared


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
        if self.tell() > _MAX_COPIED:
            raise NotDrawn(f"A figure of over {_MAX_COPIED:,} bytes is not drawn here.")
        return super().write(data)


class _Copier(pickle.Pickler):
    """Copies all parts of a figure, each looked at before any code of its class could run."""

    def __init__(self, file: Any, figure: Any) -> None:
        super().__init__(file, protocol=5)
        self._figure = figure
        self.dispatch_table = {
            cls: reduce
            for cls, reduce in copyreg.dispatch_table.items()
            if _copies_installed(reduce)
        }

    def persistent_id(self, obj: Any) -> str | None:
        """Name the figure itself, so that it is not copied by its own code."""
        return "figure" if obj is self._figure else None

    def reducer_override(self, obj: Any) -> Any:
        """Let a part be copied; NotDrawn for one that is not all of installed packages."""
        is_code = is_exactly(obj, FunctionType, BuiltinFunctionType) or is_of(obj, type)
        if not _is_installed(obj if is_code else real_class(obj)):
            raise NotDrawn(_NO_IMAGE)
        if not is_code:
            _check_names(stored_fields(obj))
        return NotImplemented


def _check_names(stored: dict[Any, Any]) -> None:
    """Refuse what an instance has in the place of what its class does when it is copied."""
    if any(type(name) is not str or name in _COPYING for name in stored):
        raise NotDrawn(_NO_IMAGE)


def _is_installed(code: Any) -> bool:
    """Return whether a class or function stands under its name in a module that is installed."""
    is_class = is_of(code, type)
    if is_exactly(code, BuiltinFunctionType) or (is_class and is_static(code)):
        return True  # both are C code's
    if not is_class and not is_exactly(code, FunctionType):
        return False
    module = module_of(code) if is_class else code.__module__
    if is_class and not module:  # that of functions of Cython names no module as its own
        homes = [vars(home) for name, home in sys.modules.copy().items() if name[:8] == "_cython_"]
        return any(space.get(name_of(code)) is code for space in homes)
    if type(module) is not str or not is_installed(module.partition(".")[0]):
        return False
    found: Any = sys.modules.get(module)
    for name in (qualname_of(code) if is_class else code.__qualname__).split("."):
        inside = space_of(found) if is_of(found, type) else stored_fields(found)
        found = inside.get(name)
    return found is code


def _copies_installed(reduce: Any) -> bool:
    """Return whether a function that copies instances is an installed module's, named or not."""
    if not is_exactly(reduce, FunctionType):
        return _is_installed(reduce)
    module = reduce.__module__
    home = sys.modules.get(module) if type(module) is str else None
    is_its = home is not None and reduce.__globals__ is vars(home)
    return is_its and is_installed(module.partition(".")[0])
