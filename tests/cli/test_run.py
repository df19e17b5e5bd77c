"""Runs of a project's stories without any kernel: all, by tags, in their modes, as a JUnit file."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bounds import BOUND_S
from waiting import wait_until

from repl_pair.cli.callers import Caller
from repl_pair.cli.junit import write_junit
from repl_pair.errors import RequestError
from repl_pair.wire import error_reply

ROOT = Path(__file__).parents[2]
EVERY = [
    "shop.double/Bad",
    "shop.double/Free",
    "shop.double/Good",
    "shop.key/Used",
    "shop.slow/Long",
    "shop.slow/Short",
]


@pytest.fixture
def tagged(project):
    """The project with tags on some of its variants, and nothing slow."""
    file = project / "stories_shop.py"
    text = file.read_text().replace('"seconds": 1.5', '"seconds": 0')
    text = text.replace('Good", args={"n": 2},', 'Good", args={"n": 2}, tags=["quick"],')
    text = text.replace('Bad", args={"n": 2},', 'Bad", args={"n": 2}, tags=["quick", "test"],')
    file.write_text(text)
    return project


def ran(result):
    lines = [line.split() for line in result.stdout.split("\n\n")[0].splitlines()]
    return {line[1]: line[0] for line in lines}


def test_here_without_words_runs_all_of_the_project(tagged, pair):
    result = pair("run", "--here")
    assert result.exit_code == 1
    assert sorted(ran(result))[:-1] == EVERY


def test_what_a_tag_keeps_out_of_lists_is_run(tagged, pair):
    file = tagged / "stories_shop.py"
    more = '\nrepl_pair.tag("draft", default_filter="exclude")\n'
    more += 'repl_pair.variant("shop.double/Draft", args={"n": 2}, tags=["draft"])\n'
    file.write_text(file.read_text() + more)
    for words in ([], ["shop.*"], ["--tags", "draft or not draft"]):
        assert "shop.double/Draft" in ran(pair("run", "--here", *words)), words
    assert "shop.double/Draft" not in ran(pair("run", "--here", "--tags", "not draft"))


AS_IN_A_PROGRAM = """
import asyncio, signal, sqlite3, threading
import repl_pair

opened = sqlite3.connect(":memory:")
mine = threading.local()
mine.word = "set where the module is imported"

async def wait():
    await asyncio.sleep(0)
    return "waited"

def alarm():
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.signal(signal.SIGALRM, before)

WHAT = {
    "Loop": lambda: asyncio.run(wait()),
    "Signal": alarm,
    "Connection": lambda: opened.execute("select 1").fetchone(),
    "Local": lambda: mine.word,
    "Awaited": wait,
}

@repl_pair.story("program.step")
def step(what: str):
    return WHAT[what]()

for name in WHAT:
    repl_pair.variant(f"program.step/{name}", args={"what": name})
