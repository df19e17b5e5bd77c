"""Tags are marks; a choice that fits nothing, or only in part, fails and says what is near."""

import pytest

pytest_plugins = ["pytester"]

STORIES = """
    from repl_pair import check, mode, story, tag, variant

    tag("slow", doc="takes its time")
    tag("area/price-list", doc="about prices")
    tag("skip", doc="not for this machine")
    tag("xfail", doc="known to be wrong")
    tag("timeout")
    mode("eur", args={"n": 2})
    mode("unused", args={"n": 3})

    @story("a.b", tags=["test"])
    def number(n: int = 1) -> int:
        return n

    one = [check.path_equals("result", 1)]
    variant("a.b/Quick", play=one)
    variant("a.b/Slow", tags=["slow", "area/price-list"], modes=["eur"])
    variant("a.b/Untested", tags=["!test", "timeout"], play=one)
    variant("a.b/Skipped", tags=["skip"])
    variant("a.b/Wrong", args={"n": 2}, tags=["xfail"], play=one)
    variant("a.b/Right", tags=["xfail"], play=one)

    def test_function():
        pass
"""


@pytest.fixture
def run(pytester):
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider --strict-markers -W error -rA")
    pytester.makepyfile(stories_a=STORIES)
    return pytester.runpytest_inprocess


def passed(result):
    words = [line.split() for line in result.outlines if line.startswith("PASSED ")]
    return [words[1].removeprefix("stories_a.py::") for words in words]


def test_tags_are_registered_marks_and_skip_and_xfail_act_with_the_tags_doc_as_reason(run):
    result = run()
    result.assert_outcomes(passed=5, skipped=1, xfailed=1, xpassed=1)
    result.stdout.fnmatch_lines_random(
        ["SKIPPED * not for this machine", "XFAIL *a.b/Wrong - known to be wrong"]
    )


@pytest.mark.parametrize(
    ("args", "ids"),
    [
        (["-m", "slow"], ["a.b/Slow", "a.b/Slow[eur]"]),
        (["-m", "area/price-list"], ["a.b/Slow", "a.b/Slow[eur]"]),
        (["-k", "Quick"], ["a.b/Quick"]),
        (["-k", "slow and eur"], ["a.b/Slow[eur]"]),
        (["--pair-tags", "slow"], ["test_function", "a.b/Slow", "a.b/Slow[eur]"]),
        (["--pair-tags", "test and not (slow or skip or xfail)"], ["test_function", "a.b/Quick"]),
        (["--pair-tags", "timeout"], ["test_function", "a.b/Untested"]),
        (
            ["--pair-tags", "area/price-list", "--pair-modes", "eur", "-m", "slow"],
            ["a.b/Slow[eur]"],
        ),
    ],
)
def test_variants_are_chosen_by_what_they_carry(run, args, ids):
    result = run(*args)
    assert result.ret == 0
    assert passed(result) == ids


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--pair-tags", "slwo"], "*no tag 'slwo'. Nearest: slow."),
        (["--pair-tags", "slow and slwo"], "*no tag 'slwo'. Nearest: slow."),
        (["--pair-tags", "docs"], "*--pair-tags 'docs' chooses variants, none of the 7 *"),
        (["--pair-tags", "slow and"], "*'slow and': a tag is missing*"),
        (["--pair-tags", ""], "*a tag is missing*"),
        (["--pair-modes", "euro"], "*no mode 'euro'. Nearest: eur*"),
        (["--pair-modes", "none,unused"], "*no variant that was collected has the modes unused."),
        (["--pair-modes", "all,eur"], "*no mode 'all'*"),
        (["stories_a.py::a.b/Quik"], "*not found: *a.b/Quik*"),
        (["stories_a.py::a.b/Quick", "stories_a.py::a.b/Slow[usd]"], "*not found: *a.b/Slow*"),
    ],
)
def test_what_fits_nothing_or_only_in_part_is_refused_before_anything_runs(run, args, text):
    result = run(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([text])
    assert passed(result) == []


def test_an_id_that_is_not_there_is_refused_with_what_is_near(run):
    result = run("stories_a.py::a.b/Quik")
    result.stdout.fnmatch_lines(["stories_a.py has no 'a.b/Quik'. Nearest: a.b/Quick*"])


def test_a_parameter_with_colons_is_found_by_its_id(pytester):
    pytester.makepyfile(
        stories_p="""
        import pytest, repl_pair

        @pytest.fixture(params=["a::b"])
        def x(request):
            return request.param

        repl_pair.story("s", component=lambda n: n)
        repl_pair.variant("s/P", args={"n": repl_pair.fixture("x")})
        """
    )
    result = pytester.runpytest_inprocess("stories_p.py::s/P[a::b]")
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_tags_and_modes_that_are_chosen_where_no_stories_are_collected_are_refused(pytester):
    pytester.makepyfile("def test_a(): pass")
    for choice in (["--pair-tags", "test"], ["--pair-modes", "eur"]):
        assert pytester.runpytest_inprocess(*choice).ret == pytest.ExitCode.USAGE_ERROR


def test_modes_of_the_ini_file_that_nothing_has_are_refused(run, pytester):
    pytester.makeini("[pytest]\nrepl_pair_modes = eurr")
    assert run().ret == pytest.ExitCode.USAGE_ERROR
    pytester.makeini("[pytest]\nrepl_pair_modes = unused,eur")
    assert run().ret == 0


def test_workers_refuse_too(run):
    result = run("-n", "2", "--pair-tags", "slwo")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["There is no tag 'slwo'. Nearest: slow."])


