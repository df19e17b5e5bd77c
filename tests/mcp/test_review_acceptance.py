"""The acceptance criteria that the review ops were asked for with, a row each, over MCP.

A route that answers 204 or 404 is an op that answers, or refuses with `not_found`.
"""

import asyncio
import itertools
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.cli.setup.skill import write_skill
from repl_pair.wire import PERSON

SETUP = """
import os
from pathlib import Path
Path("pyproject.toml").write_text('[tool.repl_pair]\\nprivate = ["hidden/*"]\\n')
Path("README.md").write_text("# Shop\\n\\n## Prices\\n\\nThe total is a sum.\\n")
Path("guide.md").write_text("# Guide\\n\\nHow to.\\n")
os.mkdir("hidden")
Path("hidden/plan.md").write_text("# Plan\\n\\nNot yet.\\n")
"""
PAGE, OTHER = "doc:README.md", "doc:guide.md"
NOWHERE = "00000000"
COUNT = itertools.count()


class World:
    """An agent over MCP and the person, at one kernel."""

    def __init__(self, agent, kernel, connect):
        self.agent, self.kernel, self.connect = agent, kernel, connect

    def ask(self, op, **args):
        """Call a tool; gives its result."""
        reply = self.agent.ask(op, **args)
        assert reply["ok"], reply
        return reply["result"]

    def is_unknown(self, op, **args):
        """Return whether a call with an id that is none is refused, and changes nothing."""
        before = self.rows()
        reply = self.agent.ask(op, **args)
        assert (reply["ok"], self.rows()) == (False, before)
        return reply["error"]["code"] == "not_found"

    def person(self, op, **args):
        """Call an op as the person; gives its result."""

        async def call():
            session = Session(Policy(), str(self.kernel.path), principal=PERSON)
            try:
                return await session.call(op, args)
            finally:
                await session.close()

        reply = asyncio.run(call())
        assert reply["ok"], reply
        return reply["result"]

    def remark(self, target=PAGE, **args):
        """Make an annotation as the agent; gives its id."""
        words = f"Remark {next(COUNT)}"
        return self.ask("create_annotation", target=target, content=words, **args)["id"]

    def review(self, target=PAGE, count=1):
        """Submit a review of new annotations; gives its id and those of its annotations."""
        ids = [self.remark(target) for _ in range(count)]
        made = self.ask("submit_review", target=target, annotation_ids=ids)
        assert (made["count"], [item["id"] for item in made["items"]]) == (count, ids)
        return made["review_id"], ids

    def get(self, id):
        return self.ask("get_annotation", annotation_id=id)["annotation"]

    def rows(self):
        """Return all ids in the database."""
        folder = self.kernel.cell("import os; print(os.getcwd())").strip()
        with closing(sqlite3.connect(Path(folder) / ".repl_pair" / "pair.db")) as connection:
            tables = ("annotations", "reviews")
            return {t: {id for (id,) in connection.execute(f"SELECT id FROM {t}")} for t in tables}


@pytest.fixture(scope="module")
def world(kernel, connect):
    with connect("--kernel", kernel.path, "--toolsets", "review") as agent:
        yield World(agent, kernel, connect)


# --- FND-E9-S1 delete_annotation


def deletes_one(world):
    id = world.remark()
    assert world.ask("delete_annotation", annotation_id=id) == {
        "deleted": id,
        "replies": 0,
        "review_deleted": False,
    }
    assert id not in world.rows()["annotations"]


def deletes_replies(world):
    id = world.remark()
    replies = {world.remark(parent_id=id) for _ in range(3)}
    assert world.ask("delete_annotation", annotation_id=id)["replies"] == 3
    assert not {id, *replies} & world.rows()["annotations"]


def deletes_an_empty_review_only(world):
    review, (first, last) = world.review(count=2)
    assert not world.ask("delete_annotation", annotation_id=first)["review_deleted"]
    assert review in world.rows()["reviews"]
    assert world.ask("delete_annotation", annotation_id=last)["review_deleted"]
    assert review not in world.rows()["reviews"]
    assert world.is_unknown("get_review", review_id=review)


def deletes_for_every_face(world):
    kept, deleted = world.remark(), world.remark()
    world.ask("delete_annotation", annotation_id=deleted)
    seen = {item["id"] for item in world.person("list_annotations", limit=200)["items"]}
    assert kept in seen
    assert deleted not in seen


def deletes_nothing_that_is_not_there(world):
    assert world.is_unknown("delete_annotation", annotation_id=NOWHERE)


# --- FND-E9-S2 edit_annotation


def edits_the_content(world):
    id = world.remark()
    words = f"Better words {next(COUNT)}"
    edited = world.ask("edit_annotation", annotation_id=id, content=words)
    assert (edited["content"], world.get(id)["content"]) == (words, words)


def edit_returns_the_annotation(world):
    before = world.get(world.remark(section="Prices", quote="a sum"))
    edited = world.ask("edit_annotation", annotation_id=before["id"], content="Better words")
    changed = {"content", "updated_at"}
    assert {slot for slot in before if before[slot] != edited[slot]} == changed
    assert edited == world.get(before["id"])


