"""Targets: one form of each, and what is none, is not there, or leads out of the project."""

import json
import os
import subprocess
import unicodedata
from functools import partial
from posixpath import normpath

import pytest

import repl_pair
from repl_pair.errors import RequestError
from repl_pair.runtime.review.annotations import create_annotation, get_annotation
from repl_pair.runtime.review.finding import find_known_target, find_target
from repl_pair.runtime.review.pages import MAX_BYTES
from repl_pair.wire import View

from .conftest import CLAUDE, ME

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Orders\n", "of today"]},
        {
            "id": "abc1",
            "cell_type": "code",
            "source": "total()",
            "outputs": [
                {"output_type": "stream", "text": ["counted\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "42 orders"}},
            ],
        },
    ]
}


@pytest.fixture(autouse=True)
def pages(project):
    (project / "orders.ipynb").write_text(json.dumps(NOTEBOOK))
    (project / "docs").mkdir()
    (project / "docs" / "C#.md").write_text("# Sharp\n")
    (project / "node_modules").mkdir()
    (project / "node_modules" / "a.md").write_text("# A\n")
    (project / "plain.txt").write_text("# A\n")
    (project / "news.md").write_text("# 0.11.0\n# 0.1.10\n# C#\n# C++\n# C\n")
    (project / "windows.md").write_text("# Install\r\nnow\r\n", encoding="utf-8-sig")
    (project / "windows.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8-sig")
    (project / "half.ipynb").write_text('{"cells": [')
    with (project / "large.md").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    repl_pair.story("shop.quote")(lambda n=1: n)
    repl_pair.variant("shop.quote/Bulk", args={"n": 12})
    repl_pair.workspace("shop.desk/Main", layout="grid", variants=["shop.quote/Bulk"])


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("story:shop.quote", None),
        ("variant:shop.quote/Bulk", None),
        ("workspace:shop.desk/Main", None),
        ("doc:README.md", None),
        ("doc:./README.md", "doc:README.md"),
        ("doc:docs/../README.md#install", "doc:README.md#Install"),
        ("doc:README.md#Usage", None),
        ("doc:README.md#usage-1", "doc:README.md#Usage-1"),
        ("doc:README.md#", "doc:README.md"),
        ("doc:docs/C#.md#sharp", "doc:docs/C#.md#Sharp"),
        *((f"doc:news.md#{title}", None) for title in ("0.11.0", "0.1.10", "C#", "C++", "C")),
        ("doc:news.md#0110", "doc:news.md#0.11.0"),
        ("doc:news.md#0110-1", "doc:news.md#0.1.10"),
        ("doc:news.md#c++", "doc:news.md#C++"),
        ("doc:windows.md#Install", None),
        ("notebook:windows.ipynb#abc1", None),
        ("doc:large.md", None),
        ("notebook:orders.ipynb#abc1", None),
        ("notebook:orders.ipynb#2", "notebook:orders.ipynb#abc1"),
        ("notebook:orders.ipynb#1", None),
    ],
)
def test_a_target_has_one_form(project, written, found):
    assert find_target(project, CLAUDE, written).text == found or written


@pytest.mark.parametrize(
    ("written", "code", "words"),
    [
        ("", "bad_arguments", "doc:PATH#HEADING"),
        ("README.md", "bad_arguments", "variant:ID"),
        ("run:1", "bad_arguments", "story:ID"),
        ("story:", "bad_arguments", "story:ID"),
        ("variant:shop.quote/Bulk#play", "bad_arguments", "variant:ID"),
        ("doc:plain.txt", "bad_arguments", ".md or .ipynb"),
        ("doc:orders.ipynb", "bad_arguments", ".md"),
        ("notebook:README.md", "bad_arguments", ".ipynb"),
        ("doc:/etc/x.md", "bad_arguments", "relative"),
        ("doc:../x.md", "bad_arguments", "relative"),
        ("doc:a/../../x.md", "bad_arguments", "relative"),
        ("doc:a\\b.md", "bad_arguments", "relative"),
        ("doc:a\0b.md", "bad_arguments", "relative"),
        (f"doc:{'a' * 2000}.md", "bad_arguments", "is not a target"),
        ("variant:shop.quote/Bulg", "not_found", "Nearest: shop.quote/Bulk"),
        ("doc:READM.md", "not_found", "Nearest: README.md"),
        ("doc:node_modules/a.md", "not_found", "no page"),
        ("notebook:order.ipynb", "not_found", "Nearest: orders.ipynb"),
        ("doc:README.md#Instal", "bad_arguments", "Nearest: Install. It has 'Shop', 'Install'"),
        ("notebook:orders.ipynb#3", "bad_arguments", "It has '1', 'abc1'"),
        ("doc:news.md#0.110", "bad_arguments", "has no heading '0.110'"),
        ("notebook:half.ipynb#1", "bad_arguments", "It has no cells that can be read."),
        ("doc:large.md#Install", "bad_arguments", "remark on the whole of it, doc:large.md."),
    ],
)
def test_what_is_no_target_is_refused_with_what_would_be_one(project, written, code, words):
    with pytest.raises(RequestError) as refused:
        find_target(project, CLAUDE, written)
    assert (refused.value.code, words in refused.value.message) == (code, True), refused.value


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_letter_and_its_accent_are_found_as_one_or_two_characters(project, forms):
    there, typed = (unicodedata.normalize(one, "caf\u00e9") for one in forms)
    (project / f"{there}.md").write_text(f"# Le {there}\n", encoding="utf-8")
    (project / f"{there}.ipynb").write_text(json.dumps(NOTEBOOK))
    found = find_target(project, CLAUDE, f"doc:{typed}.md#Le {typed}", f"Le {typed}")
    assert found.text == f"doc:{there}.md#Le {there}"
    found = find_target(project, CLAUDE, f"notebook:{typed}.ipynb#2")
    assert found.text == f"notebook:{there}.ipynb#abc1"


