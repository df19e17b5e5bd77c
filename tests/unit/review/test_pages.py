"""The pages of a project: which there are, how they are titled, and which are private."""

import json
import subprocess
import sys
from unicodedata import normalize

import pytest
from bad_paths import BAD, obey_permissions

from repl_pair.errors import AuthoringError
from repl_pair.runtime.review.pages import MAX_BYTES, is_private, list_pages
from repl_pair.wire import View

from .conftest import CLAUDE, ME

INSPECTOR = View(principal="claude", access=frozenset({"read", "inspect"}))


def write(project, **files):
    for name, text in files.items():
        path = project / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def paths_of(project, view=ME, private=False):
    return [page["path"] for page in list_pages(project, view, private=private)]


def test_what_cannot_be_read_is_no_page_and_ends_no_list(project):
    for make in BAD.values():
        make(project)
    (project / "gone.md").symlink_to("nowhere.md")
    code = f"""
from pathlib import Path
from repl_pair.runtime.review.pages import page_paths
print(*page_paths(Path({str(project)!r}), "claude"))
"""
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=obey_permissions,
        check=False,
    )  # fmt: skip
    assert listed.stdout.split() == ["README.md"], listed.stderr


def test_pages_are_titled_by_their_first_heading_or_their_file(project):
    cells = [{"cell_type": "code", "source": "# 1"}, {"cell_type": "markdown", "source": "# Run"}]
    write(
        project,
        docs__guide_md="---\ntitle: no\n---\nThe guide\n===\n",
        docs__plain_markdown="no heading",
        run_ipynb=json.dumps({"cells": cells}),
        broken_ipynb="{",
    )
    assert list_pages(project, CLAUDE, private=False) == [
        {"title": "Shop", "path": "README.md", "access": "public"},
        {"title": "broken.ipynb", "path": "broken.ipynb", "access": "public"},
        {"title": "The guide", "path": "docs/guide.md", "access": "public"},
        {"title": "plain.markdown", "path": "docs/plain.markdown", "access": "public"},
        {"title": "Run", "path": "run.ipynb", "access": "public"},
    ]
    write(project, README_md="# Another\n")
    assert list_pages(project, CLAUDE, private=False)[0]["title"] == "Another"


def test_what_git_ignores_and_what_tools_made_is_not_listed(project):
    write(
        project, **{f"{name}__a_md": "# A" for name in ("_hidden", "node-modules", "out", "docs")}
    )
    (project / "node-modules").rename(project / "node_modules")
    write(project, venv__a_md="", env__pyvenv_cfg="", env__a_md="", _gitignore="out/\n*.draft.md\n")
    write(project, docs__b_draft_md="")
    assert paths_of(project) == ["README.md", "docs/a.md", "docs/b.draft.md", "out/a.md"]
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    assert paths_of(project) == ["README.md", "docs/a.md"]


def test_a_submodule_hides_no_ignored_page_and_keeps_its_own(project, tmp_path_factory):
    library = tmp_path_factory.mktemp("library")
    git = ("git", "-c", "protocol.file.allow=always", "-c", "user.name=A", "-c", "user.email=a@b")
    write(library, lib_md="# Library")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "First")):
        subprocess.run([*git, *words], cwd=library, check=True)
    write(project, _gitignore="zz/\n", zz__a_md="# Hidden", zz_md="# Shown")
    for words in (("init", "-q"), ("submodule", "--quiet", "add", str(library), "sub")):
        subprocess.run([*git, *words], cwd=project, check=True)
    assert paths_of(project) == ["README.md", "sub/lib.md", "zz.md"]