"""


def test_components_run_as_in_a_program_of_their_own(project, pair):
    (project / "stories_program.py").write_text(AS_IN_A_PROGRAM)
    result = pair("run", "--here", "program.*")
    assert result.exit_code == 0, result.output
    assert list(ran(result).values()) == ["status", *["pass"] * 5]


def test_without_words_a_kernel_is_asked_for_none(tagged, pair):
    refused = pair("run")
    assert refused.exit_code == 2
    assert "Name variants" in refused.stderr


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (("--tags", "quick"), {"shop.double/Good": "pass", "shop.double/Bad": "fail"}),
        (("--tags", "quick and not test"), {"shop.double/Good": "pass"}),
        (("*/Good", "*/Short", "--tags", "quick"), {"shop.double/Good": "pass"}),
    ],
)
def test_tags_choose_with_the_grammar_of_pytests_option(tagged, pair, words, chosen):
    result = pair("run", "--here", *words)
    assert ran(result) == {"variant": "status", **chosen}
    assert result.exit_code == ("fail" in chosen.values())


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (("--tags", "quikc"), "There is no tag 'quikc'. Nearest: quick"),
        (("--tags", "quick and not quick"), "--tags 'quick and not quick' chooses none"),
        (("*/Short", "--tags", "quick"), "chooses none of the 1 that are named"),
        (("--tags", "quick and"), "a tag is missing"),
        (("shop.duoble/Go*",), "Nearest: shop.double/Good"),
        (("--modes", "all", "--mode", "size/big"), "leave out --mode"),
    ],
)
def test_what_chooses_nothing_is_a_usage_error_that_states_what_is_near(tagged, pair, words, seen):
    refused = pair("run", "--here", *words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert seen in refused.stderr
    assert not (tagged / "ran.txt").exists()


def test_each_is_run_in_the_modes_that_it_declares(tagged, pair):
    result = pair("run", "shop.double/Free", "--here", "--modes", "all")
    assert ran(result) == {
        "variant": "status",
        "shop.double/Free": "fail",
        "shop.double/Free[size/big]": "pass",
    }
    assert result.exit_code == 1


def test_a_junit_file_has_a_case_for_each_run_with_its_identity(tagged, pair):
    result = pair("run", "shop.double/*", "--here", "--modes", "all", "--junit", "out/found.xml")
    assert result.exit_code == 1
    (suite,) = ElementTree.parse(tagged / "out" / "found.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "3", "0")
    cases = {case.get("name"): case for case in suite}
    assert sorted(cases) == [
        "shop.double/Bad",
        "shop.double/Bad[size/big]",
        "shop.double/Free",
        "shop.double/Free[size/big]",
        "shop.double/Good",
        "shop.double/Good[size/big]",
    ]
    failed = sorted(name for name, case in cases.items() if case.find("failure") is not None)
    assert failed == ["shop.double/Bad", "shop.double/Bad[size/big]", "shop.double/Free"]
    (one,) = [case.findall("properties/property") for n, case in cases.items() if n == failed[0]]
    properties = {found.get("name"): found.get("value") for found in one}
    assert properties.pop("content_hash").startswith("rp1:")
    assert properties == {
        "story": "shop.double",
        "variant": "shop.double/Bad",
        "status": "fail",
        "assertions": "1",
    }
    assert "expected 5, got 4" in cases["shop.double/Bad"].find("failure").get("message")


BREAKING = """
import os, signal
import repl_pair

LONG = "\\n".join(f"line {at} of a text that is long" for at in range(40))


def fail(text=LONG):
    return text


def inner():
    raise ValueError("broken " * 1000)


async def raises():
    inner()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


repl_pair.variants(fail, {"Text": ({}, LONG.replace("line 20", "LINE 20"))})
repl_pair.variants(raises, {"Raises": ({},)})
repl_pair.story("zz.last", component=die, variants={"Dies": ({},)}, tags=["deadly"])
"""


@pytest.fixture
def breaking(project):
    (project / "stories_breaking.py").write_text(BREAKING)
    return project


def test_a_failure_shows_its_place_and_its_traceback_or_the_lines_that_differ(breaking, pair):
    shown = pair("run", "--here", "stories_breaking.*").stdout
    assert "repl_pair/runtime" not in shown
    assert "$elided" not in shown
    shown = shown.splitlines()
    start = shown.index("stories_breaking.py:24: stories_breaking.fail/Text: fail")
    assert shown[start + 1 : start + 12] == [
        "  result_equals",
        "    result: expected <str of 1229 characters>, got <str of 1229 characters>; "
        "they differ from line 21, character 1 on",
        "    --- expected",
        "    +++ actual",
        "    @@ -19,5 +19,5 @@",
        "     line 18 of a text that is long",
        "     line 19 of a text that is long",
        "    -LINE 20 of a text that is long",
        "    +line 20 of a text that is long",
        "     line 21 of a text that is long",
        "     line 22 of a text that is long",
    ]
    start = shown.index("stories_breaking.py:25: stories_breaking.raises/Raises: error")
    assert shown[start + 1] == "  Traceback (most recent call last):"
    frames = [line.split(", ")[1:] for line in shown[start:] if line.startswith("    File")]
    assert frames == [["line 17", "in raises"], ["line 13", "in inner"]]
    assert shown[-1].startswith("1 fail, 1 error in ")


def test_a_junit_file_leaves_out_only_what_xml_forbids(tmp_path):
    refusal = error_reply(RequestError("bad_id", "1\u202f000\x1b\ufffe\ud800 \U0001f600"))
    write_junit(tmp_path / "found.xml", (), {"a/It": refusal})
    (error,) = ElementTree.parse(tmp_path / "found.xml").getroot().iter("error")
    assert error.get("message") == "1\u202f000 \U0001f600"


def test_where_a_run_ends_the_process_no_case_of_the_junit_file_has_passed_unseen(
    breaking, pair, shell
):
    ids = ("shop.double/Good", "zz.last/Dies", "shop.double/Bad")
    died = shell("run", "--here", *ids, "--junit", "found.xml")
    assert died.returncode == -signal.SIGKILL
    (suite,) = ElementTree.parse(breaking / "found.xml").getroot()
    assert [case.get("name") for case in suite if case.find("error") is not None] == list(ids)


NOT_RUN = {
    "a file that does not load": ("import nothing_here", (), "stories_bad.py:2: ModuleNotFound"),
    "a file that is never loaded": ("import os; os.kill(os.getpid(), 9)", (), "not run to its end"),
    "a word that names nothing": ("", ("zzz",), "There is no variant 'zzz'"),
    "an option with a bad value": ("", ("--timeout", "x"), "not run to its end"),
}


@pytest.mark.parametrize(("code", "words", "message"), NOT_RUN.values(), ids=NOT_RUN)
def test_no_report_of_an_earlier_run_stands_where_nothing_is_run(
    project, shell, code, words, message
):
    (project / "found.xml").write_text("<testsuites><testcase/></testsuites>")
    (project / "stories_bad.py").write_text(f"import repl_pair\n{code}\n")
    assert shell("run", "--here", "--junit", "found.xml", *words).returncode != 0
    (error,) = ElementTree.parse(project / "found.xml").getroot().iter("error")
    assert message in error.get("message")


def test_the_results_so_far_are_shown_where_a_run_is_interrupted(project, pair, monkeypatch):
    monkeypatch.setattr(Caller, "call", interrupt_at("shop.double/Free", Caller.call))
    ended = pair("run", "--here", "shop.double/*", "--junit", "found.xml")
    assert ended.exit_code != 0
    assert ran(ended) == {"variant": "status", "shop.double/Bad": "fail"}
    assert ended.stdout.splitlines()[-1].startswith("1 fail, 2 not run in ")
    (suite,) = ElementTree.parse(project / "found.xml").getroot()
    assert [next(case for case in one).tag for one in suite] == ["properties", "error", "error"]


HELD = """
import asyncio, sys, time
import repl_pair
from repl_pair import check

