"""Values opened to their leaves, as dicts and lists, and the secrets found among these."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.reading.whole_tables import as_rows, secret_columns
from repl_pair.runtime.values.classes import (
    is_array_scalar,
    is_map,
    is_of,
    is_row,
    is_set,
    is_table,
    real_class,
)
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.marks import (
    holds_named_secret,
    is_needle,
    is_secret_key,
    names_own_value,
    places_behind,
)

DEEPEST = 64
"""Levels that are opened; what is below stays as it is."""

MAX_PARTS = 1_000_000
"""Of a value that is opened, each counted as often as it is met."""

_PLAIN = (type(None), bool, int, float, str)


class TooManyPartsError(ValueError):
    """A value has more than MAX_PARTS: objects of a framework lead to each other on many ways."""


def open_up(value: Any, table: Callable[[Any], Any]) -> Any:
    """Return a value as fresh dicts and lists over live leaves; `table` opens arrays and frames.

    Sets are sorted by their items' text. Objects give their public fields, secret ones as Secrets.
    What a value is part of stands in it as `<cycle>`. TooManyPartsError where it has no end.
    """
    room, above = MAX_PARTS, set[int]()

    def copy(value: Any, depth: int) -> Any:
        nonlocal room
        if _is_leaf(value):
            return value
        if depth == 0:
            return f"<{type(value).__name__}>"
        if id(value) in above:
            return "<cycle>"
        if is_table(value):
            return copy(table(value), depth - 1)
        parts: Any = sorted(value, key=repr) if is_set(value) else _parts_of(value)
        if parts is None:
            return value
        if (room := room - len(parts)) < 0:
            raise TooManyPartsError(f"it has more than {MAX_PARTS:,} parts")
        above.add(id(value))
        made: Any = (
            [copy(item, depth - 1) for item in parts]
            if is_row(parts)
            else {key: copy(item, depth - 1) for key, item in parts.items()}
        )
        above.remove(id(value))
        return made

    return copy(value, DEEPEST)


def _is_leaf(value: Any) -> bool:
    return type(value) in _PLAIN or type(value) is Secret or is_of(value, Enum, BaseException)


def _parts_of(value: Any) -> Any:
    """Return a mapping or row of what is in a value, None where nothing is; tables are not read."""
    return _read_parts(value)[0]


def _read_parts(value: Any) -> tuple[Any, Sequence[Any]]:
    """Return what `_parts_of` gives, and the secrets in private fields; no other one is read."""
    if _is_leaf(value):
        return None, ()
    if is_map(value) or is_set(value):
        return value, ()
    if is_row(value) and not hasattr(real_class(value), "_fields"):
        return value, ()
    found = read_fields(value)
    return (found[0], found[1]) if found else (None, ())


def short_secrets(value: Any, places: Iterable[tuple[str, ...]] = ()) -> Iterator[str]:
    """Return the text of each secret, by place, key or type, that is too short for a needle."""
    declared = [part for place in places for part in _at(value, place)]
    for part, inside in ((value, False), *((part, True) for part in declared)):
        for leaf in _secret_leaves(part, secret_columns, inside=inside):
            text = str(leaf)
            if text and not is_needle(text):
                yield text


def declared_fields(value: Any) -> Iterator[tuple[str, str]]:
    """Return name and text of each field in a value that a class declares as `Sensitive`."""
    for name, part, _ in _walk(value, _no_rows):
        if type(part) is Secret:
            leaves = list(_secret_leaves(part, as_rows, inside=True))
            yield from ((name, str(leaf)) for leaf in leaves or [""])


def has_table(value: Any) -> bool:
    """Return whether a value is or holds an array or a frame."""
    return any(is_table(part) for _, part, _ in _walk(value, _no_rows))


def _no_rows(_table: Any) -> Any:
    return ()


def _walk(
    value: Any, table: Callable[[Any], Any], *, inside: bool = False
) -> Iterator[tuple[str, Any, bool]]:
    """Give the parts of a value, each object once: its key, and whether a secret key is above it.

    A Secret is given, and not what it holds.
    """
    # The nearest first: what is met again is nowhere followed further down.
    waiting, met = deque([("", value, inside, DEEPEST)]), dict[tuple[int, bool], Any]()
    while waiting:
        name, part, inside, depth = waiting.popleft()
        yield name, part, inside
        if _is_leaf(part) or depth == 0 or (id(part), inside) in met:
            continue
        met[id(part), inside] = part
        rows, private = (table(part), ()) if is_table(part) else _read_parts(part)
        named = _slots_beside_names(rows)
        waiting.extend(
            (str(key), item, inside or _is_secret(key, named), depth - 1)
            for key, item in _pairs_in(rows)
        )
        waiting.extend(("", Secret(item), True, depth - 1) for item in private)


def _slots_beside_names(rows: Any) -> Collection[int | str]:
    """Return where secrets stand beside their names.

    In a pair, in a `{"name": …, "value": …}`, behind an option, in the lines of a private key.
    """
    if is_map(rows):
        return ("value",) if names_own_value(rows) else ()
    if not is_row(rows):
        return ()
    if type(rows) is tuple and holds_named_secret(rows):
        return (1,)
    announced = (at for at, item in enumerate(rows) if type(item) is str and item[:1] == "-")
    return {place for at in announced for place in places_behind(rows, at)}


def _pairs_in(rows: Any) -> Iterable[tuple[Any, Any]]:
    if type(rows) is Secret:
        return [("", rows)]
    return rows.items() if is_map(rows) else enumerate(() if rows is None else rows)


def _is_secret(key: Any, named: Collection[int | str]) -> bool:
    is_beside = type(key) in (int, str) and key in named
    return is_beside or (isinstance(key, str) and is_secret_key(key))


def _secret_leaves(value: Any, table: Callable[[Any], Any], *, inside: bool) -> Iterator[Any]:
    for _, part, hidden in _walk(value, table, inside=inside):
        if type(part) is Secret:
            yield from _secret_leaves(part.value, table, inside=True)
        elif hidden and part is not None and not isinstance(part, bool):
            if is_table(part) or _parts_of(part) is not None:
                continue
            reveal = getattr(part, "get_secret_value", None)
            yield part if reveal is None else reveal()


def leaves_of(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return each text and number in maps and lists with its place."""
    if is_map(value) or is_row(value):
        pairs = value.items() if is_map(value) else enumerate(value)
        for key, part in pairs:
            yield from leaves_of(part, (*place, str(key)))
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield place, value


def _at(value: Any, place: tuple[str, ...]) -> list[Any]:
    if not place:
        return [value]
    pairs = _pairs_in(secret_columns(value) if is_table(value) else _parts_of(value))
    below = [item for key, item in pairs if place[0] in (str(key), "*")]
    return [found for item in below for found in _at(item, place[1:])]


def to_json(value: Any) -> Any:
    """Return a value as the JSON that a schema can be held against; secrets are the real ones."""
    return _to_json(open_up(value, as_rows))


def _to_json(value: Any) -> Any:
    if type(value) is Secret:
        return _to_json(value.value)
    if is_map(value):
        return {str(_to_json(key)): _to_json(item) for key, item in value.items()}
    if is_row(value):
        return [_to_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value if type(value.value) in _PLAIN else value.name
    if is_array_scalar(value):
        return value.item()
    if type(value) in _PLAIN:
        return value
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
