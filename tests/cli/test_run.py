"""Runs of a project's stories without any kernel: all, by tags, in their modes, as a JUnit file."""

from xml.etree import ElementTree

import pytest

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
    ("words", "told"),
    [
        (("--tags", "quikc"), "There is no tag 'quikc'. Nearest: quick"),
        (("--tags", "quick and not quick"), "--tags 'quick and not quick' chooses none"),
        (("*/Short", "--tags", "quick"), "chooses none of the 1 that are named"),
        (("--tags", "quick and"), "a tag is missing"),
        (("shop.duoble/Go*",), "Nearest: shop.double/Good"),
        (("--modes", "all", "--mode", "size/big"), "leave out --mode"),
    ],
)
def test_what_chooses_nothing_is_a_usage_error_that_states_what_is_near(tagged, pair, words, told):
    refused = pair("run", "--here", *words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert told in refused.stderr
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