def spin(stops):
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            if stops:
                raise

async def wait(stops):
    while True:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            if stops:
                raise

async def leave_task(stops):
    async def leave():
        try:
            await asyncio.sleep(100)
        finally:
            sys.exit(0)
    asyncio.create_task(leave())
    await asyncio.sleep(0)

@repl_pair.story("held.step")
def step(by="spin", stops=True):
    with open("began", "a") as file:
        print(by, file=file)
    return globals()[by](stops)

for by in ("spin", "wait"):
    repl_pair.variant(f"held.step/{by}", args={"by": by})
    repl_pair.variant(f"held.step/{by}_on", args={"by": by, "stops": False})
repl_pair.variant("held.step/leaves", args={"by": "leave_task"}, play=[check.result_equals(1)])
"""


@pytest.mark.parametrize("held", ["spin", "wait", "spin_on", "wait_on"])
def test_an_interrupt_ends_the_run_and_the_command(project, held):
    (project / "stories_held.py").write_text(HELD)
    command = subprocess.Popen(
        [sys.executable, "-m", "repl_pair", "run", "--here", f"held.step/{held}", "shop.slow/Long"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # What is started in the background inherits that SIGINT is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_until((project / "began").exists)
    command.send_signal(signal.SIGINT)
    out, _ = command.communicate(timeout=BOUND_S)
    assert command.returncode == 1
    assert re.search("[12] not run in ", out), out
    assert "shop.slow/Long" not in out


def test_a_run_that_nothing_stops_does_not_keep_the_command(project, shell):
    (project / "stories_held.py").write_text(HELD)
    ended = shell("run", "--here", "held.step/spin_on", "--timeout", "0.5")
    assert ended.returncode == 1
    assert "it still runs" in ended.stdout


def test_the_exit_code_is_not_that_of_a_task_that_a_component_left(project, shell):
    (project / "stories_held.py").write_text(HELD)
    ended = shell("run", "--here", "held.step/leaves")
    assert ended.returncode == 1
    assert "fail    held.step/leaves" in ended.stdout
    assert "never awaited" not in ended.stderr


def test_variants_and_tags_are_listed_once_however_they_are_chosen(tagged, pair, monkeypatch):
    call, asked = Caller.call, []

    async def note(caller, op, args):
        asked.append((op, *args))
        return await call(caller, op, args)

    monkeypatch.setattr(Caller, "call", note)
    pair("run", "--here", "shop.double/*", "shop.double/G*", "--tags", "test or not test")
    listed = [words for words in asked if words[0].startswith("list_")]
    assert len(listed) == len(set(listed)) > 0


def interrupt_at(id, call):
    async def call_or_interrupt(caller, op, args):
        if args.get("variant_id") == id and op == "run_variant":
            raise KeyboardInterrupt
        return await call(caller, op, args)

    return call_or_interrupt


EXPECTED = """
import sys
import unittest
import pytest
import repl_pair
from repl_pair import check, tag, variant

