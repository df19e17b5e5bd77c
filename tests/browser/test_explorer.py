"""The registry explorer, as a person uses it."""

import asyncio
import re

import pytest
from front_ends.bounds import BOUND_S
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

SHOP = """
import repl_pair
from repl_pair import check

def quote(count=1, fail=False):
    if fail:
        raise ValueError("no stock")
    return count

repl_pair.story("shop.pricing.quote", component=quote, doc="What a basket costs.")
for count in range(1, 4):
    repl_pair.variant(f"shop.pricing.quote/Bulk_{count}", args={"count": count})
repl_pair.variant("shop.pricing.quote/Broken", args={"fail": True}, tags=["experimental"])
repl_pair.story("shop.cart", component=quote, tags=["docs"])
repl_pair.variant("shop.cart/Plain", doc="Nothing in it")
"""
AGENTS = """
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.registry.origin import agent_origin
with entering_from(agent_origin("claude")):
    repl_pair.variant("shop.cart/Theirs")
"""
SHOW = "import repl_pair\nshown = repl_pair.show(panel='explorer')\nshown"
FOCUS = "print(shown.view.context.focus.variant)"
STORIES = [
    "shop", "cart", "Plain", "pricing", "quote", "Broken", "Bulk_1", "Bulk_2", "Bulk_3",
]  # fmt: skip
CONTRAST = """(element) => {
  const channels = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => {
    const [r, g, b] = channels(colour).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const root = element.closest(".rp-explorer");
  const colour = (which, name) => light(getComputedStyle(which)[name]);
  return { ink: colour(element, "color"), paper: colour(root, "backgroundColor") };
}"""


def tree(page):
    return page.get_by_role("tree", name="Registry")


def row(page, key):
    return tree(page).locator(f'[role=treeitem][data-key="{key}"]')


def names(page):
    """The names of the rows of stories, in the order in which they are seen."""
    return tree(page).locator("[role=treeitem]:not([data-kind=group])")


async def expect_names(page, expected):
    async def read():
        return await names(page).evaluate_all(
            """(rows) => rows
              .sort((one, other) => one.getBoundingClientRect().y - other.getBoundingClientRect().y)
              .map((row) => row.querySelector(".rp-name").textContent)"""
        )

    await expect(names(page)).to_have_count(len(expected))
    assert await read() == expected


async def expect_focus(notebook, variant):
    """Wait for the message of the page, which comes by another way than the test's own code."""
    async with asyncio.timeout(BOUND_S):
        while await notebook.run_code(FOCUS) != f"{variant}\n":
            pass


async def test_rows_report_what_there_is_and_choosing_one_is_seen_by_all_panels(lab):
    notebook = await lab.notebook(SHOP, AGENTS, SHOW)
    await notebook.run_all()
    page = notebook.page
    await expect_names(page, [*STORIES[:3], "Theirs", *STORIES[3:]])
    bulk = row(page, "shop.pricing.quote/Bulk_2")
    await expect(bulk).to_have_attribute("aria-level", "4")
    await expect(bulk).to_have_attribute("aria-label", "Bulk_2, variant, not run")
    await expect(bulk).to_contain_text("In[1]:11")
    theirs = row(page, "shop.cart/Theirs")
    await expect(theirs).to_have_attribute("aria-label", re.compile("registered by agent claude"))
    await expect(theirs.locator(".rp-by")).to_be_visible()
    await bulk.click()
    await expect(bulk).to_have_attribute("aria-selected", "true")
    await expect(page.get_by_role("group", name="Current row")).to_contain_text("In[1]:11")
    await expect_focus(notebook, "shop.pricing.quote/Bulk_2")
    await notebook.run_code(
        "from dataclasses import replace\n"
        "context = shown.view.context\n"
        "context.set_focus(replace(context.focus, story='shop.cart', variant='shop.cart/Plain'))"
    )
    await expect(row(page, "shop.cart/Plain")).to_have_attribute("aria-selected", "true")
    await expect(bulk).to_have_attribute("aria-selected", "false")


