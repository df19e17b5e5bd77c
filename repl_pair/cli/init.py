"""`repl-pair init`: the entry that makes a host start the server; printed, written, tried out."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from repl_pair.cli.answers import FAIL, PASS, answer, print_json
from repl_pair.cli.findings import Finding, say_finding
from repl_pair.cli.gates import MEANINGS, ask_gates, say_gates
from repl_pair.cli.hosts import HOSTS, Entry, Host, Scope
from repl_pair.cli.options import Choice, make_policy, session_options
from repl_pair.cli.server_file import carry_out, plan
from repl_pair.cli.tables import say_plainly
from repl_pair.errors import ReplPairError, RequestError
from repl_pair.wire import error_reply, ok_reply

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")
# -P: without it, a folder of the project's named like one of our packages would be imported.
START = ("-P", "-m", "repl_pair", "mcp")
KEPT = ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_PLATFORM_DIRS", "XDG_DATA_HOME")
"""Variables that say where kernels are found; hosts need not pass them on."""
OF_ONE_MACHINE = "It names this machine's Python: keep the file out of a shared repository."
OF_ONE_LIFE = "--kernel names one life of a kernel; a notebook's path holds after a restart too."


@dataclass(frozen=True, kw_only=True)
class Order:
    """What the person asked for; `asks` says that they can be asked."""

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
    order = Order(
        host=HOSTS[host],
        scope=scope or HOSTS[host].usual,
        name=name,
        choice=choice,
        write=write or yes,
        check=check,
        asks=_is_person() and not (only_print or yes or choice.as_json),
    )
    try:
        if only_print and order.write:
            raise RequestError("bad_arguments", "--print writes nothing: leave one of the two out.")
        code = _follow(order)
    except ReplPairError as error:
        code = _refuse(error, as_json=choice.as_json)
    sys.exit(code)


def _is_person() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _follow(order: Order) -> int:
    _check_words(order)
    choice = ask_gates(order.choice) if order.asks else order.choice
    policy = make_policy(choice)
    entry = make_entry(order.host, choice)
    path = order.host.file(order.scope)
    state = _settle(order, path, entry)
    if not choice.as_json:
        _say(order, path, entry, state)
        click.echo(f"{say_gates(policy)}.", err=True)
    findings = _try_out(entry, choice) if order.check else list[Finding]()
    if choice.as_json:
        _print_json(order, path, entry, state, findings)
    return PASS if all(finding.well for finding in findings) else FAIL


def _check_words(order: Order) -> None:
    """Refuse words that mean nothing before anything is asked."""
    make_policy(order.choice)
    if not NAME.fullmatch(order.name):
        raise RequestError(
            "bad_arguments", f"{order.name!r} is no name for a server: it takes {NAME.pattern}."
        )


def make_entry(host: Host, choice: Choice) -> Entry:
    """Make what stands in the host's file; nothing of the environment but where kernels are."""
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


def _settle(order: Order, path: Path, entry: Entry) -> str:
    """Put the entry into the file if that is wanted; say what became of it."""
    if not (order.write or order.asks):
        return "printed"
    try:
        change = plan(order.host, path, order.name, entry)
        if change.after is None:
            return "present"
        if not order.write and not click.confirm(f"Put it into {path}?", err=True):
            return "printed"
        carry_out(change)
    except RequestError as error:
        document = order.host.document(order.name, entry)
        error.detail |= {"path": str(path), "document": document}
        raise
    return "written"


def _try_out(entry: Entry, choice: Choice) -> list[Finding]:
    from repl_pair.cli.trial import judge, try_out  # 0.4 s of SDK that only a check needs

    findings = judge(try_out(entry), choice.kernel)
    if not choice.as_json:
        for finding in findings:
            say_finding(finding, err=True)
    return findings


def _say(order: Order, path: Path, entry: Entry, state: str) -> None:
    """Print the entry, unless it is in its file, and say on stderr where it is or goes."""
    if state == "printed":
        click.echo(order.host.document(order.name, entry), nl=False)
    told = {
        "printed": f"{order.host.title} reads it from {path}; nothing was written.",
        "written": f"{path} has the entry {order.name!r} now; restart {order.host.title}.",
        "present": f"{path} has the entry {order.name!r} already; nothing was written.",
    }
    for line in (told[state], *_notes(order)):
        click.echo(say_plainly(line), err=True)


def _notes(order: Order) -> Iterator[str]:
    if order.scope in order.host.notes:
        yield order.host.notes[order.scope]
    if order.scope == "project":
        yield OF_ONE_MACHINE
    if order.choice.kernel and not order.choice.kernel.endswith(".ipynb"):
        yield OF_ONE_LIFE


def _print_json(
    order: Order, path: Path, entry: Entry, state: str, findings: Sequence[Finding]
) -> None:
    told: dict[str, Any] = {
        "name": order.name,
        "scope": order.scope,
        "path": str(path),
        "state": state,
        "entry": entry,
        "document": order.host.document(order.name, entry),
    }
    tried = {"check": [asdict(finding) for finding in findings]} if order.check else {}
    print_json(ok_reply(told | tried))


def _refuse(error: ReplPairError, *, as_json: bool) -> int:
    if not as_json:
        click.echo(error.detail.get("document", ""), nl=False)
        for line in error.detail.get("diff", "").splitlines():
            click.echo(say_plainly(line), err=True)
    return answer(error_reply(error), print, as_json=as_json)
