"""How far branches are, in real repos with real remotes, and with a program `gh` of each kind."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from repos import commit, git, make_repo, write_gh
from waiting import wait_until

from repl_pair.runtime.realm import readiness
from repl_pair.runtime.realm.readiness import read_readiness
from repl_pair.runtime.realm.worktrees import make_worktrees, plan_worktrees


@pytest.fixture
def repo(make_ground, monkeypatch):
    """One repo with a remote, on a branch with one pushed commit; no gh is installed."""
    monkeypatch.setattr(readiness.shutil, "which", lambda name: None)
    ground = make_ground("web")
    root = ground.root("web")
    make_repo(root)
    (root / ".gitignore").write_text(".repl_pair/\n")
    git(root, "checkout", "-q", "-b", "feature")
    commit(root, "feature.txt")
    git(root, "push", "-q", "-u", "origin", "feature")
    return ground


def read(ground, rfc=None):
    answer = read_readiness(ground.open("web"), rfc)
    (found,) = answer["repos"]
    assert answer["ready"] == found["ready"]
    return found


READY = {
    "name": "web",
    "branch": "feature",
    "uncommitted": 0,
    "ahead": 0,
    "behind": 0,
    "proposed": 1,
    "pr": None,
    "ready": True,
    "reason": "",
}


def test_a_branch_that_is_committed_and_pushed_is_ready(repo):
    assert read(repo) == READY


def test_a_remote_whose_name_has_a_slash_is_read_like_others(repo):
    git(repo.root("web"), "remote", "rename", "origin", "team/fork")
    assert read(repo) == READY


def leave_uncommitted(root):
    (root / "new.txt").write_text("new")
    (root / "file.txt").write_text("two\n")
    git(root, "mv", "feature.txt", "moved.txt")


def leave_untracked(root):
    git(root, "config", "status.showUntrackedFiles", "no")
    (root / "new.txt").write_text("new")


def lose_main(root):
    git(root, "remote", "set-head", "origin", "--delete")
    git(root, "update-ref", "-d", "refs/remotes/origin/main")


def fall_behind(root):
    git(root, "commit", "-q", "--allow-empty", "-m", "Then")
    git(root, "push", "-q")
    git(root, "reset", "-q", "--hard", "HEAD^")


def lose_upstream(root):
    git(root, "push", "-q", "origin", ":feature")
    git(root, "fetch", "-q", "--prune")


def begin_merge(root):
    git(root, "checkout", "-q", "-b", "side", "HEAD^")
    git(root, "commit", "-q", "--allow-empty", "-m", "Beside")
    git(root, "checkout", "-q", "feature")
    git(root, "merge", "-q", "--no-commit", "--no-ff", "side")


UNREADY = {
    "a merge": (begin_merge, {}, "A merge is not finished."),
    "a bisect": (lambda root: git(root, "bisect", "start"), {}, "A bisect is not finished."),
    "not committed": (leave_uncommitted, {"uncommitted": 3}, "3 files are not committed."),
    "not added": (leave_untracked, {"uncommitted": 1}, "1 file is not committed."),
    "no known main branch": (
        lose_main,
        {"proposed": None},
        "Which branch of origin is the main one is not known: git remote set-head origin --auto",
    ),
    "not pushed": (
        lambda root: commit(root, "more.txt"),
        {"ahead": 1, "proposed": 2},
        "1 commits are not pushed.",
    ),
    "behind": (fall_behind, {"behind": 1}, "It lacks 1 commits of origin/feature."),
    "no upstream": (
        lambda root: git(root, "branch", "--unset-upstream"),
        {"ahead": None, "behind": None, "proposed": None},
        "feature has no upstream: it was never pushed.",
    ),
    "an upstream of its own": (
        lambda root: git(root, "branch", "--set-upstream-to", "main"),
        {"ahead": None, "behind": None, "proposed": None},
        "feature has no upstream: it was never pushed.",
    ),
    "upstream gone": (
        lose_upstream,
        {"ahead": None, "behind": None},
        "Its upstream origin/feature is gone.",
    ),
    "nothing to propose": (
        lambda root: git(root, "checkout", "-q", "main"),
        {"branch": "main", "proposed": 0},
        "It holds nothing that the main branch of origin lacks.",
    ),
    "no branch": (
        lambda root: git(root, "checkout", "-q", "--detach"),
        {"branch": None, "ahead": None, "behind": None, "proposed": None},
        "No branch is checked out.",
    ),
}


@pytest.mark.parametrize("case", UNREADY)
def test_what_keeps_a_branch_from_being_ready_is_counted_and_named(repo, case):
    change, slots, reason = UNREADY[case]
    change(repo.root("web"))
    assert read(repo) == READY | slots | {"ready": False, "reason": reason}


def add_submodule(root, url=None):
    """Give a repo a submodule that is committed and pushed, as all of the repo is."""
    if url is None:
        make_repo(root.with_name("lib"))
        url = str(root.with_name("lib.git"))
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "lib")
    publish(root)
    return root / "lib"


def publish(root):
    git(root, "commit", "-qam", "Take lib")
    git(root, "push", "-q")


def leave_commit(lib):
    commit(lib, "new.txt")
    publish(lib.parent)


def leave_files_deeper(lib):
    inner = add_submodule(lib, git(lib, "remote", "get-url", "origin"))
    publish(lib.parent)
    (inner / "new.txt").write_text("new")


IN_SUBMODULES = {
    "files": (
        lambda lib: (lib / "new.txt").write_text("new") and (lib / "file.txt").write_text("two"),
        {"uncommitted": 2},
        "2 files are not committed.",
    ),
    "a commit": (leave_commit, {"proposed": 3}, "The commit of the submodule lib is not pushed."),
    "in one of its own": (
        leave_files_deeper,
        {"proposed": 3, "uncommitted": 1},
        "1 file is not committed.",
    ),
}


@pytest.mark.parametrize("case", IN_SUBMODULES)
def test_what_is_left_in_a_submodule_keeps_its_repo_from_being_ready(repo, case):
    lib = add_submodule(repo.root("web"))
    assert read(repo) == READY | {"proposed": 2}
    change, slots, reason = IN_SUBMODULES[case]
    change(lib)
    assert read(repo) == READY | {"proposed": 2, "ready": False, "reason": reason} | slots


def test_a_submodule_that_is_not_checked_out_or_behind_a_link_is_not_looked_into(repo):
    root = repo.root("web")
    git(add_submodule(root).parent, "submodule", "-q", "deinit", "-f", "lib")
    assert read(repo) == READY | {"proposed": 2}
    (root / "lib").rmdir()
    (root / "lib").symlink_to(".")
    assert read(repo)["uncommitted"] == 1


def test_a_repo_that_is_gone_or_none_is_its_own_reason(repo):
    repo.root("web").rename(repo.root("elsewhere"))
    realm = repo.folder / "realm.json"
    assert "not at" in read_readiness(repo_realm(repo))["repos"][0]["reason"]
    realm.write_text(json.dumps({"name": "shop", "repos": {"web": ".."}}))
    found = read_readiness(repo_realm(repo))["repos"][0]
    assert "not a git repository" in found["reason"]
    assert (found["ready"], found["uncommitted"]) == (False, None)


def repo_realm(ground):
    from repl_pair.runtime.realm.realms import read_realm

    return read_realm(ground.folder, None)


def test_the_branch_of_an_rfc_is_read_in_its_worktree_or_where_it_is_checked_out_nowhere(repo):
    root = repo.root("web")
    assert read(repo, "0001")["reason"] == "There is no branch rfc/0001."
    realm = repo.open("web")
    make_worktrees(realm, plan_worktrees(realm, "0001"))
    worktree = repo.folder / "worktrees" / "0001" / "web"
    (worktree / "new.txt").write_text("new")
    found = read(repo, "0001")
    assert (found["branch"], found["uncommitted"], found["ahead"]) == ("rfc/0001", 1, None)
    commit(worktree, "new.txt")
    git(worktree, "push", "-q", "-u", "origin", "rfc/0001")
    ready = READY | {"branch": "rfc/0001", "proposed": 2}
    assert read(repo, "0001") == ready
    git(root, "worktree", "remove", str(worktree))
    (root / "beside.txt").write_text("of another branch")
    assert read(repo, "0001") == ready
    git(root, "fetch", "-q")
    git(root, "push", "-q", "origin", "+main:rfc/0001")
    found = read(repo, "0001")
    assert (found["ahead"], found["reason"]) == (2, "2 commits are not pushed.")


def test_the_branch_of_an_rfc_is_read_in_any_worktree_where_it_is_checked_out(repo, tmp_path):
    root, place = repo.root("web"), tmp_path / "web of 0001"
    git(root, "worktree", "add", "-q", "-b", "rfc/0001", str(place))
    commit(place, "sku.txt")
    git(place, "push", "-q", "-u", "origin", "rfc/0001")
    ready = READY | {"branch": "rfc/0001", "proposed": 2}
    assert read(repo, "0001") == ready
    leave_uncommitted(place)
    why = {"ready": False, "reason": "3 files are not committed."}
    assert read(repo, "0001") == ready | why | {"uncommitted": 3}
    place.rename(tmp_path / "away")
    assert read(repo, "0001") == ready
    make_repo(place, remote=False)
    found = read(repo, "0001")
    assert (found["ready"], found["uncommitted"]) == (False, None)
    assert found["reason"] == f"git has rfc/0001 in {place}, where main is."


PR = {
    "number": 7,
    "state": "OPEN",
    "isDraft": False,
    "title": "Sku goes",
    "url": "https://example.org/7",
}
GH = {
    "one": (f"echo '{json.dumps(PR)}'", PR, ""),
    "none": ('echo "no pull requests found for branch \\"feature\\"" >&2; exit 1', None, ""),
    "not signed in": ("echo 'gh auth login' >&2; exit 4", None, "gh: gh auth login"),
    "silent": ("exit 1", None, "gh: it failed without a reason"),
    "no JSON": ("echo nothing", None, "gh: what it answered is not a pull request."),
    "another type": (
        'echo \'{"number": "7"}\'',
        None,
        "gh: what it answered is not a pull request.",
    ),
}


@pytest.mark.parametrize("case", GH)
def test_the_pull_request_is_that_of_gh_and_its_failure_is_a_reason_that_blocks_nothing(
    repo, case, monkeypatch, tmp_path
):
    script, pr, reason = GH[case]
    monkeypatch.undo()
    write_gh(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked\n{script}')
    assert read(repo) == READY | {"pr": pr, "reason": reason}
    asked = (tmp_path / "asked").read_text()
    assert asked == "pr view --json number,state,isDraft,title,url -- feature\n"


@pytest.mark.parametrize(
    ("slots", "reason"),
    [
        ({"isDraft": True}, "Its pull request 7 is a draft."),
        ({"state": "MERGED"}, "Its pull request 7 is merged."),
        ({"state": "CLOSED", "isDraft": True}, "Its pull request 7 is closed."),
    ],
)
def test_a_branch_whose_pull_request_is_not_open_is_not_ready(
    repo, slots, reason, monkeypatch, tmp_path
):
    monkeypatch.undo()
    pr = PR | slots
    write_gh(tmp_path, monkeypatch, f"echo '{json.dumps(pr)}'")
    assert read(repo) == READY | {"pr": pr, "ready": False, "reason": reason}


def test_a_gh_that_hangs_or_asks_is_ended_with_all_that_it_started(repo, monkeypatch, tmp_path):
    monkeypatch.undo()
    pid = tmp_path / "pid"
    pid.touch()
    write_gh(tmp_path, monkeypatch, f"sleep 600 & echo $! > {pid}; cat; wait")
    for seconds in (0.5, 2, 8, 32):  # the shell may take that long to begin
        monkeypatch.setattr(readiness, "GH_S", seconds)
        found = read(repo)
        assert (found["ready"], found["pr"]) == (True, None)
        assert found["reason"] == f"gh: gh did not end in {seconds} s."
        if pid.read_text():
            break
    started = int(pid.read_text())
    wait_until(lambda: not is_alive(started), "the end of what gh started")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("find", [lambda root: root, add_submodule], ids=["repo", "submodule"])
def test_no_program_of_a_repo_runs_when_it_is_read(repo, tmp_path, find):
    root, ran = find(repo.root("web")), tmp_path / "ran"
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\necho $0 >> {ran}\ncat\n")
    spy.chmod(0o755)
    (root / ".gitattributes").write_text("*.txt filter=spy\n*.md filter=a=b\n")
    (root / "a.md").write_text("one\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Filter")
    git(root, "push", "-q")
    for name in ("filter.spy.clean", "filter.spy.process", "filter.a=b.clean", "core.fsmonitor"):
        git(root, "config", name, str(spy))
    git(root, "config", "filter.spy.required", "true")
    hook = Path(git(root, "rev-parse", "--absolute-git-dir"), "hooks", "post-index-change")
    hook.write_text(f"#!/bin/sh\necho hook >> {ran}\n")
    hook.chmod(0o755)
    for name in ("file.txt", "a.md"):
        (root / name).write_text("two\n")  # of the same size: git has to filter it to compare
    found = read(repo)
    assert found["uncommitted"] == 2 + (root != repo.root("web"))  # its new commit is a change too
    assert not ran.exists()
    subprocess.run(["git", "status"], cwd=root, capture_output=True, timeout=30, check=False)
    assert ran.exists()  # git itself runs them


def test_reading_changes_nothing_and_heeds_no_variables_of_git(repo, monkeypatch, tmp_path):
    root = repo.root("web")
    index = root / ".git" / "index"
    os.utime(root / "file.txt", (1, 1))  # git would note that in its index
    before = index.read_bytes()
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    monkeypatch.setattr(readiness.shutil, "which", lambda name: None)
    assert read(repo)["ready"]
    assert index.read_bytes() == before
