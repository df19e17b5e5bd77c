"""The review panel: what a person and an agent remark and answer, and both see as it happens."""

import re
import sys

import pytest
from anyio import run_process
from front_ends.bounds import ask
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


async def test_what_the_person_remarks_an_agent_fixes_and_resolves_while_the_panel_is_open(
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


def text_box(place, name):
    return place.get_by_role("textbox", name=name, exact=True)


async def top_of(locator):
    return await locator.evaluate("(element) => element.getBoundingClientRect().top")


MANY_REPLIES = """
for n in range(4):
    write({target!r}, f"newer {{n}}")
    write({target!r}, f"answer {{n}}", parent_id=about)
"""


async def test_what_is_typed_stays_in_its_place_while_words_of_others_come_and_go(open_panel):
    notebook, panel = await open_panel(TWO)
    await notebook.run_code(f"about = write({TARGET!r}, 'why two?')")
    await button(thread(panel, "why two?"), "Reply").click()
    box = text_box(panel, "Your reply")
    await box.press_sequentially("because one and")
    await box.press("Home")
    top = await top_of(box)
    await notebook.run_code(MANY_REPLIES.format(target=TARGET))
    await expect(thread(panel, "why two?")).to_contain_text("answer 3")
    await expect(thread(panel, "newer 3")).to_be_attached()
    assert abs(await top_of(box) - top) < 2
    await expect(box).to_be_focused()
    await notebook.page.keyboard.type("It is ")
    await expect(box).to_have_value("It is because one and")
    remove = "annotations.delete_annotation(project(), View(), about)"
    await notebook.run_code(remove)
    await expect(panel.get_by_role("alert")).to_contain_text("What you typed is still here")
    await expect(box).to_be_focused()
    await expect(box).to_have_value("It is because one and")
    assert abs(await top_of(box) - top) < 40  # the notice stands in the same thread
    await box.press("Control+Enter")
    await expect(panel.get_by_text("There is no annotation")).to_be_visible()
    await expect(box).to_have_value("It is because one and")
    await button(panel, "Cancel").click()
    await expect(box).to_have_count(0)


TERMINAL = """
import sys
from pathlib import Path
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review import annotations
from repl_pair.wire import View
about = sys.argv[1]
made = dict(target="doc:README.md", content="from a terminal", parent_id=about)
annotations.create_annotation(Database(Path.cwd()), View(), **made)
"""


async def test_what_another_process_writes_is_shown_and_what_is_refused_is_kept(
    open_panel, tmp_path
):
    (tmp_path / "README.md").write_text("# Prices\n\nThe price is two.\n")
    notebook, panel = await open_panel(ALONE)
    target = text_box(panel, "Remark on")
    await target.fill("doc:READNE.md")
    await text_box(panel, "Your remark").fill("of the page")
    await button(panel, "Add as draft").click()
    await expect(panel.get_by_role("alert")).to_contain_text("There is no page 'READNE.md'")
    await expect(text_box(panel, "Your remark")).to_have_value("of the page")
    await target.fill("doc:README.md")
    await panel.get_by_text("Section and quote").click()
    await text_box(panel, "Quote").fill("price is two")
    await button(panel, "Add as draft").click()
    await button(panel, "Submit 1 draft as a review").click()
    await expect(thread(panel, "of the page")).to_contain_text("price is two")
    about = await thread(panel, "of the page").get_attribute("data-thread")
    words = [sys.executable, "-c", TERMINAL, about]
    env = notebook.server.environment
    assert (await run_process(words, cwd=tmp_path, env=env)).returncode == 0
    await expect(thread(panel, "of the page")).to_contain_text("from a terminal")
    (tmp_path / "README.md").write_text("# Prices\n\nThe price is three.\n")
    await panel.get_by_label("Status").select_option("orphaned")
    await expect(thread(panel, "of the page")).to_contain_text("no longer there")


async def test_what_is_pointed_at_does_not_move_when_a_remark_comes(open_panel):
    notebook, panel = await open_panel(ALONE)
    await notebook.run_code(f"about = write({TARGET!r}, 'the only one')")
    resolve = button(thread(panel, "the only one"), "Resolve")
    await resolve.hover()
    top = await top_of(resolve)
    await notebook.run_code(f"write({TARGET!r}, 'a newer one above it')")
    await expect(thread(panel, "a newer one")).to_be_attached()
    assert abs(await top_of(resolve) - top) < 2
    await notebook.page.mouse.down()
    await notebook.page.mouse.up()
    await expect(thread(panel, "the only one")).to_contain_text("resolved")


async def test_a_press_submits_the_drafts_that_it_counts_and_none_written_since(open_panel):
    notebook, panel = await open_panel(TWO)
    await remark(panel, "first")
    await remark(panel, "second")
    async with notebook.pressed(button(panel, "Submit 2 drafts as a review")):
        await notebook.run_code(f"write({TARGET!r}, 'not to be sent yet', who='person')")
        await expect(thread(panel, "not to be sent yet")).to_contain_text("draft")
    for words in ("first", "second"):
        await expect(thread(panel, words)).to_contain_text("submitted")
    await expect(button(panel, "Submit 1 draft as a review")).to_be_visible()
    await expect(thread(panel, "not to be sent yet")).to_contain_text("draft")


async def test_a_deletion_states_what_goes_along_and_waits_for_a_word(open_panel):
    notebook, panel = await open_panel(TWO)
    await remark(panel, "first")
    await remark(panel, "second")
    await button(panel, "Submit 2 drafts as a review").click()
    await expect(panel).to_contain_text(": submitted")
    first = thread(panel, "first")
    about = await first.get_attribute("data-thread")
    for words in ("yes", "no"):
        await notebook.run_code(f"write({TARGET!r}, {words!r}, parent_id={about!r})")
    await expect(first).to_contain_text("no")
    await first.get_by_role("button", name="Delete", exact=True).first.click()
    sure = panel.get_by_role("alertdialog", name="Delete")
    await expect(sure).to_contain_text("2 replies go, along with it.")
    await expect(button(sure, "Keep")).to_be_focused()
    await notebook.page.keyboard.press("Escape")
    await expect(sure).to_have_count(0)
    await first.get_by_role("button", name="Delete", exact=True).first.click()
    await button(sure, "Delete the remark").click()
    await expect(first).to_have_count(0)
    await button(thread(panel, "second"), "Delete").click()
    await expect(sure).to_contain_text("its review goes, which is left empty")
    await button(sure, "Delete the remark").click()
    await expect(panel).to_contain_text("No open remarks here.")


HOSTILE = """
evil = '<img src="http://example.com/a.png" onerror="alert(1)"><script>alert(2)</script>'
evil += '[a](javascript:alert(3)) ![b](http://example.com/b.png) \\u202eoverturned'
about = write("variant:shop.sum/Two", evil, who=f"<b>{evil}</b>", quote=evil, section=evil[:150])
write("variant:shop.sum/Two", evil, who="</article>" + evil, parent_id=about)
"""
MARKUP = "(panel) => panel.querySelectorAll('img, script, a, iframe, b, object, svg').length"


async def test_what_agents_write_is_text_wherever_it_is_shown(open_panel):
    notebook, panel = await open_panel(TWO, "'more'")
    await notebook.run_code(HOSTILE)
    evil = thread(panel, "onerror")
    await expect(evil).to_contain_text("<script>alert(2)</script>[a](javascript:alert(3))")
    await expect(evil.get_by_role("listitem")).to_contain_text("<U+202E>overturned")
    await button(evil, "Edit").first.click()
    await expect(text_box(panel, "New words")).to_have_value(re.compile("<img src"))
    assert await panel.evaluate(MARKUP) == 0


MANY = """
target = lambda n: "variant:shop.sum/Two" if n % 100 == 0 else f"doc:page_{n % 50:02}.md"
same = "'', '', ?, 'agent', 'claude', 'submitted', ?, 0"
query = (
    "INSERT INTO annotations (id, target, section, quote, content, author, principal, status,"
    f" created_at, updated_at) VALUES (?, ?, {same})"
)
rows = [(f"{n:08x}", target(n), f"remark {n}", n) for n in range(10_000)]
with project().writing() as connection:
    connection.executemany(query, rows)
"""


async def test_of_ten_thousand_remarks_a_page_is_drawn_and_more_when_asked_for(open_panel):
    notebook, panel = await open_panel(TWO)
    await notebook.run_code(MANY)
    await expect(panel).to_contain_text("10,000 remarks")
    await expect(panel.get_by_role("article")).to_have_count(30)
    await expect(thread(panel, "remark 9900")).to_be_visible()
    await button(panel, "Show more").click()
    await expect(panel.get_by_role("article")).to_have_count(60)
    await panel.get_by_role("searchbox", name="Filter by target").fill("page_07")
    await expect(panel).to_contain_text("200 remarks")
    await expect(panel.get_by_role("heading", name="doc:page_07.md")).to_be_visible()
    await panel.get_by_label("Status").select_option("resolved")
    await expect(panel).to_contain_text("No remark here fits the filter.")
    await panel.get_by_role("searchbox", name="Filter by target").fill("")
    await panel.get_by_label("Status").select_option("open")
    await expect(panel).to_contain_text("10,000 remarks")
    await notebook.run_code("write('variant:shop.sum/Two', 'live', parent_id=rows[9900][0])")
    await expect(thread(panel, "remark 9900")).to_contain_text("live")


HELD_REPEATS = """() => {
  const set = window.setTimeout;
  window.repeats = [];
  window.setTimeout = (fn, ms, ...more) =>
    ms === 3000 && String(fn).includes("repeat(") ? window.repeats.push(fn) : set(fn, ms, ...more);
}"""
HOLD_PANELS = """
import threading
from repl_pair.panels.base.panel_thread import PANEL_THREAD
gate = threading.Event()
PANEL_THREAD.submit(gate.wait)
"""


async def test_a_filter_that_is_asked_for_again_does_not_undo_the_one_chosen_since(open_panel):
    notebook, panel = await open_panel(ALONE)
    await notebook.run_code(f"for words in ('still open', 'long done'): write({TARGET!r}, words)")
    await button(thread(panel, "long done"), "Resolve").click()
    await expect(thread(panel, "long done")).to_contain_text("resolved")
    await notebook.page.evaluate(HELD_REPEATS)
    await notebook.run_code(HOLD_PANELS)
    status = panel.get_by_label("Status")
    await status.select_option("resolved")
    await status.select_option("orphaned")
    await notebook.page.evaluate("window.repeats[0]()")
    await expect(panel).to_have_attribute("data-waiting", "")
    await notebook.run_code("gate.set()")
    await expect(panel).not_to_have_attribute("data-waiting", "")
    await expect(panel).to_contain_text("No remark fits the filter.")
    await expect(panel.get_by_role("article")).to_have_count(0)
    await expect(status).to_have_value("orphaned")


async def test_words_that_were_begun_stay_with_their_target_and_outlive_the_panel(open_panel):
    notebook, panel = await open_panel(TWO)
    await notebook.run_code("repl_pair.variant('shop.sum/Nine', args={'a': 8})")
    target, box = text_box(panel, "Remark on"), text_box(panel, "Your remark")
    await expect(target).to_have_value(TARGET)
    await box.fill("half a thought")
    await notebook.page.get_by_role("treeitem", name="Nine").click()
    await expect(panel.get_by_role("heading", name="variant:shop.sum/Nine")).to_be_visible()
    await expect(target).to_have_value(TARGET)
    shell = notebook.page.locator(".rp-shell")
    for _ in range(2):
        await shell.get_by_role("button", name="Review", exact=True).click()
    await expect(box).to_have_value("half a thought")
    await expect(target).to_have_value(TARGET)
    await button(panel, "Write on variant:shop.sum/Nine instead").click()
    await expect(target).to_have_value("variant:shop.sum/Nine")
    await button(panel, "Add as draft").click()
    await expect(thread(panel, "half a thought")).to_be_visible()
    await expect(box).to_have_value("")
    await notebook.page.get_by_role("treeitem", name="Two").click()
    await expect(target).to_have_value(TARGET)


async def test_after_a_detach_it_follows_again_when_the_person_asks(open_panel):
    notebook, panel = await open_panel(ALONE)
    await expect(panel).to_contain_text("No open remarks.")
    await notebook.run_code("from repl_pair.runtime.kernel import attach; attach.detach()")
    await expect(panel).to_contain_text("Changes are no longer followed.")
    await notebook.run_code(f"write({TARGET!r}, 'meanwhile')")
    await button(panel, "Follow again").click()
    await expect(thread(panel, "meanwhile")).to_be_visible()
    await notebook.run_code(f"write({TARGET!r}, 'and live')")
    await expect(thread(panel, "and live")).to_be_visible()


async def test_it_is_used_by_keys_which_reach_no_notebook(open_panel):
    notebook, panel = await open_panel(TWO, "'kept'")
    keys = notebook.page.keyboard
    await panel.get_by_role("region", name="Remarks").focus()
    await keys.press("d")
    await keys.press("d")
    await keys.press("c")
    await keys.type("by keys")
    await keys.press("Control+Enter")
    draft = thread(panel, "by keys")
    await expect(draft).to_contain_text("draft")
    await button(panel, "Submit 1 draft as a review").focus()
    await keys.press("Enter")
    await expect(draft).to_contain_text("submitted")
    await button(draft, "Reply").focus()
    await keys.press("Enter")
    await expect(text_box(draft, "Your reply")).to_be_focused()
    await keys.type("and answered")
    await keys.press("Control+Enter")
    await expect(draft.get_by_role("listitem")).to_contain_text("and answered")
    await expect(button(draft, "Reply")).to_be_focused()
    await button(draft, "Resolve").focus()
    await keys.press("Enter")
    await expect(button(draft, "Reopen")).to_be_focused()
    await panel.get_by_role("region", name="Remarks").focus()
    await keys.press("/")
    await expect(panel.get_by_role("searchbox", name="Filter by target")).to_be_focused()
    assert await notebook.cells.count() == 3


OVER = """() => {
  const root = document.querySelector(".rp-review");
  const right = root.getBoundingClientRect().right + 1;
  const seen = [...root.querySelectorAll("*")].filter((each) => !each.closest(".rp-hidden"));
  const out = seen.filter((each) => each.getBoundingClientRect().right > right);
  return out.map((each) => each.className || each.tagName);
}"""
TALK = f"""
about = write({TARGET!r}, "why " + "x" * 300, section="Price", quote="two or " + "y" * 200)
write({TARGET!r}, "because", parent_id=about)
write({TARGET!r}, "a draft", who="person")
resolved = write({TARGET!r}, "done")
"""


async def test_everyone_can_use_it_light_and_dark_and_narrow(open_panel, axe):
    notebook, panel = await open_panel(TWO)
    await notebook.run_code(TALK)
    await expect(thread(panel, "because")).to_be_visible()
    await button(thread(panel, "done"), "Resolve").click()
    await button(thread(panel, "because"), "Reply").click()
    await button(thread(panel, "a draft"), "Delete").click()
    for theme in ("light", "dark"):
        await notebook.set_theme(theme)
        await expect(panel).to_have_attribute("data-theme", theme)
        assert await axe(notebook.page, ".rp-review") == []
    shell = notebook.page.locator(".rp-shell")
    await shell.evaluate("(shell) => (shell.style.width = '420px')")
    await expect(thread(panel, "a draft")).to_be_visible()
    assert await ask(notebook.page, OVER) == []
    assert await axe(notebook.page, ".rp-review") == []
