"""Readers for values of the standard library and of libraries, found through `sys.modules`."""

import builtins
import re
import sys
from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any, NamedTuple

from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.values.classes import (
    is_genuine,
    is_of,
    is_polars,
    lineage,
    name_of,
    real_class,
    root_of,
    space_of,
)
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.leaves import LEAVES
from repl_pair.runtime.values.library import columns_of
from repl_pair.runtime.values.marks import is_secret_label

HEAD_ROWS, HEAD_COLUMNS = 10, 50
Reader = Callable[[Any], Any]
_TABLES = ("numpy", "pandas")
_WIDTH = re.compile(r"(?<=^[<>|=][SUV])\d+$")


class Pairs(NamedTuple):
    """A mapping as its items, keys not yet text."""

    items: list[tuple[Any, Any]]


def library_readers() -> dict[int, Reader]:
    """Return the readers of leaves and of classes loaded by now, by the id of the class."""
    shown = [(cls, leaf.show) for cls, leaf in LEAVES.items() if leaf.show is not None]
    readers: dict[int, Reader] = {id(cls): show for cls, show in shown}
    for module, name, reader in _LIBRARY:
        found: Any = getattr(sys.modules.get(module), "__dict__", {}).get(name)
        if found is not None:
            readers[id(found if isinstance(found, type) else real_class(found))] = reader
    return readers


def _read_exception(error: Any) -> dict[str, Any]:
    cls: Any = real_class(error)
    args: tuple[Any, ...] = vars(BaseException)["args"].__get__(error)
    texts = (str(arg) if _is_plain(arg) else f"<{name_of(real_class(arg))}>" for arg in args)
    message = ", ".join(texts)
    members = [part for base in lineage(cls) for part in space_of(base).values()]
    held = [part.__get__(error) for part in members if type(part) is MemberDescriptorType]
    if vars(builtins).get(name_of(cls)) is cls and all(map(_is_plain, (*args, *held))):
        message = cls.__str__(error)
    return {"type": name_of(cls), "message": message}


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (str, int, float, bytes, bool)


def _text_of_exactly(value: Any) -> str:
    cls: Any = real_class(value)
    genuine = vars(sys.modules[root_of(cls)]).get(name_of(cls)) is cls
    return cls.__str__(value) if genuine else f"<{name_of(cls)}>"


def _read_scalar(value: Any) -> Any:
    generic = sys.modules["numpy"].generic
    plain: Any = generic.item(value)
    if names := generic.dtype.__get__(value).names:
        return Pairs(list(zip(names, plain, strict=True)))
    return plain if type(plain) is not type(value) else f"<{name_of(real_class(value))}>"


def _read_array(value: Any) -> dict[str, Any]:
    base = sys.modules["numpy"].ndarray
    plain = base.view(value, base)
    names = plain.dtype.names
    is_grid = plain.ndim == 2 and not names
    small = plain[:HEAD_ROWS, :HEAD_COLUMNS] if is_grid else plain.flat[:HEAD_ROWS]
    head = small.tolist()
    if names:
        head = [Pairs(list(zip(names, row, strict=True))) for row in head]
    shape = list(plain.shape)
    return {"type": "ndarray", "dtype": dtype_text(plain.dtype), "shape": shape, "head": head}


def _read_frame(value: Any) -> Any:
    if not is_plain_table(value):
        return f"<{name_of(real_class(value))}>"
    small = value.iloc[:HEAD_ROWS, :HEAD_COLUMNS]
    labels = small.columns.tolist()
    columns = [small.iloc[:, at].tolist() for at in range(len(labels))]
    rows = [Pairs(list(zip(labels, row, strict=True))) for row in zip(*columns, strict=True)]
    head = hide_labelled(rows, small.index)
    return {"type": "DataFrame", "shape": list(value.shape), "columns": labels, "head": head}


def _read_series(value: Any) -> Any:
    if not is_plain_table(value):
        return f"<{name_of(real_class(value))}>"
    rows = value if is_of(value, sys.modules["pandas"].Index) else value.iloc
    small = rows[:HEAD_ROWS]
    head: Any = hide_labelled(small.tolist(), getattr(small, "index", ()))
    if is_secret_label(value.name):
        head = Secret(head)
    kind = name_of(real_class(value))
    out = {"type": kind, "dtype": dtype_text(value.dtype), "shape": [len(value)]}
    return out | ({} if value.name is None else {"name": value.name}) | {"head": head}


def _read_polars(value: Any) -> Any:
    if not is_polars(value):
        return f"<{name_of(real_class(value))}>"
    out: dict[str, Any] = {"type": name_of(real_class(value)), "shape": list(value.shape)}
    small = value.head(HEAD_ROWS)
    if is_polars(value, "Series"):
        head: Any = small.to_list()
        head = Secret(head) if is_secret_label(value.name) else head
        return out | {"dtype": str(value.dtype), "name": value.name, "head": head}
    names = value.columns[:HEAD_COLUMNS]
    rows = [Pairs(list(zip(names, row, strict=False))) for row in small.rows()]
    return out | {"columns": names, "head": rows}


