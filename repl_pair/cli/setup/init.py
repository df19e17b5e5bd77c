"""`repl-pair init`: the entry that makes a host start the server; printed, written, checked."""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from repl_pair.bridge.kernel_info import check_name
from repl_pair.bridge.policy import NAMED, Policy
from repl_pair.cli.answers import FAIL, PASS, Finding, print_findings, print_json, report_refusal
from repl_pair.cli.options import Choice, agent_name, make_policy, session_options
from repl_pair.cli.setup.host_files import carry_out, plan
from repl_pair.cli.setup.hosts import HOSTS, TOKEN, URL, Entry, Host, Scope
from repl_pair.cli.tables import escape
from repl_pair.errors import RequestError
from repl_pair.wire import ok_reply

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")
# -P: without it, a folder of the project's named like one of our packages would be imported.
START = ("-P", "-m", "repl_pair", "mcp")
KEPT = ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_PLATFORM_DIRS", "XDG_DATA_HOME")
"""Variables that say where kernels are found; hosts need not pass them on."""
OF_ONE_MACHINE = "It names this machine's Python: keep the file out of a shared repository."
ELSEWHERE = {
    "--check": "docs/http.md has a call by curl, which asks it",
    "--as": "repl-pair token add NAME: the token names the agent",
    **{
        option: f"repl-pair token add NAME {option} …"
        for option in ("--kernel", "--tier", "--allow", "--ask", "--toolsets")
    },
}
"""What to do in place of an option that `init --http` does not take."""
OF_VARIABLE = (
    f"The host takes the token from the variable {TOKEN}: set it where the host is started "
    "(`repl-pair token add NAME` prints one)."
)
OF_ONE_PROCESS = (
    "--kernel names one process of the kernel; a notebook's path stays valid after a restart."
)
MEANINGS = {
    "inspect": "see values of your variables, by path, redacted",
    "write": "register and change stories, variants and other entries",
    "eval": "evaluate code in your kernel, with your rights",
}


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
    url: str | None = None


@click.command()
@click.argument("host", type=click.Choice(list(HOSTS)))
@session_options(here=False, named=True)
@click.option(
    "--http", "url", metavar="URL", help="For a server that runs there: `repl-pair mcp --http`."
)
@click.option("--name", default="pair", show_default=True, help="The server's name in the host.")
@click.option("--project", "scope", flag_value="project", help="For the working directory.")
@click.option("--user", "scope", flag_value="user", help="For all that you do with the host.")
@click.option("--print", "only_print", is_flag=True, help="Print the entry and ask nothing.")
@click.option("--write", is_flag=True, help="Put the entry into the host's file.")
@click.option("--check", is_flag=True, help="Start the server as the host would, and ask it.")
@click.option("--yes", is_flag=True, help="Ask nothing, and write.")
def init(
    host: str, scope: Scope | None, only_print: bool, write: bool, yes: bool, **given: Any
) -> None:
    """Make the entry by which HOST starts the MCP server.

    Prints it, unless --write or your answer puts it into the host's file. What else the file holds
    stays as it is; an entry of that name that starts something else is never replaced.
    """
    choice: Choice = given["choice"]
    is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    asks = is_terminal and not (only_print or yes or choice.as_json)
    chosen, scope = HOSTS[host], scope or HOSTS[host].usual
    given["choice"] = replace(choice, agent=host if choice.agent is None else choice.agent)
    options = Options(host=chosen, scope=scope, write=write or yes, asks=asks, **given)
    with report_refusal(as_json=choice.as_json):
        if only_print and options.write:
            raise RequestError("bad_arguments", "--print writes nothing: leave one of the two out.")
        if options.url is not None:
            _check_url(options.url, choice, check=options.check)
        sys.exit(_run(options))


def _run(options: Options) -> int:
    choice, policy = options.choice, make_policy(options.choice)
    if not NAME.fullmatch(options.name):
        raise RequestError(
            "bad_arguments", f"{options.name!r} is not a server's name: it takes {NAME.pattern}."
        )
    if options.asks and options.url is None and not policy.allow | policy.ask:
        policy = _ask_gates(policy)
    entry = _make_entry(options, policy)
    path = options.host.file(options.scope)
    document = options.host.insert("", options.host.key, options.name, entry)
    state = _write_entry(options, path, entry, document)
    if not choice.as_json:
        _print_entry(options, path, document, state)
        if options.url is not None:
            for line in filter(None, (OF_VARIABLE, options.host.remote_note)):
                click.echo(line, err=True)
    if not (choice.as_json or options.url):
        states = {gate: "open" if gate in policy.view().access else "closed" for gate in MEANINGS}
        states |= dict.fromkeys(policy.ask, "asks you each time")
        gates = "; ".join(f"{gate}: {state}" for gate, state in states.items())
        click.echo(f"read, run: open; {gates}.", err=True)
    findings: list[Finding] = []
    if options.check:
        from repl_pair.cli.setup import server_check  # 0.4 s of SDK that only a check needs

        findings = server_check.check_server(entry, choice.kernel)
    if choice.as_json:
        body = {"name": options.name, "scope": options.scope, "path": str(path), "state": state}
        body |= {"entry": entry, "document": document}
        checked = {"check": [asdict(finding) for finding in findings]} if options.check else {}
        print_json(ok_reply(body | checked))
    else:
        print_findings(findings, err=True)
    return PASS if all(finding.well for finding in findings) else FAIL


