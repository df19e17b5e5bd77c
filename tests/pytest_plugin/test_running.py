"""A variant under pytest: it fails by its own name, says why, and has what any test has."""

import re
import sys
import time
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from textwrap import dedent

import pytest

import repl_pair
from repl_pair.pytest_plugin.failing import _scrub

pytest_plugins = ["pytester"]

HELD = 'variant("a.b/Held", args={"n": 1}, play=[check.path_equals("result.n", 1)])'
STORIES = f"""
    import logging, sys
    import repl_pair
    from repl_pair import check, mode, story, variant

    mode("two", args={{"n": 2}})

    @story("a.b")
    def number(n: int = 1) -> dict:
        print("printed", n)
        print("to stderr", n, file=sys.stderr)
        logging.getLogger("shop").warning("logged %s", n)
        return {{"n": n, "lines": [{{"item": "tea", "price": n}} for _ in range(9)]}}

    {HELD}
    variant("a.b/Other", play=[check.path_equals("result.n", 1)])
"""
BROKEN = STORIES.replace('args={"n": 1}, play', 'args={"n": 3}, play')


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *args: pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)


def section(title, mark):
    """Return a heading as pytest draws it over 160 columns."""
    line = f"{mark * ((160 - len(title) - 2) // 2)} {title} "
    return line + mark * ((160 - len(title) - 2) // 2) + mark * (len(title) % 2)


def test_a_broken_variant_fails_by_its_name_plain_in_workers_and_as_last_failed(pytester):
    name = "stories_a.py::a.b/Held"
    pytester.makepyfile(stories_a=BROKEN)
    plain = pytester.runpytest_inprocess()
    plain.assert_outcomes(passed=1, failed=1)
    again = pytester.runpytest_inprocess("--lf")
    again.assert_outcomes(failed=1)
    spread = pytester.runpytest_inprocess("-n", "2", "-p", "no:cacheprovider")
    spread.assert_outcomes(passed=1, failed=1)
    for result in (plain, again, spread):
        result.stdout.fnmatch_lines([f"FAILED {name} - fail: *result.n: expected 1, got 3*"])
    pytester.makepyfile(stories_a=STORIES)
    mended = pytester.runpytest_inprocess("--lf")
    mended.assert_outcomes(passed=1)


def test_a_variant_that_failed_in_a_mode_is_chosen_again_as_a_test_is(pytester):
    stories = STORIES.replace('a.b/Other", play', 'a.b/Other", modes=["two"], play')
    pytester.makepyfile(stories_a=stories, test_a="def test_a(): assert 0")
    pytester.runpytest_inprocess().assert_outcomes(passed=2, failed=2)
    pytester.makepyfile(test_a="def test_a(): pass")
    pytester.runpytest_inprocess("--lf").assert_outcomes(passed=1, failed=1)
    first = pytester.runpytest_inprocess("--ff", "-v")
    first.assert_outcomes(passed=3, failed=1)
    first.stdout.fnmatch_lines(["*::a.b/Other[[]two[]] FAILED * 25%*"])
    pytester.runpytest_inprocess("--sw").assert_outcomes(passed=2, failed=1)
    pytester.runpytest_inprocess("--sw").assert_outcomes(failed=1, deselected=2)


def test_a_failure_is_short_and_shows_where_what_and_how_to_repeat_it(pytester, run):
    pytester.makepyfile(stories_a=BROKEN.replace("play=[check", 'modes=["two"], play=[check', 1))
    result = run("--pair-modes", "two")
    text = "\n".join(result.outlines)
    start = text.index("stories_a.py:14: a.b/Held[two]")
    assert text[start:].splitlines()[:12] == [
        "stories_a.py:14: a.b/Held[two]: fail, 1 of 1 assertions failed",
        "  step 0: path_equals result.n",
        "    result.n: expected 1, got 3",
        "  repl-pair run --here a.b/Held --mode two",
        section("Captured stdout call", "-"),
        "printed 3",
        section("Captured stderr call", "-"),
        "to stderr 3",
        section("Captured log call", "-"),
        "WARNING  shop:stories_a.py:11 logged 3",
        section("short test summary info", "="),
        "FAILED stories_a.py::a.b/Held[two] - fail: path_equals: result.n: expected 1, got 3",
    ]


def test_long_values_are_shown_as_the_lines_in_which_they_differ(pytester, run):
    pytester.makepyfile(
        stories_a="""
        from repl_pair import check, story, variant

        @story("a.b")
        def lines(price: int = 7) -> list:
            return [{"item": "a rather long name of something", "price": at} for at in range(8)]

        wanted = [{"item": "a rather long name of something", "price": at} for at in range(8)]
        wanted[5]["price"] = 50
        variant("a.b/Long", play=[check.path_equals("result", wanted)])
        """
    )
    run().stdout.fnmatch_lines(
        [
            "    --- expected",
            "    +++ actual",
            "    - {'item': 'a rather long name of something', 'price': 50},",
            "    + {'item': 'a rather long name of something', 'price': 5},",
        ]
    )


def test_a_long_text_is_shown_as_its_difference_once(pytester, run):
    pytester.makepyfile(
        stories_a="""
        import repl_pair

        LINES = [f"line {at} of a text that is long" for at in range(60)]

        def lines(last="so"):
            return chr(10).join([*LINES, last])

        def one(end="so"):
            return "a" * 900 + end

        repl_pair.variants(lines, {"Lines": ({}, lines("other"))})
        repl_pair.variants(one, {"One": ({}, one("other"))})
        """
    )
    text = "\n".join(run().outlines)
    assert "$elided" not in text
    shown = text[text.index("stories_a.lines/Lines: fail") :].splitlines()[1:11]
    assert shown == [
        "  step 0: result_equals",
        "    result: expected <str of 1855 characters>, got <str of 1852 characters>; "
        "they differ from line 61, character 1 on",
        "    --- expected",
        "    +++ actual",
        "    @@ -59,3 +59,3 @@",
        "     line 58 of a text that is long",
        "     line 59 of a text that is long",
        "    -other",
        "    +so",
        "  repl-pair run --here stories_a.lines/Lines",
    ]
    (expected,) = [line for line in text.splitlines() if line.startswith("    expected: ")]
    assert expected == f"    expected: …{'a' * 60}other'"


def test_what_a_component_raises_is_shown_from_its_own_first_line_on(pytester, run):
    pytester.makepyfile(
        stories_a="""
        import asyncio
        from repl_pair import story, variant

        def deep(n):
            raise ValueError(f"no {n}")

        @story("a.b")
        def direct(n: int = 1):
            deep(n)

        @story("a.c")
        async def later(n: int = 2):
            await asyncio.sleep(0)
            deep(n)

        variant("a.b/Raises")
        variant("a.c/Raises")
        """
    )
    result = run("--tb=short")
    result.assert_outcomes(failed=2)
    text = "\n".join(result.outlines)
    assert "repl_pair/runtime" not in text
    result.stdout.fnmatch_lines(
        [
            "stories_a.py:9: in direct",
            "stories_a.py:5: in deep",
            "E   ValueError: no 1",
            "stories_a.py:16: a.b/Raises: error in render",
            "*repl-pair run --here a.b/Raises",
            "stories_a.py:14: in later",
            "E   ValueError: no 2",
            "FAILED stories_a.py::a.b/Raises - ValueError: no 1",
        ]
    )


def test_what_cannot_be_run_fails_and_what_asserts_nothing_is_listed(pytester, run):
    pytester.makepyfile(
        stories_a="""
        import repl_pair
        from repl_pair import story, variant

        @story("a.b")
        def one(n: int = 1):
            return n

        variant("a.b/Silent")
        variant("a.b/Orphan")
        variant("a.b/Heir", extends="a.b/Orphan")
        repl_pair.registry.unregister("variant", "a.b/Orphan")
        """
    )
    result = run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*a.b/Heir: cannot_run*",
            "*variants that assert nothing*",
            "stories_a.py::a.b/Silent",
            "FAILED stories_a.py::a.b/Heir - cannot_run: *no variant 'a.b/Orphan'*",
        ]
    )