def edits_nothing_that_is_not_there(world):
    assert world.is_unknown("edit_annotation", annotation_id=NOWHERE, content="Better words")


def edit_refreshes_the_time(world):
    before = world.get(world.remark())
    edited = world.ask("edit_annotation", annotation_id=before["id"], content="Better words")
    assert edited["updated_at"] > before["updated_at"]
    assert edited["created_at"] == before["created_at"]


# --- FND-E9-S3 reopen_annotation


def reopens_as_submitted(world):
    id = world.remark()
    assert world.ask("resolve_annotation", annotation_id=id)["status"] == "resolved"
    world.ask("reopen_annotation", annotation_id=id)
    assert world.get(id)["status"] == "submitted"


def reopen_returns_the_annotation(world):
    id = world.remark()
    world.ask("resolve_annotation", annotation_id=id)
    assert world.ask("reopen_annotation", annotation_id=id) == world.get(id)


def reopens_nothing_that_is_not_there(world):
    assert world.is_unknown("reopen_annotation", annotation_id=NOWHERE)


# --- FND-E9-S4 get_annotation


def gets_the_thread(world):
    id = world.remark()
    assert world.ask("get_annotation", annotation_id=id)["replies"] == []
    replies = [world.remark(parent_id=id), world.remark(parent_id=id)]
    thread = world.ask("get_annotation", annotation_id=id)
    assert thread["annotation"]["id"] == id
    assert [reply["id"] for reply in thread["replies"]] == replies
    assert {reply["parent_id"] for reply in thread["replies"]} == {id}


def gets_replies_in_time_order(world):
    id = world.remark()
    for _ in range(4):
        world.remark(parent_id=id)
        world.person("create_annotation", target=PAGE, content=f"And {next(COUNT)}", parent_id=id)
    replies = world.ask("get_annotation", annotation_id=id)["replies"]
    assert len(replies) == 8
    times = [reply["created_at"] for reply in replies]
    assert times == sorted(times)


def gets_nothing_that_is_not_there(world):
    assert world.is_unknown("get_annotation", annotation_id=NOWHERE)


def gets_what_the_person_gets(world):
    id = world.remark()
    world.remark(parent_id=id)
    assert world.ask("get_annotation", annotation_id=id) == world.person(
        "get_annotation", annotation_id=id
    )


# --- FND-E9-S5 list_reviews / get_review


def lists_reviews_by_target_and_status(world):
    here, _ = world.review(PAGE)
    there, _ = world.review(OTHER)
    world.ask("complete_review", review_id=here)

    def listed(**args):
        return {review["id"] for review in world.ask("list_reviews", **args)["items"]}

    assert {here, there} <= listed()
    assert here in listed(target=PAGE)
    assert there not in listed(target=PAGE)
    assert here in listed(target=PAGE, status="completed")
    assert here not in listed(target=PAGE, status="submitted")
    assert there in listed(target=OTHER, status="submitted")


def gets_a_review_with_all_its_annotations(world):
    review, ids = world.review(count=3)
    reply = world.remark(parent_id=ids[0])
    found = world.ask("get_review", review_id=review)
    assert (found["review"]["id"], found["review"]["target"]) == (review, PAGE)
    assert {item["id"] for item in found["annotations"]} == {*ids, reply}
    assert {item["review_id"] for item in found["annotations"]} == {review}


def gets_no_review_that_is_not_there(world):
    assert world.is_unknown("get_review", review_id=NOWHERE)


def gets_reviews_as_the_person_does(world):
    review, _ = world.review()
    assert world.ask("get_review", review_id=review) == world.person("get_review", review_id=review)
    assert world.ask("list_reviews", target=PAGE) == world.person("list_reviews", target=PAGE)


# --- FND-E9-S6 skill rewrite


def guide():
    return write_skill("pair")


def skill_has_no_addresses_and_tokens(_world):
    words = ("http:", "https:", "curl", "bearer", "token", "base_url=http")
    assert not [word for word in words if word in guide().lower()]


def skill_documents_every_tool_with_an_example(world):
    tools = {tool.name for tool in world.agent.tools()}
    assert {name for name in tools if f"\n- `{name}(" in guide()} == tools
    review = {name for name in tools if manifest.by_name()[name]["toolset"] == "review"}
    assert len(review) == 12
    assert {name for name in review if f"mcporter call pair.{name}" in guide()} == review


def skill_has_recipes(_world):
    for title in (
        "Reply to annotations",
        "Run a full review cycle",
        "Clean up your own annotations",
    ):
        assert f"\n### {title}\n" in guide()


def skill_says_where_the_content_comes_from(_world):
    assert "with your own tool for files: the server keeps no pages" in guide()


# --- FND-E9-S7 list_annotations by review


def listed(world, **args):
    return {item["id"] for item in world.ask("list_annotations", limit=200, **args)["items"]}


def takes_a_review_id(world):
    review, _ = world.review()
    (tool,) = [tool for tool in world.agent.tools() if tool.name == "list_annotations"]
    assert "review_id" in tool.input_schema["properties"]
    assert "review_id" not in tool.input_schema.get("required", ())
    world.ask("list_annotations", review_id=review)