def _check_url(url: str, choice: Choice, *, check: bool) -> None:
    if not URL.fullmatch(url):
        raise RequestError(
            "bad_arguments",
            "--http takes the URL that the server prints, as http://127.0.0.1:7331/mcp; the token "
            "does not belong into it.",
        )
    started = {"--kernel": choice.kernel, "--inject": choice.inject, "--tier": choice.tier}
    started |= {"--allow": choice.allow, "--ask": choice.ask, "--toolsets": choice.toolsets}
    started |= {"--expose-all": choice.expose_all, "--as": choice.agent, "--check": check}
    if given := [option for option, value in started.items() if value]:
        raise RequestError(
            "bad_arguments",
            f"{', '.join(given)}: for a server that the host starts. The one at the URL runs "
            "already, and a token says what is open there.",
            hints=[hint for option, hint in ELSEWHERE.items() if option in given],
        )


def _make_entry(options: Options, policy: Policy) -> Entry:
    if options.url is not None:
        return options.host.remote(options.url)
    entry = {**options.host.fixed, "command": sys.executable}
    entry["args"] = [*START, *_options(options.choice, policy)]
    if kept := {name: os.environ[name] for name in KEPT if os.environ.get(name)}:
        entry["env"] = kept
    return entry


def _ask_gates(policy: Policy) -> Policy:
    click.echo("Reading and running what you registered is open. May the agent also:", err=True)
    words = click.Choice(["deny", "ask", "allow"])
    decided: dict[str, set[str]] = {word: set() for word in words.choices}
    for gate, meaning in MEANINGS.items():
        word = click.prompt(f"  {gate}: {meaning}", type=words, default="deny", err=True)
        decided[word].add(gate)
    return replace(policy, allow=frozenset(decided["allow"]), ask=frozenset(decided["ask"]))


def _options(choice: Choice, policy: Policy) -> Iterator[str]:
    values = {
        "--as": agent_name(choice),
        "--kernel": None if choice.kernel is None else _place(check_name(choice.kernel)),
        "--allow": ",".join(gate for gate in NAMED if gate in policy.allow),
        "--ask": ",".join(gate for gate in NAMED if gate in policy.ask),
        "--toolsets": ",".join(choice.toolsets),
        "--tier": choice.tier,
    }
    for option, value in values.items():
        if value:
            yield from (option, value)
    yield from (["--inject"] if choice.inject else [])
    yield from (["--expose-all"] if choice.expose_all else [])


def _place(kernel: str) -> str:
    """Make a path absolute: a host starts the server in another folder."""
    path = Path(os.path.expanduser(kernel))
    is_path = path.suffix == ".json" or len(path.parts) > 1
    return str(path.absolute()) if is_path and path.is_file() else kernel


def _write_entry(options: Options, path: Path, entry: Entry, document: str) -> str:
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
        if not options.choice.as_json:
            click.echo(document, nl=False)
            for line in error.detail.get("diff", "").splitlines():
                click.echo(escape(line), err=True)
        error.detail |= {"path": str(path), "document": document}
        raise
    return "written"


def _print_entry(options: Options, path: Path, document: str, state: str) -> None:
    if state == "printed":
        click.echo(document, nl=False)
    texts = {
        "printed": f"{options.host.title} reads it from {path}; nothing was written.",
        "written": f"{path} has the entry {options.name!r} now; restart {options.host.title}.",
        "present": f"{path} has the entry {options.name!r} already; nothing was written.",
    }
    lines = [texts[state]]
    if options.scope in options.host.notes:
        lines.append(options.host.notes[options.scope])
    if options.scope == "project" and options.url is None:
        lines.append(OF_ONE_MACHINE)
    if options.choice.kernel and not options.choice.kernel.endswith(".ipynb"):
        lines.append(OF_ONE_PROCESS)
    for line in lines:
        click.echo(escape(line), err=True)