MARKED = """
import pytest
import repl_pair
from repl_pair import check

repl_pair.mode("eur", args={"n": 2})
repl_pair.mode("usd", args={"n": 3})

@repl_pair.story("a.c", modes=["eur", "usd"])
def plain(n: int = 1) -> int:
    return n

repl_pair.variant("a.c/All")
repl_pair.variant("a.c/One", modes=["!eur"], tags=["needs"])
repl_pair.variant("a.c/Other", extends="a.c/One", modes=["eur", "!usd"])
repl_pair.variant("a.c/Marked", modes=["!eur", "!usd"], marks=[
    pytest.mark.takes(5, unit="s"), pytest.mark.usefixtures("noted"),
])
repl_pair.variant("a.c/Also", extends="a.c/Marked", marks=[["takes", [7], {}]])

@pytest.fixture
def noted(request):
    print("takes", [mark.args for mark in request.node.iter_markers("takes")])
"""


def test_a_variant_takes_modes_of_its_story_out_and_has_marks_with_arguments(run, pytester):
    pytester.makepyfile(stories_b=MARKED)
    pytester.makeini("[pytest]\nmarkers = takes(seconds, unit)")
    shown = run("stories_b.py", "-rA", "-p", "no:cacheprovider")
    names = [line.partition("::a.c/")[2] for line in shown.outlines if line.startswith("PASSED ")]
    assert names == [
        *("All", "All[eur]", "All[usd]", "All[eur+usd]", "One", "One[usd]", "Other", "Other[eur]"),
        *("Marked", "Also"),
    ]
    shown.stdout.fnmatch_lines(["*takes [[](5,)[]]", "*takes [[](7,), (5,)[]]"])


@pytest.mark.parametrize("first", ["stories_a.py", "test_first.py"])
def test_what_a_tag_is_as_a_mark_does_not_depend_on_the_order_of_files(pytester, first):
    test = "import pytest\n@pytest.mark.slow\ndef test_slow(): pass"
    pytester.makepyfile(stories_a=STORIES, test_first=test)
    files = (first, *{"stories_a.py", "test_first.py"} - {first})
    refused = pytester.runpytest_subprocess(*files, "--strict-markers", "-m", "slow")
    refused.stdout.fnmatch_lines(["*'slow' not found in `markers`*"])
    pytester.makeini("[pytest]\nmarkers = slow\naddopts = --strict-markers")
    found = pytester.runpytest_subprocess(*files, "-m", "slow")
    found.assert_outcomes(passed=3, deselected=6)