def test_a_secret_is_not_in_what_is_shown(pytester, run):
    pytester.makepyfile(
        stories_a="""
        from typing import Annotated
        from repl_pair import Sensitive, check, story, variant

        @story("a.b")
        def login(token: Annotated[str, Sensitive]) -> dict:
            return {"sent": token}

        variant("a.b/Wrong", args={"token": "tok-9f8e7d6c5b"},
                play=[check.path_equals("result.sent", "another one")])
        """
    )
    result = run()
    result.assert_outcomes(failed=1)
    failure = "\n".join(result.outlines)
    assert "tok-9f8e7d6c5b" not in failure.partition("Captured")[0]


def test_what_the_process_holds_in_secret_is_in_no_report_and_no_stored_output(
    pytester, run, monkeypatch
):
    monkeypatch.setenv("SHOP_API_TOKEN", "tok-9f8e7d6c5b")
    pytester.makepyfile(
        stories_a="""
        import os
        from repl_pair import check, story, variant

        CONFIG = {"password": "hunter-two-hundred"}

        @story("a.b")
        def leak(how: str):
            held = [os.environ["SHOP_API_TOKEN"], CONFIG["password"]]
            print(held)
            if how == "raise":
                raise ValueError(f"refused: {held}")
            if how == "own":
                password = "of-the-run-two-hundred"
                raise ValueError(f"refused: {password}")
            return {"held": " ".join(held)}

        variant("a.b/Wrong", args={"how": "give"}, play=[check.path_equals("result.held", "x")])
        variant("a.b/Raises", args={"how": "raise"})
        variant("a.b/RaisesOwn", args={"how": "own"})
        variant("a.b/Kept", args={"how": "give"}, play=[check.matches_snapshot()])
        """
    )
    native = run("--tb=native")
    assert "refused: ['[redacted]', '[redacted]']" in native.stdout.str()
    assert "tok-9f8e" not in native.stdout.str()
    result = run("--junitxml=o.xml", "--pair-update", "--showlocals")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*> *", "E * refused: [[]redacted]", "FAILED*RaisesOwn*redacted*"])
    (stored,) = pytester.path.glob("__repl_pair__/*/*.txt")
    files = (pytester.path / "o.xml", stored)
    shell = [sys.executable, "-m", "repl_pair", "run", "--here"]
    shown = pytester.run(*shell, "a.b/RaisesOwn").stdout.str()
    for text in (shown, result.stdout.str(), *(file.read_text() for file in files)):
        assert "[redacted]" in text
        assert "tok-9f8e" not in text
        assert "two-hundred" not in text


