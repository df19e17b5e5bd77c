"""The review panel: what a person and an agent remark and answer, and both see as it happens."""

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

SHOP = """
import os
os.chdir({folder!r})
import repl_pair
from repl_pair.runtime.project.database import project
from repl_pair.runtime.review import annotations, reviews
from repl_pair.wire import View

@repl_pair.story("shop.sum", thread_safe=True)
def add(a: int = 1) -> int:
    return a + 1

repl_pair.variant("shop.sum/Two", args={{"a": 1}})

def write(target, content, who="claude", **more):
    view = View(principal=who)
    made = annotations.create_annotation(project(), view, target=target, content=content, **more)
    return made["id"]
"""
ALONE = "repl_pair.show(panel='review')"
TWO = "repl_pair.show('shop.sum/Two')"
TARGET = "variant:shop.sum/Two"


@pytest.fixture
def open_panel(lab, tmp_path):
    """Opens the panel in a project of its own: `notebook, panel = await open_panel(cell, …)`."""
    (tmp_path / "pyproject.toml").touch()

    async def open_at(*cells):
        notebook = await lab.notebook(SHOP.format(folder=str(tmp_path)), *cells)
        await notebook.run_all()
        shell = notebook.page.locator(".rp-shell")
        if cells[-1] != ALONE:
            await shell.get_by_role("button", name="Review", exact=True).click()
        panel = notebook.page.locator(".rp-review")
        await expect(panel.get_by_role("textbox", name="Your remark")).to_be_visible()
        return notebook, panel

    return open_at


def thread(panel, words):
    return panel.get_by_role("article").filter(has_text=words)


def button(place, name):
    return place.get_by_role("button", name=name, exact=True)


async def remark(panel, words):
    await panel.get_by_role("textbox", name="Your remark").fill(words)
    await button(panel, "Add as draft").click()
    await expect(thread(panel, words)).to_be_visible()


async def test_what_the_person_remarks_an_agent_mends_and_resolves_before_their_eyes(
    open_panel, attach
):
    notebook, panel = await open_panel(TWO)
    gates = ("--allow", "write", "--toolsets", "review,authoring", "--as", "claude")
    async with attach(notebook, *gates) as agent:
        wrong = {"args": {"a": 2}, "play": [["result_equals", 4]]}
        made = await agent.ask("register_variant", variant_id="shop.sum/Three", body=wrong)
        assert made["ok"], made
        await notebook.page.get_by_role("treeitem", name="Three").click()
        target = panel.get_by_role("textbox", name="Remark on")
        await expect(target).to_have_value("variant:shop.sum/Three")
        await remark(panel, "2 + 1 is 3, not 4")
        await expect(thread(panel, "not 4")).to_contain_text("draft")
        await button(panel, "Submit 1 draft as a review").click()
        await expect(thread(panel, "not 4")).to_contain_text("submitted")

        page = await agent.ask("list_annotations", target="variant:shop.sum/Three")
        (found,) = page["result"]["items"]
        assert (found["content"], found["author"]) == ("2 + 1 is 3, not 4", "human")
        mended = {"args": {"a": 2}, "play": [["result_equals", 3]]}
        body = {"variant_id": "shop.sum/Three", "body": mended}
        assert (await agent.ask("register_variant", **body))["ok"]
        reply = {"target": found["target"], "parent_id": found["id"], "content": "It expects 3 now"}
        assert (await agent.ask("create_annotation", **reply))["ok"]
        await expect(thread(panel, "not 4")).to_contain_text("It expects 3 now")
        await expect(thread(panel, "not 4")).to_contain_text("replied")
        ran = await agent.ask("run_variant", variant_id="shop.sum/Three")
        assert ran["result"]["status"] == "pass", ran
        assert (await agent.ask("resolve_annotation", annotation_id=found["id"]))["ok"]
        await expect(thread(panel, "not 4")).to_contain_text("resolved")
        await button(thread(panel, "not 4"), "Reopen").click()
        await expect(button(thread(panel, "not 4"), "Resolve")).to_be_visible()
        again = await agent.ask("get_annotation", annotation_id=found["id"])
        assert again["result"]["annotation"]["status"] == "submitted"