def is_plain_table(value: Any) -> bool:
    """Return whether a value is a frame, series or index all of whose parts are the libraries'.

    What is in its cells and labels may be anything. Of any other table, methods of the person's
    classes would run: of a subclass, of an index or of an array of theirs.
    """
    cls = real_class(value)
    if not is_genuine(cls, "pandas"):
        return False
    pandas = sys.modules["pandas"]
    if is_of(value, pandas.Index):
        return is_genuine(real_class(value.array), *_TABLES)
    if cls is not pandas.DataFrame and cls is not pandas.Series:
        return False
    parts = [*value._mgr.arrays, *value._mgr.axes]
    return all(is_genuine(real_class(part), *_TABLES) for part in parts)


def shape_of_table(value: Any) -> list[int] | None:
    """Return the shape of an array or table, None for what is none or has code of its own."""
    numpy = sys.modules.get("numpy")
    for base in () if numpy is None else (numpy.ndarray, numpy.generic):
        if is_of(value, base):
            return list(base.shape.__get__(value))
    return list(value.shape) if is_plain_table(value) else None


def label_positions(labels: Any, key: Any) -> list[int]:
    """Return where a key stands in the index of a plain table; no label is hashed or compared."""
    if is_genuine(real_class(labels.dtype), "numpy") and labels.dtype.kind in "iufbM":
        if type(key) is not int or labels.dtype.kind not in "iu":
            return []
        return (sys.modules["numpy"].asarray(labels) == key).nonzero()[0].tolist()
    return [at for at, one in enumerate(labels.tolist()) if type(one) is type(key) and one == key]


def dtype_text(dtype: Any) -> str:
    """Return a dtype as text; without the width of texts and bytes, the length of the longest."""
    if names := getattr(dtype, "names", None):
        return ", ".join(f"{name}: {dtype_text(dtype.fields[name][0])}" for name in names)
    return _WIDTH.sub("", str(dtype))


def secret_cells(value: Any, rows: int) -> list[Any]:
    """Return what stands under the names of secrets in the first rows of a plain table."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy and real_class(value) is numpy.ndarray and value.dtype.names:
        names = filter(is_secret_label, value.dtype.names)
        return [cell for name in names for cell in value[name].ravel()[:rows].tolist()]
    if is_polars(value):
        columns = columns_of(value.head(rows))
        return [cell for name, _, items in columns if is_secret_label(name) for cell in items]
    if not is_plain_table(value) or (pandas and is_of(value, pandas.Index)):
        return []
    first = value.iloc[:rows]
    labels: list[Any] = first.index.tolist()
    labelled = [at for at, label in enumerate(labels) if is_secret_label(label)]
    named: list[Any] = labels if any(map(is_secret_label, first.index.names)) else []
    if pandas and real_class(value) is pandas.Series:
        cells = first.tolist()
        return named + (cells if is_secret_label(value.name) else [cells[at] for at in labelled])
    names = enumerate(first.columns.tolist())
    columns = [first.iloc[:, at].tolist() for at, label in names if is_secret_label(label)]
    rows_of = [first.iloc[at].tolist() for at in labelled]
    return [cell for cells in (named, *columns, *rows_of) for cell in cells]


def hide_labelled(items: list[Any], labels: Any) -> list[Any]:
    """Return the items or rows of a table, as Secrets where a label is the name of one."""
    names: list[Any] = labels.tolist() if len(labels) else []
    if not any(map(is_secret_label, names)):
        return items
    pairs = zip(names, items, strict=True)
    return [Secret(item) if is_secret_label(name) else item for name, item in pairs]


def _read_cookie(cookie: Any) -> Pairs:
    stored = (read_fields(cookie, private=True) or ({}, []))[0]
    name, value = (stored.get(f"_{slot}", stored.get(slot)) for slot in ("key", "value"))
    return Pairs([("name", name or stored.get("name")), ("value", Secret(value))])


_LIBRARY: tuple[tuple[str, str, Reader], ...] = (
    ("builtins", "BaseException", _read_exception),
    ("builtins", "range", range.__repr__),
    ("http.cookies", "Morsel", _read_cookie),
    ("http.cookiejar", "Cookie", _read_cookie),
    ("fractions", "Fraction", _text_of_exactly),
    ("array", "array", lambda v: sys.modules["array"].array.tolist(v)),
    ("numpy", "generic", _read_scalar),
    ("numpy", "ndarray", _read_array),
    ("pandas", "DataFrame", _read_frame),
    ("pandas", "Series", _read_series),
    ("pandas", "Index", _read_series),
    ("pandas", "NA", lambda _: "NA"),
    ("polars", "DataFrame", _read_polars),
    ("polars", "Series", _read_polars),
)