def test_what_pytest_leaves_of_a_secret_that_it_shortens_is_hidden(pytester, run, monkeypatch):
    monkeypatch.setenv("SHOP_API_TOKEN", "ghp_ZqWeRtYuIoPaSdFgHjKlOpAsDf123456")
    pytester.makepyfile(
        stories_a="""
        import os
        from repl_pair import story, variant

        TOKEN = os.environ["SHOP_API_TOKEN"]
        GIVEN = {
            "both": {"a": TOKEN},
            "end": {"a-long-name": TOKEN},
            "beginning": TOKEN + "x" * 300,
            "none": "all of a long text " + "and more of it " * 20,
        }

        @story("a.b")
        def compare(how: str):
            assert GIVEN[how] == {"a-long-name": how}

        for how in GIVEN:
            variant(f"a.b/{how}", args={"how": how})
        """
    )
    result = run()
    shown = result.stdout.str()
    assert "ghp_" not in shown
    assert "123456" not in shown
    result.stdout.fnmatch_lines(
        [
            "E * assert {'a': '[[]redacted]'} == {*",
            "E * assert {'a-long-name[[]redacted]'} == {*",
            "E * assert '[[]redacted]xxx*' == {*",
            "E * assert 'all of a lo*...*' == {*",
        ]
    )


