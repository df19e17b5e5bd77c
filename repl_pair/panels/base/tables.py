"""Tables among values: frames, rows of equal mappings, and frames as stored outputs hold them."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, cast

from repl_pair.panels.base.describing import SHORT, to_json
from repl_pair.records import record
from repl_pair.runtime.values.classes import kind_of, real_class, root_of
from repl_pair.wire import Json

MOST_ROWS, MOST_COLUMNS = 500, 50
_LEAVES = (str, int, float, bool, type(None))


@record
class Table:
    """Cells by row; `labels` name the rows, `more` counts those that are not among them."""

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    rows: tuple[tuple[Json, ...], ...]
    more: int = 0


def as_table(value: Any) -> Table | None:
    """Read a value as a table; None where it is none."""
    if kind_of(value) == "frame" and root_of(real_class(value)) == "pandas":
        return _of_frame(value)
    cls: type[Any] = real_class(value)
    read = {dict: _of_columns, list: _of_rows}.get(cls)
    return None if read is None else read(value)


def table_changes(before: Table, after: Table) -> dict[str, Any]:
    """Return the rows of both, in pairs that belong together; `changed` counts the cells."""
    names = tuple(dict.fromkeys((*before.columns, *after.columns)))[:MOST_COLUMNS]
    columns = [
        {"name": name, "state": "kept" if name in after.columns else "removed"}
        if name in before.columns
        else {"name": name, "state": "added"}
        for name in names
    ]
    # Rows that belong together: equal ones, and between these in order.
    sides = [list(map(repr, table.rows)) for table in (before, after)]
    codes = SequenceMatcher(None, *sides, autojunk=False).get_opcodes()
    places = (
        pair
        for _, a, to_a, b, to_b in codes
        for pair in zip_longest(range(a, to_a), range(b, to_b))
    )
    rows = [_pair(names, before, after, a, b) for a, b in places]
    return {
        "columns": columns,
        "rows": rows,
        "changed": sum(cell["changed"] for row in rows for cell in row["cells"])
        + (before.more != after.more),
        "more": max(before.more, after.more),
    }


def _of_frame(frame: Any) -> Table | None:
    head = frame.iloc[:MOST_ROWS, :MOST_COLUMNS]
    columns = [head.iloc[:, at].tolist() for at in range(head.shape[1])]
    return Table(
        columns=tuple(map(str, head.columns)),
        labels=tuple(map(str, head.index.tolist())),
        rows=tuple(_cells(row) for row in zip(*columns, strict=True)),
        more=len(frame) - len(head),
    )


def _of_columns(stored: Any) -> Table | None:
    """Read the form that stored outputs have of a frame: columns with dtype and items, an index."""
    if not _has_keys(stored, "columns", "index") or type(stored["columns"]) is not dict:
        return None
    columns: Mapping[str, Any] = stored["columns"]
    if not all(_has_keys(column, "dtype", "items") for column in columns.values()):
        return None
    named = list(columns.items())[:MOST_COLUMNS]
    items: list[Sequence[Any]] = [column["items"] for _, column in named]
    rows: list[tuple[Any, ...]] = list(zip(*items, strict=False))
    return Table(
        columns=tuple(name for name, _ in named),
        labels=tuple(map(str, stored["index"]))[:MOST_ROWS],
        rows=tuple(_cells(row) for row in rows[:MOST_ROWS]),
        more=max(0, len(rows) - MOST_ROWS),
    )


def _has_keys(value: Any, *keys: str) -> bool:
    return type(value) is dict and set(cast("Mapping[Any, Any]", value)) == set(keys)


def _of_rows(rows: Any) -> Table | None:
    """Read a list of mappings with equal keys and leaves for values."""
    first: Any = rows[0] if rows else None
    if type(first) is not dict or not first or not all(_is_like(row, first) for row in rows):
        return None
    names: list[Any] = list(cast("Mapping[Any, Any]", first))[:MOST_COLUMNS]
    kept = rows[:MOST_ROWS]
    return Table(
        columns=tuple(map(str, names)),
        labels=tuple(str(at) for at in range(len(kept))),
        rows=tuple(_cells([row[name] for name in names]) for row in kept),
        more=len(rows) - len(kept),
    )


def _is_like(row: Any, first: Any) -> bool:
    if type(row) is not dict:
        return False
    cells = cast("Mapping[Any, Any]", row)
    return cells.keys() == first.keys() and all(type(v) in _LEAVES for v in cells.values())


def _cells(row: Sequence[Any]) -> tuple[Json, ...]:
    return tuple(to_json(value, SHORT) for value in row)


def _pair(
    names: Sequence[str], before: Table, after: Table, a: int | None, b: int | None
) -> dict[str, Any]:
    labels = [table.labels[at] for table, at in ((before, a), (after, b)) if at is not None]
    return {
        "label": " → ".join(dict.fromkeys(labels)),
        "row": "added" if a is None else "removed" if b is None else "kept",
        "cells": [_cell(_at(before, a, name), _at(after, b, name)) for name in names],
    }


def _cell(before: list[Json], after: list[Json]) -> dict[str, Any]:
    changed = before != after or [type(v) for v in before] != [type(v) for v in after]
    return {"before": before, "after": after, "changed": changed}


def _at(table: Table, row: int | None, name: str) -> list[Json]:
    """Return a cell as a list of one, or of none where there is no such cell."""
    if row is None or name not in table.columns:
        return []
    return [table.rows[row][table.columns.index(name)]]
