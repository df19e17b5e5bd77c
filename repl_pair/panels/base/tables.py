"""Tables among values: frames, rows of equal mappings, and frames as stored outputs hold them."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from typing import Any, TypedDict, cast

from repl_pair.panels.base.describing import SHORT, literal, to_json
from repl_pair.records import record
from repl_pair.runtime.values.classes import is_polars, kind_of, real_class, root_of
from repl_pair.runtime.values.library import columns_of
from repl_pair.wire import Json

MAX_ROWS, MAX_COLUMNS = 500, 50
_LEAVES = (str, int, float, bool, type(None))


@record
class Table:
    """Cells by row; `labels` name the rows, `more` counts those that are not among them."""

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    rows: tuple[tuple[Json, ...], ...]
    more: int = 0


class TableColumn(TypedDict):
    """A column of either table; `state` is kept, added or removed."""

    name: str
    state: str


class TableCell(TypedDict):
    """A cell on both sides, as Python writes it; empty where a side has no such cell."""

    before: Sequence[str]
    after: Sequence[str]
    changed: bool


class TableRow(TypedDict):
    """Two rows that belong together; `row` is kept, added or removed."""

    label: str
    row: str
    cells: Sequence[TableCell]


class TableDifference(TypedDict):
    """`kind` is `table`, or `same`; `changed` counts cells, `more` rows that are left out."""

    kind: str
    columns: Sequence[TableColumn]
    rows: Sequence[TableRow]
    changed: int
    more: int


def as_table(value: Any) -> Table | None:
    """Read a value as a table; None where it is none."""
    if kind_of(value) == "frame" and root_of(real_class(value)) == "pandas":
        head = value.iloc[:MAX_ROWS, :MAX_COLUMNS]
        items = zip(*(head.iloc[:, at].tolist() for at in range(head.shape[1])), strict=True)
        return _table(head.columns, head.index.tolist(), items, len(value))
    if is_polars(value, "DataFrame"):
        value = {name: items for name, _, items in columns_of(value)}
    cls: type[Any] = real_class(value)
    read = {dict: _of_columns, list: _of_rows}.get(cls)
    return None if read is None else read(value)


def table_difference(before: Table, after: Table) -> TableDifference:
    """Compare two tables: rows in pairs that belong together."""
    names = tuple(dict.fromkeys((*before.columns, *after.columns)))[:MAX_COLUMNS]
    columns = [TableColumn(name=name, state=_state(name, before, after)) for name in names]
    # Rows that belong together: equal ones, and between these in order.
    sides = [list(map(repr, table.rows)) for table in (before, after)]
    codes = SequenceMatcher(None, *sides, autojunk=False).get_opcodes()
    places = (
        pair
        for _, a, to_a, b, to_b in codes
        for pair in zip_longest(range(a, to_a), range(b, to_b))
    )
    rows = [_pair(names, before, after, a, b) for a, b in places]
    changed = sum(cell["changed"] for row in rows for cell in row["cells"])
    changed += before.more != after.more
    kind, more = "table" if changed else "same", max(before.more, after.more)
    return {"kind": kind, "columns": columns, "rows": rows, "changed": changed, "more": more}


def _of_columns(stored: Any) -> Table | None:
    """Read the form that stored outputs have of a frame: columns with dtype and items, an index."""
    if not _has_keys(stored, "columns", "index") or type(stored["columns"]) is not dict:
        return None
    columns: Mapping[str, Any] = stored["columns"]
    if not all(_has_keys(column, "dtype", "items") for column in columns.values()):
        return None
    names = list(columns)[:MAX_COLUMNS]
    rows = list(zip(*(columns[name]["items"] for name in names), strict=False))
    return _table(names, stored["index"], rows, len(rows))


def _has_keys(value: Any, *keys: str) -> bool:
    return type(value) is dict and set(cast("Mapping[Any, Any]", value)) == set(keys)


def _of_rows(rows: Any) -> Table | None:
    """Read a list of mappings with equal keys and leaves for values."""
    are_alike = all(type(row) is dict and row.keys() == rows[0].keys() for row in rows)
    if not rows or not are_alike or not rows[0]:
        return None
    if not all(type(value) in _LEAVES for row in rows for value in row.values()):
        return None
    names: list[Any] = list(rows[0])[:MAX_COLUMNS]
    values = ([row[name] for name in names] for row in rows)
    return _table(names, range(len(rows)), values, len(rows))


def _table(
    names: Iterable[Any], labels: Iterable[Any], rows: Iterable[Iterable[Any]], size: int
) -> Table:
    return Table(
        columns=tuple(map(str, names)),
        labels=tuple(map(str, islice(labels, MAX_ROWS))),
        rows=tuple(tuple(to_json(v, SHORT) for v in row) for row in islice(rows, MAX_ROWS)),
        more=max(0, size - MAX_ROWS),
    )


def _state(name: str, before: Table, after: Table) -> str:
    if name not in before.columns:
        return "added"
    return "kept" if name in after.columns else "removed"


def _pair(
    names: Sequence[str], before: Table, after: Table, a: int | None, b: int | None
) -> TableRow:
    labels = [table.labels[at] for table, at in ((before, a), (after, b)) if at is not None]
    return {
        "label": " → ".join(dict.fromkeys(labels)),
        "row": "added" if a is None else "removed" if b is None else "kept",
        "cells": [_cell(_at(before, a, name), _at(after, b, name)) for name in names],
    }


def _cell(before: list[Json], after: list[Json]) -> TableCell:
    changed = before != after or [type(v) for v in before] != [type(v) for v in after]
    return {"before": [*map(literal, before)], "after": [*map(literal, after)], "changed": changed}


def _at(table: Table, row: int | None, name: str) -> list[Json]:
    """Return a cell as a list of one, or of none where there is no such cell."""
    if row is None or name not in table.columns:
        return []
    return [table.rows[row][table.columns.index(name)]]
