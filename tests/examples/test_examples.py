"""Every example checks itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = sorted(ROOT.glob("examples/*/check.py"))


def test_there_are_examples_and_each_has_a_check_and_stands_in_the_index():
    folders = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}
    index = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert folders == {check.parent.name for check in CHECKS}
    assert folders == set(re.findall(r"^\| \[\w+\]\((\w+)\)", index, re.MULTILINE))
    assert folders


@pytest.mark.parametrize("check", CHECKS, ids=lambda path: path.parent.name)
def test_an_example_ends_as_it_should(check):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(check)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in ROOT.glob("examples/*/stories_*.py")}),
    ids=lambda path: path.name,
)  # fmt: skip
def test_lint_finds_nothing_in_the_stories_of_an_example(folder):
    done = subprocess.run(
        [sys.executable, "-m", "repl_pair", "lint"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
