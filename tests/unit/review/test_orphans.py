"""Remarks that lost what they speak of, and what of that an agent can find out."""

import json
import os
from typing import Annotated

import pytest

import repl_pair
from repl_pair import Sensitive
from repl_pair.runtime.registry.origin import agent_origin
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.review.annotations import (
    create_annotation,
    get_annotation,
    list_annotations,
    resolve_annotation,
)
from repl_pair.runtime.review.pages import MAX_BYTES

from .conftest import CLAUDE, ME, README

SECRET = "Kq7zW2mR9xTb4Lp"


def remark(database, view, target, quote="", **more):
    return create_annotation(
        database, view, target=target, content=f"about {quote}", quote=quote, **more
    )


def status_of(database, made, view=ME):
    return get_annotation(database, view, made["id"])["annotation"]["status"]


@pytest.mark.parametrize(
    ("target", "quote", "kept", "lost"),
    [
        ("doc:README.md", "pip install shop", "so:\npip   install\nshop", "pip install"),
        ("doc:README.md", "a fresh folder", "in a **fresh** folder", "in a fresh"),
        ("doc:README.md#Install", "fresh", "# X\n## Install\nfresh", "# fresh\n## Install\nold"),
        ("doc:README.md#Install", "fresh", "# Renamed\nfresh", "# Renamed\nold"),
        ("doc:README.md#Install", "", "Install\n===\n", "# Instal"),
        ("doc:README.md#Usage-1", "", "# Usage\n# Usage", "# Usage"),
        ("doc:README.md#Install", "", "# Insta.ll\n# Install", "# Insta.ll"),
        ("doc:README.md", "fresh", "fresh" + " " * MAX_BYTES, "old"),
    ],
)
@pytest.mark.parametrize("view", [ME, CLAUDE], ids=["person", "agent"])
def test_a_remark_is_orphaned_while_its_words_are_gone(
    database, project, view, target, quote, kept, lost
):
    made = remark(database, view, target, quote)
    page, found = project / "README.md", [made["status"]]
    for text in (kept, lost, README):
        page.write_text(text)
        found.append(status_of(database, made))
    page.unlink()
    found.append(status_of(database, made))
    page.write_text(README)
    found.append(status_of(database, made))
    there = made["status"]
    assert found == [there, there, "orphaned", there, "orphaned", there]
    assert there in ("draft", "submitted")


def test_a_quote_and_a_heading_hold_however_a_letter_and_its_accent_are_written(database, project):
    one, two = "caf\u00e9", "cafe\u0301"
    page = project / "README.md"
    page.write_text(f"# {two}\n\nthe {two}", encoding="utf-8")
    quoted = remark(database, ME, "doc:README.md", f"the {one}")
    bare = remark(database, ME, f"doc:README.md#{one}")
    found = []
    for text in (two, one, "cafe"):
        page.write_text(f"# {text}\n\nthe {text}", encoding="utf-8")
        found.append((status_of(database, quoted), status_of(database, bare)))
    assert (quoted["status"], found) == ("draft", [("draft",) * 2] * 2 + [("orphaned",) * 2])


def test_a_cell_is_gone_and_back_with_its_words(database, project):
    def save(*cells):
        (project / "orders.ipynb").write_text(json.dumps({"cells": cells}))

    cell = {"id": "abc1", "cell_type": "code", "source": "total()"}
    output = {"output_type": "stream", "text": "42 orders\n"}
    save(cell | {"outputs": [output]})
    quoted = remark(database, CLAUDE, "notebook:orders.ipynb#abc1", "42 orders")
    bare = remark(database, CLAUDE, "notebook:orders.ipynb#abc1")
    found = []
    for cells in ([cell], [{"cell_type": "raw", "source": "42 orders"}], ["odd", 3, cell]):
        save(*cells)
        found.append((status_of(database, quoted), status_of(database, bare)))
    (project / "orders.ipynb").write_text("{ half")
    found.append((status_of(database, quoted), status_of(database, bare)))
    gone, there = "orphaned", "submitted"
    assert found == [(gone, there), (there, gone), (gone, there), (gone, gone)]


