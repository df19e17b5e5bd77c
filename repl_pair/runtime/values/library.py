"""Values of libraries: copied where they are frozen, built from JSON for a hint of their class."""

import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import date
from typing import Any, get_args

from repl_pair.records import row
from repl_pair.runtime.values.build import misfit
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_polars,
    lineage,
    real_class,
    root_of,
)


@row
class _Library:
    """A class of a library: from what its values are built, in words, and how."""

    form: str
    takes: tuple[type, ...]
    build: Callable[[Any, Any, Any], Any] = lambda cls, value, _arm: cls(value)
    copy: Callable[[Any], Any] | None = None
    """Gives a copy of a value that is data; ValueError says why one is none."""


def _array(_cls: Any, value: list[Any], arm: Any) -> Any:
    numpy = sys.modules["numpy"]
    dtype = next((d for part in get_args(arm)[1:] for d in get_args(part)), None)
    wanted = dtype if isinstance(dtype, type) else None
    made = numpy.array(value)
    if made.dtype == object:
        raise ValueError("its items are not numbers or text")
    if wanted is None or issubclass(made.dtype.type, wanted):
        return made
    return made.astype(wanted, casting="same_kind" if made.size else "unsafe")


_READS_SEVERAL = ("getall", "getlist", "get_list")
"""Methods of mappings that hold several values for a key, such as headers and queries of a URL."""
_OF_SEVERAL = frozenset(
    (
        "django",
        "httpx",
        "httpx2",
        "multidict",
        "starlette",
        "tornado",
        "urllib3",
        "webob",
        "werkzeug",
    )
)
"""The packages that have such mappings; elsewhere a method of such a name may do anything."""


def holds_several(value: Mapping[Any, Any]) -> bool:
    """Return whether a mapping has several values for a key, or a class that is for that."""
    cls = real_class(value)
    if _reader_of_several(cls) is None:
        return False
    return any(root_of(base) in _OF_SEVERAL for base in lineage(cls)) or bool(_several(value))


def all_values(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a mapping with a list where a key has several values, of which `[key]` gives one."""
    several = _several(value)
    return {**{key: value[key] for key in value}, **several} if several else value


def _reader_of_several(cls: type[Any]) -> str | None:
    return next((name for name in _READS_SEVERAL if hasattr(cls, name)), None)


def _several(value: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the list of values of each key that has several; none where a key has one each."""
    name = _reader_of_several(real_class(value))
    if name is None:
        return {}
    try:
        found = {key: (value[key], getattr(value, name)(key)) for key in value}
    except Exception:  # noqa: BLE001  such a method of the person's does what it likes
        return {}
    return {key: some for key, (one, some) in found.items() if _are_several(some, one)}


def _are_several(some: Any, one: Any) -> bool:
    """Return whether these are a list of values, of which one is that; no value is asked."""
    if not is_exactly(some, list) or len(some) < 2:
        return False
    return any(
        each is one or (is_exactly(each, str) and is_exactly(one, str) and each == one)
        for each in some
    )


def columns_of(value: Any) -> list[tuple[str, str, list[Any]]]:
    """Return name, dtype and items of each column of a frame of polars, or of its one series."""
    return [(one.name, str(one.dtype), one.to_list()) for one in _columns(value)]


def exact_columns(value: Any) -> list[tuple[str, str, list[Any]]]:
    """Return what `columns_of` returns; moments finer than microseconds with their numbers.

    Python has no such moments: without their numbers two of them would be one.
    """
    named = zip(columns_of(value), _columns(value), strict=True)
    return [
        (name, dtype, list(zip(items, one.to_physical().to_list(), strict=True)))
        if _is_finer(one)
        else (name, dtype, items)
        for (name, dtype, items), one in named
    ]


def has_finer_moments(value: Any) -> bool:
    """Return whether a value is of polars and has moments that Python rounds."""
    return is_polars(value) and any(map(_is_finer, _columns(value)))


def _columns(value: Any) -> list[Any]:
    return value.get_columns() if is_polars(value, "DataFrame") else [value]


_OF_NANOSECONDS = ("Time", "Datetime(time_unit='ns'", "Duration(time_unit='ns'")


def _is_finer(column: Any) -> bool:
    """Return whether a column of polars, or what is in it, has moments that Python rounds."""
    kind = str(column.dtype)
    if kind.startswith("Struct("):
        return any(_is_finer(one) for one in column.struct.unnest().get_columns())
    if kind.startswith(("List(", "Array(")):
        return _is_finer(column.explode())
    if not kind.startswith(_OF_NANOSECONDS):
        return False
    return bool((column.to_physical() % 1000 != 0).any())


def _clone(value: Any) -> Any:
    if any(str(one.dtype) == "Object" for one in _columns(value)):
        raise ValueError("has a column of objects; its cells hold plain data")
    return value.clone()


def _copy_response(value: Any) -> Any:
    try:
        value.content  # noqa: B018  it raises where the body is still to come
    except Exception:  # noqa: BLE001  each library has an error of its own
        raise ValueError("is a response whose body was not read; read it first") from None
    return deepcopy(value)


def _response(cls: Any, value: Mapping[str, Any], _arm: Any) -> Any:
    given = {"status_code": 200, **value}
    if unknown := given.keys() - _OF_RESPONSE:
        raise ValueError(f"{', '.join(sorted(unknown))} is not one of them")
    return cls(**given)


_OF_RESPONSE = {"status_code", "headers", "json", "text", "html"}
_LIST, _MAP = (list, tuple), (dict, Mapping)
_BODY = "a mapping of status_code, headers, and json, text or html"
_LIBRARY: Mapping[tuple[str, str], _Library] = {
    ("numpy", "ndarray"): _Library("a list", _LIST, _array),
    ("numpy", "datetime64"): _Library("ISO text", (str, date)),
    ("pandas", "DataFrame"): _Library("a mapping of columns or a list of rows", (*_LIST, *_MAP)),
    ("pandas", "Series"): _Library("a list or a mapping", (*_LIST, *_MAP)),
    ("pandas", "Index"): _Library("a list", _LIST),
    ("pandas", "Timestamp"): _Library("ISO text", (str, date)),
    ("pandas", "Timedelta"): _Library("text such as '1 day'", (str,)),
    ("polars", "DataFrame"): _Library(
        "a mapping of columns or a list of rows", (*_LIST, *_MAP), copy=_clone
    ),
    ("polars", "Series"): _Library("a list", _LIST, lambda cls, v, _: cls("", v), copy=_clone),
    ("httpx", "Response"): _Library(_BODY, _MAP, _response, copy=_copy_response),
    ("httpx2", "Response"): _Library(_BODY, _MAP, _response, copy=_copy_response),
    ("requests", "Response"): _Library("a ref to a loader", (), copy=_copy_response),
}
_PACKAGES = frozenset(package for package, _ in _LIBRARY)


def copier_of(value: Any) -> Callable[[Any], Any] | None:
    """Return what copies a value of a library that is data and no table of pandas, else None."""
    library = _library_of(real_class(value))
    return None if library is None else library.copy


def library_class(cls: type[Any]) -> bool:
    """Return whether values of a class are built here."""
    return _library_of(cls) is not None


def build_library(value: Any, cls: type[Any], arm: Any, where: str) -> Any:
    """Return plain data as a value of a class that is built here; `cannot_run` where it can't be.

    A value of a library stays what it is.
    """
    if root_of(real_class(value)) in _PACKAGES:
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
    if root_of(cls) in _PACKAGES:
        for (package, name), library in _LIBRARY.items():
            if cls is getattr(sys.modules.get(package), name, None):
                return library
    return None