@pytest.mark.parametrize(
    ("pattern", "private"),
    [
        ("drafts", ["drafts/a.md", "drafts/deep/b.md"]),
        ("./drafts/", ["drafts/a.md", "drafts/deep/b.md"]),
        ("drafts/*", ["drafts/a.md", "drafts/deep/b.md"]),
        ("Drafts/**/B.md", ["drafts/deep/b.md"]),
        ("*.plan.md", ["docs/c.plan.md"]),
        ("deep", ["drafts/deep/b.md"]),
        ("docs/c.plan.md", ["docs/c.plan.md"]),
        ("/docs/*.md", ["docs/c.plan.md"]),
        ("/deep/", ["drafts/deep/b.md"]),
        ("docs//./*.md", ["docs/c.plan.md"]),
        ("{root}/drafts", ["drafts/a.md", "drafts/deep/b.md"]),
        (
            "./",
            ["README.md", "[team]/plan.md", "docs/c.plan.md", "drafts/a.md", "drafts/deep/b.md"],
        ),
        ("nothing", []),
        ("[a-d]rafts", ["drafts/a.md", "drafts/deep/b.md"]),
        ("[team]/plan.md", ["[team]/plan.md"]),
        ("[team]", ["[team]/plan.md"]),
        ("**/[team]/*.md", ["[team]/plan.md"]),
        ("[team]/pla[m-o].md", ["[team]/plan.md"]),
    ],
)
def test_private_pages_are_listed_only_where_inspect_is_open_and_asked_for(
    project, pattern, private
):
    pattern = pattern.replace("{root}", project.as_posix())
    (project / "pyproject.toml").write_text(f'[tool.repl_pair]\nprivate = ["{pattern}"]\n')
    write(project, drafts__a_md="", drafts__deep__b_md="", docs__c_plan_md="")
    (project / "[team]").mkdir()
    (project / "[team]" / "plan.md").touch()
    every = ["README.md", "[team]/plan.md", "docs/c.plan.md", "drafts/a.md", "drafts/deep/b.md"]
    public = [path for path in every if path not in private]
    assert paths_of(project, CLAUDE) == paths_of(project, CLAUDE, private=True) == public
    assert paths_of(project, INSPECTOR) == public
    assert paths_of(project, INSPECTOR, private=True) == every
    assert [path for path in every if is_private(project, path)] == private


@pytest.mark.parametrize("setting", ['"drafts"', "[1]", "{a = 1}", "["])
def test_a_setting_that_is_not_legal_shows_no_page(project, setting):
    (project / "pyproject.toml").write_text(f"[tool.repl_pair]\nprivate = {setting}\n")
    with pytest.raises(AuthoringError, match=r"pyproject\.toml"):
        list_pages(project, CLAUDE, private=False)


@pytest.mark.parametrize(
    ("table", "key"), [("repl_pair", "privat"), ("repl_pair", "Private"), ("repl-pair", "private")]
)
def test_a_misspelt_setting_shows_no_page(project, table, key):
    (project / "pyproject.toml").write_text(f"[tool.{table}]\n{key} = ['notes/*']\n")
    with pytest.raises(AuthoringError, match=r"pyproject\.toml: \[tool\.repl.pair\]"):
        list_pages(project, CLAUDE, private=False)


@pytest.mark.parametrize(
    "pattern",
    [
        *("", " plans/*", "drafts\\*", "{drafts,docs}/*", "~/drafts", "../drafts", "a/../.."),
        *("!drafts", "doc:drafts/a.md", "drafts/a.md#Plan"),
    ],
)
def test_a_pattern_that_can_fit_no_page_is_refused_without_its_text(project, pattern):
    (project / "pyproject.toml").write_text(
        f"[tool.repl_pair]\nprivate = ['docs', {json.dumps(pattern)}]\n"
    )
    with pytest.raises(AuthoringError, match="its pattern 2 fits no page") as refused:
        list_pages(project, CLAUDE, private=False)
    assert not pattern.strip() or pattern not in str(refused.value)


def test_a_private_page_is_private_however_its_accents_are_written(project):
    for written, on_disk in (("NFC", "NFD"), ("NFD", "NFC")):
        pattern, name = (normalize(form, f"privé-{written}") for form in (written, on_disk))
        (project / "pyproject.toml").write_text(f'[tool.repl_pair]\nprivate = ["{pattern}/*"]\n')
        (project / name).mkdir()
        (project / name / "plan.md").write_text("# Secret")
        assert is_private(project, f"{name}/plan.md")
        assert f"{name}/plan.md" not in paths_of(project, CLAUDE)


@pytest.mark.parametrize(
    "content",
    [b"tool = 3", b"[tool]\nrepl_pair = 1", b"\xff", b"x = " + b"[" * 20_000],
    ids=["tool", "table", "bytes", "deep"],
)
def test_settings_that_cannot_be_read_are_refused_as_such(project, content):
    (project / "pyproject.toml").write_bytes(content)
    with pytest.raises(AuthoringError, match=r"pyproject\.toml"):
        paths_of(project)


def test_a_page_that_is_too_large_is_listed_by_its_file_and_not_read(project):
    with (project / "large.md").open("wb") as file:
        file.write(b"# Large\n")
        file.truncate(MAX_BYTES + 1)
    assert list_pages(project, ME, private=False)[1]["title"] == "large.md"
