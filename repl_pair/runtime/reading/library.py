"""Readers for values of the standard library, numpy and pandas, found through `sys.modules`."""

import builtins
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from repl_pair.runtime.values.classes import name_of, real_class, root_of
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.leaves import LEAVES
from repl_pair.runtime.values.marks import is_secret_key

HEAD_ROWS, HEAD_COLUMNS = 10, 50
Reader = Callable[[Any], Any]


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


def read_exception(error: Any) -> dict[str, Any]:
    """Return type and message; what is not text or a number in the message by its type only."""
    cls: Any = real_class(error)
    args: tuple[Any, ...] = vars(BaseException)["args"].__get__(error)
    texts = (str(arg) if _is_plain(arg) else f"<{name_of(real_class(arg))}>" for arg in args)
    message = ", ".join(texts)
    if vars(builtins).get(name_of(cls)) is cls and all(_is_plain(arg) for arg in args):
        named = issubclass(cls, OSError) and not _is_plain(vars(OSError)["filename"].__get__(error))
        message = message if named else cls.__str__(error)
    return {"type": name_of(cls), "message": message}


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (str, int, float, bytes, bool)


def _text_of_exactly(value: Any) -> str:
    cls: Any = real_class(value)
    genuine = vars(sys.modules[root_of(cls)]).get(name_of(cls)) is cls
    return cls.__str__(value) if genuine else f"<{name_of(cls)}>"


def _read_scalar(value: Any) -> Any:
    plain = sys.modules["numpy"].generic.item(value)
    return plain if type(plain) is not type(value) else f"<{name_of(real_class(value))}>"


def _read_array(value: Any) -> dict[str, Any]:
    base = sys.modules["numpy"].ndarray
    plain = base.view(value, base)
    small = plain[:HEAD_ROWS, :HEAD_COLUMNS] if plain.ndim == 2 else plain.flat[:HEAD_ROWS]
    head, names = small.tolist(), plain.dtype.names
    if names and plain.ndim != 2:
        head = [Pairs(list(zip(names, row, strict=True))) for row in head]
    shape = list(plain.shape)
    return {"type": "ndarray", "dtype": str(plain.dtype)[:200], "shape": shape, "head": head}


def _read_frame(value: Any) -> Any:
    if type(value) is not sys.modules["pandas"].DataFrame:
        return f"<{name_of(real_class(value))}>"
    small = value.iloc[:HEAD_ROWS, :HEAD_COLUMNS]
    labels = small.columns.tolist()
    columns = [small.iloc[:, at].tolist() for at in range(len(labels))]
    head = [Pairs(list(zip(labels, row, strict=True))) for row in zip(*columns, strict=True)]
    return {"type": "DataFrame", "shape": list(value.shape), "columns": labels, "head": head}


def _read_series(value: Any) -> Any:
    pandas = sys.modules["pandas"]
    if real_class(value) is not pandas.Series and root_of(real_class(value)) != "pandas":
        return f"<{name_of(real_class(value))}>"
    rows = value if isinstance(value, pandas.Index) else value.iloc
    head: Any = rows[:HEAD_ROWS].tolist()
    if type(value.name) is str and is_secret_key(value.name):
        head = Secret(head)
    kind = name_of(real_class(value))
    out = {"type": kind, "dtype": str(value.dtype)[:200], "shape": [len(value)]}
    return out | ({} if value.name is None else {"name": value.name}) | {"head": head}


_LIBRARY: tuple[tuple[str, str, Reader], ...] = (
    ("builtins", "BaseException", read_exception),
    ("builtins", "range", range.__repr__),
    ("fractions", "Fraction", _text_of_exactly),
    ("array", "array", lambda v: sys.modules["array"].array.tolist(v)),
    ("numpy", "generic", _read_scalar),
    ("numpy", "ndarray", _read_array),
    ("pandas", "DataFrame", _read_frame),
    ("pandas", "Series", _read_series),
    ("pandas", "Index", _read_series),
    ("pandas", "NA", lambda _: "NA"),
)
