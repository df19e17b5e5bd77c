"""The cases of five libraries as stories and as plain pytest: the same items, the same length."""

import pytest

pytest_plugins = ["pytester"]

CASES = {
    "packaging": (
        """
import pytest
from packaging.version import InvalidVersion, Version


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", (1,)), ("2.1.3", (2, 1, 3)), ("1.0rc1", (1, 0)), ("v1.2", (1, 2)), ("1.0+up", (1, 0))],
)
def test_release(text, expected):
    assert Version(text).release == expected


@pytest.mark.parametrize("text", ["one", "1.0.", "1 0", ""])
def test_no_version(text):
    with pytest.raises(InvalidVersion):
        Version(text)
""",
        """
from packaging.version import InvalidVersion, Version
from repl_pair import check, variants


def release(text):
    return Version(text).release


cases = {"1": (1,), "2.1.3": (2, 1, 3), "1.0rc1": (1, 0), "v1.2": (1, 2), "1.0+up": (1, 0)}
variants(release, list(cases.items()))
variants(release, [(text, check.raises(InvalidVersion)) for text in ("one", "1.0.", "1 0", "")])
""",
    ),
    "textwrap": (
        """
import textwrap

import pytest

TEXT = "It was a bright cold day in April."


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (40, [TEXT]),
        (20, ["It was a bright cold", "day in April."]),
        (12, ["It was a", "bright cold", "day in", "April."]),
    ],
)
def test_wrap(width, lines):
    assert textwrap.wrap(TEXT, width) == lines


def test_no_width():
    with pytest.raises(ValueError, match="must be > 0"):
        textwrap.wrap(TEXT, 0)


@pytest.mark.parametrize(("width", "text"), [(40, TEXT), (20, "It was a [...]")])
def test_shorten(width, text):
    assert textwrap.shorten(TEXT, width) == text
""",
        """
import textwrap

from repl_pair import check, story

TEXT = "It was a bright cold day in April."
story(
    textwrap.wrap,
    args={"text": TEXT},
    variants=[
        ({"width": 40}, [TEXT]),
        ({"width": 20}, ["It was a bright cold", "day in April."]),
        ({"width": 12}, ["It was a", "bright cold", "day in", "April."]),
        ({"width": 0}, check.raises(ValueError, match="must be > 0")),
    ],
)
story(
    textwrap.shorten, args={"text": TEXT},
    variants=[({"width": 40}, TEXT), ({"width": 20}, "It was a [...]")],
)
""",
    ),
    "markdown_it": (
        """
import pytest
from markdown_it import MarkdownIt


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*so*", "<p><em>so</em></p>\\n"),
        ("# Head", "<h1>Head</h1>\\n"),
        ("- one", "<ul>\\n<li>one</li>\\n</ul>\\n"),
        ("a < b", "<p>a &lt; b</p>\\n"),
        ("", ""),
    ],
)
def test_render(text, html):
    assert MarkdownIt().render(text) == html


@pytest.mark.parametrize(
    ("text", "html"), [("https://a.bc", "<p>https://a.bc</p>\\n"), ("~~a~~", "<p>~~a~~</p>\\n")]
)
def test_bare(text, html):
    assert MarkdownIt("zero").render(text) == html
""",
        """
from markdown_it import MarkdownIt
from repl_pair import variants


def render(text, preset="commonmark"):
    return MarkdownIt(preset).render(text)


variants(render, [
    ("*so*", "<p><em>so</em></p>\\n"),
    ("# Head", "<h1>Head</h1>\\n"),
    ("- one", "<ul>\\n<li>one</li>\\n</ul>\\n"),
    ("a < b", "<p>a &lt; b</p>\\n"),
    ("", ""),
    (("https://a.bc", "zero"), "<p>https://a.bc</p>\\n"),
    (("~~a~~", "zero"), "<p>~~a~~</p>\\n"),
])
""",
    ),
    "webcolors": (
        """
import pytest
import webcolors


@pytest.mark.parametrize(
    ("name", "hex"), [("navy", "#000080"), ("White", "#ffffff"), ("teal", "#008080")]
)
def test_name_to_hex(name, hex):
    assert webcolors.name_to_hex(name) == hex


@pytest.mark.parametrize(("text", "hex"), [("#FFF", "#ffffff"), ("#0099CC", "#0099cc")])
def test_normalize_hex(text, hex):
    assert webcolors.normalize_hex(text) == hex


@pytest.mark.parametrize("text", ["0099cc", "#00", "#ggg"])
def test_no_hex(text):
    with pytest.raises(ValueError):
        webcolors.normalize_hex(text)
""",
        """
import webcolors
from repl_pair import check, variants

variants(webcolors.name_to_hex, [("navy", "#000080"), ("White", "#ffffff"), ("teal", "#008080")])
variants(webcolors.normalize_hex, [("#FFF", "#ffffff"), ("#0099CC", "#0099cc")])
refused = check.raises(ValueError)
variants(webcolors.normalize_hex, [(text, refused) for text in ("0099cc", "#00", "#ggg")])
""",
    ),
    "dateutil": (
        """
from datetime import date

import pytest
from dateutil.easter import easter
from dateutil.relativedelta import relativedelta

DAY = date(2024, 1, 31)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"months": 1}, date(2024, 2, 29)),
        ({"years": 1, "months": 1}, date(2025, 2, 28)),
        ({"day": 1}, date(2024, 1, 1)),
    ],
)
def test_later(more, expected):
    assert DAY + relativedelta(**more) == expected


def test_unknown_unit():
    with pytest.raises(TypeError):
        relativedelta(moons=1)


@pytest.mark.parametrize(
    ("year", "expected"), [(2024, date(2024, 3, 31)), (2025, date(2025, 4, 20))]
)
def test_easter(year, expected):
    assert easter(year) == expected
""",
        """
from datetime import date

from dateutil.easter import easter
from dateutil.relativedelta import relativedelta
from repl_pair import check, variants


def later(**more):
    return date(2024, 1, 31) + relativedelta(**more)


variants(later, [
    ({"months": 1}, date(2024, 2, 29)),
    ({"years": 1, "months": 1}, date(2025, 2, 28)),
    ({"day": 1}, date(2024, 1, 1)),
    ({"moons": 1}, check.raises(TypeError)),
])
variants(easter, [(2024, date(2024, 3, 31)), (2025, date(2025, 4, 20))])
""",
    ),
}
MOST = 1.1
"""How long stories may be, as times of plain pytest with the same cases."""


def outcomes(pytester, name, text):
    pytester.makepyfile(**{name: text})
    found = pytester.runpytest_inprocess(f"{name}.py", "-p", "no:cacheprovider")
    return found.parseoutcomes()


@pytest.mark.parametrize("library", CASES)
def test_the_cases_of_a_library_pass_both_ways(pytester, library):
    plain, stories = CASES[library]
    expected = outcomes(pytester, "test_plain", plain)
    assert expected == {"passed": expected["passed"]}
    assert outcomes(pytester, "stories_short", stories) == expected


def test_stories_are_as_short_as_plain_pytest():
    for measure in (str.split, lambda text: "".join(text.split())):
        plain, stories = (sum(len(measure(pair[at])) for pair in CASES.values()) for at in (0, 1))
        assert stories <= MOST * plain
