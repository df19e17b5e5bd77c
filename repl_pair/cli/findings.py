"""The result of one check, and how it is printed."""

from dataclasses import dataclass

import click

from repl_pair.cli.tables import escape


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check; `remedy` is what to do where it is not well."""

    what: str
    well: bool = True
    remedy: str = ""


def print_finding(finding: Finding, *, err: bool = False) -> None:
    """Print a finding, and its remedy below."""
    mark = click.style("ok  ", fg="green") if finding.well else click.style("warn", fg="yellow")
    click.echo(f"{mark}  {escape(finding.what)}", err=err)
    if finding.remedy:
        click.echo(f"      {escape(finding.remedy)}", err=err)
