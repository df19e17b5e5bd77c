"""One thing that was looked at, and how it is told."""

from dataclasses import dataclass

import click

from repl_pair.cli.tables import say_plainly


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at; `remedy` says what to do where it is not well."""

    what: str
    well: bool = True
    remedy: str = ""


def say_finding(finding: Finding, *, err: bool = False) -> None:
    """Print a finding, and its remedy below."""
    mark = click.style("ok  ", fg="green") if finding.well else click.style("warn", fg="yellow")
    click.echo(f"{mark}  {say_plainly(finding.what)}", err=err)
    if finding.remedy:
        click.echo(f"      {say_plainly(finding.remedy)}", err=err)