FAILING_FIXTURES = """
    import os
    import pytest
    import repl_pair
    from repl_pair import story, variant

    KEY = "held " + os.environ["SHOP_API_TOKEN"]

    @pytest.fixture
    def broken():
        raise ValueError(KEY)

    @pytest.fixture
    def broken_at_its_end():
        yield
        raise ValueError(KEY)

    @pytest.fixture
    def absent():
        pytest.skip(KEY)

    @story("a.b")
    def used(given, how=None):
        if how:
            getattr(pytest, how)(KEY)

    for name in ("broken", "broken_at_its_end", "absent"):
        variant(f"a.b/{name}", args={"given": repl_pair.fixture(name)})
    for how in ("skip", "xfail"):
        variant(f"a.b/{how}", args={"given": 1, "how": how})
    marks = [pytest.mark.xfail(reason=KEY)]
    variant("a.b/awaited", args={"given": 1, "how": "fail"}, marks=marks)
    strict = [pytest.mark.xfail(reason=KEY, strict=True)]
    variant("a.b/passes", args={"given": 1}, marks=strict)
"""


def test_errors_of_fixtures_and_reasons_hide_what_is_secret_and_show_no_frame_of_pytest(
    pytester, run, monkeypatch
):
    monkeypatch.setenv("SHOP_API_TOKEN", "tok-9f8e7d6c5b")
    pytester.makepyfile(stories_a=FAILING_FIXTURES)
    result = run("-rA", "--junitxml=o.xml", "-p", "no:randomly")
    result.assert_outcomes(passed=1, failed=1, skipped=2, errors=2, xfailed=2)
    shown = result.stdout.str()
    in_summary = pytest.version_tuple >= (9,)  # the reason of a strict xfail that passes
    assert shown.count("held [redacted]") == 9 + in_summary
    assert "tok-9f8e" not in shown + (pytester.path / "o.xml").read_text()
    places = [line for line in result.outlines if re.match(r"\S+:\d+: ", line)]
    assert places == ["stories_a.py:10: ValueError", "stories_a.py:15: ValueError"]


@pytest.mark.parametrize(
    ("chosen", "old", "new"),
    [
        ("exit", '("skip", "xfail")', '["exit"]'),
        ("broken_at_its_end", "yield\n        raise ValueError", "yield\n        pytest.exit"),
    ],
)
def test_a_message_that_ends_the_session_hides_what_is_secret(
    pytester, run, monkeypatch, chosen, old, new
):
    monkeypatch.setenv("SHOP_API_TOKEN", "tok-9f8e7d6c5b")
    pytester.makepyfile(stories_a=FAILING_FIXTURES.replace(old, new))
    run("-k", chosen).stdout.fnmatch_lines(["!*Exit: held [[]redacted[]] !*"])


def test_a_long_text_of_lines_that_were_cut_is_read_in_the_time_of_its_size():
    text = f"{'y' * 100}...\n" * 40_000
    began = time.perf_counter()
    assert _scrub(text) == text
    assert time.perf_counter() - began < 6


