"""Stores what another run rendered: the `accept` command."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from repl_pair.cli.answers import FAIL, PASS, answer, report_refusal
from repl_pair.cli.project_code import load_project
from repl_pair.cli.tables import escape
from repl_pair.records import to_dict
from repl_pair.runtime.snapshots.artifacts import Accepted, accept_rendered
from repl_pair.wire import ok_reply


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print what became of each as one envelope.")
def accept(folder: Path, as_json: bool) -> None:
    """Store as snapshots what another run gave: FOLDER has its artifacts, as CI kept them.

    That is what `pytest --pair-artifacts` or repl_pair.write_accepted wrote. No variant is run.
    What belongs to no variant of a story file is refused, unless it is one of a notebook that is
    stored already. Exit code: 0 if all was stored, 1 if something was refused, 2 for a folder
    without outputs.
    """
    with report_refusal(as_json=as_json):
        load_project(whole=True, needs_stories=False)
        found = accept_rendered(folder)
    items = [to_dict(one) for one in found]
    answer(ok_reply({"items": items, "total": len(items)}), lambda _: _show(found), as_json=as_json)
    sys.exit(FAIL if any(one.refusal for one in found) else PASS)


def _show(found: Sequence[Accepted]) -> None:
    for one in found:
        line = f"refused {one.label}: {one.refusal}" if one.refusal else f"stored {one.label}"
        changed = f"; what is here differs from what it was made of: {one.note}" if one.note else ""
        click.echo(escape(line + changed))
    stored = sum(not one.refusal for one in found)
    click.echo(f"{stored} stored, {len(found) - stored} refused", err=True)
