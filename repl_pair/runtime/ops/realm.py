"""Ops over the realm of the project: what its repos agreed on, and how far their branches are."""

from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Annotated, Any

from repl_pair.errors import ReplPairError, count_of
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.entering import decide
from repl_pair.runtime.op_base.table import Preview, op
from repl_pair.runtime.project.database import project
from repl_pair.runtime.realm.changes import report_changes
from repl_pair.runtime.realm.checks import check_realm
from repl_pair.runtime.realm.model import (
    CheckedRealm,
    Readiness,
    Realm,
    RealmStatus,
    WholeContract,
    Worktrees,
)
from repl_pair.runtime.realm.readiness import read_readiness
from repl_pair.runtime.realm.realms import open_realm
from repl_pair.runtime.realm.status import describe_realm, get_contract
from repl_pair.runtime.realm.worktrees import make_worktrees, plan_worktrees
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.secrets.schemas import public_schema
from repl_pair.runtime.sessions.open_sessions import OPEN
from repl_pair.wire import PERSON

GIT_DEADLINE_S = 50.0
_op = partial(op, toolset="realm", project=True)
_git_op = partial(_op, deadline=lambda _args: GIT_DEADLINE_S, stoppable=False)

RealmName = Annotated[str | None, "Another realm that has this project: its folder"]
Rfc = Annotated[str, "Its branch is rfc/NAME"]


@_op(access="read")
def realm_status(call: Call, realm: RealmName = None) -> RealmStatus:
    """List the repos of the realm, its domains with their contracts and bindings, and your repo."""
    found = _open(call, realm)
    contracts = ((d.name, contract) for d in found.domains.values() for contract in d.contracts)
    for domain, contract in islice(contracts, 1):
        call.suggest("contract_get", domain=domain, contract=contract, realm=realm)
    session = OPEN.find(call.owner)
    if session is None and call.view.principal != PERSON:
        call.suggest("session_start")
    call.suggest("realm_check", realm=realm)
    call.suggest("pr_status", realm=realm)
    if not found.domains:
        call.notifications.append(
            "The realm has no domain. The person binds a repo to one: "
            "repl-pair realm bind DOMAIN --role provider"
        )
    return describe_realm(found, None if session is None else session.id)


@_op(access="read")
def realm_check(
    call: Call,
    strict: Annotated[bool, "A schema changed at its version, or no domain, is an error"] = False,
    realm: RealmName = None,
) -> CheckedRealm:
    """Check what the repos of the realm agreed on: versions, bindings, requirements and owners."""
    found = _open(call, realm)
    checked = check_realm(found, strict=strict)
    for fault in (*checked["errors"], *checked["warnings"]):
        domain = found.domains.get(fault["domain"])
        kind, _, name = fault["file"].removesuffix(".json").rpartition("/")
        if domain is not None and kind.endswith("contracts") and name in domain.contracts:
            call.suggest("contract_get", domain=domain.name, contract=name, realm=realm)
            break
    call.suggest("realm_status", realm=realm)
    if checked["valid"]:
        call.suggest("pr_status", realm=realm)
    return checked


@_op(access="read")
def contract_get(
    call: Call,
    domain: Annotated[str, "As realm_status has it"],
    contract: Annotated[str, "As realm_status has it"],
    realm: RealmName = None,
) -> WholeContract:
    """Read a whole contract: schema, value, history, and the repos that export or import it."""
    found = get_contract(_open(call, realm), domain, contract)
    call.suggest("realm_check", realm=realm)
    call.suggest("realm_status", realm=realm)
    learn_secrets()
    public = public_schema(found["schema"])
    if found["changed"] or public != found["schema"]:
        del found["schema_hash"]
    schema: Any = call.add_raw_json(public)
    return {**found, "schema": schema}


def _preview(args: Mapping[str, Any], _principal: str) -> Preview:
    try:
        found = open_realm(project().root, args.get("realm"))
        plan = plan_worktrees(found, args["rfc"], args.get("repos"))
    except ReplPairError as error:
        return {"kind": "list", "title": "make worktrees", "text": error.message}
    lines = [f"{repo}: {path}" for repo, path in plan.paths.items()]
    title = f"make {count_of(len(lines), 'worktree')} on the branch {plan.branch}"
    return {"kind": "list", "title": title, "text": "\n".join([*lines, "", plan.reason])}


@_git_op(access="write", preview=_preview)
def worktree_create(
    call: Call,
    rfc: Rfc,
    repos: Annotated[list[str] | None, "By default those that share a domain with yours"] = None,
    realm: RealmName = None,
) -> Worktrees:
    """Make a git worktree of each repo for an RFC, on the branch rfc/NAME, in the realm."""
    found = _open(call, realm)
    plan = plan_worktrees(found, rfc, repos)
    decide(call)
    call.suggest("pr_status", rfc=rfc, realm=realm)
    call.suggest("realm_status", realm=realm)
    return make_worktrees(found, plan)


@_git_op(access="read")
def pr_status(
    call: Call,
    rfc: Annotated[Rfc | None, "By default the current branches"] = None,
    realm: RealmName = None,
) -> Readiness:
    """Read how far the branch of each repo is: uncommitted, unpushed, behind, its pull request."""
    found = read_readiness(_open(call, realm), rfc)
    call.suggest("realm_check", realm=realm)
    call.suggest("realm_status", realm=realm)
    return found


def _open(call: Call, realm: str | None) -> Realm:
    """Open the realm of a call, and report what other repos changed in that of the project.

    An agent is answered of a realm without this project as of none: its repos are not its own.
    """
    database, is_person = project(), call.view.principal == PERSON
    found = open_realm(database.root, realm, may_be_foreign=is_person)
    report_changes(database, realm=found if realm is None else None)
    if found.faults:
        files = count_of(len(found.faults), "file was", "files were")
        call.notifications.append(f"{files} not read; realm_check has the faults.")
    return found
