"""`watch`: what drifted runs again when a file changes, and Ctrl-C ends it cleanly."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import pytest
from bounds import BOUND_S
from watchfiles import Change

from repl_pair.cli.changed_files import ChangedFiles

watching = import_module("repl_pair.cli.watch")

ROOT = Path(__file__).parents[2]
SHOP = "def double(n):\n    return 2 * n\n"
BY_DEFAULT = "def double(n, by=2):\n    return by * n\n"
HALVES = "import parts\n\n\ndef half(n):\n    return n / parts.TWO\n"
STORIES = """
import halves
import shop
import repl_pair
from repl_pair import check

repl_pair.story("shop.double", component=shop.double)
repl_pair.variant("shop.double/Two", args={"n": 2}, play=[check.path_equals("result", 4)])
repl_pair.story("shop.half", component=halves.half)
repl_pair.variant("shop.half/Two", args={"n": 2}, play=[check.path_equals("result", 1)])
"""


DROPPED = """
import os, runpy, signal, subprocess, sys
subprocess.Popen.__del__ = lambda self: os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["repl-pair", "watch"]
runpy.run_module("repl_pair", run_name="__main__")
"""
"""An interrupt comes while an object is freed, where Python drops what is raised."""


class Watch:
    def __init__(self, folder, *start):
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-u", *start],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with self.process.stdout:
            for line in self.process.stdout:
                self._lines.put(line.rstrip())
        self._lines.put(None)

    def end(self):
        """Kill it; return when all that writes to its output, a round too, has ended."""
        self.process.kill()
        self.process.wait()
        self._reader.join(BOUND_S)

    def until(self, end):
        """Return the lines up to the one that holds `end`; fail with them if none comes."""
        found = []
        while not found or end not in found[-1]:
            try:
                line = self._lines.get(timeout=BOUND_S)
            except queue.Empty:
                pytest.fail(f"nothing more within {BOUND_S} s of: {found}")
            assert line is not None, f"it ended with {self.process.wait()} after: {found}"
            found.append(line)
        return found

    def write(self, name, text):
        """Write a file whole: a round may begin between the emptying and the filling of one."""
        whole = self.folder.parent / name
        whole.write_text(text)
        whole.replace(self.folder / name)


@pytest.fixture(params=[("-m", "repl_pair", "watch")])
def watch(tmp_path, request):
    folder = tmp_path / "watched"
    folder.mkdir()
    files = {"shop.py": SHOP, "halves.py": HALVES, "parts.py": "TWO = 2\n", "pyproject.toml": ""}
    for name, text in {**files, "stories_shop.py": STORIES}.items():
        (folder / name).write_text(text)
    watch = Watch(folder, *request.param)
    yield watch
    watch.end()


def test_what_drifted_runs_again_and_nothing_else_until_ctrl_c(watch):
    assert watch.until("; watching") == [
        "PASS shop.double/Two",
        "PASS shop.half/Two",
        "2 ran, 0 of 2 failing; watching",
    ]
    watch.write("shop.py", SHOP.replace("2 * n", "3 * n"))
    broken = watch.until("; watching")
    assert broken == [
        "FAIL shop.double/Two - path_equals: result: expected 4, got 6",
        "1 ran, 1 of 2 failing; watching",
    ]
    watch.write("shop.py", "def double(n:\n")
    assert "SyntaxError" in watch.until("bad_body: ")[-1]
    watch.write("shop.py", SHOP)
    assert watch.until("; watching") == ["PASS shop.double/Two", "1 ran, 0 of 2 failing; watching"]
    watch.write("parts.py", "TWO = 4\n")
    assert watch.until("; watching") == [
        "FAIL shop.half/Two - path_equals: result: expected 1, got 0.5",
        "1 ran, 1 of 2 failing; watching",
    ]
    watch.write("parts.py", "TWO = 2\n")
    assert watch.until("; watching") == ["PASS shop.half/Two", "1 ran, 0 of 2 failing; watching"]
    watch.write("prices.csv", "1,2\n")
    assert watch.until("; watching")[-1] == "2 ran, 0 of 2 failing; watching"
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(BOUND_S) == 0


KEPT = """
import repl_pair
from repl_pair import check
from repl_pair.runtime.snapshots.review import current_rules

