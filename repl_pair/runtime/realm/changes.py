"""Notices of what other repos changed: each project gets one of a change, whoever looks first."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from repl_pair.runtime.notices.notices import report_notice
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.realm.checks import breaks_since
from repl_pair.runtime.realm.model import Contract, Realm
from repl_pair.runtime.realm.realms import (
    BINDINGS,
    CONTRACTS,
    domains_of,
    find_home,
    is_realm,
    read_realm,
)
from repl_pair.wire import AGENTS

if TYPE_CHECKING:
    from sqlite3 import Connection

Known = Mapping[str, str]
"""What a project knows of its domains: a domain `D`, `D/contracts/C` with its version, and
`D/bindings/R`."""


def report_changes(database: Database, *, realm: Realm | None = None, create: bool = False) -> None:
    """Report what changed in the domains of a project's repo since this was last called.

    `realm` is that of the project as it was just read. A domain that was not known before is only
    noted. Without `create` nothing is done where the project has no database yet. RequestError
    `cannot_run` where the file of the project is bad.
    """
    realm = _read_own(database.root) if realm is None else realm
    if realm is None:
        return
    with database.reading() as connection:
        if connection is None and not create:
            return
        known = {} if connection is None else _read_known(connection, realm)
        if connection is not None and known == _present(realm, known):
            return
    with database.writing() as connection:
        # What another process has reported meanwhile is known; what it saw may be older.
        realm = _read_own(database.root)
        if realm is not None:
            known = _read_known(connection, realm)
            present = _present(realm, known)
            for subject in sorted({*known, *present}):
                _report(connection, realm, subject, known, present)
            _keep(connection, realm, present)


def _read_own(root: Path) -> Realm | None:
    """Return the realm of a project, None where it is in none, or the realm cannot be read now."""
    home = find_home(root)
    if home is None or not is_realm(home.folder):
        return None
    return read_realm(home.folder, home.repo)


def _present(realm: Realm, known: Known) -> dict[str, str]:
    """Return what there is in the domains of the repo; of a bad file, what is known of it."""
    present = dict[str, str]()
    for domain in domains_of(realm, realm.repo):
        head = domain.name
        unread = [f"{head}/{file}" for file in domain.unread]
        present[head] = ""
        present |= {
            f"{head}/{CONTRACTS}/{c}": one["version"] for c, one in domain.contracts.items()
        }
        present |= {f"{head}/{BINDINGS}/{repo}": "" for repo in domain.bindings}
        present |= {subject: known[subject] for subject in unread if subject in known}
    return present


def _report(
    connection: "Connection", realm: Realm, subject: str, known: Known, present: Known
) -> None:
    domain, _, rest = subject.partition("/")
    kind, _, name = rest.partition("/")
    old, new = known.get(subject), present.get(subject)
    if old == new or not rest or domain not in known or domain not in present:
        return
    contract = realm.domains[domain].contracts.get(name) if kind == CONTRACTS else None
    by = name if kind == BINDINGS else "" if contract is None else contract["owner"]
    if by == realm.repo:
        return
    about = f"{domain}/{name}"
    report = partial(report_notice, connection, subject=about, recipient=AGENTS, by=f"repo:{by}")
    if kind == BINDINGS:
        change = "is bound to" if old is None else "is no longer bound to"
        report(kind="binding", text=f"{name} {change} the domain {domain}.")
        return

    def text_after(before: str) -> str:
        first = _first_version(before) or (old if contract is None else None)
        return _text_of(about, contract, first)

    report(kind="contract", text=_text_of(about, contract, old), text_after=text_after)


def _text_of(name: str, contract: Contract | None, old: str | None) -> str:
    if contract is None:
        return f"The contract {name}, which was at {old}, is gone."
    if old is None:
        return f"{contract['owner']} saved the contract {name} at {contract['version']}."
    note = ", not compatible" if breaks_since(contract, old) else ""
    change = f"from {old} to {contract['version']}{note}"
    return f"{contract['owner']} changed the contract {name} {change}."


def _first_version(text: str) -> str | None:
    """Return the version before the change that a notice reports, None where it was the first."""
    found = re.search(r".* from (.+) to |, which was at (.+), is gone\.$", text)
    return found and (found[1] or found[2])


def _read_known(connection: "Connection", realm: Realm) -> dict[str, str]:
    query = "SELECT subject, version FROM known_contracts WHERE realm = ?"
    return dict(map(tuple, connection.execute(query, (str(realm.folder),))))


def _keep(connection: "Connection", realm: Realm, present: Known) -> None:
    place = str(realm.folder)
    connection.execute("DELETE FROM known_contracts WHERE realm = ?", (place,))
    rows = [(place, subject, version) for subject, version in present.items()]
    connection.executemany("INSERT INTO known_contracts VALUES (?, ?, ?)", rows)
