import os
import sys

import pytest

from repl_pair.errors import AuthoringError
from repl_pair.runtime.loading.load import UnfitPattern, load_stories
from repl_pair.runtime.registry.registry import REGISTRY

STORY = """
import repl_pair
from {helper} import double

repl_pair.story("{id}", component=double)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a module that stories import, and the import state of before afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    (tmp_path / "helper_of_load.py").write_text("def double(n: int = 1): return 2 * n\n")

    def write(name, id):
        (tmp_path / name).write_text(STORY.format(helper="helper_of_load", id=id))

    write.folder = tmp_path
    yield write
    for name in set(sys.modules) - before:
        # What else is imported first here stays: others keep references to it.
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_the_default_pattern_finds_story_files_beside_what_they_import(project):
    project("stories_b.py", "b")
    project("stories_a.py", "a")
    project("other.py", "c")
    files = load_stories(project.folder)
    assert [file.name for file in files] == ["stories_a.py", "stories_b.py"]
    assert list(REGISTRY.ids("story")) == ["a", "b"]


def test_the_project_file_names_other_patterns(project):
    (project.folder / "pyproject.toml").write_text('[tool.repl_pair]\nstories = ["x/*.py"]\n')
    (project.folder / "x").mkdir()
    project("x/one.py", "one")
    (project.folder / "deeper").mkdir()
    load_stories(project.folder / "deeper")
    assert list(REGISTRY.ids("story")) == ["one"]


def test_loading_again_retires_what_a_file_no_longer_registers(project):
    project("stories_a.py", "a")
    load_stories(project.folder)
    project("stories_a.py", "renamed")
    load_stories(project.folder)
    assert list(REGISTRY.ids("story")) == ["renamed"]


def test_a_pattern_that_matches_nothing_is_refused_with_what_to_do(project):
    with pytest.raises(AuthoringError, match=r"No story file matches stories_\*\.py"):
        load_stories(project.folder)


def test_a_setting_of_the_wrong_form_is_refused(project):
    (project.folder / "pyproject.toml").write_text('[tool.repl_pair]\nstories = "a.py"\n')
    with pytest.raises(AuthoringError, match="stories is a list of patterns"):
        load_stories(project.folder)


SETTINGS = {
    "an unknown key": ("pyproject.toml", "[tool.repl_pair]\nstorys = []", "'storys'.*: stories"),
    "a key in capitals": ("pyproject.toml", "[tool.repl_pair]\nPrivate = []", "Nearest: private"),
    "a misspelt table": (
        "pyproject.toml",
        "[tool.repl-pair]\nstories = ['a']",
        r"is \[tool.repl_pair\]",
    ),
    "no table": ("pyproject.toml", "[tool]\nrepl_pair = 3", r"\[tool.repl_pair\] is no table"),
    "no tools": ("pyproject.toml", "tool = 3", r"\[tool\] is no table"),
    "no table of pytest's": (
        "pyproject.toml",
        "[tool]\npytest = 3",
        r"\[tool.pytest\] is no table",
    ),
    "a number": ("pyproject.toml", "[tool.pytest]\ntestpaths = 3", "testpaths is words"),
    "numbers": ("pytest.toml", "[pytest]\npythonpath = [3]", "pythonpath is words"),
    "a number of words": ("pytest.toml", "[pytest]\nrepl_pair_image_tolerance = [1]", "a share"),
    "an open quote": (
        "pytest.ini",
        '[pytest]\naddopts = -q "x',
        "addopts is words, with each quote",
    ),
    "no value": ("pytest.ini", "[pytest]\naddopts = --ignore", "--ignore: expected one argument"),
    "no UTF-8": ("tox.ini", "[pytest]\n# \xe9", "Save it as UTF-8"),
}


@pytest.mark.parametrize(("name", "text", "shown"), SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_followed_are_refused_with_their_file(project, name, text, shown):
    project("stories_a.py", "a")
    (project.folder / name).write_text(text, encoding="latin-1")
    with pytest.raises(AuthoringError, match=f"(?s){name}.*{shown}"):
        load_stories(project.folder)


def test_an_open_quote_in_the_environment_is_refused_by_its_name(project, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-q 'x")
    with pytest.raises(AuthoringError, match="PYTEST_ADDOPTS is words"):
        load_stories(project.folder)


def test_a_pattern_that_fits_no_file_beside_one_that_does_is_warned_of(project):
    (project.folder / "pyproject.toml").write_text(
        '[tool.repl_pair]\nstories = ["stories_*.py", "*_case.py", "shop/*.py"]\n'
    )
    project("stories_a.py", "a")
    with pytest.warns(UnfitPattern) as warned:
        load_stories(project.folder)
    shown = [str(one.message).partition("pyproject.toml: ")[2] for one in warned]
    assert shown == [
        f"the pattern {p!r} fits no file with stories." for p in ("*_case.py", "shop/*.py")
    ]
    (project.folder / "shop").mkdir()
    project("shop/stories_b.py", "b")
    load_stories(project.folder / "shop")  # a part needs no name of each pattern


def test_a_hook_that_a_file_sets_over_the_end_of_the_process_stays_and_works(project, monkeypatch):
    left = []
    monkeypatch.setattr(os, "_exit", left.append)
    (project.folder / "stories_hook.py").write_text(
        "import os, repl_pair\nown = os._exit\nos._exit = lambda status: own(status + 1)\n"
        "repl_pair.story('hooked', component=lambda: 1)\n"
    )
    load_stories(project.folder)
    os._exit(3)
    assert left == [4]


@pytest.mark.parametrize("names", ["repl_pair", "story, variant"])
def test_a_story_file_that_reaches_repl_pair_through_modules_is_one_also_where_it_is_broken(
    project, names
):
    source = project.folder / "src"
    source.mkdir()
    sys.path.append(str(source))
    (source / "base_of_load.py").write_text(
        "from repl_pair import story, variant\nimport repl_pair\n"
    )
    (project.folder / "middle_of_load.py").write_text("from base_of_load import *\n")
    broken = project.folder / "stories_broken.py"
    broken.write_text(f"from middle_of_load import {names}\nstory('a', component=len\n")
    failed = []
    load_stories(project.folder, on_error=lambda file, error: failed.append((file, error)))
    assert [(file.name, type(error)) for file, error in failed] == [
        ("stories_broken.py", SyntaxError)
    ]
