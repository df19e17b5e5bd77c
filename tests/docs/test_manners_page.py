"""Each sentence of docs/manners.md names the tests that show it, and they exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "manners.md"
ITEMS = re.findall(r"^- (.*?)(?=^- |^\n|^#|\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
LINK = re.compile(r'\[[^\]]+\]\(([^)\s]+\.py)\s+"(test_\w+)"\)')


@cache
def names_of_tests(path):
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_the_page_has_its_sentences():
    assert len(ITEMS) >= 30


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: " ".join(item.split())[:60])
def test_a_sentence_is_shown_by_a_test_that_exists(item):
    links = LINK.findall(item)
    assert links, "no test is named"
    for path, name in links:
        assert name in names_of_tests((PAGE.parent / path).resolve()), name
