"""What the project's code writes and raises in the process of a command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bounds import BOUND_S

from repl_pair.runtime.snapshots.records import SnapshotKey, Stored
from repl_pair.runtime.snapshots.store import SnapshotStore

ROOT = Path(__file__).parents[2]
SECRET = "tok-9f8e7d6c5b"
WRITES = """
import atexit, os, subprocess
import repl_pair
def write(what):
    os.write(1, f"raw: {what}\\n".encode())
    subprocess.run(["sh", "-c", f"echo child: {what} $SHOP_API_TOKEN"])
write("load")
atexit.register(print, "exit")
repl_pair.story("shop.write", component=lambda: write("run"))
repl_pair.variant("shop.write/It")
"""
COMMANDS = {
    "lint": ("lint", "--json"),
    "run": ("run", "--here", "--json"),
    "list": ("list", "variants", "--here", "--json"),
    "op": ("op", "list_variants", "--here"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_stdout_has_the_answer_alone_whatever_the_projects_code_writes(project, shell, words):
    (project / "stories_shop.py").write_text(WRITES)
    ran = shell(*words)
    (line,) = ran.stdout.splitlines()
    assert json.loads(line)["ok"], line
    assert "child: load" in ran.stderr


def test_a_server_here_sends_its_client_no_line_of_the_projects_code(project, monkeypatch):
    monkeypatch.setenv("SHOP_API_TOKEN", SECRET)
    (project / "stories_shop.py").write_text(WRITES)
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    ran = subprocess.run(
        [sys.executable, "-m", "repl_pair", "mcp", "--here"],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    (line,) = ran.stdout.splitlines()
    assert json.loads(line)["id"] == 1
    assert SECRET not in ran.stdout


FAILS = """
import os
def fail():
    raise ValueError("refused: " + os.environ["SHOP_API_TOKEN"])
"""
NEED_STORIES = {
    "run": ("run", "--here"),
    "list": ("list", "stories", "--here"),
    "accept": ("accept", "."),
}


@pytest.mark.parametrize("words", NEED_STORIES.values(), ids=NEED_STORIES)
def test_a_file_that_does_not_load_is_named_with_its_traceback_and_no_secret(
    project, shell, monkeypatch, words
):
    monkeypatch.setenv("SHOP_API_TOKEN", SECRET)
    (project / "helper.py").write_text(FAILS)
    (project / "stories_shop.py").write_text("import repl_pair, helper\nhelper.fail()\n")
    ran = shell(*words)
    assert (ran.returncode, ran.stdout) == (2, "")
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("bad_body: ")
    assert last.endswith("stories_shop.py:2: ValueError: refused: [redacted]")
    frames = [line.strip() for line in ran.stderr.splitlines() if line.startswith("  File ")]
    assert [frame.partition(", ")[0].rpartition("/")[2] for frame in frames] == [
        'stories_shop.py"',
        'helper.py"',
    ]
    assert SECRET not in ran.stderr


def test_what_lint_and_pytest_report_of_it_has_no_secret(project, shell, monkeypatch):
    monkeypatch.setenv("SHOP_API_TOKEN", SECRET)
    (project / "stories_shop.py").write_text(f"import repl_pair\n{FAILS}\nfail()\n")
    (found,) = json.loads(shell("lint", "--json").stdout)["result"]["items"]
    assert found["what"] == "ValueError: refused: [redacted]"
    words = ["-m", "pytest", "-p", "no:cacheprovider", "--junitxml=out.xml", "--showlocals"]
    ran = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert ran.returncode == pytest.ExitCode.INTERRUPTED
    for text in (ran.stdout, (project / "out.xml").read_text()):
        assert "refused: [redacted]" in text
        assert SECRET not in text


def test_accept_knows_the_stories_of_the_whole_project_in_each_of_its_folders(
    project, pair, monkeypatch
):
    key = SnapshotKey(variant_id="shop.double/Good")
    SnapshotStore(project / "out" / "actual").write(key, Stored(text="1\n"))
    (project / "tests").mkdir()
    monkeypatch.chdir("tests")
    accepted = pair("accept", "../out")
    assert (accepted.exit_code, accepted.stdout) == (0, "stored shop.double/Good\n")


def test_what_a_notebook_gave_is_accepted_where_it_is_stored_without_any_story_file(project, shell):
    (project / "stories_shop.py").unlink()
    key = SnapshotKey(variant_id="shop.cell/It", modes=("eur",))
    kept, rendered = SnapshotStore(project / ".repl_pair" / "snapshots"), project / "out" / "actual"
    SnapshotStore(rendered).write(key, Stored(text="2\n"))
    refused = shell("accept", "out")
    assert refused.returncode == 1
    assert "refused shop.cell/It[eur]: no story file registers it." in refused.stdout
    assert "`pytest --pair-notebook --pair-update NOTEBOOK` stores" in refused.stdout
    kept.write(key, Stored(text="1\n"))
    accepted = shell("accept", "out")
    assert (accepted.returncode, accepted.stdout) == (0, "stored shop.cell/It[eur]\n")
    assert kept.find(key).text == "2\n"


@pytest.mark.parametrize("end", ["--json | head -1", "| head -1", "--json >&-", ">&-"])
def test_a_reader_that_wants_no_more_gets_no_traceback(project, end):
    words = f"{sys.executable} -m repl_pair run --here {end}"
    ran = subprocess.run(
        ["sh", "-c", words],
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (("run", "--here", "--junit", "/proc/none/out.xml"), 1, "cannot_run: /proc/none"),
        (("realm", "init", "shop", "/proc/none"), 1, "cannot_run: /proc/none"),
        (("op", "list_variants", "--here", "--json", "[1]"), 2, "takes a JSON object, not '[1]'"),
    ],
)
def test_what_cannot_be_written_or_is_no_object_is_refused_in_a_sentence(
    project, pair, words, code, what
):
    result = pair(*words)
    assert result.exit_code == code, result.output
    assert what in result.output
