"""Rows and records as text: by rich on a terminal, aligned columns elsewhere."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import click

from repl_pair.runtime.values.invisible import escape_invisible
from repl_pair.wire import ELIDED

GAP = "  "
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))
COLOURS = {
    "pass": "green",
    "fail": "red",
    "error": "red",
    **dict.fromkeys(("cannot_run", "skip", "xfail", "xpass"), "yellow"),
}


def show_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows under the names of their slots, in the order in which these first come."""
    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[format_cell(row.get(name)) for name in names] for row in rows]
    if sys.stdout.isatty():
        from rich import console, table as tables, text  # 25 ms that only a terminal needs

        table = tables.Table(box=None, pad_edge=False, header_style="bold")
        for name in names:
            table.add_column(name, overflow="fold")
        for line in cells:
            table.add_row(*(text.Text(cell, style=COLOURS.get(cell, "")) for cell in line))
        console.Console().print(table)
        return
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    for line in (names, *cells):
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo(GAP.join(padded).rstrip())


def show_page(page: Mapping[str, Any]) -> None:
    """Print the items of a list, and how many more there are; any other answer as a record."""
    if "items" not in page:
        show_record(page)
        return
    show_rows(page["items"])
    shown = len(page["items"])
    if shown < page["total"]:
        more = f"{shown} of {page['total']}; the next: --cursor {page.get('cursor', '…')}"
        click.echo(more, err=True)
    elif not shown:
        click.echo("none", err=True)


def show_kernels(page: Mapping[str, Any]) -> None:
    """Print kernels, a line each of 100 columns where ids differ in their first 8 characters."""
    kernels = page["items"]
    ids = _short([kernel["id"] for kernel in kernels], lambda id: (id[:8], id))
    notebooks = _short([kernel.get("notebook", "") for kernel in kernels], _endings)
    rows = [
        {
            "id": id,
            "notebook": notebook if len(notebook) <= 20 else f"…{notebook[-19:]}",
            "name": kernel["name"] if len(kernel["name"]) <= 8 else f"{kernel['name'][:7]}…",
            "pid": kernel.get("pid"),
            "age": _format_time(kernel.get("age_s")),
            "state": _format_state(kernel),
            "active": _format_time(kernel.get("last_activity_s")),
            "front end": kernel.get("front_end"),
            "runtime": kernel.get("runtime"),
        }
        for kernel, id, notebook in zip(kernels, ids, notebooks, strict=True)
    ]
    show_rows(rows)
    if not rows:
        click.echo("none", err=True)


def _format_state(kernel: Mapping[str, Any]) -> str:
    if not kernel["alive"]:
        return "silent" if "state" in kernel else "gone"
    return " ".join((kernel.get("state", ""), _format_time(kernel.get("since_s")))).strip()


def _short(names: Sequence[str], forms: Callable[[str], Iterable[str]]) -> list[str]:
    """Return each name's first form that no other name has; equal names stay equal."""
    return [
        next((f for f in forms(name) if all(o == name or f not in forms(o) for o in names)), name)
        for name in names
    ]


def _endings(path: str) -> tuple[str, ...]:
    parts = path.split("/")
    return tuple("/".join(parts[n:]) for n in range(len(parts) - 1, -1, -1))


def _format_time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    unit, size = next((u for u in _UNITS if seconds >= u[1]), ("s", 1))
    return f"{int(seconds // size)} {unit}"


def show_record(record: Any) -> None:
    """Print one nested answer as indented JSON, coloured on a terminal."""
    text = json.dumps(record, ensure_ascii=False, indent=2)
    if sys.stdout.isatty():
        from rich import print_json

        print_json(text)
    else:
        click.echo(text)


def show_slots(record: Mapping[str, Any]) -> None:
    """Print one flat answer, a filled slot a line."""
    width = max(map(len, record))
    for name, value in record.items():
        if value not in (None, "", [], {}):
            click.echo(f"{name:{width}}{GAP}{format_cell(value)}")


def format_cell(value: Any) -> str:
    """Write a value on one line; lists of words as words, a text that was cut as its head."""
    value = shown_value(value)
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):  # pyright: ignore[reportUnknownVariableType]  JSON
        return escape(", ".join(value))  # pyright: ignore[reportUnknownArgumentType]  JSON
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    return escape(json.dumps(value, ensure_ascii=False))


def text_of(slot: Any) -> str:
    """Return the text of a slot of an answer, of one that was cut its head."""
    return str(shown_value(slot))


def shown_value(value: Any) -> Any:
    """Return a value, or the head of a text that was cut."""
    slots = cast("dict[str, Any]", value) if type(value) is dict else {}
    cut = slots.get(ELIDED)
    if cut is None or cut["type"] != "str":
        return cast("Any", value)
    return f"{cut.get('head', '')}… ({cut['size']:,} characters)"


def escape(text: str) -> str:
    """Write characters that steer a terminal, or show nothing in it, as escapes."""
    return escape_invisible(text, "", lambda mark: ascii(mark)[1:-1])
