"""Saving a contract: by its owner only, and a schema that changed under a higher version."""

from collections.abc import Mapping
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.project.whole_files import locked
from repl_pair.runtime.realm.files import check_name, write_file
from repl_pair.runtime.realm.model import Compatibility, Contract, Evolution
from repl_pair.runtime.realm.realms import Home, contract_file, read_contract
from repl_pair.runtime.realm.versions import hash_schema, read_version

COMPATIBILITY: Compatibility = {"backwards": True, "forwards": False}


@record
class Edition:
    """What is saved as a version of a contract; what is None stays as it is.

    `compatible`: whether it serves what was made for the version before.
    """

    version: str
    schema: dict[str, Any] | None = None
    changes: str = ""
    compatible: bool | None = None
    backwards: bool | None = None
    forwards: bool | None = None
    value: Any = None
    validation: dict[str, Any] | None = None


def save_contract(home: Home, domain: str, name: str, edition: Edition) -> Contract:
    """Save a contract; who saves it first owns it.

    RequestError `forbidden` for another's contract, `bad_arguments` for a version that is no
    semver, goes down, or stays while the schema changed. Nothing is written then.
    """
    check_name(domain, "a domain")
    check_name(name, "a contract")
    if read_version(edition.version) is None:
        raise RequestError(
            "bad_arguments", f"{edition.version!r} is not a semantic version, such as 1.2.0."
        )
    with locked(home.folder):
        before = read_contract(home.folder, domain, name)
        if before is not None and before["owner"] != home.repo:
            raise RequestError(
                "forbidden",
                f"{domain}/{name} is owned by {before['owner']}, and only it saves it; this is "
                f"{home.repo}.",
            )
        made = _make_first(home.repo, edition) if before is None else _make_next(before, edition)
        write_file(contract_file(home.folder, domain, name), made)
    return made


def _make_first(owner: str, edition: Edition) -> Contract:
    if edition.schema is None:
        raise RequestError(
            "bad_arguments",
            "The first version of a contract needs a schema.",
            hints=["--schema FILE", "--from story:ID", "--from function:ID"],
        )
    return {
        "owner": owner,
        "version": edition.version,
        "schema": edition.schema,
        "schema_hash": hash_schema(edition.schema),
        "compatibility": _compatibility(COMPATIBILITY, edition),
        "value": edition.value,
        "validation": edition.validation or {},
        "evolution": [_evolution(edition, compatible=edition.compatible is not False)],
    }


def _make_next(before: Contract, edition: Edition) -> Contract:
    schema = before["schema"] if edition.schema is None else edition.schema
    schema_hash = hash_schema(schema)
    old, new = read_version(before["version"]), read_version(edition.version)
    _check_version(before, edition.version, is_changed=schema_hash != before["schema_hash"])
    compatibility = _compatibility(before["compatibility"], edition)
    compatible = edition.compatible
    if compatible is None:
        compatible = compatibility["backwards"] and (old is None or old.major == new.major)
    changed: Mapping[str, Any] = {
        "version": edition.version,
        "schema": schema,
        "schema_hash": schema_hash,
        "compatibility": compatibility,
        "value": before["value"] if edition.value is None else edition.value,
        "validation": before["validation"] if edition.validation is None else edition.validation,
        "evolution": _next_evolution(before, edition, compatible=compatible),
    }
    made: Any = {**before, **changed}  # slots that others wrote into the file stay
    return made


def _check_version(before: Contract, version: str, *, is_changed: bool) -> None:
    old, new = read_version(before["version"]), read_version(version)
    if old is None:  # written by hand; any version corrects it
        return
    if is_changed and not new > old:
        raise RequestError(
            "bad_arguments",
            f"The schema changed since {before['version']}: save it as a higher version, such as "
            f"{old.next_minor()}, or {old.next_major()} where that breaks its users.",
        )
    if new < old:
        raise RequestError(
            "bad_arguments", f"{version} is lower than {before['version']}, which is saved."
        )


def _compatibility(before: Compatibility, edition: Edition) -> Compatibility:
    return {
        "backwards": before["backwards"] if edition.backwards is None else edition.backwards,
        "forwards": before["forwards"] if edition.forwards is None else edition.forwards,
    }


def _next_evolution(before: Contract, edition: Edition, *, compatible: bool) -> list[Evolution]:
    """Return the history with a row of this version; one that is there takes what is given."""
    rows = before["evolution"]
    if not rows or rows[-1]["version"] != edition.version:
        return [*rows, _evolution(edition, compatible=compatible)]
    last: Any = {**rows[-1], "changes": edition.changes or rows[-1]["changes"]}
    if edition.compatible is not None:
        last["compatible"] = edition.compatible
    return [*rows[:-1], last]


def _evolution(edition: Edition, *, compatible: bool) -> Evolution:
    return {"version": edition.version, "changes": edition.changes, "compatible": compatible}
