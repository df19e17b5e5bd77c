"""The realm of a project: where it is, and all that its files hold."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from repl_pair.errors import RequestError, did_you_mean, nearest, next_step
from repl_pair.records import record, replace
from repl_pair.runtime.project.root import FOLDER
from repl_pair.runtime.realm.files import (
    BINDING,
    CONTRACT,
    HOME,
    NAME,
    REALM,
    REALM_FILE,
    Shape,
    bad_file,
    read_file,
)
from repl_pair.runtime.realm.folders import file_fault, list_names
from repl_pair.runtime.realm.model import Binding, Contract, Domain, Fault, Realm

DOMAINS, CONTRACTS, BINDINGS, SUFFIX = "domains", "contracts", "bindings", ".json"
WORKTREES = "worktrees"


@record
class Home:
    """The place of a project in its realm: the realm's folder, and the project's name there."""

    folder: Path
    repo: str


def home_file(root: Path) -> Path:
    """Return the file of a project that names its realm."""
    return root / FOLDER / REALM_FILE


def find_home(root: Path) -> Home | None:
    """Return the place of a project in its realm, None where it is in none.

    A worktree of the project, which lies in the realm's folder, has the same place. RequestError
    `cannot_run` where the file that names the realm is bad.
    """
    file = home_file(root)
    if not file.is_file():
        return None
    data = read_file(file, HOME)
    if not NAME.fullmatch(data["repo"]):
        raise bad_file(file, f"repo: {data['repo']!r} is not a name for a repo")
    # A worktree lies at another depth than the project, whose relative path it has.
    above = [at for at in root.parents if root.is_relative_to(at / WORKTREES)]
    folders = [root / data["realm"], *above]
    try:
        folder = next((one for one in folders if (one / REALM_FILE).is_file()), folders[0])
        return Home(folder=_real(folder), repo=data["repo"])
    except (OSError, ValueError) as error:
        raise bad_file(file, "realm is not a path") from error


def is_realm(folder: Path) -> bool:
    """Return whether a folder holds the file of a realm."""
    try:
        file = folder / REALM_FILE
        return file.is_file() and not file.is_symlink() and bool(_read_head(folder))
    except (OSError, ValueError, RequestError):  # no path at all, or another file of that name
        return False


def open_realm(
    root: Path, given: str | None = None, *, start: Path | None = None, may_be_foreign: bool = True
) -> Realm:
    """Read the realm of a project, or another that is `given` by its folder or name.

    A relative folder begins at `start`, by default the project's. RequestError `not_found` where
    there is no realm, or one without this project that may not be foreign; bad files stand as
    faults in it.
    """
    home, start = find_home(root), start or root
    if given is not None:
        realm = _find_given(root, home, given, start)
        if realm is None or (realm.repo is None and not may_be_foreign):
            raise _no_realm(root, home, given, start)
        return replace(realm, given=given)
    if home is None:
        raise RequestError("not_found", "This project is in no realm.", hints=_ways_in(root, start))
    if not (home.folder / REALM_FILE).exists():
        raise RequestError(
            "not_found",
            f"{FOLDER}/{REALM_FILE} names the realm {home.folder}, which is not there.",
            hints=_ways_in(root, start),
        )
    return read_realm(home.folder, home.repo)


def _find_given(root: Path, home: Home | None, given: str, start: Path) -> Realm | None:
    if home is not None and given in _own_names(home):
        return read_realm(home.folder, home.repo)
    if not is_realm(start / given):
        return None
    folder = _real(start / given)
    if home is not None and folder == home.folder:  # also in a worktree, whose path is no repo's
        return read_realm(folder, home.repo)
    repos: dict[str, str] = _read_head(folder)["repos"]
    here = (name for name, path in repos.items() if _is_at(folder / path, _real(root)))
    return read_realm(folder, next(here, None))


def _is_at(path: Path, root: Path) -> bool:
    with suppress(ValueError):  # a NUL in it
        return _real(path) == root
    return False


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` raises for a link to itself


def _no_realm(root: Path, home: Home | None, given: str, start: Path) -> RequestError:
    own = _own_names(home)
    return RequestError(
        "not_found",
        f"There is no realm {given!r}.{did_you_mean(given, own)} Name a folder that holds a "
        f"{REALM_FILE}, of a realm that this project has joined.",
        next_steps=[next_step("realm_status")] if own else [],
        hints=() if own else _ways_in(root, start),
    )


def _own_names(home: Home | None) -> list[str]:
    """Return the name of a project's realm, none where there is no such realm."""
    return [] if home is None or not is_realm(home.folder) else [_read_head(home.folder)["name"]]


