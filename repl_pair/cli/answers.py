"""Prints replies, as JSON or as text, and the findings of checks; gives the exit codes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from repl_pair.cli.tables import escape
from repl_pair.wire import Reply

PASS, FAIL, USAGE, NO_KERNEL = range(4)

_USAGE = frozenset(
    {"approval_unavailable", "bad_arguments", "bad_body", "bad_id", "not_found", "stale_cursor"}
)
_NO_KERNEL = frozenset(
    {
        "ambiguous_kernel",
        "kernel_gone",
        "kernel_unresponsive",
        "no_kernel",
        "package_missing",
        "unsupported_kernel",
        "version_mismatch",
    }
)


def exit_code(reply: Reply) -> int:
    """Return a command's exit code: an answer with `status` and `total` is a verdict."""
    if not reply["ok"]:
        return code_of(reply["error"]["code"])
    result = reply["result"]
    judged = isinstance(result, dict) and {"status", "total"} <= result.keys()
    return FAIL if judged and result["status"] != "pass" else PASS


def code_of(code: str) -> int:
    """Return the exit code of a refusal."""
    return USAGE if code in _USAGE else NO_KERNEL if code in _NO_KERNEL else FAIL


def answer(reply: Reply, show: Callable[[Any], None], *, as_json: bool) -> int:
    """Print a reply, as an envelope or as text, and return the exit code."""
    if as_json:
        print_json(reply)
    elif reply["ok"]:
        show(reply["result"])
        print_notes(reply)
    else:
        print_refusal(reply)
    return exit_code(reply)


def print_json(reply: Any) -> None:
    """Print one envelope on one line."""
    click.echo(json.dumps(reply, ensure_ascii=False, separators=(",", ":")))


def print_notes(reply: Reply) -> None:
    """Print on stderr what was left out of an answer, and its notifications."""
    left_out = [f"{reply[what]} {what}" for what in ("redacted", "elided") if reply.get(what)]
    for line in (*reply.get("notifications", ()), *((", ".join(left_out),) if left_out else ())):
        click.echo(escape(line), err=True)


def print_refusal(reply: Reply) -> None:
    """Print on stderr why there is no answer, and the next steps."""
    error = reply["error"]
    code = click.style(error["code"], fg="red", bold=True)
    click.echo(f"{code}: {escape(error['message'])}", err=True)
    for step in reply.get("next_steps", ()):
        click.echo(f"  next: {escape(step)}", err=True)
    print_notes(reply)


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
