"""One step of a path that an agent may take: stored data only, and none of the person's code runs.

Everything is asked of the interpreter's own descriptors, never of the object or its class, which
may lie. What is closed and what does not exist read the same.
"""

import inspect
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Sequence
from enum import Enum
from gc import get_referents
from itertools import islice
from typing import Any, cast

from repl_pair.runtime.reading.closed_values import is_closed, kind_of
from repl_pair.runtime.reading.fields import (
    dict_reader,
    keys_are,
    read_fields,
    read_items,
    steady,
)
from repl_pair.runtime.reading.steps import PathMiss
from repl_pair.runtime.reading.table_parts import (
    MISSING as _MISSING,
    labels_beside,
    read_part,
    why_missing,
)
from repl_pair.runtime.reading.tables import column_names
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_of,
    lineage,
    real_class,
    space_of,
)
from repl_pair.runtime.values.marks import NAME_SLOTS, announcing
from repl_pair.runtime.values.paths import Cut, Key, format_part, position_of, whole_slice

_NAMES_LIMIT = 1000

_TUPLE_FIELD = real_class(inspect.FullArgSpec.__dict__["args"])
_PLAIN_DICT: Any = dict
_get, _keys, _items = _PLAIN_DICT.get, _PLAIN_DICT.__iter__, _PLAIN_DICT.items


def _ids(*classes: Any) -> frozenset[int]:
    return frozenset(map(id, classes))


_DICTS = _ids(dict, OrderedDict, defaultdict, Counter)
_TUPLE = _ids(tuple)
_LISTS: dict[int, Any] = {id(cls): cls for cls in (list, tuple, deque, range)}
MAX_SLICED = 100_000
"""Parts of a list that one slice reads."""


def read_field(value: Any, key: Key | Cut) -> Any:
    """Read a mapping key, column, stored field, index or slice; PathMiss where there is none.

    Descriptors, properties, `__getattr__`, class attributes, names with an underscore, overridden
    lookups, and whatever `is_closed` do not exist.
    """
    if not is_closed(value) and type(key) in (str, int, tuple):
        found = _read(value, key)
        if found is not _MISSING and not is_closed(found):
            return found
    raise PathMiss(key, _open_names(value), why_missing(value))


def read_code(value: Any, key: Key | Cut) -> Any:
    """Read a function, class or module that is stored at a key; MISSING where there is none.

    It is for the end of a path: nothing behind it is open.
    """
    if is_closed(value) or type(key) not in (str, int):
        return _MISSING
    found = _read(value, key)
    return _MISSING if kind_of(real_class(found)) == "data" else found


def names_beside(value: Any, key: Key | Cut) -> list[Any]:
    """Return the names of the part at a key that are not the key: labels, the name of a pair.

    In a list, what announces it: the option before a value, the first line of a private key.
    """
    if names := labels_beside(value, key):
        return names
    if is_exactly(value, list, tuple, deque):
        row = cast("Sequence[Any]", value)
        return [row[0]] if type(value) is tuple and len(row) == 2 else _announced(row, key)
    name = _field_at(value, key)
    found = [name] if name != key else []
    if name == "value":
        is_dict = type(value) is dict
        fields = cast("dict[Any, Any]", value if is_dict else (read_fields(value) or ({},))[0])
        found += [_find(fields, slot) for slot in NAME_SLOTS]
    return found


def _announced(row: Sequence[Any], key: Key | Cut) -> list[Any]:
    """Return what announces the item at a position of a list, or the first one of a slice.

    A slice in another order may have an item without what stands before it: there, of every one.
    """
    every, at, part = range(len(row)), position_of(key), whole_slice(key)
    places = every[part] if part is not None else every[:0] if at is None else every[at:][:1]
    return announcing(row, places[:1] if places.step == 1 else places[:MAX_SLICED])


def _field_at(value: Any, key: Key | Cut) -> Any:
    """Return the name of the field at a position of a named tuple, or the key."""
    names = read_items(value)[1] if _plain_base(value, _TUPLE, ()) else ()
    at = position_of(key)
    return key if at is None or not -len(names) <= at < len(names) else names[at]


def _read(value: Any, key: Key | Cut) -> Any:
    for read in (_read_dict, read_part, _read_stored, _read_position):
        found = read(value, key)
        if found is not _MISSING:
            return found
    return _MISSING


