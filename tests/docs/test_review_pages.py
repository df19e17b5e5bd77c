"""The commands of the pages about reviews and the realm run as they are written."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from bounds import BOUND_S

from repl_pair.bridge.scratch_kernel import scratch_kernel

ROOT = Path(__file__).parents[2]
STORY = """
import repl_pair as rp
rp.story("shop.total", component=sum)
rp.variant("shop.total/Two", args={"iterable": [4, 9]}, play=[rp.check.path_equals("result", 13)])
"""


def commands(page):
    """The lines of a page's bash blocks, block by block."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    bodies = [part.partition("```")[0] for part in text.split("```bash\n")[1:]]
    return [body.strip().splitlines() for body in bodies]


@pytest.fixture
def run():
    def run(line, folder, *more):
        words = shlex.split(line)
        assert words[0] == "repl-pair"
        ran = subprocess.run(
            [sys.executable, "-m", "repl_pair", *words[1:], *more],
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert ran.returncode == 0, (line, ran.stdout, ran.stderr)
        return ran.stdout

    return run


def test_the_commands_of_the_page_of_reviews_run_on_a_kernel(run, tmp_path):
    (lines, *others) = commands("review.md")
    assert [line.split()[1] for block in others for line in block] == ["skill"]
    with scratch_kernel(cwd=tmp_path, environment={"PYTHONPATH": str(ROOT)}) as kernel:
        kernel.run(STORY)
        here = ("--kernel", str(kernel.path))
        for line in lines:
            if "ID" in line.split():
                listed = json.loads(run("repl-pair reviews --json", tmp_path, *here))
                line = line.replace("ID", listed["result"]["items"][0]["id"])
            shown = run(line, tmp_path, *here)
            assert ("1 submitted" if "submit" in line else "Why is it 13?") in shown, line
    assert (tmp_path / ".repl_pair" / "pair.db").stat().st_mode & 0o777 == 0o600


def test_the_commands_of_the_page_of_the_realm_tie_two_repos(run, tmp_path):
    makes, uses, checks = commands("realm.md")
    for name in ("api", "app"):
        (tmp_path / name).mkdir()
    (tmp_path / "api" / "quote.json").write_text('{"type": "object"}')
    for folder, lines in (("api", makes), ("app", [*uses, *checks])):
        for line in lines:
            run(line, tmp_path / folder)
    shown = run("repl-pair realm status", tmp_path / "app")
    assert "quote" in shown
    assert (tmp_path / "realm" / "domains" / "pricing" / "bindings" / "app.json").is_file()
