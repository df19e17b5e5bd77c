"""What a realm holds, as its files have it, and what is answered of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from repl_pair.records import record

Role = Literal["provider", "consumer", "both"]
ImportStatus = Literal["pending", "current", "outdated", "broken"]
FaultKind = Literal[
    "bad_file",
    "no_domain",
    "no_semver",
    "broken_binding",
    "unmet_requirement",
    "bad_requirement",
    "broken_import",
    "not_owner",
    "unknown_repo",
    "changed_schema",
]


class Compatibility(TypedDict):
    """Whether versions of one major serve what was made for earlier ones, or for later ones."""

    backwards: bool
    forwards: bool


class Evolution(TypedDict):
    """One version of a contract, and whether it serves what was made for the version before."""

    version: str
    changes: str
    compatible: bool


class Agreement(TypedDict):
    """What was agreed on in a contract."""

    owner: str
    version: str
    schema: dict[str, Any]
    compatibility: Compatibility
    value: Any
    validation: dict[str, Any]
    evolution: list[Evolution]


class Contract(Agreement):
    """A contract as its file has it; `schema_hash` is that of the schema when it was saved."""

    schema_hash: str


class Import(TypedDict):
    """A contract that a repo uses; `resolved_version` is that at which it was bound.

    So is `status` in its file; where it is answered it is of now, as of `status_of`.
    """

    contract: str
    requirement: str
    status: ImportStatus
    resolved_version: str | None


class Binding(TypedDict):
    """What a repo gives to a domain, and what it takes from it."""

    role: Role
    exports: list[str]
    imports: list[Import]


class Fault(TypedDict):
    """What is wrong in a realm; `file` is relative to the realm's folder."""

    domain: str
    kind: FaultKind
    message: str
    file: str


@record
class Domain:
    """A domain: what there is between some repos.

    `unread` are the files that are bad, such as `contracts/quote`.
    """

    name: str
    contracts: Mapping[str, Contract]
    bindings: Mapping[str, Binding]
    unread: frozenset[str] = frozenset()


@record
class Realm:
    """A realm as its files have it now; `repo` is the name of this project in it, if it has one.

    `given` is how its caller named it, None for that of the project.
    """

    folder: Path
    name: str
    repos: Mapping[str, str]
    repo: str | None
    domains: Mapping[str, Domain]
    faults: tuple[Fault, ...]
    given: str | None = None

    def path_of(self, repo: str) -> Path:
        """Return the folder of a repo of the realm."""
        return self.folder / self.repos[repo]


class RepoLine(TypedDict):
    """A repo of the realm; a relative path begins at the realm's folder."""

    name: str
    path: str


class ContractLine(TypedDict):
    """A contract in a list."""

    name: str
    version: str
    owner: str


class BindingLine(Binding):
    """The binding of a repo."""

    repo: str


class DomainLine(TypedDict):
    """A domain with its contracts and bindings."""

    name: str
    contracts: list[ContractLine]
    bindings: list[BindingLine]


class RealmStatus(TypedDict):
    """What there is in a realm; `session` is the id of your open work session."""

    realm: str
    repos: list[RepoLine]
    domains: list[DomainLine]
    current_repo: str | None
    session: str | None


class CheckedRealm(TypedDict):
    """Whether what the repos of a realm agreed on holds."""

    valid: bool
    errors: list[Fault]
    warnings: list[Fault]


class ContractUse(TypedDict):
    """What a repo has to do with a contract; `met` is None where that cannot be decided."""

    repo: str
    role: Role
    relation: Literal["exports", "imports"]
    requirement: NotRequired[str]
    met: NotRequired[bool | None]
    status: NotRequired[ImportStatus]
    resolved_version: NotRequired[str | None]


class WholeContract(Agreement):
    """A contract with the bindings that name it; `changed`: its schema is not the saved one.

    `schema_hash` is there where it is that of the schema that is answered: else it would confirm
    guesses of what is left out.
    """

    schema_hash: NotRequired[str]
    domain: str
    name: str
    changed: bool
    bindings: list[ContractUse]


class Worktrees(TypedDict):
    """The worktrees of an RFC: paths by repo, why these repos, and what kept the others."""

    created: list[str]
    paths: dict[str, str]
    reason: str
    errors: dict[str, str]


class PullRequest(TypedDict):
    """A pull request as `gh` has it."""

    number: int
    state: str
    isDraft: bool
    title: str
    url: str


class RepoReadiness(TypedDict):
    """How far a branch is; the counts are None where they could not be read.

    `uncommitted` counts files, those of submodules too. `ahead` and `behind` are commits that its
    upstream lacks, or has more; `proposed` those that the remote's main branch lacks. `reason` is
    why it is not ready. `branch` is None where none is checked out, and of an RFC where there is
    none: that repo does not count.
    """

    name: str
    branch: str | None
    uncommitted: int | None
    ahead: int | None
    behind: int | None
    proposed: int | None
    pr: PullRequest | None
    ready: bool
    reason: str


class Readiness(TypedDict):
    """Whether the branches of an RFC, or the current ones, are ready to be merged."""

    repos: list[RepoReadiness]
    ready: bool