def test_the_section_of_a_page_is_one_of_its_headings_and_else_a_free_word(project):
    find_target(project, ME, "doc:README.md", "install")
    find_target(project, ME, "variant:shop.quote/Bulk", "play")
    with pytest.raises(RequestError, match=r"no heading 'play'.* It has 'Shop'"):
        find_target(project, ME, "doc:README.md", "play")


def test_a_link_that_leads_out_of_the_project_is_no_page(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "plan.md").write_text("# Plan\n")
    os.symlink(outside / "plan.md", project / "plan.md")
    os.symlink(outside, project / "away")
    for path in ("plan.md", "away/plan.md"):
        with pytest.raises(RequestError, match="There is no page"):
            find_target(project, ME, f"doc:{path}")


def test_a_private_page_reads_like_one_that_is_not_there(project):
    (project / "secret").mkdir()
    (project / "secret" / "plan.md").write_text("# Plan\n")
    os.symlink(project / "secret" / "plan.md", project / "docs" / "alias.md")
    os.symlink(project / "secret" / "plan.md", project / "docs" / "ali\u0065\u0301s.md")
    (project / "pyproject.toml").write_text('[tool.repl_pair]\nprivate = ["secret/*"]\n')
    inspector = View(principal="claude", access=frozenset({"read", "run", "inspect"}))
    for path in ("secret/plan.md", "docs/alias.md", "docs/ali\u00e9s.md"):
        for view in (ME, inspector):
            assert find_target(project, view, f"doc:{path}#Plan").part == "Plan"
        refusals = []
        for name in (path, path.replace("a", "o", 1)):
            with pytest.raises(RequestError) as refused:
                find_target(project, CLAUDE, f"doc:{name}#Plan")
            refusals.append(refused.value.message.replace(name, "NAME"))
        assert refusals[0] == refusals[1]
        assert "plan" not in refusals[0]


def test_a_page_that_is_not_listed_is_not_there_for_an_agent(project, database):
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / ".gitignore").write_text("private.md\nout/\n")
    for folder in ("out", ".kept"):
        (project / folder).mkdir()
        (project / folder / "plan.md").write_text("# Plan\n")
    (project / "private.md").write_text("# Plan\n")
    os.symlink(project / "private.md", project / "alias.md")
    os.symlink(project / ".kept", project / "kept")
    for path in ("private.md", "out/plan.md", "alias.md", "kept/plan.md", "docs/../private.md"):
        assert find_target(project, ME, f"doc:{path}#Plan").part == "Plan"
        refusals = []
        for name in (path, path.replace("p", "q")):
            for ask in (find_target, partial(find_known_target, None)):
                with pytest.raises(RequestError) as refused:
                    ask(project, CLAUDE, f"doc:{name}#zz")
                refusals.append(refused.value.message.replace(normpath(name), "NAME"))
        assert len(set(refusals)) == 1, refusals
        assert "Plan" not in refusals[0]


def test_what_an_agent_wrote_on_a_page_that_git_ignores_now_is_compared_with_nothing(
    project, database
):
    made = create_annotation(
        database, CLAUDE, target="doc:README.md", content="Mend it.", quote="fresh"
    )
    assert made["status"] == "submitted"
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / ".gitignore").write_text("README.md\n")
    os.utime(project / "README.md")
    found = get_annotation(database, CLAUDE, made["id"])["annotation"]
    assert found["status"] == "orphaned"