def test_a_variant_that_raises_is_reported_where_there_is_no_terminal(pytester):
    pytester.makepyfile(stories_a=BROKEN.replace("return {", "1 / 0; return {"))
    result = pytester.runpytest_subprocess("-p", "no:terminal", "--junitxml=o.xml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert 'message="ZeroDivisionError' in (pytester.path / "o.xml").read_text()


FIXTURES = """
    import pytest

    made = []

    @pytest.fixture(scope="module")
    def db():
        made.append("db")
        yield {"rows": [1, 2], "made": len(made)}
        made.append("closed")

    @pytest.fixture
    def absent():
        pytest.skip("no server here")

    @pytest.fixture(params=[1, 2], ids=["one", "two"])
    def size(request):
        return request.param

    @pytest.fixture(autouse=True)
    def here(tmp_path, monkeypatch):
        monkeypatch.setenv("SHOP_HOME", str(tmp_path))
"""
USING = """
    import os
    import repl_pair
    from repl_pair import check, story, variant

    @story("a.b")
    def rows(db: object, size: int = 0) -> dict:
        return {**db, "size": size, "home": "SHOP_HOME" in os.environ}

    db = repl_pair.fixture("db")
    shared = [check.path_equals("result.made", 1), check.path_equals("result.home", True)]
    variant("a.b/First", args={"db": db}, play=shared)
    variant("a.b/Second", args={"db": db}, play=shared)
    variant("a.b/Skipped", args={"db": repl_pair.fixture("absent")})
    variant("a.b/Sized", args={"db": db, "size": repl_pair.fixture("size")},
            play=[check.compare("result.size", ">", 0)])
"""


def test_fixtures_are_those_of_pytest_with_their_scopes_parameters_and_skips(pytester, run):
    pytester.makeconftest(FIXTURES)
    pytester.makepyfile(stories_a=USING)
    result = run("-v")
    result.assert_outcomes(passed=4, skipped=1)
    result.stdout.fnmatch_lines(
        ["*::a.b/Sized[[]one[]] PASSED*", "*::a.b/Sized[[]two[]] PASSED*"], consecutive=False
    )
    one = run("stories_a.py::a.b/Sized[two]")
    one.assert_outcomes(passed=1)


SIZES = """
import pytest

@pytest.fixture({}autouse=True)
def size(request):
    assert getattr(request, "param", 1) == 1
"""
HOOK = "def pytest_generate_tests(metafunc): metafunc.parametrize('size', [1, 2], indirect=True)"
MARK = "pytest.mark.parametrize('size', [1, 2], indirect=True)"


@pytest.mark.parametrize(
    ("conftest", "more", "counts"),
    [
        (SIZES.format("params=[1, 2], "), "", (2, 2)),
        (SIZES.format("") + HOOK, "", (2, 2)),
        (SIZES.format(""), HOOK, (2, 2)),
        (SIZES.format(""), f"import pytest; pytestmark = {MARK}", (2, 2)),
        (SIZES.format(""), f"import pytest; variant('a.b/More', marks=[{MARK}])", (3, 1)),
    ],
    ids=["fixture", "hook of conftest.py", "hook of the file", "mark of the file", "its own mark"],
)
def test_what_parametrises_a_fixture_that_all_use_makes_an_item_for_each_parameter(
    pytester, run, conftest, more, counts
):
    pytester.makeconftest(conftest)
    pytester.makepyfile(stories_a=f"{dedent(STORIES)}\n{more}")
    result = run()
    shown = result.parseoutcomes()
    assert (shown["passed"], shown.get("errors")) == counts
    result.stdout.fnmatch_lines(["ERROR stories_a.py::a.b/*[[]2[]] - *"] * counts[1])


def test_a_mark_that_parametrises_what_there_is_not_is_refused_by_the_name_of_the_variant(
    pytester, run
):
    more = "import pytest; variant('a.b/More', marks=[pytest.mark.parametrize('m', [1])])"
    pytester.makepyfile(stories_a=f"{dedent(STORIES)}\n{more}")
    result = run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["In *a.b/More: function uses no argument 'm'"])


def test_what_needs_a_fixture_is_repeated_with_pytest(pytester, run):
    pytester.makeconftest(FIXTURES)
    pytester.makepyfile(stories_a=USING.replace('made", 1', 'made", 2'))
    result = run("-k", "First")
    result.stdout.fnmatch_lines(["  pytest stories_a.py::a.b/First"])
    mark = "import pytest; pytestmark = pytest.mark.usefixtures('size')"
    pytester.makepyfile(stories_a=f"{dedent(BROKEN)}\n{mark}")
    run().stdout.fnmatch_lines(["  pytest 'stories_a.py::a.b/Held[[]two[]]'"])


