"""Values of numpy and pandas built from JSON where a hint names their class."""

import sys
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, get_args

from repl_pair.records import row
from repl_pair.runtime.values.build import misfit
from repl_pair.runtime.values.classes import real_class


@row
class _Library:
    """A class of a library: from what its values are built, in words, and how."""

    form: str
    takes: tuple[type, ...]
    build: Callable[[Any, Any, Any], Any] = lambda cls, value, _arm: cls(value)


def _array(_cls: Any, value: list[Any], arm: Any) -> Any:
    numpy = sys.modules["numpy"]
    dtype = next((d for part in get_args(arm)[1:] for d in get_args(part)), None)
    wanted = dtype if isinstance(dtype, type) else None
    made = numpy.array(value)
    if made.dtype == object:
        raise ValueError("its items are no numbers or text")
    if wanted is None or issubclass(made.dtype.type, wanted):
        return made
    return made.astype(wanted, casting="same_kind" if made.size else "unsafe")


_LIST, _MAP = (list, tuple), (dict, Mapping)
_LIBRARY: Mapping[tuple[str, str], _Library] = {
    ("numpy", "ndarray"): _Library("a list", _LIST, _array),
    ("numpy", "datetime64"): _Library("ISO text", (str, date)),
    ("pandas", "DataFrame"): _Library("a mapping of columns or a list of rows", (*_LIST, *_MAP)),
    ("pandas", "Series"): _Library("a list or a mapping", (*_LIST, *_MAP)),
    ("pandas", "Index"): _Library("a list", _LIST),
    ("pandas", "Timestamp"): _Library("ISO text", (str, date)),
    ("pandas", "Timedelta"): _Library("text such as '1 day'", (str,)),
}


def library_class(cls: type[Any]) -> bool:
    """Return whether values of a class are built here."""
    return _library_of(cls) is not None


def build_library(value: Any, cls: type[Any], arm: Any, where: str) -> Any:
    """Return plain data as a value of a class that is built here; `cannot_run` where it can't be.

    A value of a library stays what it is.
    """
    if real_class(value).__module__.partition(".")[0] in ("numpy", "pandas"):
        return value
    library = _library_of(cls)
    assert library is not None, cls
    why = ""
    if isinstance(value, library.takes):
        try:
            return library.build(cls, value, arm)
        except Exception as error:  # noqa: BLE001  libraries raise what they like
            why = f": {type(error).__name__}"
    raise misfit(where, f"{cls.__qualname__} as {library.form}{why}", value)


def _library_of(cls: type[Any]) -> _Library | None:
    for (package, name), library in _LIBRARY.items():
        if cls is getattr(sys.modules.get(package), name, None):
            return library
    return None
