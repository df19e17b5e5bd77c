"""What values are made of: a tag for the form, then a fixed number of plainer values."""

import sys
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from math import nan
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeAlias

from repl_pair.runtime.values import frozen
from repl_pair.runtime.values.build import name_of_member
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_of,
    kind_of,
    lineage,
    per_class,
    qualname_of,
    real_class,
    root_of,
    space_of,
)
from repl_pair.runtime.values.leaf import Made
from repl_pair.runtime.values.leaves import LEAVES, MOMENT, leaf_of
from repl_pair.runtime.values.library import exact_columns
from repl_pair.runtime.values.marks import parts_of_label

Parts: TypeAlias = tuple[Any, ...]
_NO_DATA = (type(None), FunctionType, MethodType, BuiltinFunctionType)


def parts_by_base_class(value: object) -> Made | None:
    """Return what a value is made of whose class stands in no table; None for what is no data."""
    kind = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        return _RECORD
    if isinstance(value, Enum):
        return _MEMBER
    if leaf := leaf_of(kind):
        return leaf.made_of
    is_named = tuple in kind.__mro__ and hasattr(kind, "_asdict")
    return _NAMED if is_named else None


def judged_name(key: Any) -> str:
    """Return by which words a key may name a secret: of a member its name, of parts those of each.

    No words for what is no text and holds none.
    """
    if type(key) is str:
        return key
    if is_exactly(key, frozen.EnumMember):
        return key.name
    # A class of members may define `name`, but not this.
    name = object.__getattribute__(key, "_name_") if is_of(key, Enum) else None
    if type(name) is str:
        return name
    if (parts := parts_of_label(key)) is not None:
        words = map(judged_name, parts)
        return " ".join(words if is_of(key, tuple) else sorted(words))
    if is_of(key, bytes):
        return bytes.decode(key, "latin-1")
    return str.__str__(key) if is_of(key, str) else ""


def _dataclass(value: Any) -> Parts:
    unset = object()
    members = {field.name: getattr(value, field.name, unset) for field in fields(value)}
    present = {name: member for name, member in members.items() if member is not unset}
    return type(value).__qualname__, present


def _model(value: Any) -> Parts:
    kind, held = value.__class__, value.__dict__
    declared: dict[str, Any] = {name: held[name] for name in kind.model_fields if name in held}
    extra: dict[str, Any] = value.model_extra or {}
    return kind.__qualname__, declared | extra


def elements(value: Any) -> Any:
    """Return the elements in C order as one buffer, a view where that is possible."""
    flat = (value if value.flags.c_contiguous else value.copy(order="C")).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if flat.dtype.kind == "f" and (odd := flat != flat).any():
        flat = flat.copy()
        flat[odd] = nan
    return flat.view("u1") if flat.nbytes else b""


def _index(value: Any) -> Parts:
    levels = range(value.nlevels)
    return list(value.names), [value.get_level_values(level).array for level in levels]


def added_fields(table: Any) -> dict[str, Any]:
    """Return what an array, frame or series holds beside its items and labels, by name.

    Of arrays that are the fields of a class that is not of numpy; of pandas `attrs`, what a class
    names in `_metadata`, and the `crs` that columns of geopandas have. A function is no data.
    """
    kind, cls = kind_of(table), real_class(table)
    found: dict[str, Any] = {}
    if kind == "array" and root_of(cls) != "numpy":
        found = _own_fields(table)
    if kind in ("frame", "series"):
        found = {"attrs": table.attrs or None, "crs": _places(table)}
        names = [name for name in cls._metadata if name not in ("name", "_name")]
        found |= {name: getattr(table, name, None) for name in names}
    return {name: part for name, part in found.items() if not is_exactly(part, *_NO_DATA)}


def _own_fields(array: Any) -> dict[str, Any]:
    """Return the fields of an array but those that numpy keeps, and what its class computes."""
    cls, ndarray = real_class(array), sys.modules["numpy"].ndarray
    of_numpy = ndarray.view(ndarray.view(array, ndarray), _numpy_class(cls))
    left_out = getattr(of_numpy, "__dict__", {}).keys() | _computed_names(cls)
    fields: dict[str, Any] = getattr(array, "__dict__", {})
    return {name: part for name, part in fields.items() if name not in left_out}


@per_class
def _computed_names(cls: type[Any]) -> frozenset[str]:
    """Name what a class computes and a field then stands for: what a cached property gives."""
    names = {name: one for base in reversed(lineage(cls)) for name, one in space_of(base).items()}
    kinds = {name: real_class(one) for name, one in names.items()}
    gives_way = [n for n, k in kinds.items() if hasattr(k, "__get__") and not hasattr(k, "__set__")]
    return frozenset(gives_way)


