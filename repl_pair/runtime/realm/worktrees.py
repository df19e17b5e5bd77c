"""Worktrees for an RFC: a branch of one name, checked out in the realm's folder, for some repos."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from repl_pair.errors import RequestError, check_not_empty, did_you_mean, next_step
from repl_pair.records import record
from repl_pair.runtime.project.git import CHECKOUT_S, local_filters, run_git
from repl_pair.runtime.realm.files import check_name
from repl_pair.runtime.realm.model import Realm, Worktrees
from repl_pair.runtime.realm.realms import WORKTREES, domains_of

MAX_AT_ONCE = 8


@record
class Plan:
    """Which worktrees an RFC is to have: the branch, and the path of each repo."""

    branch: str
    paths: dict[str, Path]
    reason: str


def plan_worktrees(realm: Realm, rfc: str, repos: Sequence[str] | None = None) -> Plan:
    """Return which worktrees are to be made; nothing is made.

    By default of all repos that share a domain with the project's, which alone shares with itself.
    RequestError `bad_arguments` for a name that is no branch's, `not_found` for an unknown repo.
    """
    branch = branch_of(realm, rfc)
    chosen, reason = _choose(realm, repos)
    paths = {repo: realm.folder / WORKTREES / rfc / repo for repo in chosen}
    return Plan(branch=branch, paths=paths, reason=reason)


def make_worktrees(realm: Realm, plan: Plan) -> Worktrees:
    """Make worktrees by git, each by itself: what fails for one repo stops no other."""

    def make(repo: str) -> str:
        return _make(realm.path_of(repo), plan.paths[repo], plan.branch)

    with ThreadPoolExecutor(MAX_AT_ONCE) as threads:
        faults = dict(zip(plan.paths, threads.map(make, plan.paths), strict=True))
    created = [repo for repo, fault in faults.items() if not fault]
    return {
        "created": created,
        "paths": {repo: str(plan.paths[repo]) for repo in created},
        "reason": plan.reason,
        "errors": {repo: fault for repo, fault in faults.items() if fault},
    }


def branch_of(realm: Realm, rfc: str) -> str:
    """Return the branch of an RFC; RequestError `bad_arguments` for what git takes for none."""
    branch = f"rfc/{check_name(rfc, 'an RFC')}"
    if not run_git(realm.folder, "check-ref-format", f"refs/heads/{branch}").succeeded:
        raise RequestError("bad_arguments", f"git takes no branch {branch!r}.")
    return branch


def _choose(realm: Realm, repos: Sequence[str] | None) -> tuple[list[str], str]:
    if repos is not None:
        for unknown in (repo for repo in repos if repo not in realm.repos):
            near = did_you_mean(unknown, realm.repos)
            raise RequestError(
                "not_found",
                f"The realm {realm.name} has no repo {unknown!r}.{near}",
                next_steps=[next_step("realm_status", realm=realm.given)],
            )
        check_not_empty("repos", repos)
        return sorted(set(repos)), "The repos that were named."
    own = realm.repo
    if own is None or own not in realm.repos:
        known = ", ".join(sorted(realm.repos)) or "none"
        raise RequestError(
            "bad_arguments",
            f"This project is not a repo of the realm {realm.name}: name repos. It has {known}.",
        )
    shared = [domain for domain in domains_of(realm, own) if len(domain.bindings) > 1]
    peers = {repo for domain in shared for repo in domain.bindings if repo in realm.repos}
    if not peers - {own}:
        return [own], f"{own} shares no domain with another repo."
    named = ", ".join(domain.name for domain in shared)
    return sorted(peers | {own}), f"They share a domain with {own}: {named}."


def _make(repo: Path, path: Path, branch: str) -> str:
    """Make one worktree; return why that failed, empty where it did not."""
    if path.exists():
        return f"{path} is there already."
    if path.parent.resolve() != path.parent:
        return f"A link leads from {path.parent} to {path.parent.resolve()}."
    if not repo.is_dir():
        return f"The repo is not at {repo}."
    top = run_git(repo, "rev-parse", "--show-toplevel")
    if not top.succeeded:
        return f"{repo} is not a git repo."
    if (whole := Path(top.out.rstrip("\n")).resolve()) != repo.resolve():
        part = f"{repo} is not a git repo by itself: it is a part of {whole}."
        return f"{part} Worktrees are made of whole repos: make it there."
    if not run_git(repo, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").succeeded:
        return f"{repo} has no commit yet."
    known = run_git(repo, "for-each-ref", f"refs/heads/{branch}", f"refs/remotes/*/{branch}")
    how = [str(path), branch] if known.out else ["-b", branch, str(path)]
    own = local_filters(repo)
    added = run_git(repo, "worktree", "add", *how, timeout_s=CHECKOUT_S, settings=own)
    if added.was_killed:  # else git has removed what it began
        run_git(repo, "worktree", "remove", "-f", "-f", str(path))
    if not added.succeeded and not known.out:
        run_git(repo, "branch", "-d", branch)  # it refuses what another process uses
    is_left = added.was_killed and path.exists()
    return added.why + (f" {path} is left: remove it, then `git worktree prune`." * is_left)
