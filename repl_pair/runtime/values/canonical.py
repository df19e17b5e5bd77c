"""The canonical stream: one sequence of bytes for each value, the same in every process.

A value is rebuilt as a tree of exact builtins whose `ascii` is the stream. A mapping is a list
that starts with its keys as bytes; what is neither JSON nor tuple is a tuple that starts with a
bytes tag. Bytes of the person's own become such a tuple, so neither start can be forged.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from math import nan
from struct import Struct
from types import MappingProxyType
from typing import Any, TypeAlias

from repl_pair.errors import AuthoringError
from repl_pair.runtime.values import frozen
from repl_pair.runtime.values.classes import is_secret_class, real_class
from repl_pair.runtime.values.marks import (
    KEY_BEGIN,
    holds_named_secret,
    is_secret_key,
    may_hold_secret_keys,
    names_own_value,
    places_behind,
)
from repl_pair.runtime.values.value_parts import (
    FOREIGN_MADE_OF,
    MADE_OF,
    Parts,
    elements,
    judged_name,
    parts_by_base_class,
)

MAX_DEPTH = 210
"""Of a whole body: `freeze` takes 200 for what stands in one of its slots."""
_WIDE, _SHOWN = 50, 200

_EMPTY = frozenset({bool, type(None)})
_PLAIN = frozenset({str, int, bool, type(None)})
_are_plain = _PLAIN.issuperset
_are_texts = frozenset({str}).issuperset

_pack_float = Struct(">xd").pack

_Writer: TypeAlias = Callable[[Any, int], Any]


def write(value: Any, update: Callable[[bytes], object]) -> None:
    """Feed the canonical stream of `value` to `update`.

    Order of mappings and sets and sharing of objects do not show; types, dtypes, shapes, names
    and -0.0 do. All NaN are one, set and frozenset are one, a mapping of the standard library is
    a dict, a record or enum member goes by its class's qualified name without the module, a
    secret, by type, by its key, by the name beside it or by what stands before it in a list, is a
    bare marker. AuthoringError `bad_body` names path and type of what is no data, cyclic, or nested
    deeper than MAX_DEPTH.
    """
    try:
        tree = _form(value, 0)
        stream = _text(tree)
        if _may_announce(stream):
            stream = _text(_hide_announced(tree))
    except _Refusal as refusal:
        reason, path, met = str(refusal), "", set[int]()
        for owner, step in reversed(refusal.trail):
            if id(owner) in met:
                reason = f"this {type(owner).__name__} contains itself; data must be a tree."
                break
            met.add(id(owner))
            if len(path) > _SHOWN:  # a key stands there whole: half a secret is known as none
                path = path.removesuffix("...") + "..."
                continue
            named = isinstance(step, str) and step.isidentifier()
            path += f".{step}" if named else f"[{step!r}]"
        path = path.removeprefix(".")
        message = f"{path}: {reason}" if path else reason
        raise AuthoringError("bad_body", message, detail={"path": path}) from None
    update(stream.encode())


def _may_announce(stream: str) -> bool:
    """Return whether a list may hold an option, or the begin of a key: quickly, for few do."""
    at = stream.find("'-")
    while at > 0 and stream[at - 1] not in "[( ":  # within a text, or the bytes of a number
        at = stream.find("'-", at + 1)
    return at > 0 or KEY_BEGIN in stream


def _hide_announced(tree: Any) -> Any:
    """Return a tree with markers in its lists, behind options of secrets and begins of keys."""
    if type(tree) not in (list, tuple) or tree[:1] == (b"set",):  # a set has no order
        return tree
    items = list(map(_hide_announced, tree))
    is_tagged = bool(items) and type(items[0]) is bytes and items[0][:1] != b"\0"  # of a float
    for at in range(0 if is_tagged else len(items)):
        for place in places_behind(items, at):
            items[place] = _secret(None, 0)
    return items if type(tree) is list else tuple(items)


def _text(tree: Any) -> str:
    try:
        return ascii(tree)
    except ValueError as error:
        raise _Refusal(f"an int in it is too long to be hashed: {error}") from None


class _Refusal(Exception):
    """Why a value cannot be written, and on its way out the trail to it, innermost step first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.trail: list[tuple[Any, Any]] = []


def _form(value: object, depth: int) -> Any:
    kind = type(value)
    return value if kind in _PLAIN else (_WRITERS.get(kind) or _writer_for(value))(value, depth)


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise _Refusal(f"data nested deeper than {MAX_DEPTH} cannot be hashed; flatten it.")
    return depth + 1


def _secret(_: Any, __: int) -> Any:
    return (b"secret",)


# Containers. The loops are spelled out, for they run once per item of the whole value.


def _list(value: Collection[object], depth: int) -> Any:
    if _are_plain(map(type, value)):
        return value
    depth, find = _deeper(depth), _WRITERS.get
    tree: list[Any] = []
    for step, item in enumerate(value):
        kind = type(item)
        try:
            tree.append(item if kind in _PLAIN else (find(kind) or _writer_for(item))(item, depth))
        except _Refusal as refusal:
            refusal.trail.append((value, step))
            raise
    return tree