def read_realm(folder: Path, repo: str | None) -> Realm:
    """Read all files of a realm; those that are bad stand as faults in it."""
    faults = list[Fault]()
    try:
        head = _read_head(folder)
    except RequestError as error:
        faults.append(file_fault("", REALM_FILE, error.detail["why"]))
        head: Any = {"name": folder.name, "repos": {}}
    names = list_names(folder, DOMAINS, faults=faults)
    return Realm(
        folder=folder,
        name=head["name"],
        repos=head["repos"],
        repo=repo,
        domains={name: _read_domain(folder, name, faults) for name in names},
        faults=tuple(faults),
    )


def read_contract(folder: Path, domain: str, contract: str) -> Contract | None:
    """Read one contract, None where there is none; RequestError `cannot_run` for a bad file."""
    file = contract_file(folder, domain, contract)
    return read_file(file, CONTRACT) if file.exists() else None


def read_binding(folder: Path, domain: str, repo: str) -> Binding | None:
    """Read one binding, None where there is none; RequestError `cannot_run` for a bad file."""
    file = binding_file(folder, domain, repo)
    return read_file(file, BINDING) if file.exists() else None


def contract_file(folder: Path, domain: str, contract: str) -> Path:
    """Return the file of a contract."""
    return folder / DOMAINS / domain / CONTRACTS / f"{contract}{SUFFIX}"


def binding_file(folder: Path, domain: str, repo: str) -> Path:
    """Return the file of the binding of a repo."""
    return folder / DOMAINS / domain / BINDINGS / f"{repo}{SUFFIX}"


def domains_of(realm: Realm, repo: str | None) -> list[Domain]:
    """Return the domains that a repo is bound to."""
    file = f"{BINDINGS}/{repo}"
    domains = realm.domains.values()
    return [domain for domain in domains if repo in domain.bindings or file in domain.unread]


def find_contract(realm: Realm, domain: str, contract: str) -> Contract:
    """Return a contract; RequestError `not_found` with the nearest, `cannot_run` for a bad file."""
    known = realm.domains.get(domain)
    if known is None:
        near = nearest(domain, realm.domains)
        message = f"There is no domain {domain!r}.{did_you_mean(domain, realm.domains)}"
        first = [(one, name) for one in near for name in realm.domains[one].contracts]
    elif contract in known.contracts:
        return known.contracts[contract]
    elif f"{CONTRACTS}/{contract}" in known.unread:
        return read_file(contract_file(realm.folder, domain, contract), CONTRACT)
    else:
        message = f"There is no contract {contract!r} in {domain}."
        message += did_you_mean(contract, known.contracts)
        first = [(domain, name) for name in nearest(contract, known.contracts)]
    steps = [
        next_step("contract_get", domain=one, contract=name, realm=realm.given)
        for one, name in first[:2]
    ]
    steps.append(next_step("realm_status", realm=realm.given))
    raise RequestError("not_found", message, next_steps=steps)


def _read_head(folder: Path) -> Any:
    head = read_file(folder / REALM_FILE, REALM)
    bad = [name for name, path in head["repos"].items() if type(path) is not str]
    if bad:
        raise bad_file(folder / REALM_FILE, f"repos.{bad[0]} is not a text")
    if illegal := [name for name in head["repos"] if not NAME.fullmatch(name)]:
        raise bad_file(folder / REALM_FILE, f"repos: {illegal[0]!r} is not a name for a repo")
    return head


def _read_domain(folder: Path, name: str, faults: list[Fault]) -> Domain:
    def read_all(kind: str, shape: Shape) -> Iterator[tuple[str, Any]]:
        if kind not in kinds:
            return
        for stem in list_names(folder, DOMAINS, name, kind, suffix=SUFFIX, faults=faults):
            path = f"{DOMAINS}/{name}/{kind}/{stem}{SUFFIX}"
            try:
                yield stem, read_file(f"{folder}/{path}", shape)
            except RequestError as error:
                faults.append(file_fault(name, path, error.detail["why"]))
                unread.add(f"{kind}/{stem}")

    kinds, unread = list_names(folder, DOMAINS, name, faults=faults), set[str]()
    for other in (kind for kind in kinds if kind not in (CONTRACTS, BINDINGS)):
        why = f"It is not read.{did_you_mean(other, (CONTRACTS, BINDINGS))}"
        faults.append(file_fault(name, f"{DOMAINS}/{name}/{other}", why))
    contracts = dict(read_all(CONTRACTS, CONTRACT))
    bindings = dict(read_all(BINDINGS, BINDING))
    return Domain(name=name, contracts=contracts, bindings=bindings, unread=frozenset(unread))


def _ways_in(root: Path, start: Path) -> list[str]:
    """Return the commands that bring a project into a realm, as typed in a folder `start`.

    Realms beside the project are named.
    """
    beside = sorted(file.parent for file in root.parent.glob(f"*/{REALM_FILE}"))
    near = [os.path.relpath(folder, start) for folder in beside if is_realm(folder)][:2]
    joins = [f"repl-pair realm join {quote(folder)}" for folder in near or ["FOLDER"]]
    return [*joins, "repl-pair realm init NAME FOLDER"]