def test_an_entry_is_gone_and_back_with_its_words(database):
    repl_pair.story("shop.quote")(lambda n=1: n)

    def register(n):
        repl_pair.variant("shop.quote/Bulk", doc="A large order", args={"n": n})

    register(12)
    quotes = ('"n": 12', '"n":12', "A large order", "")
    made = [remark(database, CLAUDE, "variant:shop.quote/Bulk", quote) for quote in quotes]
    found = [[status_of(database, one) for one in made]]
    register(13)
    found.append([status_of(database, one) for one in made])
    REGISTRY.unregister("variant", "shop.quote/Bulk")
    found.append([status_of(database, one) for one in made])
    gone, there = "orphaned", "submitted"
    assert found == [[there] * 4, [gone, gone, there, there], [gone] * 4]


def test_a_resolved_remark_is_never_orphaned(database, project):
    made = remark(database, ME, "doc:README.md", "fresh")
    resolve_annotation(database, ME, made["id"])
    (project / "README.md").write_text("")
    assert status_of(database, made) == "resolved"
    assert list_annotations(database, ME, status="orphaned", limit=9)[1] == 0


def test_a_page_is_read_again_only_where_it_changed(database, project):
    made = remark(database, ME, "doc:README.md", "fresh")
    page = project / "README.md"
    before = page.stat()
    page.write_text(README.replace("fresh", "FRESH"))
    os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert status_of(database, made) == "draft"
    os.utime(page)
    assert status_of(database, made) == "orphaned"


def test_a_filter_by_status_looks_at_all_that_it_is_about(database, project):
    (project / "other.md").write_text("# Other\nfresh")
    made = [
        remark(database, CLAUDE, target, "fresh", section=section)
        for target in ("doc:README.md", "doc:other.md")
        for section in ("", "Install" if "README" in target else "Other")
    ]
    (project / "other.md").write_text("# Other")
    for status, ids in (("orphaned", made[2:]), ("submitted", made[:2]), (None, made)):
        items, total = list_annotations(database, ME, status=status, limit=1)
        assert (items[0]["id"], total) == (ids[-1]["id"], len(ids))


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setenv("REVIEWED_API_TOKEN", SECRET)
    return SECRET


@pytest.mark.parametrize("quote", [SECRET, f"key: {SECRET}", SECRET[:6], "key: Kq"])
def test_an_agent_finds_no_secret_of_a_page_by_quoting_it(database, project, secret, quote):
    (project / "README.md").write_text(f"# A\n\nkey: {SECRET} end\n")
    assert remark(database, CLAUDE, "doc:README.md", quote)["status"] == "orphaned"
    assert remark(database, ME, "doc:README.md", quote)["status"] == "draft"
    assert remark(database, CLAUDE, "doc:README.md", "end")["status"] == "submitted"


def test_an_agent_finds_no_secret_in_the_name_of_a_heading(database, project, secret):
    (project / "README.md").write_text(f"# Key {SECRET}\n")
    refusals = []
    for guess in (SECRET, SECRET[::-1]):
        with pytest.raises(Exception, match="has no heading") as refused:
            remark(database, CLAUDE, f"doc:README.md#Key {guess}")
        refusals.append(refused.value.message.replace(guess, "GUESS"))
    assert refusals[0] == refusals[1]
    assert SECRET not in refusals[0]


def test_an_agent_confirms_no_guess_by_an_entry_of_its_own(database, secret):
    repl_pair.story("shop.quote")(lambda note="": note)
    guesses, found = (SECRET, SECRET[::-1]), []
    for n, guess in enumerate(guesses):
        body = {"args": {"note": guess}}
        repl_pair.variant(f"shop.quote/G{n}", **body)
        entry = REGISTRY.get("variant", f"shop.quote/G{n}")
        REGISTRY.unregister("variant", entry.id)
        REGISTRY.register("variant", entry.id, entry.body, origin=agent_origin("claude", body))
        found.append(remark(database, CLAUDE, f"variant:{entry.id}", guess)["status"])
    assert found == ["submitted", "submitted"]


def test_an_agent_does_not_quote_what_a_story_declares_as_secret(database):
    def login(pin: Annotated[str, Sensitive] = "", user: str = ""):
        return user

    repl_pair.story("shop.login")(login)
    repl_pair.variant("shop.login/Right", args={"pin": "4711-x", "user": "ann"})
    target = "variant:shop.login/Right"
    assert remark(database, CLAUDE, target, "4711-x")["status"] == "orphaned"
    assert remark(database, CLAUDE, target, '"user": "ann"')["status"] == "submitted"
