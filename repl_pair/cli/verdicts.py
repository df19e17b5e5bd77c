"""Runs as tables, and why those failed that did."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from repl_pair.cli.tables import COLOURS, GAP, escape, format_cell, show_rows, shown_value, text_of
from repl_pair.runtime.registry.ids import name_run
from repl_pair.runtime.results.diff_lines import describe_difference

FAILING = ("fail", "error", "cannot_run")
_LONGEST_WORD = 80


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
        expected, actual = (shown_value(outcome.get(side)) for side in ("expected", "actual"))
        for line in (*reason.splitlines(), *describe_difference(expected, actual, reason)):
            click.echo(GAP * 2 + escape(line))
    if "traceback" in verdict and verdict["status"] == "error":
        for line in verdict["traceback"].splitlines():
            click.echo(GAP + escape(line))
    elif not failed and verdict.get("reason"):
        click.echo(GAP + format_cell(verdict["reason"]))
