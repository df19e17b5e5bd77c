"""Pages that git ignores: none for an agent, also where git fails and in nested repositories."""

import subprocess

import pytest

from repl_pair.errors import RequestError
from repl_pair.runtime.review import ignoring
from repl_pair.runtime.review.annotations import create_annotation, get_annotation
from repl_pair.runtime.review.finding import find_target
from repl_pair.runtime.review.pages import list_pages

from .conftest import CLAUDE, ME


def git(folder, *words):
    user = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *user, *words], cwd=folder, check=True, capture_output=True)


def paths_of(project, view):
    return [page["path"] for page in list_pages(project, view, private=False)]


def break_git(folder, monkeypatch):
    (folder / ".git" / "config").write_text("[broken")


FAILURES = {
    "fatal: bad config": break_git,
    "git cannot be run": lambda _, monkeypatch: monkeypatch.setenv("PATH", "/nonexistent"),
    "git did not end in": lambda _, monkeypatch: monkeypatch.setattr(ignoring, "_GIT_S", 0.0),
}


@pytest.fixture
def notes(project):
    """A project with a page that git ignores."""
    git(project, "init", "-q")
    (project / ".gitignore").write_text("notes/\n")
    (project / "notes").mkdir()
    (project / "notes" / "pay.md").write_text("# Pay\n\nSwordfish for all.\n")
    return project


@pytest.mark.parametrize(("why", "fail"), FAILURES.items(), ids=FAILURES)
@pytest.mark.parametrize("is_below", [False, True], ids=["the root", "a folder below it"])
def test_where_git_fails_an_agent_finds_no_page_and_is_given_the_reason(
    notes, monkeypatch, why, fail, is_below
):
    root, page = (notes / "notes", "pay.md") if is_below else (notes, "notes/pay.md")
    assert page not in paths_of(root, CLAUDE)
    fail(notes, monkeypatch)
    refusals: set[str] = set()
    for path in (page, page.replace("p", "q")):
        with pytest.raises(RequestError, match=why) as refused:
            find_target(root, CLAUDE, f"doc:{path}")
        refusals.add(refused.value.message)
    with pytest.raises(RequestError, match=why) as refused:
        list_pages(root, CLAUDE, private=False)
    assert {refused.value.message} == refusals
    assert refused.value.code == "cannot_run"
    assert page in paths_of(root, ME)


def test_in_no_repository_nothing_is_ignored_and_git_is_not_needed(project, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert paths_of(project, CLAUDE) == ["README.md"]


@pytest.mark.parametrize("quote", ["Install", ""])
def test_while_git_fails_no_remark_of_an_agent_is_called_orphaned(
    notes, database, monkeypatch, quote
):
    made = create_annotation(database, CLAUDE, target="doc:README.md", content="?", quote=quote)
    (notes / "README.md").write_text("# Other words\n")

    def status():
        return get_annotation(database, CLAUDE, made["id"])["annotation"]["status"]

    with monkeypatch.context() as failing:
        failing.setenv("PATH", "/nonexistent")
        assert status() == "submitted"
    assert status() == ("orphaned" if quote else "submitted")


@pytest.mark.parametrize("is_submodule", [False, True], ids=["nested", "submodule"])
def test_what_a_repository_in_the_project_ignores_is_no_page_for_an_agent(
    project, tmp_path_factory, is_submodule
):
    git(project, "init", "-q")
    library = tmp_path_factory.mktemp("library") if is_submodule else project / "lib"
    library.mkdir(exist_ok=True)
    git(library, "init", "-q")
    (library / ".gitignore").write_text("pay.md\n*.draft.md\n")
    (library / "a.md").write_text("# A\n")
    git(library, "add", ".")
    git(library, "commit", "-q", "-m", "First")
    if is_submodule:
        git(project, "submodule", "--quiet", "add", str(library), "lib")
    (project / "lib" / "pay.md").write_text("# Pay\n")
    (project / "pay.md").write_text("# Shown\n")
    (project / "alias.md").symlink_to(project / "lib" / "pay.md")
    (project / "lib" / "docs").mkdir()
    (project / "lib" / "docs" / "b.draft.md").write_text("# B\n")
    assert paths_of(project, CLAUDE) == ["README.md", "lib/a.md", "pay.md"]
    for path in ("lib/pay.md", "lib/docs/b.draft.md", "alias.md"):
        with pytest.raises(RequestError, match="There is no page"):
            find_target(project, CLAUDE, f"doc:{path}")
