"""`repl-pair`: the commands of the terminal, and those that start the server and the demo."""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout, suppress
from typing import TYPE_CHECKING

import click

from repl_pair.bridge import manifest
from repl_pair.cli.answers import print_json, report_refusal
from repl_pair.cli.commands import main as program
from repl_pair.cli.options import Choice, agent_name, open_session, session_options
from repl_pair.errors import RequestError
from repl_pair.wire import ok_reply

if TYPE_CHECKING:
    from repl_pair.mcp_server.audit import Audit

EXPOSES_ALL = (
    "repl-pair: --expose-all is for development. Agents see every member and function of the app "
    "that no tier keeps from them, exposed or not; only names that begin with _ or repl_pair are "
    "hidden."
)


@program.command()
@session_options(approvals=True, named=True, several_kernels=True)
@click.option(
    "--http",
    "place",
    is_flag=False,
    flag_value="127.0.0.1:7331",
    metavar="[HOST:PORT]",
    help="Serve many clients over HTTP, at /mcp; each comes with a token of `repl-pair token`. "
    "[127.0.0.1:7331]",
)
@click.option(
    "--http-host",
    "hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Another name by which clients may reach --http.",
)
@click.option(
    "--http-origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="A web page's origin whose requests --http answers.",
)
@click.option(
    "--http-builtins",
    is_flag=True,
    help="Over HTTP too, calls in the background: runs, queues and triggers.",
)
@click.option("--no-builtins", is_flag=True, help="Nowhere, calls in the background.")
@click.option("--audit", metavar="FILE", help="Append a line of JSON for each call.")
@click.option("--debug", is_flag=True, help="Log what the server does, on stderr.")
def mcp(
    choice: Choice,
    place: str | None,
    audit: str | None,
    debug: bool,
    http_builtins: bool,
    no_builtins: bool,
    **sites: tuple[str, ...],
) -> None:
    """Serve MCP clients: one over stdin and stdout, or many over HTTP.

    --json is for what is refused before that.
    """
    from repl_pair.mcp_server import audit as audits, stdio  # 0.4 s of SDK that only it needs

    are_there = not no_builtins and (place is None or http_builtins)
    without = frozenset[str]() if are_there else manifest.of_toolset(manifest.MANAGE)
    with report_refusal(as_json=choice.as_json):
        given = [f"--http-{name[:-1]}" for name, values in sites.items() if values]
        _check_options(choice, place, given + ["--http-builtins"] * http_builtins)
        record = audits.Audit(audit) if audit is not None else None
        if place is not None:
            _serve_http(choice, place, record, debug=debug, without=without, **sites)
            return
        session = open_session(choice, principal=agent_name(choice), without=without)
    if choice.expose_all:
        click.echo(EXPOSES_ALL, err=True)
    with ExitStack() as stack:
        if choice.here:
            from repl_pair.cli.project_code import rules_here  # the runtime, else not needed

            stack.enter_context(rules_here())
        stdio.run(session, audit=record, debug=debug)


def _check_options(choice: Choice, place: str | None, of_http: Sequence[str]) -> None:
    """Refuse what goes with HTTP only, and over HTTP what the tokens decide; `bad_arguments`."""
    if place is None:
        if of_http:
            raise RequestError("bad_arguments", f"{of_http[0]} goes with --http only.")
    elif given := [name for name in _OF_TOKENS if getattr(choice, name)]:
        options = ", ".join(_OPTIONS.get(name, f"--{name.replace('_', '-')}") for name in given)
        raise RequestError(
            "bad_arguments",
            f"{options}: over HTTP the token of each agent says that.",
            hints=["repl-pair token add NAME --allow inspect"],
        )


_OF_TOKENS = ("agent", "here", "allow", "ask", "toolsets", "tier", "expose_all")
_OPTIONS = {"agent": "--as"}


def _serve_http(
    choice: Choice,
    place: str,
    audit: "Audit | None",
    *,
    debug: bool,
    without: frozenset[str],
    **sites: tuple[str, ...],
) -> None:
    from repl_pair.mcp_server.web import serving  # uvicorn

    tokens = serving.read_tokens()
    defaults = serving.Defaults(
        without=without,
        kernels=choice.kernels,
        inject=choice.inject,
        ask_wait_s=choice.ask_wait_s,
        ask_expires_s=choice.ask_expires_s,
        audit=audit,
    )
    where = serving.parse_place(place)
    serving.run(
        serving.Serving(place=where, defaults=defaults, tokens=tokens, debug=debug, **sites)
    )


@program.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print the steps on stderr, and the verdict as JSON."
)
def demo(as_json: bool) -> None:
    """Show the whole path once, on a kernel of its own; every step is checked."""
    from repl_pair.demo.program import TOTAL, show  # the SDK, as in mcp

    if not as_json:
        sys.exit(show())
    with redirect_stdout(sys.stderr):
        failed = show()
    print_json(ok_reply({"status": "fail" if failed else "pass", "total": TOTAL}))
    sys.exit(failed)


def main() -> None:
    """Run the command that the command line names; a closed stdout or stderr takes nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  to the end of the process
    try:
        program(prog_name="repl-pair")
    finally:
        with suppress(OSError, ValueError):  # who reads it, or the project's code, closed it
            sys.stdout.flush()
        sys.stdout = sys.stderr  # what the project's code prints at exit is no answer


if __name__ == "__main__":
    main()