def _tuple(value: tuple[object, ...], depth: int) -> Any:
    tree = tuple(_list(value, depth))
    is_secret = holds_named_secret(value) and type(tree[1]) not in _EMPTY
    return (tree[0], _secret(None, depth)) if is_secret else tree


def _set(value: Collection[Any], depth: int) -> Any:
    if _are_texts(map(type, value)):
        return b"set", sorted(value)
    depth = _deeper(depth)
    return b"set", sorted([_form(member, depth) for member in value], key=_text)


def _mapping(value: Mapping[Any, object], depth: int, behind: Any = None) -> Any:
    if not _are_texts(map(type, value)):
        return _mixed_mapping(value, depth)
    depth, find = _deeper(depth), _WRITERS.get
    keys, text, secret = _known_shape(tuple(value)) if len(value) <= _WIDE else _shape(value)
    tree: list[Any] = [text]
    for key in keys:
        item = value[key]
        kind = type(item)
        try:
            tree.append(item if kind in _PLAIN else (find(kind) or _writer_for(item))(item, depth))
        except _Refusal as refusal:
            refusal.trail.append((value, key))
            raise
    if behind is not None:
        secret = [n for n, t in enumerate(keys, 1) if is_secret_key(judged_name(behind[t]) or t)]
    if names_own_value(value):
        secret = [*secret, keys.index("value") + 1]
    for at in secret:
        tree[at] = tree[at] if type(tree[at]) in _EMPTY else _secret(None, depth)
    return tree


def _shape(names: Iterable[str]) -> tuple[list[str], bytes, list[int]]:
    """Return keys in order, their bytes, and the places of secrets behind these."""
    keys = sorted(names)
    text = ascii(keys)
    secret: list[int] = []
    if may_hold_secret_keys(text):
        secret = [at for at, key in enumerate(keys, 1) if is_secret_key(key)]
    return keys, text.encode(), secret


_known_shape = lru_cache(maxsize=1024)(_shape)


def _mixed_mapping(value: Mapping[Any, object], depth: int) -> Any:
    keys = {_text(_form(key, _deeper(depth))): key for key in value}
    if len(keys) < len(value):
        raise _Refusal("two keys of this dict cannot be distinguished.")
    try:
        return b"mapping", _mapping({text: value[key] for text, key in keys.items()}, depth, keys)
    except _Refusal as refusal:
        _, text = refusal.trail.pop()
        refusal.trail.append((value, keys[text]))
        raise


@cache
def _by_parts(tag: bytes, parts: Callable[[Any], Parts]) -> _Writer:
    def writer(value: Any, depth: int) -> Any:
        depth = _deeper(depth)
        return tag, *[_form(part, depth) for part in parts(value)]

    return writer


def varies_by_machine(dtype: Any) -> bool:
    """Return whether the items of a dtype, long doubles, have other bytes on other machines."""
    return getattr(dtype, "char", None) in ("g", "G")


def _array(value: Any, depth: int) -> Any:
    dtype = value.dtype
    if type(value).__name__ not in {"ndarray", "memmap"}:
        raise _unwritable(value)
    if varies_by_machine(dtype):
        raise _Refusal(f"the bytes of a {dtype} array differ between machines; use float64.")
    if dtype.names:
        content = _list([(name, value[name]) for name in dtype.names], depth)
    elif dtype.kind in "OT":
        content = _list(value.reshape(-1).tolist(), depth)
    else:
        content = sha256(elements(value)).digest()
    return b"array", dtype.str, value.shape, content


# Which writer takes which type.


def _writer_for(value: object) -> _Writer:
    kind = type(value)
    if is_secret_class(kind):
        return _secret
    for base in kind.__mro__:
        name = f"{base.__module__.partition('.')[0]}.{base.__name__}"
        if writer := _FOREIGN.get(name):
            return writer
    if made := parts_by_base_class(value):
        return _by_parts(*made)
    raise _unwritable(value)


def _unwritable(value: object) -> _Refusal:
    name = full_name(type(value))
    return _Refusal(f"a value of type {name} is not data; use ref(loader_id, ...) for it.")


def full_name(kind: type) -> str:
    """Return the name of a class with its module, unless that is `builtins`."""
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


_WRITERS: dict[type, _Writer] = {
    # A zero byte, which no tag or list of keys starts with, and the eight of IEEE 754.
    float: lambda value, _: _pack_float(value if value == value else nan),
    bytes: lambda value, _: (b"bytes", sha256(value).digest()),
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _set,
    dict: _mapping,
    OrderedDict: _mapping,
    defaultdict: _mapping,
    Counter: _mapping,
    MappingProxyType: _mapping,
    frozen.Secret: _secret,
    frozen.Given: lambda given, _: (b"given", full_name(real_class(given.value)).encode()),
    **{kind: _by_parts(*made) for kind, made in MADE_OF.items()},
}

_FOREIGN: dict[str, _Writer] = {
    "numpy.ndarray": _array,
    **{name: _by_parts(*made) for name, made in FOREIGN_MADE_OF.items()},
}