async def test_a_press_runs_its_row_also_where_another_comes_above_before_the_release(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    bulk = row(page, "shop.pricing.quote/Bulk_2")
    await bulk.hover()
    async with notebook.pressed(bulk.get_by_title("Run", exact=True)):
        await notebook.run_code("repl_pair.variant('shop.pricing.quote/Any')")
        await expect(row(page, "shop.pricing.quote/Any")).to_be_visible()
    await expect(bulk).to_have_attribute("data-status", "pass")
    await expect(bulk).to_have_class(re.compile("rp-active"))
    await expect(row(page, "shop.pricing.quote/Bulk_1")).to_have_attribute("data-status", "not_run")


async def test_dots_follow_runs_of_cells_and_of_the_panel_and_lead_to_failures(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await expect(row(page, "shop")).to_have_attribute("data-status", "not_run")
    await notebook.run_cell("repl_pair.run('shop.cart/Plain'); None")
    await expect(row(page, "shop.cart/Plain")).to_have_attribute("data-status", "pass")
    await expect(row(page, "shop.cart")).to_have_attribute("data-status", "pass")
    await expect(row(page, "shop")).to_have_attribute(
        "aria-label", "shop, folder, 5 variants: 4 not run, 1 passed"
    )
    await row(page, "shop.pricing").hover()
    await row(page, "shop.pricing").get_by_title("Run", exact=True).click()
    await expect(row(page, "shop.pricing.quote/Bulk_3")).to_have_attribute("data-status", "pass")
    await expect(row(page, "shop")).to_have_attribute(
        "aria-label", "shop, folder, 5 variants: 1 error, 4 passed"
    )
    await row(page, "shop.pricing").locator(".rp-twisty").click()
    await expect(row(page, "shop.pricing.quote")).to_have_count(0)
    await row(page, "shop").locator(".rp-dot").click()
    broken = row(page, "shop.pricing.quote/Broken")
    await expect(broken).to_have_attribute("aria-selected", "true")
    await expect_focus(notebook, "shop.pricing.quote/Broken")
    await notebook.run_cell("repl_pair.variant('shop.pricing.quote/Broken')")
    await expect(broken).to_have_attribute("aria-label", "Broken, variant, stale, last error")
    await page.get_by_role("button", name="Run all", exact=True).click()
    await expect(row(page, "shop")).to_have_attribute(
        "aria-label", "shop, folder, 5 variants: 5 passed"
    )
    await expect(page.locator(".rp-explorer").get_by_role("status")).to_contain_text(
        "5 run: 5 passed"
    )


async def test_search_and_filters_narrow_the_tree_and_failures_stay(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    search = page.get_by_role("searchbox", name="Search ids and docs")
    await expect_names(page, STORIES)
    await search.fill("bulk_2")
    await expect_names(page, ["shop", "pricing", "quote", "Bulk_2"])
    await notebook.run_cell("repl_pair.run('shop.pricing.quote/Broken'); None")
    await expect_names(page, ["shop", "pricing", "quote", "Broken", "Bulk_2"])
    kept = row(page, "shop.pricing.quote/Broken")
    await expect(kept).to_have_attribute("aria-label", re.compile("whatever the filter"))
    await search.fill("no such thing")
    await expect_names(page, ["shop", "pricing", "quote", "Broken"])
    await search.press("Escape")
    await expect_names(page, STORIES)
    await page.get_by_role("button", name="Filter", exact=True).click()
    await page.get_by_role("button", name="tag docs: any").click()
    await expect_names(page, ["shop", "cart", "Plain", "pricing", "quote", "Broken"])
    await page.get_by_role("button", name="tag docs: with", exact=True).click()
    await expect_names(page, ["shop", "pricing", "quote", "Broken", "Bulk_1", "Bulk_2", "Bulk_3"])
    await page.get_by_role("button", name="tag docs: without").click()
    await page.get_by_role("button", name="error: 1").click()
    await expect_names(page, ["shop", "pricing", "quote", "Broken"])
    await page.get_by_role("button", name="error: 1").click()
    await page.get_by_role("button", name="Tags", exact=True).click()
    await expect(row(page, "kind:tag")).to_be_visible()
    await expect(row(page, "shop.cart")).to_have_count(0)
    await expect(kept).to_be_visible()


async def test_everything_is_done_from_the_keyboard_and_no_cell_is_deleted(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await expect_names(page, STORIES)
    current = page.get_by_role("group", name="Current row")
    search = page.get_by_role("searchbox", name="Search ids and docs")
    before = await notebook.cells.count()

    async def press(*keys):
        for key in keys:
            await page.keyboard.press(key)

    await tree(page).focus()
    await press("d", "d", "x", "b")
    assert await notebook.cells.count() == before
    await press("Home", "ArrowDown", "ArrowDown")
    await expect(current.locator("code")).to_have_text("shop.cart/Plain")
    await press("ArrowLeft")
    await expect(current.locator("code")).to_have_text("shop.cart")
    await press("ArrowLeft")
    await expect(row(page, "shop.cart")).to_have_attribute("aria-expanded", "false")
    await expect(row(page, "shop.cart/Plain")).to_have_count(0)
    await press("ArrowRight")
    await expect(row(page, "shop.cart/Plain")).to_be_visible()
    await press("r")
    await expect(row(page, "shop.cart/Plain")).to_have_attribute("data-status", "pass")
    await press("End")
    await expect(current.locator("code")).to_have_text("Tags")
    await press("b", "u", "l", "k", "_", "3")
    await expect(current.locator("code")).to_have_text("shop.pricing.quote/Bulk_3")
    active = await tree(page).get_attribute("aria-activedescendant")
    assert await row(page, "shop.pricing.quote/Bulk_3").get_attribute("id") == active
    await press("Enter")
    await expect(row(page, "shop.pricing.quote/Bulk_3")).to_have_attribute("aria-selected", "true")
    await press("Shift+R")
    await expect(row(page, "shop.pricing.quote")).to_have_attribute("data-status", "error")
    await expect(row(page, "shop.pricing.quote/Bulk_3")).to_have_attribute("data-status", "pass")
    await press("F8")
    await expect(current.locator("code")).to_have_text("shop.pricing.quote/Broken")
    await press("w")
    await expect(current.get_by_role("button", name="Watch")).to_have_attribute(
        "aria-pressed", "true"
    )
    await notebook.run_cell("repl_pair.variant('shop.pricing.quote/Broken', args={'count': 7})")
    await expect(row(page, "shop.pricing.quote/Broken")).to_have_attribute("data-status", "pass")
    await tree(page).focus()
    await press("/")
    await expect(search).to_be_focused()
    await page.keyboard.type("plain")
    await expect_names(page, ["shop", "cart", "Plain"])
    await press("ArrowDown")
    await expect(tree(page)).to_be_focused()


async def test_two_notebooks_on_one_kernel_both_follow(lab):
    first = await lab.notebook(SHOP, SHOW)
    await first.run_all()
    second = await lab.notebook("other = repl_pair.show(panel='explorer')\nother", kernel=first)
    await second.run_all()
    await expect_names(first.page, STORIES)
    await expect_names(second.page, STORIES)
    await row(second.page, "shop.cart/Plain").click()
    await second.page.keyboard.press("r")
    for each in (first, second):
        await expect(row(each.page, "shop.cart/Plain")).to_have_attribute("data-status", "pass")
    await first.run_cell("repl_pair.variant('shop.cart/Later')")
    for each in (first, second):
        await expect(row(each.page, "shop.cart/Later")).to_be_visible()
    await expect(row(first.page, "shop.cart/Plain")).to_have_attribute("aria-selected", "false")


async def test_a_reload_shows_what_was_and_a_restart_what_there_is(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await expect_names(page, STORIES)
    await page.get_by_role("searchbox", name="Search ids and docs").fill("plain")
    await expect_names(page, ["shop", "cart", "Plain"])
    await row(page, "shop.cart/Plain").click()
    await notebook.run_cell("repl_pair.run('shop.cart/Plain'); None")
    await notebook.reload()
    await expect(page.get_by_role("searchbox", name="Search ids and docs")).to_have_value("plain")
    plain = row(page, "shop.cart/Plain")
    await expect(plain).to_have_attribute("data-status", "pass")
    await expect(plain).to_have_attribute("aria-selected", "true")
    await notebook.restart_kernel()
    await notebook.run_cell(SHOW)
    await expect(page.get_by_text("No variants yet.").last).to_be_visible()
    await expect(page.get_by_text("Register a story in a cell").last).to_be_visible()
    await expect(page.get_by_role("tree").last.get_by_role("treeitem").first).to_have_attribute(
        "data-kind", "group"
    )


async def test_it_searches_while_a_cell_runs(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await expect_names(page, STORIES)
    async with notebook.busy():
        await page.get_by_role("searchbox", name="Search ids and docs").fill("bulk_1")
        await expect_names(page, ["shop", "pricing", "quote", "Bulk_1"])
        await row(page, "shop.pricing.quote/Bulk_1").click()
        await page.keyboard.press("r")
        bulk = row(page, "shop.pricing.quote/Bulk_1")
        await expect(bulk).to_have_attribute("data-status", "running")
    await expect(bulk).to_have_attribute("data-status", "pass")


async def test_it_is_legible_in_both_themes_and_has_no_barriers(lab, axe):
    notebook = await lab.notebook(SHOP, AGENTS, "repl_pair.run('shop.pricing.quote/Broken')", SHOW)
    await notebook.run_all()
    page = notebook.page
    await row(page, "shop.cart/Theirs").click()
    await page.get_by_role("button", name="Filter", exact=True).click()
    seen = {}
    for theme in ("light", "dark"):
        await notebook.set_theme(theme)
        root = page.locator(f".rp-explorer[data-theme={theme}]")
        await expect(root).to_be_visible()
        seen[theme] = await row(page, "shop.cart/Plain").locator(".rp-name").evaluate(CONTRAST)
        assert await axe(page, ".rp-explorer") == []
    assert seen["light"]["paper"] > 0.8 > 0.2 > seen["light"]["ink"]
    assert seen["dark"]["paper"] < 0.2 < 0.6 < seen["dark"]["ink"]
