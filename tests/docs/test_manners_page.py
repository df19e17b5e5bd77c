"""Each sentence of these pages names the tests that show it, and they exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"manners.md": 30, "approvals.md": 15, "threats.md": 15}
"""The pages, and how many sentences each has at least."""
ITEM = re.compile(r"^- (.*?)(?=^- |^\n|^#|\Z)", re.MULTILINE | re.DOTALL)
ITEMS = {page: ITEM.findall((DOCS / page).read_text("utf-8")) for page in PAGES}
LINK = re.compile(r'\[[^\]]+\]\(([^)\s]+\.py)\s+"(test_\w+)"\)')


@cache
def names_of_tests(path):
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_its_sentences(page):
    assert len(ITEMS[page]) >= PAGES[page]


@pytest.mark.parametrize(
    "item",
    [item for items in ITEMS.values() for item in items],
    ids=lambda item: " ".join(item.split())[:60],
)
def test_a_sentence_is_shown_by_a_test_that_exists(item):
    links = LINK.findall(item)
    assert links, "no test is named"
    for path, name in links:
        assert name in names_of_tests((DOCS / path).resolve()), name