repl_pair.story("kept", component=lambda: current_rules().tolerance)
repl_pair.variant("kept/It", play=[check.result_equals(0.5), check.matches_snapshot()])
"""


def test_stored_outputs_are_held_against_what_comes_as_in_a_run(watch):
    watch.until("; watching")
    watch.write("pytest.ini", "[pytest]\nrepl_pair_image_tolerance = 0.5\n")
    watch.until("; watching")
    watch.write("stories_kept.py", KEPT)
    first = watch.until("; watching")[0]
    assert "matches_snapshot: there is no snapshot of kept/It yet. `repl-pair run --here" in first


MARKED = """
import repl_pair
from repl_pair import check

def write():
    return 2

repl_pair.tag("skip", doc="deletes the table")
repl_pair.tag("xfail", doc="known")
repl_pair.story("marked", component=write)
repl_pair.variant("marked/Skipped", tags=["skip"])
repl_pair.variant("marked/Wrong", tags=["xfail"], play=[check.result_equals(1)])
"""


def test_tags_that_skip_or_expect_a_failure_do_so_in_a_watch_too(watch):
    watch.until("; watching")
    watch.write("stories_marked.py", MARKED.replace("return 2", "return 3"))
    assert watch.until("; watching") == [
        "SKIP marked/Skipped - deletes the table",
        "XFAIL marked/Wrong - known",
        "1 ran, 0 of 4 failing; watching",
    ]
    watch.write("stories_marked.py", MARKED.replace('doc="known"', 'doc="known now"'))
    assert watch.until("; watching") == [
        "XFAIL marked/Wrong - known now",
        "1 ran, 0 of 4 failing; watching",
    ]
    watch.write("stories_marked.py", MARKED.replace(', tags=["xfail"]', ""))
    assert watch.until("; watching")[-1] == "1 ran, 1 of 4 failing; watching"
    watch.write("stories_marked.py", MARKED.replace(', tags=["skip"]', ""))
    assert watch.until("; watching")[0] == "PASS marked/Skipped"
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(BOUND_S) == 0


WRITES = """
import pathlib, time, uuid
import repl_pair

def write():
    here = pathlib.Path(__file__).parent
    (here / f"{uuid.uuid4()}.txt").write_text("new in each run")
    (here / "same.csv").write_text("1,2")
    (here / "last_run.log").write_text(str(time.time_ns()))
    (here / "made.py").write_text(f"AT = {time.time_ns()}")

repl_pair.story("writes", component=write, variants={"It": {}})
"""


@pytest.mark.full
def test_what_the_variants_write_asks_for_no_endless_rounds(watch):
    watch.until("; watching")
    watch.write("stories_writes.py", WRITES)
    lines = watch.until("the variants write it")
    while sum("the variants write it" in line for line in lines) < 3:  # in any order
        lines += watch.until("the variants write it")
    assert [line for line in lines if "; watching" in line] == [
        "1 ran, 0 of 3 failing; watching",
        "3 ran, 0 of 3 failing; watching",
    ]
    watch.write("last_run.log", "by the person")
    assert watch.until("; watching")[-1] == "3 ran, 0 of 3 failing; watching"
    watch.write("shop.py", SHOP.replace("2 * n", "3 * n"))
    assert "FAIL shop.double/Two" in " ".join(watch.until("; watching"))
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(BOUND_S) == 1
    rest = list(iter(watch._lines.get, None))
    assert not any("; watching" in line for line in rest), rest


SLOW = """
import time
import repl_pair

