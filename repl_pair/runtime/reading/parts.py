"""Takes live values apart, one level at a time, without running the code of their classes."""

import gc
import sys
from collections import deque
from enum import Enum
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from repl_pair.runtime.reading.closed_values import is_closed_class, is_namespace
from repl_pair.runtime.reading.exceptions import attributes_of
from repl_pair.runtime.reading.fields import Pairs, keys_are, read_fields, read_items, steady
from repl_pair.runtime.reading.library import Reader, library_readers, read_exception
from repl_pair.runtime.values.classes import (
    TypeRef,
    is_exactly,
    is_installed,
    is_of,
    lineage,
    module_of,
    name_of,
    per_class,
    real_class,
    root_of,
    space_of,
)
from repl_pair.runtime.values.frozen import EnumMember, Record, Ref
from repl_pair.runtime.values.marks import parts_of_label

_dict, _list, _tuple, _set, _frozenset, _deque = cast(
    "tuple[Any, ...]", (dict, list, tuple, set, frozenset, deque)
)
_PUBLISHING = ("repl_pair.runtime.surfaces.", "repl_pair.runtime.registry.model")
"""The modules of what an app publishes, which only its own ops show: a handle is a text too."""
_STOPPERS = frozenset({"repl_pair", "asyncio"})
_BIG_BITS = 1024
_DECLARING = frozenset({"__dataclass_fields__", "__attrs_attrs__", "__pydantic_core_schema__"})
"""What a class with declared fields has: of the standard library, of attrs, of pydantic."""
MAX_BYTES = 20_000
"""The longest bytes that are copied or searched; the size of longer ones is no secret's."""


class Elided(NamedTuple):
    """Stands for what was not read: its type and size."""

    kind: str
    size: int


class Parts(NamedTuple):
    """One level of a value: `body` is a fresh dict with text keys, a fresh list, or a leaf.

    `met` holds the values of secret-named private fields which are not in `body`; `left` counts
    the parts of a container that were not read; `unshown` is what an exception holds.
    """

    kind: str
    body: Any
    met: list[Any]
    left: int = 0
    unshown: Any = None


def describe(
    value: Any, *, room: int, hidden: bool = False, objects: bool = True, partly: bool = False
) -> Parts:
    """Take a value apart one level deep; nothing of the value's raises out of it.

    A container of more than `room` parts comes as Elided, or `partly` read. `hidden` gives private
    fields and bytes too, to collect secrets from. Without `objects`, only dataclasses and
    namespaces are opened among instances.
    """
    cls = real_class(value)
    kind = name_of(cls)
    try:
        kind, reader, container, is_open = _manner_of(cls)
        if reader:
            size = container.__len__(value) if container else 0
            if size <= room:
                unshown = attributes_of(value) if reader is read_exception else None
                return Parts(kind, _plain(reader(value), hidden), [], 0, unshown)
            if partly and room > 0:
                return Parts(kind, _plain(_first(value, container, room), hidden), [], size - room)
            return Parts(kind, Elided(kind, size), [])
        fields = read_fields(value, private=hidden, records_only=not objects)
        if not fields or not (is_open or hidden):
            return Parts(kind, f"<{kind}>", [])
        return Parts(kind, *fields)
    except BaseException as error:
        is_own = isinstance(error, (Exception, SystemExit, GeneratorExit))
        is_stop = isinstance(error, KeyboardInterrupt) or root_of(real_class(error)) in _STOPPERS
        if is_stop and not is_own:  # it stops the caller
            raise
        return Parts(kind, f"<unreadable {kind}>", [])


def key_text(key: Any, depth: int = 2) -> str:
    """Return the text that stands for a mapping key or a set member, whatever its type."""
    if type(key) is str:
        return key
    if type(key) is bytes:
        return key.decode("utf-8", "replace")
    if key is None or type(key) is bool:
        return "null" if key is None else str(key).lower()
    if depth and not is_of(key, Enum) and (parts := parts_of_label(key)) is not None:
        texts = [key_text(part, depth - 1) for part in islice(parts, 50)]
        return f"({', '.join(texts if is_of(key, tuple) else sorted(texts))})"
    body = describe(key, room=0, objects=False).body
    is_short = type(body) in (str, float) or (type(body) is int and body.bit_length() < _BIG_BITS)
    return str(body) if is_short else f"<{name_of(real_class(key))}>"


class KeyNames:
    """Makes the keys of one dict distinct, each at most `chars` long."""

    def __init__(self, chars: int) -> None:
        self.chars = chars
        self._count_by_text: dict[str, int] = {}

    def fit(self, key: str) -> str:
        """Cut a key, and number it when the cut one is taken."""
        text = key if len(key) <= self.chars else f"{key[: self.chars - 1]}…"
        fitted, count = text, self._count_by_text.get(text, 1)
        while fitted in self._count_by_text:
            count += 1
            suffix = f" ({count})"
            fitted = text[: self.chars - len(suffix)] + suffix
        self._count_by_text[text] = count
        self._count_by_text.setdefault(fitted, 1)
        return fitted


