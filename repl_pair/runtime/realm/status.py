"""What there is in a realm, and one contract of it, as the ops answer them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from repl_pair.errors import RequestError
from repl_pair.runtime.realm.checks import is_changed, is_met, status_of
from repl_pair.runtime.realm.model import (
    Binding,
    BindingLine,
    ContractLine,
    ContractUse,
    Domain,
    DomainLine,
    Import,
    Realm,
    RealmStatus,
    WholeContract,
)
from repl_pair.runtime.realm.realms import find_contract, open_realm


def describe_realm(realm: Realm, session: str | None) -> RealmStatus:
    """Describe the repos, domains, contracts and bindings of a realm."""
    return {
        "realm": realm.name,
        "repos": [{"name": name, "path": path} for name, path in sorted(realm.repos.items())],
        "domains": [_describe_domain(domain) for domain in realm.domains.values()],
        "current_repo": realm.repo,
        "session": session,
    }


def get_contract(realm: Realm, domain: str, name: str) -> WholeContract:
    """Return a whole contract; RequestError as of `find_contract`."""
    contract = find_contract(realm, domain, name)
    return {
        "domain": domain,
        "name": name,
        "changed": is_changed(contract),
        "owner": contract["owner"],
        "version": contract["version"],
        "schema": contract["schema"],
        "schema_hash": contract["schema_hash"],
        "compatibility": contract["compatibility"],
        "value": contract["value"],
        "validation": contract["validation"],
        "evolution": contract["evolution"],
        "bindings": [*_uses(realm.domains[domain], name)],
    }


def contract_versions(root: Path) -> Mapping[str, str]:
    """Return the versions of the contracts in a project's realm, by `DOMAIN/CONTRACT`.

    Empty where the project is in none, or the file that names it is bad.
    """
    try:
        domains = open_realm(root).domains.values()
    except RequestError:
        return {}
    return {f"{d.name}/{c}": one["version"] for d in domains for c, one in d.contracts.items()}


def _describe_domain(domain: Domain) -> DomainLine:
    contracts: list[ContractLine] = [
        {"name": name, "version": one["version"], "owner": one["owner"]}
        for name, one in domain.contracts.items()
    ]
    bindings: list[BindingLine] = [
        {"repo": repo, **describe_binding(domain, one)} for repo, one in domain.bindings.items()
    ]
    return {"name": domain.name, "contracts": contracts, "bindings": bindings}


def describe_binding(domain: Domain, binding: Binding) -> Binding:
    """Describe a binding with the status that its imports have now."""
    imports: list[Import] = [
        {**one, "status": status_of(domain, one)} for one in binding["imports"]
    ]
    return {"role": binding["role"], "exports": binding["exports"], "imports": imports}


def _uses(domain: Domain, name: str) -> Iterator[ContractUse]:
    for repo, binding in domain.bindings.items():
        if name in binding["exports"]:
            yield {"repo": repo, "role": binding["role"], "relation": "exports"}
        for one in binding["imports"]:
            if one["contract"] == name:
                yield {
                    "repo": repo,
                    "role": binding["role"],
                    "relation": "imports",
                    "requirement": one["requirement"],
                    "met": is_met(one, domain.contracts[name]),
                    "status": status_of(domain, one),
                    "resolved_version": one["resolved_version"],
                }
