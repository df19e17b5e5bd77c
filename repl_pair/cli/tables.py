"""Rows, records and verdicts as text: by rich on a terminal, aligned columns elsewhere."""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click

from repl_pair.runtime.registry.ids import name_run
from repl_pair.runtime.values.invisible import escape_invisible
from repl_pair.wire import ELIDED

GAP = "  "
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))
_LONGEST_WORD = 80
FAILING = ("fail", "error", "cannot_run")
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
    """Print the items of a list, and how many more there are."""
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


def show_verdicts(verdicts: Sequence[Mapping[str, Any]]) -> None:
    """Print runs as a table, then why those failed that did."""
    rows = [
        {
            "status": verdict["status"],
            "variant": name_run(verdict["variant_id"], verdict["modes"]),
            "total": verdict["total"],
            "ms": f"{verdict['elapsed_ms']:.1f}",
        }
        for verdict in verdicts
    ]
    show_rows(rows)
    for verdict in verdicts:
        if verdict["status"] in FAILING:
            _show_failure(verdict)
        elif verdict.get("reason"):
            name = name_run(verdict["variant_id"], verdict["modes"])
            click.echo(f"\n{name}: {verdict['status']}\n{GAP}{format_cell(verdict['reason'])}")


def show_totals(verdicts: Sequence[Mapping[str, Any]], *, refused: int, left: int) -> None:
    """Print how many runs ended how, as the last line."""
    counts = Counter(verdict["status"] for verdict in verdicts)
    ended = [f"{counts[status]} {status}" for status in COLOURS if counts[status]]
    more = [f"{n} {what}" for n, what in ((refused, "refused"), (left, "not run")) if n]
    seconds = sum(verdict["elapsed_ms"] for verdict in verdicts) / 1e3
    click.echo(f"\n{', '.join((*ended, *more))} in {seconds:.2f} s")


def _show_failure(verdict: Mapping[str, Any]) -> None:
    from repl_pair.runtime.results.diff_lines import describe_difference  # only failures need it

    status = click.style(verdict["status"], fg=COLOURS.get(verdict["status"]))
    place = (
        f"{verdict['place']}: ".removeprefix(f"{Path.cwd()}{os.sep}") if "place" in verdict else ""
    )
    click.echo(f"\n{place}{name_run(verdict['variant_id'], verdict['modes'])}: {status}")
    failed = [o for o in verdict["assertions"] if not o["passed"]]
    for outcome in failed:
        words = (outcome["assertion"], *map(format_cell, outcome["payload"][:1]))
        click.echo(GAP + " ".join(word for word in words if len(word) <= _LONGEST_WORD))
        reason = text_of(outcome.get("reason", ""))
        expected, actual = (_uncut(outcome.get(side)) for side in ("expected", "actual"))
        for line in (*reason.splitlines(), *describe_difference(expected, actual, reason)):
            click.echo(GAP * 2 + escape(line))
    if "traceback" in verdict and verdict["status"] == "error":
        for line in verdict["traceback"].splitlines():
            click.echo(GAP + escape(line))
    elif not failed and verdict.get("reason"):
        click.echo(GAP + format_cell(verdict["reason"]))


def format_cell(value: Any) -> str:
    """Write a value on one line; lists of words as words, a text that was cut as its head."""
    value = _uncut(value)
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):  # pyright: ignore[reportUnknownVariableType]  JSON
        return escape(", ".join(value))  # pyright: ignore[reportUnknownArgumentType]  JSON
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    return escape(json.dumps(value, ensure_ascii=False))


def text_of(slot: Any) -> str:
    """Return the text of a slot of an answer, of one that was cut its head."""
    return str(_uncut(slot))


def _uncut(value: Any) -> Any:
    slots = cast("dict[str, Any]", value) if type(value) is dict else {}
    cut = slots.get(ELIDED)
    if cut is None or cut["type"] != "str":
        return cast("Any", value)
    return f"{cut.get('head', '')}… ({cut['size']:,} characters)"


def escape(text: str) -> str:
    """Write characters that steer a terminal, or show nothing in it, as escapes."""
    return escape_invisible(text, "", lambda mark: ascii(mark)[1:-1])