@per_class
def _manner_of(cls: type[Any]) -> tuple[str, Reader | None, Any, bool]:
    kind, bases = "dict" if cls is Pairs else name_of(cls), lineage(cls)
    if any(base is Enum for base in bases):
        return kind, _read_enum, None, True
    if any(module_of(base).startswith(_PUBLISHING) for base in bases):
        return kind, None, None, False
    readers = library_readers() | _READERS
    reader = next((readers[id(base)] for base in bases if id(base) in readers), None)
    arrays = getattr(sys.modules.get("array"), "array", None)
    container = next((base for base in bases if base is arrays or id(base) in _CONTAINERS), None)
    is_open = root_of(cls) == "repl_pair" or not (is_closed_class(cls) or _is_tool(cls))
    return kind, reader, container, is_open


def _is_tool(cls: type[Any]) -> bool:
    """Return whether a class is C code's or a library's, and declares no fields: a connection."""
    names = {name for base in lineage(cls) for name in space_of(base)}
    if names.isdisjoint({"__dict__", "__slots__"}):
        return True
    root = root_of(cls)
    is_library = root not in sys.stdlib_module_names and is_installed(root)
    return is_library and names.isdisjoint(_DECLARING)


def copy_dict(value: dict[Any, Any], most: int = sys.maxsize) -> dict[str, Any]:
    """Copy a real dict (not of a subclass), or the first of it, with its keys as text."""
    if len(value) > most:
        return _plain(_first(value, _dict, most), False)
    copy = value.copy()
    return copy if keys_are(str, copy) else _plain(_read_dict(value), False)


def _plain(body: Any, hidden: bool) -> Any:
    if type(body) is bytes and not hidden:
        return Elided("bytes", len(body))
    if type(body) is not Pairs:
        return body
    items = [(key if type(key) is str else key_text(key), item) for key, item in body.items]
    named = dict(items)
    if len(named) == len(items):
        return named
    names = KeyNames(sys.maxsize)
    return {names.fit(key): item for key, item in items}


def _first(value: Any, container: Any, count: int) -> Any:
    """Read the first parts of a container; of a set, which has no order, any."""
    iterate = container.items if container is _dict else container.__iter__
    items: list[Any] = steady(lambda: list(islice(iterate(value), count)))
    return Pairs(items) if container is _dict else items


def _read_enum(value: Any) -> str:
    fields = read_fields(value, private=True)
    name = fields[0].get("_name_") if fields else None
    return name if type(name) is str else f"<{name_of(real_class(value))}>"


def _read_dict(value: Any) -> Pairs:
    return Pairs(steady(lambda: list(_dict.items(value))))


def _read_proxy(value: Any) -> Any:
    (behind,) = gc.get_referents(value)
    is_data = issubclass(real_class(behind), dict)
    if real_class(behind) is dict and is_namespace(behind):
        return "<mappingproxy>"
    return _read_dict(behind) if is_data else "<mappingproxy>"


def _read_tuple(value: Any) -> Any:
    items, names = read_items(value)
    return Pairs(list(zip(names, items, strict=True))) if names else items


def _read_set(value: Any) -> list[Any]:
    iterate: Any = (_set if issubclass(real_class(value), set) else _frozenset).__iter__
    items: list[Any] = steady(lambda: list(iterate(value)))
    plain = len({id(real_class(item)) for item in items}) == 1 and is_exactly(items[0], str, int)
    return sorted(items) if plain else sorted(items, key=key_text)


def _read_node(node: Any) -> Any:
    if real_class(node) is EnumMember:
        return node.name
    if real_class(node) is TypeRef:
        return f"{node.module}.{node.qualname}"
    if real_class(node) is Ref:
        return Pairs([("$ref", node.loader), *node.kwargs.items()])
    return Pairs(list(node.fields.items()))


_BUILTIN: dict[Any, Reader] = {
    **dict.fromkeys((type(None), bool, Pairs), lambda value: value),
    **dict.fromkeys((set, frozenset), _read_set),
    **dict.fromkeys((EnumMember, TypeRef, Ref, Record), _read_node),
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: lambda value: (
        bytes(bytearray.__getitem__(value, slice(None)))
        if bytearray.__len__(value) <= MAX_BYTES
        else Elided("bytes", bytearray.__len__(value))
    ),
    memoryview: lambda value: (
        value.tobytes() if value.nbytes <= MAX_BYTES else Elided("memoryview", value.nbytes)
    ),
    dict: _read_dict,
    MappingProxyType: _read_proxy,
    list: _list.copy,
    tuple: _read_tuple,
    deque: lambda value: steady(lambda: list(_deque.__iter__(value))),
}
_READERS = {id(cls): reader for cls, reader in _BUILTIN.items()}
_CONTAINERS = frozenset(map(id, (_dict, _list, _tuple, _set, _frozenset, _deque)))
