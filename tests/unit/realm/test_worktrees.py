"""Worktrees for an RFC in real repos of git."""

import pytest
from repos import commit, git, make_repo

from repl_pair.errors import RequestError
from repl_pair.runtime.realm import worktrees
from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.worktrees import make_worktrees, plan_worktrees


@pytest.fixture
def repos(make_ground):
    """Three repos in two domains, `app` in none; each with a commit on main."""
    ground = make_ground("api", "web", "pay", "app")
    for repo in ground.home:
        make_repo(ground.root(repo), remote=False)
    for repo, domain in (
        ("api", "pricing"),
        ("web", "pricing"),
        ("api", "billing"),
        ("pay", "billing"),
    ):
        bind(ground.home[repo], domain, role="both")
    return ground


def made(ground, repo, rfc="0007-sku", repos=None):
    realm = ground.open(repo)
    return make_worktrees(realm, plan_worktrees(realm, rfc, repos))


CHOSEN = {
    "api": (["api", "pay", "web"], "They share a domain with api: billing, pricing."),
    "web": (["api", "web"], "They share a domain with web: pricing."),
    "app": (["app"], "app shares no domain with another repo."),
}


@pytest.mark.parametrize("repo", CHOSEN)
def test_by_default_all_that_share_a_domain_get_one_a_lone_repo_itself(repos, repo):
    created, reason = CHOSEN[repo]
    answer = made(repos, repo)
    folder = repos.folder / "worktrees" / "0007-sku"
    assert answer == {
        "created": created,
        "paths": {name: str(folder / name) for name in created},
        "reason": reason,
        "errors": {},
    }
    for name in created:
        assert git(folder / name, "branch", "--show-current") == "rfc/0007-sku"
        assert (folder / name / "file.txt").read_text() == "one\n"


def test_the_realm_does_not_track_its_worktrees(repos):
    git(repos.folder, "init", "-q")
    made(repos, "web")
    assert "worktrees" not in git(repos.folder, "status", "--porcelain", "-uall")


def test_what_keeps_one_repo_from_its_worktree_stops_no_other(repos, make_ground):
    realm = repos.open("api")
    there = repos.folder / "worktrees" / "r" / "web"
    there.mkdir(parents=True)
    empty = repos.root("pay")
    git(empty, "checkout", "-q", "--orphan", "nothing")
    (repos.root("app")).rename(repos.root("gone"))
    answer = make_worktrees(realm, plan_worktrees(realm, "r", ["api", "web", "pay", "app"]))
    assert answer["created"] == ["api"]
    assert answer["reason"] == "The repos that were named."
    assert answer["errors"].keys() == {"web", "pay", "app"}
    assert "there already" in answer["errors"]["web"]
    assert "no commit yet" in answer["errors"]["pay"]
    assert "not at" in answer["errors"]["app"]
    assert [*there.iterdir()] == []


def test_a_folder_without_git_is_the_fault_of_that_repo_also_within_the_repo_of_another(repos):
    plain = repos.root("api") / "plain"
    plain.mkdir()
    head = repos.folder / "realm.json"
    head.write_text(head.read_text().replace("../app", str(plain)))
    answer = made(repos, "api", "r", ["app"])
    assert "is not a git repo" in answer["errors"]["app"]
    assert "rfc/r" not in git(repos.root("api"), "branch", "--list", "rfc/*")


def test_a_part_of_a_repo_is_refused_with_the_repo_that_it_is_a_part_of(repos):
    part = repos.root("api") / "part"
    part.mkdir()
    commit(part, "pyproject.toml")
    repos.edit("realm.json", lambda head: head["repos"].update(app=str(part)))
    why = made(repos, "api", "r", ["app"])["errors"]["app"]
    assert f"it is a part of {repos.root('api')}. Worktrees are made of whole repos" in why


ENDED = {
    "killed": ("kill -9 0", 40, "git was ended by signal 9."),
    "too slow": ("tail -f /dev/null", 2, "git did not end in 2 s."),
    "failed": ("false", 40, "external filter 'false' failed"),
}