tag("skip", doc="not on this machine")
tag("xfail", doc="known to be wrong")


def same(n=1):
    if n == "skips":
        pytest.skip("no such thing here")
    if n == "skips as unittest does":
        raise unittest.SkipTest("nor is this")
    if n == "xfails":
        pytest.xfail("it is not there yet")
    if n == "raises":
        raise ValueError(n)
    if n == "another":
        raise ValueError(repl_pair.run("a/Skips").reason)
    return n


right, wrong = check.result_equals(1), check.result_equals(2)
repl_pair.story("a", component=same)
for name, slots in {
    "Right": {"play": [right]},
    "Wrong": {"play": [wrong]},
    "Skip": {"tags": ["skip"], "play": [wrong]},
    "Xfail": {"tags": ["xfail"], "play": [wrong]},
    "Xfail_raises": {"tags": ["xfail"], "args": {"n": "raises"}},
    "Xpass": {"tags": ["xfail"], "play": [right]},
    "Skips": {"args": {"n": "skips"}},
    "Skips_too": {"args": {"n": "skips as unittest does"}},
    "Xfails": {"args": {"n": "xfails"}},
    "Runs_another": {"args": {"n": "another"}},
    "Mark_skip": {"marks": [pytest.mark.skip("later")], "play": [wrong]},
    "Mark_skipif": {"marks": [pytest.mark.skipif(True, reason="so")], "play": [wrong]},
    "Mark_given": {
        "marks": [pytest.mark.skipif(condition=False, reason="so")], "play": [wrong]
    },
    "Mark_run": {"marks": [pytest.mark.skipif(False, reason="so")], "play": [right]},
    "Mark_xfail": {"marks": [pytest.mark.xfail(reason="so")], "play": [wrong]},
    "Mark_strict": {"marks": [pytest.mark.xfail(reason="so", strict=True)], "play": [right]},
    "Mark_not_run": {"marks": [pytest.mark.xfail(reason="so", run=False)], "play": [wrong]},
    "Mark_true": {"marks": [pytest.mark.xfail(1, reason="so", strict=True)], "play": [right]},
    "Mark_any": {"marks": [pytest.mark.skipif(False, 1, reason="so")], "play": [wrong]},
    "Mark_last": {
        "marks": [pytest.mark.xfail(strict=True), pytest.mark.xfail(strict=False)], "play": [right]
    },
    "Mark_tag": {"marks": [pytest.mark.xfail(strict=True)], "tags": ["xfail"], "play": [right]},
}.items():
    variant(f"a/{name}", **slots)
"""
MARKED = """
import pytest
import repl_pair
from repl_pair import check

pytestmark = {mark}
repl_pair.story("{id}", component=lambda: 1)
repl_pair.variant("{id}/Right", play=[check.result_equals(1)])
repl_pair.variant("{id}/Wrong", play=[check.result_equals(2)])
repl_pair.variant("{id}/Skip", tags=["skip"])
repl_pair.variant("{id}/Own", marks=[pytest.mark.xfail(strict=True)])
"""
MARKS = {
    "b": 'pytest.mark.skip("none of it here")',
    "c": '[pytest.mark.xfail(reason="known"), pytest.mark.filterwarnings("error")]',
    "d": "[pytest.mark.skipif(False, reason='elsewhere')]",
    "e": 'pytest.mark.xfail(raises=ConnectionError, reason="no network here")',
}
MODES = """
import pytest
import repl_pair

pytestmark = pytest.mark.xfail(raises=ConnectionError, reason="no network here")

def same(n=1):
    if n == 2:
        pytest.skip("not for two")
    if n == 3:
        raise RuntimeError("Skipped: not for two, not for three")
    if n == 4:
        raise ConnectionError("y" * 400)
    return n

