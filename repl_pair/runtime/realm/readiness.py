"""How far the branches of several repos are: by git alone, and by gh where that is installed."""

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from repl_pair.errors import count_of
from repl_pair.records import mutable
from repl_pair.runtime.project.git import local_filters, run_git, run_program
from repl_pair.runtime.realm.model import PullRequest, Readiness, Realm, RepoReadiness
from repl_pair.runtime.realm.unfinished import find_unfinished
from repl_pair.runtime.realm.worktrees import MAX_AT_ONCE, branch_of

GH_S = 10.0
_PR_SLOTS = {"number": int, "state": str, "isDraft": bool, "title": str, "url": str}


def read_readiness(realm: Realm, rfc: str | None = None) -> Readiness:
    """Return how far the current branches are, or those of an RFC; nothing is fetched.

    A repo without the branch of an RFC is not part of it: it is there, and does not count.
    RequestError `bad_arguments` for an RFC whose name is no branch's.
    """
    branch = None if rfc is None else branch_of(realm, rfc)

    def read(repo: str) -> RepoReadiness:
        return _read(repo, realm.path_of(repo), branch)

    with ThreadPoolExecutor(MAX_AT_ONCE) as threads:
        found = list(threads.map(read, sorted(realm.repos)))
    counted = [repo for repo in found if rfc is None or repo["branch"] is not None]
    return {"repos": found, "ready": bool(counted) and all(repo["ready"] for repo in counted)}


@mutable
class _Branch:
    """What git reports of a branch."""

    name: str | None = None
    upstream: str | None = None
    remote: str = ""
    uncommitted: int = 0
    ahead: int | None = None
    behind: int | None = None
    unpushed: list[str] = field(default_factory=list[str])
    """The submodules whose commit is on no branch of a remote."""
    unfinished: list[str] = field(default_factory=list[str])


def _read(repo: str, folder: Path, branch: str | None) -> RepoReadiness:
    state = _read_status(folder) if branch is None else _read_branch(folder, branch)
    if state is None:
        return _unready(repo, None, f"There is no branch {branch}.")
    if isinstance(state, str):
        return _unready(repo, branch, state)
    _read_remote(folder, state)
    proposed = _count_proposed(folder, state)
    pr, problem = _read_pull_request(folder, state)
    reasons = [*_reasons(state, proposed, pr)]
    return {
        "name": repo,
        "branch": state.name,
        "uncommitted": state.uncommitted,
        "ahead": state.ahead,
        "behind": state.behind,
        "proposed": proposed,
        "pr": pr,
        "ready": not reasons,
        "reason": " ".join([*reasons, *filter(None, [problem])]),
    }


def _reasons(state: _Branch, proposed: int | None, pr: PullRequest | None) -> Iterator[str]:
    """Yield why a branch is not ready."""
    if state.name is None:
        yield "No branch is checked out."
    elif state.upstream is None:
        yield f"{state.name} has no upstream: it was never pushed."
    elif state.ahead is None:
        yield f"Its upstream {state.upstream} is gone."
    yield from (f"{what} is not finished." for what in state.unfinished)
    if state.uncommitted:
        files = count_of(state.uncommitted, "file is", "files are")
        yield f"{files} not committed."
    for path in state.unpushed:
        yield f"The commit of the submodule {path} is not pushed."
    if state.ahead:
        yield f"{state.ahead} commits are not pushed."
    if state.behind:
        yield f"It lacks {state.behind} commits of {state.upstream}."
    if proposed == 0:
        yield f"It holds nothing that the main branch of {state.remote} lacks."
    if proposed is None and state.remote:
        how = f"git remote set-head {state.remote} --auto"
        yield f"Which branch of {state.remote} is the main one is not known: {how}"
    if pr is not None and (pr["state"] != "OPEN" or pr["isDraft"]):
        is_what = "a draft" if pr["state"] == "OPEN" else pr["state"].lower()
        yield f"Its pull request {pr['number']} is {is_what}."


def _read_branch(folder: Path, branch: str) -> _Branch | str | None:
    """Return the state of a branch, where it is checked out by what is there, or why not.

    None where neither the repo nor a remote of it, as it was last fetched, has the branch.
    """
    if not folder.is_dir():
        return f"The repo is not at {folder}."
    ref = f"refs/heads/{branch}"
    found = run_git(folder, "for-each-ref", "--format=%(refname)%00%(worktreepath)", ref)
    name, _, place = found.out.removesuffix("\n").partition("\0")
    if not found.succeeded:
        return found.why
    if name != ref:
        fetched = run_git(folder, "for-each-ref", "--count=1", f"refs/remotes/*/{branch}")
        return f"The branch {branch} is on a remote only." if fetched.out else fetched.why or None
    if not place or not Path(place).is_dir():
        return _read_other(folder, branch)
    state = _read_status(Path(place))
    if isinstance(state, str):
        return f"{place}: {state}"
    is_there = state.name == branch
    return state if is_there else f"git has {branch} in {place}, where {state.name} is."