def test_a_fixture_that_is_not_there_is_reported_by_the_variant(pytester, run):
    pytester.makeconftest(FIXTURES)
    pytester.makepyfile(stories_a=USING.replace('fixture("db")', 'fixture("bd")'))
    result = run("-k", "First")
    result.assert_outcomes(failed=1, deselected=4)
    result.stdout.fnmatch_lines(["*a.b/First: cannot_run", "*there is no fixture 'bd'*"])


@pytest.mark.parametrize("name", ["capsys", "capfd", "recwarn"])
def test_a_fixture_that_would_see_nothing_of_the_run_is_refused(pytester, run, name):
    pytester.makepyfile(
        stories_a=f"""
        import repl_pair
        repl_pair.story("a.b", component=lambda of: print("seen"))
        repl_pair.variant("a.b/Quiet", args={{"of": repl_pair.fixture({name!r})}})
        """
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*the fixture {name!r} sees nothing of a run, *"])


@pytest.mark.parametrize(
    "fixture", ["capsys(): return 3", "server(capfd):\n    with capfd.disabled(): return 3"]
)
def test_a_fixture_of_the_projects_may_have_such_a_name_or_use_such_a_fixture(
    pytester, run, fixture
):
    pytester.makeconftest(f"import pytest\n@pytest.fixture\ndef {fixture}")
    name = fixture.partition("(")[0]
    pytester.makepyfile(
        stories_a=f"""
        import repl_pair
        repl_pair.story("a.b", component=lambda of: of)
        repl_pair.variant("a.b/It", args={{"of": repl_pair.fixture({name!r})}})
        """
    )
    run().assert_outcomes(passed=1)


def test_variants_whose_marks_look_alike_have_each_its_own_parameters(pytester, run):
    pytester.makepyfile(
        stories_a="""
        import numpy
        import pytest
        import repl_pair

        repl_pair.story("a.b", component=lambda of: int(of[2500]))
        for n in (0, 7):
            rows = numpy.zeros(5000)
            rows[2500] = n  # its text shows the ends alone
            repl_pair.variant(
                f"a.b/Of_{n}",
                args={"of": repl_pair.fixture("rows")},
                marks=[pytest.mark.parametrize("rows", [rows])],
                play=[repl_pair.check.result_equals(n)],
            )
        """
    )
    run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "fixture",
    [
        "    import unittest\n    raise unittest.SkipTest(SECRET)",
        "    yield\n    pytest.skip(SECRET)",
        "    yield\n    pytest.xfail(SECRET)",
    ],
)
def test_the_reason_of_a_skip_of_any_kind_and_phase_hides_secrets(
    pytester, run, monkeypatch, fixture
):
    monkeypatch.setenv("SHOP_API_KEY", "sk-9fK2qLmZ7xT4vB8nR1wY")
    head = "import os, pytest\nSECRET = 'no ' + os.environ['SHOP_API_KEY']\n"
    pytester.makeconftest(f"{head}@pytest.fixture(autouse=True)\ndef late():\n{fixture}\n")
    pytester.makepyfile(stories_a=STORIES)
    result = run("-rsx")
    result.stdout.re_match_lines([r"(SKIPPED|XFAIL) .* no \[redacted\]"])
    assert "sk-9fK2" not in result.stdout.str()


