"""Remarks over each link: the person's course with an agent, and what of it leaves the process."""

import pytest
from projects import LEAVE_PROJECT, enter_project

from repl_pair.wire import PERSON, View

pytestmark = pytest.mark.anyio

ME, CLAUDE, CODEX = (View(principal=name) for name in (PERSON, "claude", "codex"))
READ = frozenset({"read", "run"})
INSPECTOR = View(principal="claude", access=READ | {"inspect"})
WRITER = View(principal="claude", access=READ | {"write"})
SECRET = "Vb8nQ3xLr5ZtWk2"

SHOP = """
import os, repl_pair
from repl_pair import check
os.environ["REVIEWED_API_TOKEN"] = "Vb8nQ3xLr5ZtWk2"

@repl_pair.story("shop.quote")
def quote(n: int = 1) -> int:
    return n

repl_pair.variant("shop.quote/Bulk", args={"n": 12})
"""
AFTER = """
import os
del os.environ["REVIEWED_API_TOKEN"]
"""
MENDED = """
repl_pair.variant("shop.quote/Bulk", args={"n": 13})
"""


@pytest.fixture
async def project(link, tmp_path):
    """The folder of a project with one page, in which the process behind the link works."""
    (tmp_path / "README.md").write_text("# Shop\n\n## Install\n\npip install shop\n")
    await link.define(SHOP + enter_project(tmp_path))
    yield tmp_path
    await link.define(AFTER + LEAVE_PROJECT)


async def test_a_remark_is_answered_mended_resolved_and_reopened(link, project):
    bulk = {"target": "variant:shop.quote/Bulk"}
    asked = {**bulk, "content": "Thirteen.", "quote": '"n": 12'}
    draft = await link.get("create_annotation", view=ME, **asked)
    submitted = await link.ask("submit_review", view=ME, **bulk)
    review = submitted["result"]["review_id"]
    assert submitted["next_steps"] == [{"op": "get_review", "args": {"review_id": review}}]
    [listed] = (await link.get("list_annotations", status="submitted"))["items"]
    assert (draft["status"], listed["id"], listed["author"]) == ("draft", draft["id"], "human")
    thread = await link.ask("get_annotation", annotation_id=draft["id"])
    assert [step["op"] for step in thread["next_steps"]] == [
        "get_variant",
        "resolve_annotation",
        "get_review",
    ]
    await link.define(MENDED)
    orphaned = await link.get("list_annotations", status="orphaned")
    assert [one["id"] for one in orphaned["items"]] == [draft["id"]]
    answer = {**bulk, "content": "Done.", "parent_id": draft["id"]}
    reply = await link.ask("create_annotation", view=CLAUDE, **answer)
    again = await link.get("create_annotation", view=CLAUDE, **answer)
    assert again == reply["result"] | {"duplicate": True}
    step = reply["next_steps"][0]
    assert step == {"op": "resolve_annotation", "args": {"annotation_id": draft["id"]}}
    resolved = await link.get(step["op"], view=CLAUDE, **step["args"])
    assert (resolved["status"], again["review_id"]) == ("resolved", review)
    reopened = await link.get("reopen_annotation", view=ME, annotation_id=draft["id"])
    assert reopened["status"] == "orphaned"  # what it quoted is not back
    whole = await link.get("get_review", view=CLAUDE, review_id=review)
    assert [one["id"] for one in whole["annotations"]] == [draft["id"], reply["result"]["id"]]
    done = await link.get("complete_review", view=CLAUDE, review_id=review)
    assert (done["status"], done["principal"]) == ("completed", PERSON)


async def test_what_is_another_authors_takes_write_access(link, project):
    made = await link.get("create_annotation", view=ME, target="doc:README.md", content="Mine.")
    one = {"annotation_id": made["id"]}
    await link.get("create_annotation", view=CODEX, parent_id=made["id"], target="doc:README.md",
                   content="A reply.")  # fmt: skip
    refused = await link.refusal("delete_annotation", view=CLAUDE, **one)
    assert (refused["code"], refused["detail"]) == ("forbidden", {"access": ["write"]})
    gone = await link.get("delete_annotation", view=WRITER, **one)
    assert gone == {"deleted": made["id"], "replies": 1, "review_deleted": False}
    assert (await link.refusal("get_annotation", **one))["code"] == "not_found"