def _read_status(folder: Path) -> _Branch | str:
    """Return the state of the branch that is checked out in a folder, or why there is none.

    What is not committed in its submodules counts as well.
    """
    if not folder.is_dir():
        return f"The repo is not at {folder}."
    # git would look into a submodule by itself, with the filters that the submodule has for it.
    shown = ("--ignore-submodules=dirty", "--untracked-files=normal")
    words = ("status", "--porcelain=v2", "--branch", "-z", *shown)
    listed = run_git(folder, *words, settings=local_filters(folder))
    if not listed.succeeded:
        return listed.why
    state, lines = _Branch(unfinished=find_unfinished(folder)), iter(listed.out.split("\0"))
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "#":
            _take_header(state, rest)
        elif kind:
            state.uncommitted += 1
            if kind == "2":  # renamed: the name before follows
                next(lines, None)
    return _add_submodules(folder, state) or state


def _add_submodules(folder: Path, state: _Branch) -> str:
    """Count what is not committed or pushed in the submodules of a folder; return why not."""
    listed = run_git(folder, "ls-files", "--stage", "-z")
    lines = (line.partition("\t") for line in listed.out.split("\0"))
    for path in dict.fromkeys(path for head, _, path in lines if head.startswith("160000 ")):
        inside = (folder / path).resolve()
        if inside != folder.resolve() / path or not (inside / ".git").exists():
            continue  # behind a link, or not checked out
        found = _read_status(inside)
        if isinstance(found, str):
            return f"{path}: {found}"
        state.uncommitted += found.uncommitted
        state.unpushed += [f"{path}/{one}" for one in found.unpushed]
        own = run_git(inside, "rev-list", "-n1", "HEAD", "--not", "--remotes")
        if not own.succeeded:
            return f"{path}: {own.why}"
        state.unpushed += [path] if own.out else []
    return listed.why


def _take_header(state: _Branch, text: str) -> None:
    name, _, value = text.partition(" ")
    if name == "branch.head" and value != "(detached)":
        state.name = value
    elif name == "branch.upstream":
        state.upstream = value
    elif name == "branch.ab":
        ahead, behind = value.split()
        state.ahead, state.behind = int(ahead), -int(behind)


def _read_other(folder: Path, branch: str) -> _Branch:
    """Return the state of a branch that is checked out nowhere."""
    ref = f"{branch}@{{upstream}}"
    upstream = run_git(folder, "rev-parse", "--abbrev-ref", ref).out.strip() or None
    state = _Branch(name=branch, upstream=upstream)
    counts = run_git(folder, "rev-list", "--left-right", "--count", f"{branch}...{ref}", "--")
    if counts.succeeded:
        state.ahead, state.behind = map(int, counts.out.split())
    return state


def _read_remote(folder: Path, state: _Branch) -> None:
    """Read the remote of an upstream; a branch of the repo itself is none."""
    words = ("for-each-ref", "--format=%(upstream)%00%(upstream:remotename)")
    found = run_git(folder, *words, f"refs/heads/{state.name}").out.strip()
    ref, _, remote = found.partition("\0")
    if ref.startswith("refs/remotes/"):
        state.remote = remote
    else:
        state.upstream = state.ahead = state.behind = None


def _count_proposed(folder: Path, state: _Branch) -> int | None:
    """Return how many commits the main branch of the upstream's remote lacks."""
    for name in ("HEAD", "main", "master") if state.remote else ():
        span = f"refs/remotes/{state.remote}/{name}..refs/heads/{state.name}"
        counts = run_git(folder, "rev-list", "--count", span, "--")
        if counts.succeeded:
            return int(counts.out)
    return None


def _read_pull_request(folder: Path, state: _Branch) -> tuple[PullRequest | None, str]:
    """Return the pull request of a branch, or why it could not be read; none is no fault."""
    if state.name is None or state.upstream is None or (gh := shutil.which("gh")) is None:
        return None, ""
    words = [gh, "pr", "view", "--json", ",".join(_PR_SLOTS), "--", state.name]
    ended = run_program(words, folder, GH_S)
    if not ended.succeeded:
        is_none = "no pull requests found" in ended.why
        return None, "" if is_none else f"gh: {ended.why[:200]}"
    try:
        data = json.loads(ended.out)
        found = {slot: data[slot] for slot in _PR_SLOTS}
    except (ValueError, TypeError, KeyError):
        found = dict[str, Any]()
    if any(type(found.get(slot)) is not kind for slot, kind in _PR_SLOTS.items()):
        return None, "gh: what it answered is not a pull request."
    return cast("Any", found), ""


def _unready(repo: str, branch: str | None, why: str) -> RepoReadiness:
    return {
        "name": repo,
        "branch": branch,
        "uncommitted": None,
        "ahead": None,
        "behind": None,
        "proposed": None,
        "pr": None,
        "ready": False,
        "reason": why,
    }