def test_a_fixture_that_all_use_gets_what_a_variant_puts_out(pytester, run):
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def printed(capsys):
            yield
            assert "printed 1" in capsys.readouterr().out
        """
    )
    pytester.makepyfile(stories_a=STORIES)
    run().assert_outcomes(passed=2)


def test_the_properties_of_a_run_are_in_the_junit_file(pytester, run):
    pytester.makepyfile(stories_a=STORIES)
    run("--junit-xml=out.xml", "stories_a.py::a.b/Held").assert_outcomes(passed=1)
    (case,) = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    found = {one.get("name"): one.get("value") for one in case.iter("property")}
    identity = repl_pair.snapshot_identity("a.b/Held")
    phases = found.pop("phases")
    assert [word.split()[0] for word in phases.split(", ")] == [
        "setup",
        "load",
        "events",
        "render",
        "play",
        "teardown",
    ]
    assert (case.get("classname"), case.get("name")) == ("stories_a", "a.b/Held")
    assert found == {
        "story": "a.b",
        "variant": "a.b/Held",
        "modes": "",
        "status": "pass",
        "assertions": "1",
        "content_hash": identity.content_hash,
        "code_hash": identity.code_hash,
    }


def test_pytest_finds_what_a_sweep_finds_item_by_item(pytester, run):
    pytester.makepyfile(
        stories_a="""
        from repl_pair import check, mode, story, variant

        mode("eur", args={"rate": 1}, axis="currency")
        mode("usd", args={"rate": 2}, axis="currency")
        mode("dark", args={"shade": 3})

        @story("a.b", modes=["eur", "usd", "dark"])
        def price(n: int = 1, rate: int = 1, shade: int = 0) -> int:
            return n * rate // (3 - shade)

        variant("a.b/Cheap", play=[check.compare("result", "<", 1)])
        variant("a.b/Dear", args={"n": 9}, play=[check.path_equals("result", 3)])
        """
    )
    run("--junit-xml=out.xml")
    cases = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    ours = [{one.get("name"): one.get("value") for one in case.iter("property")} for case in cases]
    slots = ("variant", "modes", "status", "content_hash", "assertions")
    sweep = repl_pair.run_variants(story="a.b")
    assert set(sweep.counts) >= {"pass", "fail", "error"}
    assert all(sweep.counts[status] for status in ("pass", "fail", "error"))
    assert [tuple(one[slot] for slot in slots) for one in ours] == [
        (row.variant_id, "+".join(row.modes), row.status, row.content_hash, str(row.total))
        for row in sweep.rows
    ]


def test_warnings_of_a_run_are_pytests(pytester, run):
    pytester.makepyfile(
        stories_a="""
        import warnings
        from repl_pair import story, variant

        class Old(DeprecationWarning):
            pass

        @story("a.b")
        def old():
            warnings.warn("gone soon", Old)

        variant("a.b/Old")
        """
    )
    run().stdout.fnmatch_lines(["*stories_a.py:9: Old: gone soon"])
    strict = run("-W", "error::DeprecationWarning")
    strict.assert_outcomes(failed=1)
    again = "  pytest -Werror::DeprecationWarning stories_a.py::a.b/Old"
    strict.stdout.fnmatch_lines([again, "FAILED stories_a.py::a.b/Old - *Old: gone soon"])


def test_warnings_that_are_asserted_are_none_of_pytests(pytester, run):
    pytester.makepyfile(
        stories_a="""
        import warnings
        import repl_pair
        from repl_pair import check

        class Old(DeprecationWarning):
            pass

        def old(n=1):
            warnings.warn(f"{n} is gone soon", Old)

        gone = check.warns(DeprecationWarning, match="gone")
        repl_pair.variants(old, {
            "Base": ({}, gone),
            "Name": ({}, check.warns("stories_a.Old")),
            "Two": ({}, [gone, check.warns(Old, match="^1")]),
            "Other": ({}, check.warns(UserWarning)),
            "Else": ({}, check.warns(Old, match="came back")),
            "Not": ({},),
        })
        """
    )
    result = run("-W", "error")
    result.assert_outcomes(passed=3, failed=3)
    lines = [line for line in result.outlines if line.startswith("FAILED")]
    name = "FAILED stories_a.py::stories_a.old"
    assert lines == [
        f"{name}/Other - fail: warns: there was no UserWarning, but ['Old: 1 is gone soon']",
        f"{name}/Else - fail: warns: there was no Old matching 'came back', but ['Old: 1 is gone "
        "soon']",
        f"{name}/Not - Old: 1 is gone soon",
    ]
    assert "pytest_plugin" not in "\n".join(result.outlines)
    run().stdout.fnmatch_lines(["*stories_a.py:9: Old: 1 is gone soon", "*3 warnings*"])


@pytest.mark.full
def test_coverage_counts_what_variants_run(pytester):
    pytester.makepyfile(shop="def twice(n: int) -> int:\n    return n * 2\n")
    pytester.makepyfile(
        stories_a="""
        import shop
        from repl_pair import check, story, variant

        story("a.b", component=shop.twice)
        variant("a.b/One", args={"n": 1}, play=[check.result_equals(2)])
        """
    )
    result = pytester.runpytest_subprocess("--cov=shop", "--cov-report=term")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["shop.py * 2 * 0 *100%"])


def test_a_fixture_that_a_run_asks_for_is_torn_down_in_the_context_of_its_setup(pytester, run):
    pytester.makepyfile(
        conftest="""
        import contextvars
        import pytest

        TENANT = contextvars.ContextVar("tenant", default="none")

        @pytest.fixture
        def tenant():
            token = TENANT.set("acme")
            yield "acme"
            TENANT.reset(token)
        """,
        stories_a="""
        import repl_pair as rp
        from repl_pair import check

        @rp.story("a")
        def page(request):
            return request.getfixturevalue("tenant")

        args = {"request": rp.fixture("request")}
        rp.variant("a/A", args=args, play=[check.result_equals("acme")])
        """,
    )
    run().assert_outcomes(passed=1)


def test_a_fixture_with_parameters_may_stand_in_a_step_of_a_play(pytester, run):
    pytester.makepyfile(
        conftest="""
        import pytest

        @pytest.fixture(params=["a", "b"])
        def db(request):
            return request.param
        """,
        stories_a="""
        import repl_pair as rp
        from repl_pair import check, step

        @rp.story("box")
        class Box:
            def put(self, v):
                self.v = v

        put = [step.dispatch("put", v=rp.fixture("db")), check.compare("state.v", "in", ["a", "b"])]
        rp.variant("box/A", play=put)
        rp.variant("box/B", plays={"named": {"steps": put, "auto_run": False}})
        """,
    )
    run().assert_outcomes(passed=5)


def test_it_stops_at_the_first_failure_where_asked_to(pytester, run):
    pytester.makepyfile(stories_a=BROKEN)
    run("-x").assert_outcomes(failed=1)


def test_a_skip_at_the_end_hides_nothing_that_failed(pytester, run):
    pytester.makepyfile(
        stories_a="""
        import pytest
        import repl_pair
        from repl_pair import check

        @repl_pair.loader
        def made():
            yield 1
            pytest.skip("not here")

        def same(n, by=1):
            return n // by

        repl_pair.story("a", component=same, args={"n": repl_pair.ref("made")})
        repl_pair.variant("a/Wrong", play=[check.result_equals(2)])
        repl_pair.variant("a/Broken", args={"by": 0})
        repl_pair.variant("a/Right", play=[check.result_equals(1)])
        """
    )
    run().assert_outcomes(failed=2, skipped=1)


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_breakpoint_in_a_component_stops_at_the_terminal_and_the_run_goes_on(pytester, keyword):
    pytester.makepyfile(
        stories_a=f"""
        from repl_pair import check, story, variant

        @story("a.b")
        {keyword} number(n: int) -> int:
            breakpoint()
            print("printed", n)
            return n

        variant("a.b/Held", args={{"n": 41}}, play=[check.result_equals(42)])
        """,
        test_later="def test_it(): breakpoint(); assert False, 'shown at the end'",
    )
    with closing(pytester.spawn_pytest("-p no:cacheprovider", expect_timeout=60)) as terminal:
        terminal.expect_exact("(Pdb) ")
        terminal.sendline("!n = n + 1")
        terminal.sendline("p 'n is', n")
        terminal.expect_exact("('n is', 42)")
        terminal.sendline("c")
        terminal.expect_exact("(Pdb) ")
        terminal.sendline("c")
        shown = terminal.read()
    assert b"shown at the end" in shown
    assert b"1 failed, 1 passed" in shown
