"""Values opened to their leaves: containers, records and whole tables as dicts and lists."""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.reading.tables import hide_labelled
from repl_pair.runtime.values.classes import (
    is_array_scalar,
    is_map,
    is_polars,
    is_row,
    is_set,
    is_table,
    kind_of,
    real_class,
)
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.library import columns_of
from repl_pair.runtime.values.marks import is_needle, is_secret_key, is_secret_label

DEEPEST = 64
"""Levels that are opened; what is below stays as it is."""

_PLAIN = (type(None), bool, int, float, str)


def open_up(value: Any, table: Callable[[Any], Any], depth: int = DEEPEST) -> Any:
    """Return a value as fresh dicts and lists over live leaves; `table` opens arrays and frames.

    Sets are sorted by their items' text. Objects give their public fields, secret ones as Secrets.
    """
    if type(value) in _PLAIN or type(value) is Secret or isinstance(value, (Enum, BaseException)):
        return value
    if depth == 0:
        return f"<{type(value).__name__}>"
    if is_table(value):
        return open_up(table(value), table, depth - 1)
    if is_map(value):
        return {key: open_up(item, table, depth - 1) for key, item in value.items()}
    if is_set(value):
        return [open_up(item, table, depth - 1) for item in sorted(value, key=repr)]
    if is_row(value) and not hasattr(real_class(value), "_fields"):
        return [open_up(item, table, depth - 1) for item in value]
    found = read_fields(value)
    return open_up(found[0], table, depth - 1) if found else value


def as_rows(table: Any) -> Any:
    """Return an array or series as its items, a frame as one mapping a row."""
    if is_polars(table, "DataFrame"):
        return table.rows(named=True)
    if kind_of(table) != "frame":
        return _items(table)
    names = [str(name) for name in table.columns]
    columns = [table.iloc[:, at].tolist() for at in range(len(names))]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return hide_labelled(rows, table.index)


def as_columns(table: Any) -> Any:
    """Return a table with its dtypes and labels, whole."""
    if is_polars(table, "DataFrame"):
        named = columns_of(table)
        return {"columns": {name: {"dtype": dtype, "items": i} for name, dtype, i in named}}
    if kind_of(table) != "frame":
        labels = {"index": _labels(table)} if kind_of(table) == "series" else {}
        return {"dtype": str(table.dtype), "items": _items(table)} | labels
    columns = {
        str(name): {"dtype": str(table.dtypes.iloc[at]), "items": table.iloc[:, at].tolist()}
        for at, name in enumerate(table.columns)
    }
    return {"columns": columns, "index": _labels(table)}


def _items(table: Any) -> Any:
    items = table.to_list() if is_polars(table) else table.tolist()
    if kind_of(table) == "array":
        return items
    if is_secret_label(table.name):
        return Secret(items)
    return items if is_polars(table) else hide_labelled(items, table.index)


def _labels(table: Any) -> Any:
    labels = table.index.tolist()
    return Secret(labels) if any(map(is_secret_label, table.index.names)) else labels


def short_secrets(value: Any, places: Iterable[tuple[str, ...]] = ()) -> Iterator[str]:
    """Return the text of each secret, by place, key or type, that is too short for a needle."""
    opened = open_up(value, _secret_columns)
    declared = [leaf for place in places for leaf in _at(opened, place)]
    for leaf in (*_secret_leaves(opened, inside=False), *_secret_leaves(declared, inside=True)):
        text = str(leaf)
        if text and not is_needle(text):
            yield text


def declared_fields(value: Any) -> Iterator[tuple[str, str]]:
    """Return name and text of each field in a value that a class declares as `Sensitive`."""
    queue, met = [(value, DEEPEST)], {id(value)}
    while queue:
        holder, depth = queue.pop()
        if type(holder) in _PLAIN or depth == 0 or is_table(holder):
            continue
        if is_map(holder):
            parts = dict(holder)
        elif is_set(holder) or (is_row(holder) and not hasattr(real_class(holder), "_fields")):
            parts = dict(enumerate(holder))
        else:
            parts = (read_fields(holder) or ({},))[0]
        for name, part in parts.items():
            if type(part) is Secret:
                leaves = list(_secret_leaves(open_up(part.value, as_rows), inside=True))
                yield from ((str(name), str(leaf)) for leaf in leaves or [""])
            elif type(part) not in _PLAIN and id(part) not in met:
                met.add(id(part))
                queue.append((part, depth - 1))


def leaves_of(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return each text and number in maps and lists with its place."""
    if is_map(value) or is_row(value):
        pairs = value.items() if is_map(value) else enumerate(value)
        for key, part in pairs:
            yield from leaves_of(part, (*place, str(key)))
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield place, value


def _at(opened: Any, place: tuple[str, ...]) -> list[Any]:
    if not place:
        return [opened]
    rows = opened if is_row(opened) else ()
    pairs = opened.items() if is_map(opened) else enumerate(rows)
    below = [item for key, item in pairs if place[0] in (str(key), "*")]
    return [found for item in below for found in _at(item, place[1:])]


def _secret_leaves(value: Any, *, inside: bool) -> Iterator[Any]:
    if type(value) is Secret:
        yield from _secret_leaves(value.value, inside=True)
    elif is_map(value):
        for key, item in value.items():
            is_secret = isinstance(key, str) and is_secret_key(key)
            yield from _secret_leaves(item, inside=inside or is_secret)
    elif is_row(value):
        for item in value:
            yield from _secret_leaves(item, inside=inside)
    elif inside and value is not None and not isinstance(value, bool):
        reveal = getattr(value, "get_secret_value", None)
        yield value if reveal is None else reveal()


def _secret_columns(table: Any) -> Any:
    if kind_of(table) == "series" or is_polars(table, "Series"):
        return as_rows(table)
    if kind_of(table) in ("array", "index"):
        return []
    names = [name for name in table.columns if is_secret_label(name)]
    return as_rows(table[names]) if names else []


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
