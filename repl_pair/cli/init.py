"""`repl-pair init`: the entry that makes a host start the server; printed, written, checked."""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from repl_pair.bridge.policy import Policy
from repl_pair.cli.answers import FAIL, PASS, Finding, answer, print_finding, print_json
from repl_pair.cli.hosts import HOSTS, Entry, Host, Scope
from repl_pair.cli.options import Choice, make_policy, session_options
from repl_pair.cli.server_file import carry_out, plan
from repl_pair.cli.tables import escape
from repl_pair.errors import ReplPairError, RequestError
from repl_pair.wire import error_reply, ok_reply

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")
# -P: without it, a folder of the project's named like one of our packages would be imported.
START = ("-P", "-m", "repl_pair", "mcp")
KEPT = ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_PLATFORM_DIRS", "XDG_DATA_HOME")
"""Variables that say where kernels are found; hosts need not pass them on."""
OF_ONE_MACHINE = "It names this machine's Python: keep the file out of a shared repository."
OF_ONE_LIFE = "--kernel names one life of a kernel; a notebook's path holds after a restart too."


MEANINGS = {
    "inspect": "see values of your variables, by path, redacted",
    "write": "register and change stories, variants and their kin",
    "eval": "evaluate code in your kernel, with your rights",
}
DECISIONS = ("deny", "ask", "allow")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one `init`; `asks` is whether the person can be asked."""

    host: Host
    scope: Scope
    name: str
    choice: Choice
    write: bool
    check: bool
    asks: bool


@click.command()
@click.argument("host", type=click.Choice(list(HOSTS)))
@session_options(here=False)
@click.option("--name", default="pair", show_default=True, help="The server's name in the host.")
@click.option("--project", "scope", flag_value="project", help="For the working directory.")
@click.option("--user", "scope", flag_value="user", help="For all that you do with the host.")
@click.option("--print", "only_print", is_flag=True, help="Print the entry and ask nothing.")
@click.option("--write", is_flag=True, help="Put the entry into the host's file.")
@click.option("--check", is_flag=True, help="Start the server as the host would, and ask it.")
@click.option("--yes", is_flag=True, help="Ask nothing, and write.")
def init(
    choice: Choice,
    host: str,
    name: str,
    scope: Scope | None,
    only_print: bool,
    write: bool,
    check: bool,
    yes: bool,
) -> None:
    """Make the entry by which HOST starts the MCP server.

    Prints it, unless --write or your answer puts it into the host's file. What else the file holds
    stays as it is; an entry of that name that starts something else is never replaced.
    """
    options = Options(
        host=HOSTS[host],
        scope=scope or HOSTS[host].usual,
        name=name,
        choice=choice,
        write=write or yes,
        check=check,
        asks=sys.stdin.isatty()
        and sys.stderr.isatty()
        and not (only_print or yes or choice.as_json),
    )
    try:
        if only_print and options.write:
            raise RequestError("bad_arguments", "--print writes nothing: leave one of the two out.")
        code = _run(options)
    except ReplPairError as error:
        if not choice.as_json:
            click.echo(error.detail.get("document", ""), nl=False)
            for line in error.detail.get("diff", "").splitlines():
                click.echo(escape(line), err=True)
        code = answer(error_reply(error), print, as_json=choice.as_json)
    sys.exit(code)


def _run(options: Options) -> int:
    make_policy(options.choice)
    if not NAME.fullmatch(options.name):
        raise RequestError(
            "bad_arguments", f"{options.name!r} is no name for a server: it takes {NAME.pattern}."
        )
    choice = _ask_gates(options.choice) if options.asks else options.choice
    policy = make_policy(choice)
    entry = make_entry(options.host, choice)
    path = options.host.file(options.scope)
    state = _write_entry(options, path, entry)
    if not choice.as_json:
        _print_entry(options, path, entry, state)
        click.echo(f"{_describe_gates(policy)}.", err=True)
    findings = _check_server(entry, choice) if options.check else list[Finding]()
    if choice.as_json:
        body: dict[str, Any] = {
            "name": options.name,
            "scope": options.scope,
            "path": str(path),
            "state": state,
            "entry": entry,
            "document": options.host.document(options.name, entry),
        }
        checked = {"check": [asdict(finding) for finding in findings]} if options.check else {}
        print_json(ok_reply(body | checked))
    return PASS if all(finding.well for finding in findings) else FAIL


def _ask_gates(choice: Choice) -> Choice:
    if choice.allow or choice.ask:
        return choice
    click.echo("Reading and running what you registered is open. May the agent also:", err=True)
    decisions = {
        gate: click.prompt(
            f"  {gate}: {meaning}", type=click.Choice(DECISIONS), default="deny", err=True
        )
        for gate, meaning in MEANINGS.items()
    }
    allow, ask = (
        ",".join(gate for gate in MEANINGS if decisions[gate] == word) for word in ("allow", "ask")
    )
    return replace(choice, allow=allow, ask=ask)


def _describe_gates(policy: Policy) -> str:
    granted = policy.view().access
    states = {gate: "open" if gate in granted else "closed" for gate in MEANINGS}
    states |= dict.fromkeys(policy.ask, "asks you each time")
    return "read, run: open; " + "; ".join(f"{gate}: {state}" for gate, state in states.items())


def make_entry(host: Host, choice: Choice) -> Entry:
    """Make the entry for the host's file; of the environment it holds only where kernels are."""
    kept = {name: os.environ[name] for name in KEPT if os.environ.get(name)}
    entry = {**host.fixed, "command": sys.executable, "args": [*START, *_options(choice)]}
    return entry | ({"env": kept} if kept else {})


