"""The realm of a project from the terminal: made, joined, written, checked."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from repl_pair.cli.answers import FAIL, PASS, answer, report_refusal
from repl_pair.cli.callers import Caller, session_command
from repl_pair.cli.live_schemas import check_schema, read_live_schema
from repl_pair.cli.options import parse_json, parse_map
from repl_pair.cli.tables import escape, show_rows
from repl_pair.errors import RequestError, count_of, did_you_mean
from repl_pair.runtime.project.database import project
from repl_pair.runtime.realm import membership, saving
from repl_pair.runtime.realm.bindings import bind as bind_repo, unbind as unbind_repo
from repl_pair.runtime.realm.changes import report_changes
from repl_pair.runtime.realm.checks import check_realm
from repl_pair.runtime.realm.files import read_json
from repl_pair.runtime.realm.model import Binding, CheckedRealm, Domain, Realm, RealmStatus
from repl_pair.runtime.realm.realms import Home, find_home, open_realm
from repl_pair.runtime.realm.status import describe_binding, describe_realm
from repl_pair.wire import ok_reply

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one envelope.")
_REALM = click.option(
    "--realm", "named", metavar="FOLDER", help="Another realm than the project's."
)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group()
def realm() -> None:
    """Tie repos together: domains, contracts that one repo owns, bindings of all."""


@realm.command()
@click.argument("name")
@click.argument("folder", type=_FOLDER, default=".")
def init(name: str, folder: Path) -> None:
    """Make a realm in FOLDER, here by default; it may be a repo of its own."""
    with report_refusal(as_json=False):
        _print_line(f"made {membership.init_realm(name, folder)}")


@realm.command()
@click.argument("folder", type=_FOLDER)
@click.option("--as", "name", metavar="NAME", help="The repo's name there. [its folder's]")
def join(folder: Path, name: str | None) -> None:
    """Make this project a repo of the realm in FOLDER."""
    with report_refusal(as_json=False):
        root = project().root
        home = membership.join_realm(root, folder, name)
        _note_changes()
        _print_line(f"{root} is {home.repo} in {home.folder}")


@realm.command()
@click.argument("domain")
@click.option("--role", type=click.Choice(["provider", "consumer", "both"]))
@click.option("--export", "-e", "exports", multiple=True, metavar="C", help="It gives C.")
@click.option("--import", "-i", "imports", multiple=True, metavar="'C >=1.0'", help="It takes C.")
def bind(domain: str, role: Any, exports: Sequence[str], imports: Sequence[str]) -> None:
    """Bind this repo to DOMAIN, or add to what it exports and imports there."""
    with report_refusal(as_json=False):
        home, known = _home(), _open(None).domains
        made = bind_repo(home, domain, role=role, exports=exports, imports=imports)
        _note_changes()
        if domain not in known:
            _print_line(f"{domain} is a new domain.{did_you_mean(domain, known)}", err=True)
        _show_binding(domain, home.repo, made)


@realm.command()
@click.argument("domain")
@click.option("--export", "-e", "exports", multiple=True, metavar="C", help="Only this export.")
@click.option("--import", "-i", "imports", multiple=True, metavar="C", help="Only this import.")
def unbind(domain: str, exports: Sequence[str], imports: Sequence[str]) -> None:
    """Take this repo out of DOMAIN, or only what is named."""
    with report_refusal(as_json=False):
        home = _home()
        left = unbind_repo(home, domain, exports=exports, imports=imports)
        _note_changes()
        if left is None:
            _print_line(f"{home.repo} is not bound to {domain} any more")
        else:
            _show_binding(domain, home.repo, left)


@realm.command()
@click.argument("domain")
@click.argument("contract")
@click.option("--version", required=True, metavar="V", help="A semantic version.")
@click.option("--schema", "file", type=_FILE, metavar="FILE", help="A file of JSON Schema.")
@click.option("--from", "source", metavar="X", help="The live schema of story:ID or function:ID.")
@click.option("--changes", default="", metavar="TEXT", help="What is other in this version.")
@click.option("--compatible/--incompatible", default=None, help="With the version before.")
@click.option("--backwards/--no-backwards", default=None, help="Later versions serve earlier uses.")
@click.option("--forwards/--no-forwards", default=None, help="Earlier versions serve later uses.")
@click.option("--value", metavar="JSON", help="What is agreed on beside the schema.")
@click.option("--validation", metavar="JSON", help="How each side validates; nothing is run.")
@session_command(gates=False)
async def save(
    caller: Caller,
    domain: str,
    contract: str,
    file: Path | None,
    source: str | None,
    value: str | None,
    validation: str | None,
    **given: Any,
) -> int:
    """Save CONTRACT of DOMAIN as a version; who saves it first owns it.

    A schema that changed needs a higher version. Without --schema and --from it stays.
    """
    home = _home()
    if file is not None and source is not None:
        raise RequestError("bad_arguments", "Give --schema or --from, not both.")
    schema = None if file is None else check_schema(read_json(file))
    if source is not None:
        schema = check_schema(await read_live_schema(caller, source))
    edition = saving.Edition(
        schema=schema,
        value=None if value is None else parse_json(value, "--value"),
        validation=None if validation is None else parse_map(validation, "--validation"),
        **given,
    )
    made = saving.save_contract(home, domain, contract, edition)
    _note_changes()
    words = f"saved {domain}/{contract} {made['version']}, owned by {made['owner']}"
    return caller.print(ok_reply(made), lambda _: _print_line(words))


@realm.command()
@click.option(
    "--strict", is_flag=True, help="A changed schema at its version, or no domain, is an error."
)
@_REALM
@_JSON
def check(strict: bool, named: str | None, as_json: bool) -> None:
    """Check what the repos agreed on. Exit code: 0 for no error, 1 for some, 2 for no realm."""
    with report_refusal(as_json=as_json):
        checked = check_realm(_open(named), strict=strict)
    answer(ok_reply(checked), _show_checked, as_json=as_json)
    sys.exit(PASS if checked["valid"] else FAIL)


@realm.command()
@_REALM
@_JSON
def status(named: str | None, as_json: bool) -> None:
    """Show the repos of the realm, its domains, contracts and bindings."""
    with report_refusal(as_json=as_json):
        found = describe_realm(_open(named), None)
    answer(ok_reply(found), _show_status, as_json=as_json)


def _open(named: str | None) -> Realm:
    """Open the realm of the project, or one that is named as seen from the working directory."""
    return open_realm(project().root, named, start=Path.cwd())


def _home() -> Home:
    """Return the place of the project in its realm; refuse where it is in none."""
    _open(None)
    return cast("Home", find_home(project().root))


def _note_changes() -> None:
    """Report what others changed, so that it is known; the command has done its work before."""
    try:
        report_changes(project(), create=True)
    except RequestError as error:
        note = "The realm is changed; the notices of this project are not"
        _print_line(f"{note}: {error.message}", err=True)


def _show_checked(checked: CheckedRealm) -> None:
    found = {"error": checked["errors"], "warning": checked["warnings"]}
    for word, faults in found.items():
        for fault in faults:
            click.echo(escape(f"{word}: {fault['file']}: {fault['kind']}: {fault['message']}"))
    click.echo(", ".join(count_of(len(faults), word) for word, faults in found.items()), err=True)


def _show_status(found: RealmStatus) -> None:
    show_rows(
        [
            {
                "repo": repo["name"],
                "path": repo["path"],
                "here": repo["name"] == found["current_repo"],
            }
            for repo in found["repos"]
        ]
    )
    for domain in found["domains"]:
        click.echo(f"\n{escape(domain['name'])}")
        show_rows(domain["contracts"])
        show_rows([_binding_row(one["repo"], one) for one in domain["bindings"]])


def _show_binding(name: str, repo: str, binding: Binding) -> None:
    domain = _open(None).domains.get(name, Domain(name=name, contracts={}, bindings={}))
    show_rows([{"domain": name, **_binding_row(repo, describe_binding(domain, binding))}])


def _binding_row(repo: str, binding: Binding) -> dict[str, Any]:
    imports = [f"{i['contract']} {i['requirement']} ({i['status']})" for i in binding["imports"]]
    return {
        "repo": repo,
        "role": binding["role"],
        "exports": binding["exports"],
        "imports": imports,
    }


def _print_line(text: str, *, err: bool = False) -> None:
    click.echo(escape(text), err=err)