def lists_by_review(world):
    (first, ids), (second, others) = world.review(count=2), world.review()
    assert listed(world, review_id=first) == set(ids)
    assert listed(world, review_id=second) == set(others)


def lists_by_target_review_and_status(world):
    review, (open_, done) = world.review(count=2)
    world.ask("resolve_annotation", annotation_id=done)
    assert listed(world, target=PAGE, review_id=review, status="resolved") == {done}
    assert listed(world, target=PAGE, review_id=review, status="submitted") == {open_}
    assert listed(world, target=OTHER, review_id=review) == set()


# --- FND-E9-S8 list_pages


def pages(result):
    return {page["path"]: (page["title"], page["access"]) for page in result["items"]}


PUBLIC = {"README.md": ("Shop", "public"), "guide.md": ("Guide", "public")}
PRIVATE = {"hidden/plan.md": ("Plan", "private")}


def lists_all_pages(world):
    assert pages(world.ask("list_pages")) == PUBLIC


def lists_title_path_and_access(world):
    assert [{*page} for page in world.ask("list_pages")["items"]] == [
        {"title", "path", "access"}
    ] * 2


def lists_private_pages_to_nobody_by_default(world):
    with world.connect("--kernel", world.kernel.path, "--allow", "inspect") as open_:
        listed = open_.ask("read_op", op="list_pages")
    assert pages(listed["result"]) == PUBLIC


def lists_private_pages_where_inspect_is_open(world):
    kernel = ("--kernel", world.kernel.path)
    with world.connect(*kernel, "--allow", "inspect", "--toolsets", "review") as open_:
        listed = open_.ask("list_pages", private=True)
    assert pages(listed["result"]) == PUBLIC | PRIVATE
    closed = world.agent.ask("list_pages", private=True)
    assert "plan" not in json.dumps(closed).lower()


def lists_no_page_where_there_is_none(world):
    folder = world.kernel.cell("import tempfile; print(tempfile.mkdtemp())").strip()
    with world.connect("--toolsets", "review", cwd=folder, runtime=folder) as agent:
        listed = agent.ask("list_pages")
    assert listed["result"]["items"] == []


LINES = {
    "S1 DELETE /api/annotations/:id returns 204 and removes annotation from DB": deletes_one,
    "S1 Child replies are cascade-deleted": deletes_replies,
    "S1 Orphaned reviews are cleaned up": deletes_an_empty_review_only,
    "S1 MCP tool delete_annotation calls HTTP endpoint correctly": deletes_for_every_face,
    "S1 Returns 404 for non-existent IDs": deletes_nothing_that_is_not_there,
    "S2 MCP tool edit_annotation updates annotation content via PATCH": edits_the_content,
    "S2 Returns updated annotation object": edit_returns_the_annotation,
    "S2 Returns 404 for non-existent IDs": edits_nothing_that_is_not_there,
    "S2 updated_at timestamp is refreshed": edit_refreshes_the_time,
    "S3 reopen_annotation sets status to submitted via PATCH": reopens_as_submitted,
    "S3 Returns updated annotation": reopen_returns_the_annotation,
    "S3 Returns 404 for non-existent IDs": reopens_nothing_that_is_not_there,
    "S4 GET /api/annotations/:id returns annotation + replies array": gets_the_thread,
    "S4 Replies are sorted by created_at ASC": gets_replies_in_time_order,
    "S4 Returns 404 for non-existent IDs": gets_nothing_that_is_not_there,
    "S4 MCP tool calls HTTP endpoint correctly": gets_what_the_person_gets,
    "S5 list_reviews by doc_path and optional status": lists_reviews_by_target_and_status,
    "S5 get_review: review object + all annotations": gets_a_review_with_all_its_annotations,
    "S5 GET /api/reviews/:id returns 404": gets_no_review_that_is_not_there,
    "S5 MCP tools call HTTP endpoints correctly": gets_reviews_as_the_person_does,
    "S6 No HTTP URLs, curl commands, or token references": skill_has_no_addresses_and_tokens,
    "S6 All MCP tools documented with examples": skill_documents_every_tool_with_an_example,
    "S6 Workflow recipes (reply, review, cleanup)": skill_has_recipes,
    "S6 Cross-tool pattern documented": skill_says_where_the_content_comes_from,
    "S7 list_annotations accepts optional review_id parameter": takes_a_review_id,
    "S7 GET /api/annotations?review_id=xxx filters correctly": lists_by_review,
    "S7 Can combine with existing filters": lists_by_target_review_and_status,
    "S8 list_pages returns all pages from nav tree": lists_all_pages,
    "S8 Each entry includes title, path, and access level": lists_title_path_and_access,
    "S8 include_private=false excludes private pages": lists_private_pages_to_nobody_by_default,
    "S8 include_private=true (requires auth)": lists_private_pages_where_inspect_is_open,
    "S8 empty nav": lists_no_page_where_there_is_none,
}
"""Each line of the criteria; those that name what tests cover are covered by the others."""


@pytest.mark.parametrize("line", LINES)
def test_the_line_holds(world, line):
    LINES[line](world)
