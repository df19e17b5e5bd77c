"""Whether what the repos of a realm agreed on holds."""

from collections.abc import Iterator

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.realm.files import REALM_FILE
from repl_pair.runtime.realm.model import (
    Binding,
    CheckedRealm,
    Contract,
    Domain,
    Fault,
    FaultKind,
    Import,
    ImportStatus,
    Realm,
)
from repl_pair.runtime.realm.realms import CONTRACTS, DOMAINS
from repl_pair.runtime.realm.versions import hash_schema, is_requirement, meets, read_version

STRICT: frozenset[FaultKind] = frozenset({"changed_schema", "no_domain"})
WARNINGS: frozenset[FaultKind] = frozenset({"bad_requirement", "unknown_repo", *STRICT})
"""What of the warnings is an error where the check is strict, and all of them."""


def check_realm(realm: Realm, *, strict: bool = False) -> CheckedRealm:
    """Check all domains of a realm; valid is a realm without errors."""
    warning_kinds = WARNINGS - STRICT if strict else WARNINGS
    found = (fault for domain in realm.domains.values() for fault in _check_domain(realm, domain))
    faults = [*realm.faults, *found]
    if realm.repos and not realm.domains:
        faults.append(_no_domain("", "The realm has repos and no domain, so nothing was checked."))
    errors = [fault for fault in faults if fault["kind"] not in warning_kinds]
    warnings = [fault for fault in faults if fault["kind"] in warning_kinds]
    return {"valid": not errors, "errors": errors, "warnings": warnings}


def is_changed(contract: Contract) -> bool:
    """Return whether the schema of a contract is another than the one that was saved."""
    return hash_schema(contract["schema"]) != contract["schema_hash"]


def _check_domain(realm: Realm, domain: Domain) -> Iterator[Fault]:
    if not (domain.contracts or domain.bindings or domain.unread):
        yield _no_domain(domain.name, f"{domain.name} has no contract and no binding.")
    has_repos = not any(fault["file"] == REALM_FILE for fault in realm.faults)
    for name, contract in domain.contracts.items():
        file = f"domains/{domain.name}/contracts/{name}.json"
        faults = [*_check_contract(domain.name, name, contract)]
        if has_repos and contract["owner"] not in realm.repos:
            faults.append(("unknown_repo", f"{name} is owned by {_no_repo(contract['owner'])}"))
        for kind, message in faults:
            yield {"domain": domain.name, "kind": kind, "message": message, "file": file}
    for repo, binding in domain.bindings.items():
        file = f"domains/{domain.name}/bindings/{repo}.json"
        faults = [*_check_exports(domain, repo, binding), *_check_imports(domain, binding)]
        if has_repos and repo not in realm.repos:
            faults.append(("unknown_repo", f"The binding is of {_no_repo(repo)}"))
        for kind, message in faults:
            yield {"domain": domain.name, "kind": kind, "message": message, "file": file}


def _check_contract(domain: str, name: str, contract: Contract) -> Iterator[tuple[FaultKind, str]]:
    for version in dict.fromkeys(
        [contract["version"], *(r["version"] for r in contract["evolution"])]
    ):
        if read_version(version) is None:
            yield "no_semver", f"{name} has {version!r}, which is not a semantic version."
    try:
        changed = is_changed(contract)
    except RequestError as error:
        yield "bad_file", f"{name}: {error.message}"
        return
    if changed:
        yield (
            "changed_schema",
            f"The schema of {name} is not the one that was saved as {contract['version']}. Its "
            f"owner {contract['owner']} raises the version: repl-pair realm save {domain} {name} "
            "--version HIGHER",
        )


def _check_exports(domain: Domain, repo: str, binding: Binding) -> Iterator[tuple[FaultKind, str]]:
    for name in binding["exports"]:
        contract = domain.contracts.get(name)
        if contract is not None and contract["owner"] != repo:
            owner = contract["owner"]
            yield "not_owner", f"{repo} exports {name}, which {owner} owns."
        elif contract is None and f"{CONTRACTS}/{name}" not in domain.unread:
            yield "broken_binding", f"{repo} exports {name}, {_no_contract(domain, name)}"


def _check_imports(domain: Domain, binding: Binding) -> Iterator[tuple[FaultKind, str]]:
    for one in binding["imports"]:
        name, contract = one["contract"], domain.contracts.get(one["contract"])
        if contract is not None:
            yield from _check_versions(domain.name, one, contract)
        elif f"{CONTRACTS}/{name}" not in domain.unread:
            yield "broken_binding", f"{name} is imported, {_no_contract(domain, name)}"
        if one["status"] == "broken":
            yield "broken_import", f"The import of {name} is marked as broken. Bind it anew."
        if not is_requirement(one["requirement"]):
            text = f"The requirement {one['requirement']!r} of {name} cannot be read."
            yield "bad_requirement", f"{text} Write one such as '>=1.0,<2'."


def _check_versions(
    domain: str, one: Import, contract: Contract
) -> Iterator[tuple[FaultKind, str]]:
    name, bound = one["contract"], one["resolved_version"]
    if is_met(one, contract) is False:
        found = contract["version"]
        yield "unmet_requirement", f"{name} {one['requirement']} is required; it is at {found}."
    elif breaks := breaks_since(contract, bound):
        yield (
            "broken_import",
            f"{name} was bound at {bound}, and {', '.join(breaks)} after it is not compatible. See "
            "that it is used as it is now, then bind it anew: "
            f"repl-pair realm bind {domain} --import {name}",
        )


def status_of(domain: Domain, one: Import) -> ImportStatus:
    """Return how an import stands to its contract as that is now, not as it was when bound."""
    contract, bound = domain.contracts.get(one["contract"]), one["resolved_version"]
    met = None if contract is None else is_met(one, contract)
    if one["status"] == "broken" or met is False:
        return "broken"
    if contract is None or met is None:
        return "pending"
    if breaks_since(contract, bound):
        return "broken"
    return "current" if bound in (None, contract["version"]) else "outdated"


def breaks_since(contract: Contract, version: str | None) -> list[str]:
    """Return the versions after one that were saved as not compatible; none after None.

    Where the history lacks that version, those are later that are higher or no versions.
    """
    if version in (None, contract["version"]):
        return []
    rows, old = contract["evolution"], read_version(version)
    known = [row["version"] for row in rows]
    if version in known:
        rows = rows[known.index(version) + 1 :]
    elif old is not None:
        rows = [row for row in rows if (new := read_version(row["version"])) is None or new > old]
    return [row["version"] for row in rows if not row["compatible"]]


def is_met(one: Import, contract: Contract) -> bool | None:
    """Return whether a contract meets the requirement of an import; None: it can't be decided."""
    return meets(contract["version"], one["requirement"])


def _no_domain(domain: str, why: str) -> Fault:
    file = f"{DOMAINS}/{domain}".removesuffix("/")
    return {"domain": domain, "kind": "no_domain", "message": why, "file": file}


def _no_contract(domain: Domain, name: str) -> str:
    return f"and there is no such contract.{did_you_mean(name, domain.contracts)}"


def _no_repo(name: str) -> str:
    return f"{name}, and no repo of the realm has that name."