async def test_a_secret_leaves_in_no_remark_and_no_guess_is_confirmed(link, project):
    page = {"target": "doc:README.md"}
    theirs = await link.get("create_annotation", view=ME, content=f"It is {SECRET}.", **page)
    assert theirs["content"] == "It is [redacted]."
    guess = f"Is it {SECRET}?"
    own = await link.get("create_annotation", view=CLAUDE, content=guess, quote=SECRET, **page)
    assert (own["content"], own["quote"], own["status"]) == (guess, SECRET, "orphaned")
    for view, contents in [
        (CLAUDE, [guess, "It is [redacted]."]),
        (CODEX, ["Is it [redacted]?", "It is [redacted]."]),
    ]:
        items = (await link.get("list_annotations", view=view))["items"]
        assert [one["content"] for one in items] == contents
        found = await link.get("get_annotation", view=view, annotation_id=own["id"])
        assert found["annotation"]["content"] == contents[0]
    edited = await link.get(
        "edit_annotation", view=ME, annotation_id=own["id"], content=f"No, {SECRET}."
    )
    assert edited["edited_by"] == PERSON
    found = await link.get("get_annotation", view=CLAUDE, annotation_id=own["id"])
    assert found["annotation"]["content"] == "No, [redacted]."
    written = await link.get(
        "edit_annotation", view=WRITER, annotation_id=theirs["id"], content=guess
    )
    assert (written["content"], written["edited_by"]) == (guess, "claude")


async def test_a_quote_that_is_not_in_its_target_is_reported(link, project):
    asked = {"target": "doc:README.md", "content": "Pin it."}
    for view in (ME, CLAUDE):
        held = await link.ask("create_annotation", view=view, quote="pip install", **asked)
        lost = await link.ask("create_annotation", view=view, quote="pip instal shop", **asked)
        assert held["result"]["status"] != "orphaned"
        assert "notifications" not in held
        assert (lost["result"]["status"], len(lost["notifications"])) == ("orphaned", 1)


async def test_no_step_resolves_a_draft_that_its_reader_may_not_resolve(link, project):
    made = await link.get("create_annotation", view=ME, target="doc:README.md", content="Mine.")
    for view, is_there in ((ME, True), (WRITER, True), (CLAUDE, False)):
        read = await link.ask("get_annotation", view=view, annotation_id=made["id"])
        steps = [step["op"] for step in read.get("next_steps", ())]
        assert ("resolve_annotation" in steps) is is_there


async def test_private_pages_are_there_where_inspect_is_open(link, project):
    (project / "pyproject.toml").write_text('[tool.repl_pair]\nprivate = ["plan.md"]\n')
    (project / "plan.md").write_text("# Plan\n")
    plan = {"target": "doc:plan.md", "content": "Sooner."}
    made = await link.get("create_annotation", view=ME, **plan)
    closed = await link.get("list_pages", view=CLAUDE)
    assert closed["items"] == [{"title": "Shop", "path": "README.md", "access": "public"}]
    refused = await link.refusal("list_pages", view=CLAUDE, private=True)
    assert "private" in refused["message"]
    opened = await link.get("list_pages", view=INSPECTOR, private=True)
    assert opened["items"][1] == {"title": "Plan", "path": "plan.md", "access": "private"}
    assert (await link.get("list_annotations", view=CLAUDE))["total"] == 0
    assert (await link.get("list_annotations", view=INSPECTOR))["total"] == 1
    for op, args in (
        ("get_annotation", {"annotation_id": made["id"]}),
        ("create_annotation", plan),
        ("list_annotations", {"target": "doc:plan.md"}),
    ):
        assert (await link.refusal(op, view=CLAUDE, **args))["code"] == "not_found", op
        assert await link.get(op, view=INSPECTOR, **args), op


async def test_a_cursor_goes_on_behind_its_page_and_is_of_one_question(link, project):
    made = [
        await link.get("create_annotation", target="doc:README.md", content=f"{n}")
        for n in range(5)
    ]
    first = await link.ask("list_annotations", limit=2)
    more = first["next_steps"][-1]
    assert more["args"] == {"limit": 2, "cursor": first["result"]["cursor"]}
    await link.get("create_annotation", target="doc:README.md", content="new")
    found = first["result"]["items"]
    while more is not None:
        page = await link.get("list_annotations", **more["args"])
        found += page["items"]
        cursor = page.get("cursor")
        more = cursor and {"args": more["args"] | {"cursor": cursor}}
    assert [one["id"] for one in found] == [one["id"] for one in made][::-1]
    cursor = first["result"]["cursor"]
    other = await link.refusal("list_annotations", limit=2, cursor=cursor, status="draft")
    junk = await link.refusal("list_annotations", cursor="junk")
    assert (other["code"], junk["code"]) == ("stale_cursor", "stale_cursor")
