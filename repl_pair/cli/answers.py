"""Prints replies, as JSON or as text, and the findings of checks; gives the exit codes."""

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import click

from repl_pair.bridge.suggestions import write_step
from repl_pair.cli.tables import escape
from repl_pair.errors import ReplPairError
from repl_pair.wire import Reply, error_reply

Show: TypeAlias = Callable[[Any], None]
"""Prints the result of an answered call as text."""
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
    """Return a command's exit code: a verdict has `status` and `total`, sent code its status."""
    if not reply["ok"]:
        code = reply["error"]["code"]
        return USAGE if code in _USAGE else NO_KERNEL if code in _NO_KERNEL else FAIL
    result = reply["result"]
    slots = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    failed = slots.get("status") in ("error", "cannot_run")
    judged = {"status", "total"} <= slots.keys()
    return FAIL if failed or (judged and slots["status"] != "pass") else PASS


def answer(reply: Reply, show: Show, *, as_json: bool) -> int:
    """Print a reply, as an envelope or as text, and return the exit code."""
    if as_json:
        print_json(reply)
        return exit_code(reply)
    if reply["ok"]:
        show(reply["result"])
    else:
        error = reply["error"]
        code = click.style(error["code"], fg="red", bold=True)
        click.echo(f"{code}: {escape(error['message'])}", err=True)
        for line in (*map(write_step, reply.get("next_steps", ())), *reply.get("hints", ())):
            click.echo(f"  next: {escape(line)}", err=True)
    left_out = [f"{reply[what]} {what}" for what in ("redacted", "elided") if reply.get(what)]
    for line in (*reply.get("notifications", ()), *((", ".join(left_out),) if left_out else ())):
        click.echo(escape(line), err=True)
    return exit_code(reply)


@contextmanager
def report_refusal(*, as_json: bool) -> Generator[None]:
    """Print a ReplPairError of the block as the reply that it is, and end with its exit code."""
    try:
        yield
    except ReplPairError as error:
        sys.exit(answer(error_reply(error), print, as_json=as_json))


def print_json(reply: Any) -> None:
    """Print one envelope on one line."""
    click.echo(json.dumps(reply, ensure_ascii=False, separators=(",", ":")))


@dataclass(frozen=True)
class Finding:
    """The result of one check; `remedy` is what to do where it is not well."""

    what: str
    well: bool = True
    remedy: str = ""


def fault(what: str, remedy: str = "") -> Finding:
    """Return the finding that something is not well."""
    return Finding(what, well=False, remedy=remedy)


def print_findings(findings: Sequence[Finding], *, err: bool = False) -> None:
    """Print findings, each with its remedy below."""
    for one in findings:
        mark = click.style("ok  ", fg="green") if one.well else click.style("warn", fg="yellow")
        click.echo(f"{mark}  {escape(one.what)}", err=err)
        if one.remedy:
            click.echo(f"      {escape(one.remedy)}", err=err)