repl_pair.mode("two", args={"n": 2}, axis="n")
repl_pair.mode("three", args={"n": 3}, axis="n")
repl_pair.mode("four", args={"n": 4}, axis="n")
repl_pair.story("a", component=same, modes=["two", "three", "four"], variants={"It": {}})
"""
HIDDEN = """
import pytest
import repl_pair

pytestmark = pytest.mark.xfail(raises=ConnectionError, reason="no network here")

def refused(skips):
    token = "qH7-canary-88x1"
    raise pytest.skip.Exception(f"no {token}") if skips else ConnectionError(token)

repl_pair.story("f", component=refused)
repl_pair.variant("f/Raises", args={"skips": False})
repl_pair.variant("f/Skips", args={"skips": True})
"""
WORDS = {
    "pass": "passed",
    "fail": "failed",
    "error": "failed",
    "skip": "skipped",
    "xfail": "xfailed",
    "xpass": "xpassed",
}


@pytest.mark.parametrize("ini", ["[pytest]\n", "[pytest]\nxfail_strict = true\n"])
def test_skip_and_xfail_mean_what_they_mean_under_pytest(pair, tmp_path, monkeypatch, ini):
    (tmp_path / "stories_expected.py").write_text(EXPECTED)
    (tmp_path / "stories_hidden.py").write_text(HIDDEN)
    (tmp_path / "pytest.ini").write_text(ini)
    for id, mark in MARKS.items():
        (tmp_path / f"stories_{id}.py").write_text(MARKED.format(id=id, mark=mark))
    monkeypatch.chdir(tmp_path)
    here = pair("run", "--here", "--junit", "here.xml")
    assert here.exit_code == 1
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    ).stdout  # fmt: skip
    assert (ran(here)["a/Runs_another"], ran(here)["a/Skips_too"]) == ("error", "skip")
    counted = Counter(WORDS[status] for name, status in ran(here).items() if name != "variant")
    last = found.splitlines()[-1]
    shown = re.findall(r"(\d+) (\w+)", last.partition(" in ")[0])
    assert {word: int(n) for n, word in shown} == counted
    assert "canary" not in found + here.stdout + (tmp_path / "here.xml").read_text()


def test_stories_that_change_the_folder_move_neither_the_report_nor_the_ini_file(
    project, pair, tmp_path_factory
):
    (project / "pytest.ini").write_text("[pytest]\nxfail_strict = true\n")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (project / "stories_moves.py").write_text(
        f"import os\nimport repl_pair\nos.chdir({str(elsewhere)!r})\n"
        "repl_pair.story('moves', component=lambda: 1, variants={'It': {'tags': ['xfail']}})\n"
    )
    try:
        assert pair("run", "--here", "moves/It", "--junit", "report.xml").exit_code == 1
    finally:
        os.chdir(project)
    assert 'failures="1"' in (project / "report.xml").read_text()
    assert list(elsewhere.iterdir()) == []


KEPT = """
import repl_pair
from pathlib import Path
repl_pair.story("kept", component=lambda: Path("made.txt").read_text())
repl_pair.variant("kept/It", play=[repl_pair.check.matches_snapshot()])
"""


def test_snapshots_are_stored_by_a_run_here_where_it_is_asked_for(project, pair):
    (project / "stories_kept.py").write_text(KEPT)
    made = project / "made.txt"
    made.write_text("one\n")
    refused = pair("run", "--here", "kept/It")
    assert refused.exit_code == 1
    assert "`repl-pair run --here --update` stores what this run gave." in refused.stdout
    assert pair("run", "--here", "kept/It", "--update").exit_code == 0
    assert pair("run", "--here", "kept/It").exit_code == 0
    made.write_text("two\n")
    changed = pair("run", "--here", "kept/It")
    assert changed.exit_code == 1
    assert "two" in changed.stdout
    assert pair("run", "kept/It", "--update").exit_code == 2


def test_a_skip_in_one_mode_is_none_of_the_others(pair, tmp_path, monkeypatch):
    (tmp_path / "stories_modes.py").write_text(MODES)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    found = pair("run", "--here", "--modes", "all")
    expected = {
        "a/It": "xpass",
        "a/It[four]": "xfail",
        "a/It[three]": "error",
        "a/It[two]": "skip",
    }
    assert ran(found) == {"variant": "status", **expected}
    assert found.exit_code == 1