def _read_dict(value: Any, key: Key | Cut) -> Any:
    items = _dict_behind(value)
    if items is None or isinstance(key, tuple) or (isinstance(key, str) and key.startswith("__")):
        return _MISSING
    found = _find(items, key)
    if found is _MISSING:
        same = (part for name, part in _first_items(items) if _member_name(name) == key)
        return next(same, _MISSING)
    return found


def _find(items: dict[Any, Any], key: Key) -> Any:
    """Look a key up; keys of other classes, which have code of their own, are not compared."""
    if keys_are(str, items) or keys_are(int, items):
        return _get(items, key, _MISSING)
    same = (k for k in steady(lambda: list(_keys(items))) if type(k) is type(key) and k == key)
    found = next(same, _MISSING)
    if found is _MISSING:
        return _MISSING
    parts = steady(lambda: [part for name, part in _items(items) if name is found])
    return parts[0] if parts else _MISSING


def _first_items(items: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return steady(lambda: list(islice(_items(items), _NAMES_LIMIT)))


def _dict_behind(value: Any) -> Any:
    if type(value) is types.MappingProxyType:
        inner = get_referents(value)[0]
        return None if is_closed(inner) else _dict_behind(inner)
    plain = _plain_base(value, _DICTS, ("__getitem__", "__missing__"))
    return None if plain is None else value


def _plain_base(value: Any, known: Iterable[int], lookups: tuple[str, ...]) -> Any:
    """Return the known base class of a value unless a class before it has lookups of its own."""
    for base in lineage(real_class(value)):
        if id(base) in known:
            return base
        if any(name in space_of(base) for name in lookups):
            return None
    return None


def _member_name(key: Any) -> Any:
    name = _find(stored_fields(key), "_name_") if is_of(key, Enum) else None
    return name if type(name) is str else None


def _read_stored(value: Any, key: Key | Cut) -> Any:
    if type(key) is not str or key.startswith("_"):
        return _MISSING
    found = _find(stored_fields(value), key)
    return _read_slot(value, key) if found is _MISSING else found


def stored_fields(value: Any) -> dict[Any, Any]:
    """Return the instance's own dict, without asking a class that defines `__dict__` itself."""
    read = dict_reader(real_class(value))
    found: Any = None if read is None else read(value)
    # The person may have put a dict of a class of their own there.
    return found if real_class(found) is dict else {}


def _read_slot(value: Any, key: str) -> Any:
    cls = real_class(value)
    for base in lineage(cls):
        names = space_of(base)
        slot = names.get(key)
        try:
            if type(slot) is types.MemberDescriptorType and "__slots__" in names:
                return types.MemberDescriptorType.__get__(slot, value, cls)
            if type(slot) is _TUPLE_FIELD:
                return _TUPLE_FIELD.__get__(slot, value, cls)
        except (AttributeError, TypeError):
            return _MISSING
        if slot is not None:
            return _MISSING
    return _MISSING


def _read_position(value: Any, key: Key | Cut) -> Any:
    cut = whole_slice(key)
    if cut is not None and is_exactly(value, list, tuple, deque):
        if len(range(*cut.indices(len(value)))) > MAX_SLICED:
            raise PathMiss(format_part(cut), reason=f"at most {MAX_SLICED:,} parts at a time")
        items = cast("list[Any]", value)
        return items[cut] if type(value) is not deque else steady(lambda: list(items))[cut]
    base, at = _plain_base(value, _LISTS, ("__getitem__",)), position_of(key)
    if base is None or at is None:
        return _MISSING
    try:
        return base.__getitem__(value, at)
    except (IndexError, OverflowError):  # of a deque
        return _MISSING


def _open_names(value: Any) -> list[str]:
    if is_closed(value):
        return []
    stores: Any = ((_dict_behind(value) or {}, "__"), (stored_fields(value), "_"))
    parts = [
        (name, part)
        for items, closed in stores
        for name, part in _first_items(items)
        if type(name) is str and not name.startswith(closed)
    ]
    slots = [n for base in lineage(real_class(value)) for n in islice(space_of(base), _NAMES_LIMIT)]
    parts += [(name, _read_slot(value, name)) for name in slots if name[:1] != "_"]
    names = [name for name in (*slots, *column_names(value)[:_NAMES_LIMIT]) if type(name) is str]
    parts += [(name, read_part(value, name)) for name in names]
    return [name for name, part in parts if part is not _MISSING and not is_closed(part)]
