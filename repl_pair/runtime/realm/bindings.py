"""What a repo gives to a domain and takes from it: bound, and taken back."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.project.whole_files import locked
from repl_pair.runtime.realm.files import NAME, check_name, write_file
from repl_pair.runtime.realm.model import Binding, Import, Role
from repl_pair.runtime.realm.realms import Home, binding_file, read_binding, read_contract
from repl_pair.runtime.realm.versions import is_requirement, meets

_IMPORT = re.compile(rf"({NAME.pattern})(?:\s*([<>=!~^*\s].*))?")
ANY_VERSION = "*"


def bind(
    home: Home,
    domain: str,
    *,
    role: Role | None = None,
    exports: Sequence[str] = (),
    imports: Sequence[str] = (),
) -> Binding:
    """Bind a repo to a domain, or add to its binding; an import is such as `quote >=1.0,<2`.

    One that names no requirement keeps the one that it has. Without a role it is the one that
    exports and imports show. RequestError `bad_arguments`.
    """
    check_name(domain, "a domain")
    exported = [check_name(name, "a contract") for name in exports]
    with locked(home.folder):
        before = read_binding(home.folder, domain, home.repo)
        all_exports = {*(before["exports"] if before else ()), *exported}
        kept = {one["contract"]: one for one in (before["imports"] if before else ())}
        all_imports = kept | {
            one["contract"]: one for one in (_read_import(home, domain, i, kept) for i in imports)
        }
        made: Binding = {
            "role": role or _role_of(all_exports, all_imports, before),
            "exports": sorted(all_exports),
            "imports": [all_imports[name] for name in sorted(all_imports)],
        }
        write_file(binding_file(home.folder, domain, home.repo), made)
    return made


def unbind(
    home: Home, domain: str, *, exports: Sequence[str] = (), imports: Sequence[str] = ()
) -> Binding | None:
    """Take exports and imports out of the binding of a repo, or all of it where none is named.

    Return what is left, None for nothing. RequestError `not_found` for what is not bound.
    """
    with locked(home.folder):
        before = read_binding(home.folder, check_name(domain, "a domain"), home.repo)
        if before is None:
            raise RequestError("not_found", f"{home.repo} is not bound to a domain {domain!r}.")
        _check_bound("export", exports, before["exports"], home.repo, domain)
        imported = [one["contract"] for one in before["imports"]]
        _check_bound("import", imports, imported, home.repo, domain)
        file = binding_file(home.folder, domain, home.repo)
        if not exports and not imports:
            file.unlink()
            _remove_empty(file.parent, file.parent.parent)
            return None
        left: Binding = {
            "role": before["role"],
            "exports": [name for name in before["exports"] if name not in exports],
            "imports": [one for one in before["imports"] if one["contract"] not in imports],
        }
        write_file(file, left)
        return left


def _check_bound(
    what: str, named: Sequence[str], bound: Sequence[str], repo: str, domain: str
) -> None:
    for name in named:
        if name not in bound:
            near = did_you_mean(name, bound)
            raise RequestError("not_found", f"{repo} does not {what} {name} in {domain}.{near}")


def _read_import(home: Home, domain: str, text: str, kept: Mapping[str, Import]) -> Import:
    found = _IMPORT.fullmatch(text.strip())
    before = kept[found[1]]["requirement"] if found and found[1] in kept else ANY_VERSION
    requirement = before if found is None or not found[2] else found[2].strip()
    if found is None or not is_requirement(requirement):
        raise RequestError(
            "bad_arguments",
            f"{text!r} is not an import: a contract and what its version has to be.",
            hints=["--import 'quote >=1.0,<2'"],
        )
    contract = read_contract(home.folder, domain, found[1])
    is_current = contract is not None and meets(contract["version"], requirement)
    return {
        "contract": found[1],
        "requirement": requirement,
        "status": "current" if is_current else "pending",
        "resolved_version": contract["version"] if contract and is_current else None,
    }


def _remove_empty(*folders: Path) -> None:
    """Remove folders that hold nothing, so that a domain of which nothing is left is none."""
    for folder in folders:
        if not any(folder.iterdir()):
            folder.rmdir()


def _role_of(
    exports: Sequence[str] | set[str], imports: dict[str, Import], before: Binding | None
) -> Role:
    if exports and imports:
        return "both"
    if exports or imports:
        return "provider" if exports else "consumer"
    if before is not None:
        return before["role"]
    raise RequestError(
        "bad_arguments",
        "A binding needs a role, or something that it exports or imports.",
        hints=["--role provider", "--export CONTRACT", "--import 'CONTRACT >=1.0'"],
    )
