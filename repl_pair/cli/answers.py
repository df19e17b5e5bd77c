"""One command's answers: replies and findings printed, exit codes."""

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import click

from repl_pair.bridge.suggestions import write_command
from repl_pair.cli.tables import escape
from repl_pair.errors import ReplPairError, RequestError
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


def answer(reply: Reply, show: Show, *, as_json: bool, here: bool = False) -> int:
    """Print a reply, as an envelope or as text, and return the exit code.

    The next commands are with `--here` where the one that is answered was.
    """
    if as_json:
        print_json(reply)
        return exit_code(reply)
    if reply["ok"]:
        show(reply["result"])
    else:
        error = reply["error"]
        code = click.style(error["code"], fg="red", bold=True)
        click.echo(f"{code}: {escape(error['message'])}", err=True)
        steps = [write_command(step, here=here) for step in reply.get("next_steps", ())]
        for line in (*steps, *reply.get("hints", ())):
            click.echo(f"  next: {escape(line)}", err=True)
    left_out = [f"{reply[what]} {what}" for what in ("redacted", "elided") if reply.get(what)]
    for line in (*reply.get("notifications", ()), *((", ".join(left_out),) if left_out else ())):
        click.echo(escape(line), err=True)
    return exit_code(reply)


def ignore(_reply: Reply, **_given: Any) -> None:
    """Note no refusal."""


@contextmanager
def report_refusal(
    *, as_json: bool, here: bool = False, note: Callable[[Reply], None] = ignore
) -> Generator[None]:
    """Print a ReplPairError of the block as the reply that it is, and end with its exit code.

    So a file that cannot be read or written, as `cannot_run`. `note` gets the reply first.
    """
    try:
        yield
        return
    except ReplPairError as error:
        reply = error_reply(error)
    except OSError as error:
        if error.filename is None and not _is_nowhere():
            raise
        what = f"{error.filename}: {error.strerror}." if error.filename else _NOWHERE
        reply = error_reply(RequestError("cannot_run", what))
    with suppress(OSError):
        note(reply)
    sys.exit(answer(reply, print, as_json=as_json, here=here))


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


_NOWHERE = "The folder that this command was started in is gone: change to one that is there."


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