@pytest.mark.parametrize("how", ENDED)
def test_what_git_did_not_finish_is_undone_and_can_be_made_again(repos, tmp_path, monkeypatch, how):
    smudge, timeout_s, words = ENDED[how]
    commit(repos.root("app"), ".gitattributes", "*.txt filter=own\n")
    settings = tmp_path / ".gitconfig"
    settings.write_text(f'[filter "own"]\nsmudge = "{smudge}"\nrequired = true\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(worktrees, "CHECKOUT_S", timeout_s)
    assert words in made(repos, "app", "r")["errors"]["app"]
    assert not (repos.folder / "worktrees" / "r" / "app").exists()
    assert git(repos.root("app"), "branch", "--list", "rfc/*") == ""
    assert len(git(repos.root("app"), "worktree", "list").splitlines()) == 1
    settings.unlink()
    monkeypatch.undo()
    assert made(repos, "app", "r")["created"] == ["app"]


def test_an_existing_branch_is_used_here_or_at_the_remote(repos, tmp_path):
    web, pay = repos.root("web"), repos.root("pay")
    git(web, "checkout", "-q", "-b", "rfc/r")
    commit(web, "begun.txt")
    git(web, "checkout", "-q", "main")
    git(tmp_path, "clone", "-q", str(pay), "other")
    git(pay, "branch", "rfc/r")
    git(tmp_path / "other", "fetch", "-q")
    head = repos.folder / "realm.json"
    head.write_text(head.read_text().replace("../pay", "../other"))
    answer = made(repos, "api", "r")
    assert answer["errors"] == {}
    assert (repos.folder / "worktrees" / "r" / "web" / "begun.txt").exists()
    other = repos.folder / "worktrees" / "r" / "pay"
    assert git(other, "rev-parse", "--abbrev-ref", "@{upstream}") == "origin/rfc/r"


@pytest.mark.parametrize(
    "rfc", ["", "..", "a/b", "../x", "-f", "a b", "x.lock", "a..b", "a\0", "HEAD^", "@{-1}", "x."]
)
def test_what_git_takes_for_no_branch_is_refused_and_makes_nothing(repos, rfc):
    with pytest.raises(RequestError) as refused:
        made(repos, "api", rfc)
    assert refused.value.code == "bad_arguments"
    assert not (repos.folder / "worktrees").exists()


def test_repos_that_are_none_of_the_realm_are_refused(repos):
    for named, code, words in (
        (["wbe"], "not_found", "Nearest: web"),
        ([], "bad_arguments", "empty"),
    ):
        with pytest.raises(RequestError, match=words) as refused:
            made(repos, "api", "r", named)
        assert refused.value.code == code


def test_no_hook_of_a_repo_runs(repos, tmp_path):
    for hook in ("post-checkout", "reference-transaction"):
        file = repos.root("app") / ".git" / "hooks" / hook
        file.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        file.chmod(0o755)
    assert made(repos, "app")["created"] == ["app"]
    assert not (tmp_path / "ran").exists()


def test_no_program_that_a_repo_names_is_run(repos, tmp_path):
    root, ran = repos.root("app"), tmp_path / "ran"
    commit(root, ".gitattributes", "*.txt filter=own\n")
    for key in ("filter.own.process", "filter.own.smudge", "core.fsmonitor", "core.pager"):
        git(root, "config", key, f"touch {ran}; cat")
    hook = root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    assert made(repos, "app")["created"] == ["app"]
    assert not ran.exists()


@pytest.mark.parametrize("name", ["../../../out", "/out", "a/b", "--help"])
def test_a_realm_with_a_name_of_a_repo_that_is_a_path_has_no_repos(repos, name):
    repos.edit("realm.json", lambda head: head["repos"].update({name: "../api"}))
    (fault,) = repos.open("api").faults
    assert repr(name) in fault["message"]
    with pytest.raises(RequestError):
        made(repos, "api", repos=[name])


def test_no_worktree_is_made_where_a_link_leads(repos, tmp_path):
    (tmp_path / "out").mkdir()
    (repos.folder / "worktrees").symlink_to(tmp_path / "out")
    answer = made(repos, "app")
    assert answer["created"] == []
    assert "A link leads" in answer["errors"]["app"]
    assert [*(tmp_path / "out").iterdir()] == []
