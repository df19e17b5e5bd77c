"""The headings of Markdown: what is one, what is none, and where each ends."""

import time

import pytest
from hypothesis import given, strategies as st

from repl_pair.runtime.review.markdown import plain_text, read_headings
from repl_pair.runtime.review.notebooks import read_cells

CASES = {
    "# One\n\n## Two ##\n### `three`\n": ["One", "Two", "three"],
    "One\n===\n\nTwo words\nin two lines\n---\n": ["One", "Two words in two lines"],
    "```python\n# no heading\n```\n# One\n~~~\n# none\n```\n# none\n~~~\n## Two\n": ["One", "Two"],
    "````\n```\n# none\n````\n# One\n": ["One"],
    "```\n# never closed\n": [],
    "---\ntitle: x\n---\n# One\n": ["One"],
    "# One\n\n---\n\n- item\n---\n\n| a |\n---\n": ["One"],
    "<!--\n# none\n-->\n# One\n": ["One"],
    "    # code\n\n#no\n####### seven\n\\# none\n": [],
    "# [Linked](https://x) *and* __strong__ snake_case_word\n": [
        "Linked and strong snake_case_word"
    ],
    "# A\n# A\n# A-1\n# A\n": ["A", "A-1", "A-1-1", "A-2"],
    "#\n# \n": ["", "-1"],
    "": [],
}


@pytest.mark.parametrize(("text", "labels"), CASES.items(), ids=range(len(CASES)))
def test_headings_are_those_that_a_reader_sees(text, labels):
    assert [heading.label for heading in read_headings(text)] == labels


def test_a_heading_holds_until_the_next_of_its_level_or_above():
    text = "# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne"
    held = {one.label: text.splitlines()[one.line : one.end] for one in read_headings(text)}
    assert held["A"] == text.splitlines()[:8]
    assert held["B"] == ["## B", "b", "### C", "c"]
    assert held["E"] == ["# E", "e"]


@given(st.lists(st.sampled_from(["# A", "## A", "text", "```", "---", "", "# A-1", "> q"])))
def test_no_two_headings_share_a_label_and_each_begins_where_the_text_has_it(lines):
    headings = read_headings("\n".join(lines))
    assert len({one.label for one in headings}) == len(headings)
    assert all(0 <= one.line < one.end <= len(lines) for one in headings)


HOSTILE = {
    "brackets": "[" * 100_000,
    "links": "[a](" * 100_000,
    "underscores": "a" + "_" * 100_000 + "a",
    "spaces": "# a" + " " * 50_000 + "b",
    "same": "# a\n" * 20_000,
    "levels": "# a\n## b\n### c\n" * 7_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_is_read_in_proportion_to_its_length(text):
    begun = time.thread_time()
    read_headings(text)
    plain_text(text)
    assert time.thread_time() - begun < 3  # in proportion to its square it is over ten


def test_a_notebook_that_is_nested_too_deeply_has_no_cells():
    assert read_cells('{"cells":' + "[" * 100_000) == []