def columns_where(table: Any, is_wanted: Callable[[Any], bool]) -> list[Any]:
    """Return the columns of a frame, or the one of another table, whose dtype is wanted.

    A series is made of those alone: making one of each of many columns takes long.
    """
    is_frame = kind_of(table) == "frame"
    dtypes = table.dtypes if is_frame else [table.dtype]
    found = [at for at, dtype in enumerate(dtypes) if is_wanted(dtype)]
    return [table.iloc[:, at] if is_frame else table for at in found]


def _places(table: Any) -> list[Any] | None:
    """Return the `crs` of each column of geopandas, None where there is none."""
    cls = getattr(sys.modules.get("geopandas.array"), "GeometryDtype", None)
    if cls is None:
        return None
    crs = [column.array.crs for column in columns_where(table, lambda d: real_class(d) is cls)]
    return None if all(one is None for one in crs) else crs


def plain_array(array: Any) -> Any:
    """Return an array as one of numpy: one of another class may refuse to give its items."""
    base = _numpy_class(real_class(array))
    return array if base is real_class(array) else base.view(array, base)


def _numpy_class(cls: type[Any]) -> Any:
    return next(base for base in lineage(cls) if root_of(base) == "numpy")


def _more(table: Any) -> Parts:
    """Return what makes a table another one than that of pandas with the same cells."""
    cls, added = real_class(table), added_fields(table)
    return (qualname_of(cls), added) if added or root_of(cls) != "pandas" else ()


def response_parts(value: Any) -> Parts:
    """Return the status, URL, headers and content of a response of a library; None for no URL."""
    pairs: Any = getattr(value.headers, "multi_items", value.headers.items)()
    headers = sorted((name.lower(), text) for name, text in pairs)
    url = None if getattr(value, "_request", value) is None else str(value.url)
    return value.status_code, url, headers, value.content


_RECORD: Made = (b"record", _dataclass)
_SCALAR: Made = (b"scalar", lambda value: (type(value).__name__, str(value)))
_MEMBER: Made = (b"member", lambda value: (type(value).__qualname__, name_of_member(value)))
_NAMED: Made = (b"named", lambda value: (type(value).__qualname__, value._asdict()))

MADE_OF: dict[type, Made] = {
    **{cls: leaf.made_of for cls, leaf in LEAVES.items() if leaf.made_of is not None},
    frozen.Record: (b"record", lambda node: (node.type.qualname, node.fields)),
    frozen.EnumMember: (b"member", lambda node: (node.type.qualname, node.name)),
    frozen.Ref: (b"ref", lambda node: (node.loader, node.kwargs)),
}
"""By the very class."""

FOREIGN_MADE_OF: dict[str, Made] = {
    "numpy.generic": (b"element", lambda value: (value.flatten(),)),
    "pandas.DataFrame": (
        b"frame",
        lambda v: (v.columns, v.index, [column.array for _, column in v.items()], *_more(v)),
    ),
    "pandas.Series": (b"series", lambda v: (v.name, v.index, v.array, *_more(v))),
    "pandas.Index": (b"index", _index),
    "pandas.Categorical": (
        b"categories",
        lambda v: (str(v.dtype), v.ordered, v.categories, v.codes),
    ),
    "pandas.NumpyExtensionArray": (b"column", lambda v: (str(v.dtype), v.to_numpy())),
    "pandas.DatetimeLikeArrayMixin": (b"times", lambda v: (str(v.dtype), v.asi8)),
    "pandas.BaseMaskedArray": (
        b"masked",
        lambda v: (str(v.dtype), v.isna(), v.to_numpy(dtype=v.dtype.numpy_dtype, na_value=0)),
    ),
    "pandas.ExtensionArray": (b"column", lambda v: (str(v.dtype), v.to_numpy(dtype=object))),
    "pandas.Timestamp": MOMENT,
    "pandas.Interval": (b"interval", lambda v: (v.left, v.right, v.closed)),
    "pandas.Period": (b"period", lambda v: (v.ordinal, v.freqstr)),
    "pandas.Timedelta": _SCALAR,
    "pandas.NaTType": _SCALAR,
    "pandas.NAType": _SCALAR,
    "pydantic.BaseModel": (b"record", _model),
    "polars.DataFrame": (b"columns", lambda value: (exact_columns(value),)),
    "polars.Series": (b"column", lambda value: (exact_columns(value),)),
    "httpx.Response": (b"response", response_parts),
    "httpx2.Response": (b"response", response_parts),
    "requests.Response": (b"response", response_parts),
}
"""By package and class of any base: what need not be installed is not imported."""
