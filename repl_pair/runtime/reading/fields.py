"""Reads the fields of instances straight from their storage: no property, no `__getattr__`."""

import ctypes
import sys
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from operator import is_not
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple, TypeVar, cast

from repl_pair.runtime.values.classes import (
    lineage,
    per_class,
    real_class,
    root_of,
    space_of,
)
from repl_pair.runtime.values.declared_fields import attrs_fields, names_of_holder, names_sensitive
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.marks import is_secret_key, secret_type

Part = TypeVar("Part")
ReadDict = Callable[[Any], dict[Any, Any]]

MACHINERY = frozenset(
    {"IPython", "ipykernel", "jupyter_client", "zmq", "traitlets", "comm", "debugpy"}
    | {"matplotlib", "repl_pair"}
)
"""Packages whose objects are never opened. Their dataclasses are, on the way out."""
_HEAP_TYPE = 1 << 9
_FLAGS, _HINTS = (type.__dict__[name].__get__ for name in ("__flags__", "__annotations__"))
_dict, _tuple = cast("tuple[Any, Any]", (dict, tuple))
_MODEL_STORES = frozenset({"__pydantic_extra__", "__pydantic_private__"})
MAX_FIELDS = 20_000
"""How many entries of one instance's dict are read; one of more is a container in disguise."""


class Layout(NamedTuple):
    """Where instances of a class keep fields, and which are secret; `names` are a tuple's.

    `slots` have the place of the class in the lineage: the members themselves would keep it alive.
    """

    slots: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = ()
    storage: "ReadDict | None" = None
    sensitive: frozenset[str] = frozenset()
    record: bool = False


class Pairs(NamedTuple):
    """A mapping as its items, keys not yet text."""

    items: list[tuple[Any, Any]]


def read_fields(
    value: Any, *, private: bool = False, records_only: bool = False
) -> tuple[dict[str, Any], list[Any], int] | None:
    """Return an instance's public fields, the secrets in its private ones, and how many were left.

    A field declared with `Sensitive` comes as a Secret. `private` gives all fields. None where the
    class is not one written in Python, keeps no fields, belongs to the kernel's machinery, or,
    with `records_only`, is neither a dataclass nor a SimpleNamespace.
    """
    layout = _layout_of(real_class(value))
    if layout is None or (records_only and not layout.record):
        return None
    fields, left = _stored(value, layout)
    met: list[Any] = []
    if inner := [name for name in fields if name[:1] == "_"]:
        secret = [name for name in inner if is_secret_key(name) or name in layout.sensitive]
        met += [fields[name] for name in secret]
        for name in _MODEL_STORES.intersection(inner):
            more = cast("dict[Any, Any]", fields[name] if real_class(fields[name]) is dict else {})
            met += [item for key, item in more.items() if type(key) is str and is_secret_key(key)]
        for name in () if private else inner:
            del fields[name]
    for name in layout.sensitive:
        if name in fields and type(fields[name]) is not Secret:
            fields[name] = Secret(fields[name])
    return (fields, met, left) if fields or met or layout.record else None


def declares_secret(value: Any, key: Any) -> bool:
    """Return whether an instance's class declares a field as `Sensitive`, or is a secret itself."""
    if secret_type(value):
        return True
    layout = _layout_of(real_class(value))
    if layout is None or not layout.sensitive:
        return False
    names = layout.names
    by_index = {str(at - shift): n for shift in (0, len(names)) for at, n in enumerate(names)}
    word = str(key)
    return word in layout.sensitive or by_index.get(word) in layout.sensitive


def sensitive_fields(cls: Any) -> frozenset[str]:
    """Return the fields that a class declares as `Sensitive`."""
    layout = _layout_of(cls)
    return frozenset() if layout is None else layout.sensitive