def _options(choice: Choice) -> Iterator[str]:
    values = {
        "--kernel": choice.kernel and _place(choice.kernel),
        "--allow": _sort(choice.allow),
        "--ask": _sort(choice.ask),
        "--toolsets": choice.toolsets,
        "--tier": choice.tier,
    }
    for option, value in values.items():
        if value:
            yield from (option, value)
    if choice.inject:
        yield "--inject"


def _place(kernel: str) -> str:
    """Make a path absolute: a host starts the server in another folder."""
    path = Path(kernel).expanduser()
    is_path = path.suffix == ".json" or len(path.parts) > 1
    return str(path.absolute()) if is_path and path.is_file() else kernel


def _sort(gates: str) -> str:
    words = {word.strip() for word in gates.split(",")}
    return ",".join(gate for gate in MEANINGS if gate in words)


def _write_entry(options: Options, path: Path, entry: Entry) -> str:
    """Put the entry into the file if wanted; return `printed`, `present` or `written`."""
    if not (options.write or options.asks):
        return "printed"
    try:
        change = plan(options.host, path, options.name, entry)
        if change.after is None:
            return "present"
        if not options.write and not click.confirm(f"Put it into {path}?", err=True):
            return "printed"
        carry_out(change)
    except RequestError as error:
        document = options.host.document(options.name, entry)
        error.detail |= {"path": str(path), "document": document}
        raise
    return "written"


def _check_server(entry: Entry, choice: Choice) -> list[Finding]:
    from repl_pair.cli import server_check  # 0.4 s of SDK that only a check needs

    findings = server_check.judge(server_check.check_server(entry), choice.kernel)
    if not choice.as_json:
        for finding in findings:
            print_finding(finding, err=True)
    return findings


def _print_entry(options: Options, path: Path, entry: Entry, state: str) -> None:
    """Print the entry unless it is in its file, and on stderr where it is or belongs."""
    if state == "printed":
        click.echo(options.host.document(options.name, entry), nl=False)
    texts = {
        "printed": f"{options.host.title} reads it from {path}; nothing was written.",
        "written": f"{path} has the entry {options.name!r} now; restart {options.host.title}.",
        "present": f"{path} has the entry {options.name!r} already; nothing was written.",
    }
    for line in (texts[state], *_notes(options)):
        click.echo(escape(line), err=True)


def _notes(options: Options) -> Iterator[str]:
    if options.scope in options.host.notes:
        yield options.host.notes[options.scope]
    if options.scope == "project":
        yield OF_ONE_MACHINE
    if options.choice.kernel and not options.choice.kernel.endswith(".ipynb"):
        yield OF_ONE_LIFE
