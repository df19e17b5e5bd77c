"""Which repos of a realm count in whether an RFC is ready."""

import pytest
from repos import commit, git, make_repo

from repl_pair.runtime.realm import readiness
from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.readiness import read_readiness
from repl_pair.runtime.realm.worktrees import make_worktrees, plan_worktrees


@pytest.fixture
def realm(make_ground, monkeypatch):
    """Three repos with remotes; `api` and `web` share a domain, `docs` is in none."""
    monkeypatch.setattr(readiness.shutil, "which", lambda name: None)
    ground = make_ground("api", "docs", "web")
    for repo in ground.home:
        make_repo(ground.root(repo))
    for repo in ("api", "web"):
        bind(ground.home[repo], "pricing", role="both")
    return ground


def test_an_rfc_is_ready_without_the_repos_that_have_no_branch_of_it(realm):
    found = realm.open("web")
    assert not read_readiness(found, "7")["ready"]  # no repo has it
    for path in make_worktrees(found, plan_worktrees(found, "7"))["paths"].values():
        commit(path, "sku.txt")
        git(path, "push", "-q", "-u", "origin", "HEAD")
    answer = read_readiness(found, "7")
    rows = [(one["name"], one["branch"], one["ready"], one["reason"]) for one in answer["repos"]]
    assert rows == [
        ("api", "rfc/7", True, ""),
        ("docs", None, False, "There is no branch rfc/7."),
        ("web", "rfc/7", True, ""),
    ]
    assert answer["ready"]
    assert not read_readiness(found)["ready"]  # of the current branches each counts


def test_a_repo_that_has_the_branch_of_an_rfc_only_on_its_remote_or_is_gone_counts(realm):
    found, docs = realm.open("web"), realm.root("docs")
    make_worktrees(found, plan_worktrees(found, "7", ["web"]))
    worktree = realm.folder / "worktrees" / "7" / "web"
    commit(worktree, "sku.txt")
    git(worktree, "push", "-q", "-u", "origin", "HEAD")
    assert read_readiness(found, "7")["ready"]
    git(docs, "push", "-q", "origin", "main:rfc/7")
    answer = read_readiness(found, "7")
    assert answer["repos"][1]["reason"] == "The branch rfc/7 is on a remote only."
    assert not answer["ready"]
    docs.rename(docs.with_name("away"))
    assert not read_readiness(found, "7")["ready"]
