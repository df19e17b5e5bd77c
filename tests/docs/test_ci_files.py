"""The workflow and the hooks that a user copies are valid, and what they run runs."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((ROOT / "docs/ci/github-actions.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
CONFIG = yaml.safe_load((ROOT / "docs/ci/pre-commit-config.yaml").read_text(encoding="utf-8"))
STEPS = WORKFLOW["jobs"]["variants"]["steps"]
COMMANDS = [step["run"] for step in STEPS if "run" in step and " pip " not in step["run"]]
STORIES = """
import repl_pair
from repl_pair import check

repl_pair.story("shop.double", component=lambda n: 2 * n, tags=["test"])
repl_pair.variant("shop.double/Two", args={"n": 2}, play=[check.path_equals("result", 4)])
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "stories_shop.py").write_text(STORIES)
    (tmp_path / "notebooks").mkdir()
    shown = nbformat.v4.new_output("execute_result", {"text/plain": "2"}, execution_count=1)
    cell = nbformat.v4.new_code_cell("1 + 1", outputs=[shown], execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "notebooks" / "sum.ipynb")
    return tmp_path


def run(words, folder):
    done = subprocess.run(
        [sys.executable, "-m", words[0].replace("-", "_"), *words[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_of_the_workflow_passes_on_a_sound_project(project, command):
    code, seen = run(shlex.split(command), project)
    assert code == 0, seen


def test_the_workflow_lints_runs_stories_and_notebooks_and_keeps_what_differs():
    assert [command.split()[0] for command in COMMANDS] == ["repl-pair", "pytest", "pytest"]
    assert STEPS[-1]["with"]["path"] == "out"
    ran = [step for step in STEPS if step.get("run", "").startswith("pytest")]
    assert all("timeout-minutes" in one for one in (WORKFLOW["jobs"]["variants"], *ran))
    assert ran[1]["if"] == "${{ !cancelled() }}"  # also where a variant failed


def test_each_hook_that_the_config_names_is_there_and_passes_and_fails_as_it_should(project):
    hooks = {hook["id"]: hook for hook in HOOKS}
    (repo,) = CONFIG["repos"]
    assert [one["id"] for one in repo["hooks"]] == list(hooks)
    commands = [
        [*shlex.split(hooks[one["id"]]["entry"]), *one.get("args", [])] for one in repo["hooks"]
    ]
    for words in commands:
        assert run(words, project)[0] == 0, words
    broken = STORIES.replace('"result", 4', '"result", 5')
    (project / "stories_shop.py").write_text(f"{broken}repl_pair.story('odd', component=len)\n")
    for words in commands:
        assert run(words, project)[0] == 1, words