def read_items(value: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Return a tuple's items, `Sensitive` ones as Secrets, and their names where it has any."""
    items, layout = list(_tuple.__iter__(value)), _layout_of(real_class(value))
    if layout is None or not layout.names:
        return items, ()
    for at, name in enumerate(layout.names[: len(items)]):
        if name in layout.sensitive:
            items[at] = Secret(items[at])
    return items, layout.names if len(items) == len(layout.names) else ()


def keys_are(cls: type[Any], mapping: dict[Any, Any]) -> bool:
    """Return whether every key is exactly of a class; stops at the first that is not."""

    def are_all() -> list[bool]:
        return [not any(map(is_not, map(type, _dict.__iter__(mapping)), repeat(cls)))]

    return steady(are_all)[0]


def steady(copy: Callable[[], list[Part]]) -> list[Part]:
    """Copy what other threads may change; RuntimeError when every try meets a change."""
    for _ in range(16):
        try:
            return copy()
        except RuntimeError:  # changed size during iteration
            continue
    raise RuntimeError("the container changes all the time")


def _stored(value: Any, layout: Layout) -> tuple[dict[str, Any], int]:
    fields: dict[str, Any] = {}
    if layout.names:
        items, names = read_items(value)
        fields.update(zip(names, items, strict=False))
    bases = lineage(real_class(value)) if layout.slots else ()
    for name, at in layout.slots:
        member: Any = space_of(bases[at]).get(name)
        try:
            if _is_slot(member):
                fields[name] = member.__get__(value)
        except AttributeError:  # a slot that was never set
            continue
    left = 0
    if layout.storage is not None:
        store = layout.storage(value)
        if real_class(store) is dict:
            left = max(0, len(store) - MAX_FIELDS)
            copy: dict[str, Any] = {} if fields or left else store.copy()
            if copy and keys_are(str, copy):
                return copy, 0
        pairs: list[Any] = steady(lambda: list(islice(_dict.items(store), MAX_FIELDS)))
        fields.update([pair for pair in pairs if type(pair[0]) is str])
    return fields, left


def is_static(cls: type[Any]) -> bool:
    """Return whether a class is one of C code that nothing can be set in."""
    return not _FLAGS(cls) & _HEAP_TYPE


@per_class
def _layout_of(cls: type[Any]) -> Layout | None:
    bases = lineage(cls)
    stores = [space_of(base) for base in bases]
    fields: Any = _first(stores, "__dataclass_fields__")
    dataclass, attrs = real_class(fields) is dict, attrs_fields(cls)
    closed = any(root_of(base) in MACHINERY for base in bases) and not dataclass
    opaque = any(base is type or base is ModuleType for base in bases)
    if closed or opaque or (is_static(cls) and cls is not SimpleNamespace):
        return None
    names: Any = _first(stores, "_fields") if any(base is tuple for base in bases) else None
    is_named = real_class(names) is tuple and all(type(name) is str for name in names)
    slots = {
        name: at
        for at, store in reversed([*enumerate(stores)])
        for name, member in store.items()
        if _is_slot(member) and (name[:2] != "__" or name in _MODEL_STORES)
    }
    order = [
        *(name for name in (fields if dataclass else ()) if type(name) is str and name in slots),
        *(one.name for one in (attrs or {}).values() if one.name in slots),
        *slots,
    ]
    return Layout(
        slots=tuple((name, slots[name]) for name in dict.fromkeys(order)),
        names=names if is_named else (),
        storage=dict_reader(cls),
        sensitive=frozenset(name for base in bases for name in _sensitive_names(base)),
        record=dataclass or attrs is not None or any(base is SimpleNamespace for base in bases),
    )


@per_class
def dict_reader(cls: type[Any]) -> ReadDict | None:
    """Return what reads the dict of an instance, None where instances have none.

    A class that defines `__dict__` itself is not asked.
    """
    for base in lineage(cls):
        slot: Any = space_of(base).get("__dict__")
        is_getter = real_class(slot) is GetSetDescriptorType
        if (is_getter or _is_slot(slot)) and slot.__objclass__ is base:
            return _read_dict
    return None


_GENERIC: Any = ctypes.pythonapi["PyObject_GenericGetDict"]
_GENERIC.restype = ctypes.py_object


def _read_dict(value: Any) -> dict[Any, Any]:
    try:
        # Without `py_object`, the value would be asked how it is passed.
        return _GENERIC(ctypes.py_object(value), None)
    except AttributeError:  # there is none behind the getter
        return {}


def _first(stores: list[Any], name: str) -> Any:
    return next((store[name] for store in stores if name in store), None)


def _is_slot(member: Any) -> bool:
    return real_class(member) is MemberDescriptorType


def _sensitive_names(cls: type[Any]) -> Iterator[str]:
    variables = space_of(cls)
    hints: Any = variables.get("__annotations__")
    if hints is None and sys.version_info >= (3, 14):
        hints = _HINTS(cls)
    home = variables.get("__module__")
    module = sys.modules.get(home) if type(home) is str else None
    names = names_of_holder(module) | names_of_holder(cls)
    if hints is not None and real_class(hints) is dict:
        for name, hint in list(hints.items()):
            if type(name) is str and names_sensitive(hint, names):
                yield name