repl_pair.story("aa.slow", component=lambda: time.sleep(1.5), variants={"It": {}})
"""


@pytest.mark.full
def test_each_save_of_a_module_that_falls_into_a_round_is_run(watch):
    watch.until("; watching")
    watch.write("stories_aa.py", SLOW)
    watch.until("; watching")
    watch.write("aa.csv", "1")
    for factor in (3, 4, 5):
        watch.until("PASS aa.slow/It")
        watch.write("shop.py", SHOP.replace("2 * n", f"{factor} * n"))
        watch.write(f"aa.csv{factor}", "of another suffix each time: data that asks for a round")
    watch.until("got 10")


SAVES = """
import pathlib
import repl_pair

repl_pair.story("aa.saves", component=lambda: pathlib.Path("shop.py").write_text({text!r}))
repl_pair.variant("aa.saves/It")
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [(SHOP, SHOP.replace("2 * n", "3 * n")), (BY_DEFAULT, BY_DEFAULT.replace("=2", "=3"))],
    ids=["body", "default"],
)
def test_a_module_that_is_saved_after_a_round_imported_it_is_run_as_saved(watch, before, after):
    watch.until("; watching")
    watch.write("shop.py", before)
    watch.write("stories_aa.py", SAVES.format(text=after))
    watch.until("FAIL shop.double/Two - path_equals: result: expected 4, got 6")


def test_a_constant_that_is_imported_and_what_a_conftest_sets_run_what_uses_them_again(watch):
    watch.until("; watching")
    watch.write("rates.py", "RATE = 2\n")
    watch.write("halves.py", "from rates import RATE\n\n\ndef half(n):\n    return n / RATE\n")
    watch.until("PASS shop.half/Two")
    watch.until("; watching")
    watch.write("rates.py", "RATE = 4\n")
    watch.until("FAIL shop.half/Two - path_equals: result: expected 1, got 0.5")
    watch.write("rates.py", "RATE = 2\n")
    watch.until("1 ran, 0 of 2 failing; watching")
    watch.write("conftest.py", "import shop\nshop.double = lambda n: 5\n")
    watch.until("FAIL shop.double/Two - path_equals: result: expected 4, got 5")


def test_a_round_that_a_signal_ends_is_named(watch):
    watch.until("; watching")
    watch.write("shop.py", SHOP + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    watch.until("the round was ended by SIGKILL; watching")


@pytest.fixture
def saved(tmp_path):
    """Saves a file in a round or after it; gives what asks for a round: `saved("a.py", "text")`."""
    files = ChangedFiles()

    def save(name, text, kind=Change.modified, *, in_round=True):
        path = tmp_path / name
        files.begin()
        path.write_text(text)
        os.utime(path, ns=(time.time_ns() if in_round else 0,) * 2)
        files.end()
        return [Path(asking).name for asking in files.choose({(kind, str(path))})]

    return save


def test_a_save_in_a_round_of_what_stood_there_some_saves_ago_is_run(saved):
    assert saved("shop.py", "first") == ["shop.py"]
    assert saved("shop.py", "second", in_round=False) == ["shop.py"]
    assert saved("shop.py", "first") == ["shop.py"]
    assert saved("shop.py", "first") == []


def test_new_files_of_the_variants_hide_no_new_module(saved):
    assert saved("1.txt", "", Change.added) == ["1.txt"]
    assert saved("2.txt", "", Change.added) == []
    assert saved("3.txt", "", Change.added) == []
    assert saved("stories_new.py", "", Change.added) == ["stories_new.py"]


@pytest.mark.full
@pytest.mark.parametrize("watch", [("-c", DROPPED)], indirect=True, ids=["dropped"])
def test_an_interrupt_whose_exception_is_dropped_ends_it_too(watch):
    assert watch.until("; watching")[-1] == "2 ran, 0 of 2 failing; watching"
    assert watch.process.wait(BOUND_S) == 0


def test_a_round_reads_the_settings_of_the_project_once(project, pair, monkeypatch):
    pair("list", "variants", "--here")
    read, reads = watching.read_project, []
    monkeypatch.setattr(watching, "read_project", lambda start: reads.append(start) or read(start))
    for id in ("shop.double/Good", "shop.double/Bad"):
        assert not watching._depends_on_changed(id, set(), set())
    watching._project.cache_clear()
    assert reads == [project]
