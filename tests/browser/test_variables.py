"""The variables panel shows what agents list and read, redacted as it crosses, and who may."""

import pytest
from front_ends.bounds import ask
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

PASSWORD = "plover-7730-larch"
SHOP = f"""
import repl_pair

orders = [{{"sku": f"tea-{{n}}", "n": n}} for n in range(120)]
login = {{"user": "ann", "password": {PASSWORD!r}}}
api_token = "tok-5d0e7a913bc2"
customer_lifetime_value_by_region_and_month_after_returns_and_refunds = [1.5, 2.5]

def clean(rows):
    return rows
"""
MANY = """
import repl_pair
for _n in range(100_000):
    globals()[f"name_{_n:06}"] = _n
"""
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
MORE_SLOTS = f"""
from dataclasses import replace
from functools import wraps
from repl_pair.runtime.op_base.table import TABLE

def answer_more(name, add):
    op = TABLE.get(name)
    TABLE._ops[name] = replace(op, fn=wraps(op.fn)(lambda **given: add(op.fn(**given))))

def add_bytes(page):
    for line in page["items"]:
        line |= {{"bytes": 1_234_567, "module": "shop"}}
    return page

answer_more("list_variables", add_bytes)
answer_more("get_value", lambda value: value | {{"outputs": [{{"image/png": {PIXEL!r}}}]}})
"""
SHOW = "repl_pair.show(panel='variables')"
KEEP_ROWS = """() => {
  window.seen = [...document.querySelectorAll(".rp-variables .rp-line")];
  return window.seen.length;
}"""
ARE_CURRENT = """() => {
  const { top, bottom } = document.querySelector(".rp-variables .rp-grid").getBoundingClientRect();
  return [...document.querySelectorAll(".rp-variables .rp-line")].every((row) => {
    const at = row.getBoundingClientRect();
    const place = Number((row.dataset.name ?? "").slice(1)) + 8;
    const isSeen = at.bottom >= top && at.top <= bottom;
    return !isSeen || place === Number(row.getAttribute("aria-rowindex"));
  });
}"""
ARE_KEPT = "() => window.seen.every((row) => row.isConnected)"
OVER = """() => {
  const root = document.querySelector(".rp-variables");
  const right = root.getBoundingClientRect().right + 1;
  const out = [...root.querySelectorAll("*")].filter((each) => {
    const clips = each.closest(".rp-grid, .rp-answer, .rp-hidden");
    return !clips && each.getBoundingClientRect().right > right;
  });
  return out.map((each) => each.className || each.tagName);
}"""


async def opened(lab, *cells):
    notebook = await lab.notebook(*cells)
    await notebook.run_all()
    return notebook, notebook.page.locator(".rp-variables")


def row(panel, name):
    return panel.locator(f"[data-name={name}]")


def details(panel):
    return panel.get_by_role("region", name="What an agent reads")


async def test_what_agents_list_and_read_is_shown_with_who_may(lab, attach):
    notebook, panel = await opened(lab, SHOP, SHOW)
    await expect(panel).to_contain_text("No agent is attached.")
    await expect(panel.get_by_role("row")).to_have_count(5)
    await expect(row(panel, "orders")).to_contain_text("orderslist120")
    await expect(row(panel, "api_token")).to_contain_text("redacted")
    await row(panel, "login").click()
    await expect(details(panel)).to_contain_text('"password": "[redacted]"')
    await expect(details(panel)).to_contain_text("An agent reads this only where inspect is open.")
    async with attach(notebook, "--allow", "inspect", "--as", "claude") as claude:
        reply = await claude.ask("get_value", path="login")
        await expect(panel.locator("[data-inspect=open]")).to_have_text("claude inspect open")
        await expect(details(panel)).to_contain_text("Open now: claude.")
        assert reply["result"]["value"] == {"user": "ann", "password": "[redacted]"}
        async with attach(notebook, "--as", "cursor") as cursor:
            await cursor.ask("list_variables")
            closed = panel.locator("[data-inspect=closed]")
            await expect(closed).to_have_text("cursor inspect not open")
            await expect(details(panel)).to_contain_text("Open now: claude.")
    await expect(panel).to_contain_text("No agent is attached.")
    await row(panel, "orders").click()
    await expect(details(panel).get_by_text("elided: list, 120 in all")).to_be_visible()
    await details(panel).get_by_role("button", name="orders[").click()
    await expect(details(panel)).to_contain_text('{"sku": "tea-49", "n": 49}')
    await panel.get_by_role("searchbox", name="Filter by name").fill("OGI")
    await expect(panel.get_by_role("row")).to_have_count(2)
    await expect(row(panel, "login")).to_be_visible()
    assert PASSWORD not in await panel.inner_text()


async def test_a_cell_that_ends_shows_what_it_changed_and_moves_nothing(lab):
    names = "for _n in range(300): globals()[f'n{_n:03}'] = _n"
    notebook, panel = await opened(lab, SHOP, names, SHOW)
    grid = panel.get_by_role("grid", name="Variables")
    await expect(row(panel, "login")).to_be_visible()
    await row(panel, "login").click()
    await expect(details(panel)).to_contain_text("ann")
    await grid.evaluate("(grid) => (grid.scrollTop = 24 * 150)")
    first = row(panel, "n150")
    await expect(first).to_be_visible()
    top = await first.evaluate("(row) => row.getBoundingClientRect().top")
    await notebook.run_code("login['user'] = 'bob'; aa = ab = ac = 1")
    await expect(details(panel)).to_contain_text("bob")
    await expect(panel).to_contain_text("307 variables")
    await expect(first).to_have_attribute("aria-rowindex", "158")
    assert abs(await first.evaluate("(row) => row.getBoundingClientRect().top") - top) < 2
    await notebook.page.wait_for_function(ARE_CURRENT)
    await ask(notebook.page, KEEP_ROWS)
    await notebook.run_code("login['user'] = 'cy'")
    await expect(details(panel)).to_contain_text("cy")
    assert await ask(notebook.page, ARE_KEPT)


async def test_it_answers_while_a_cell_runs(lab):
    notebook, panel = await opened(lab, SHOP, SHOW)
    await expect(row(panel, "orders")).to_be_visible()
    async with notebook.busy():
        await row(panel, "login").click()
        await expect(details(panel)).to_contain_text("ann")
        path = panel.get_by_role("textbox", name="Path of a value")
        await path.fill("orders[3].sku")
        await path.press("Enter")
        await expect(details(panel)).to_contain_text("tea-3")
        await path.fill("ordres")
        await path.press("Enter")
        await expect(details(panel)).to_contain_text("An agent is refused")
        await expect(details(panel)).to_contain_text("Nearest: orders")


async def test_a_hundred_thousand_names_are_drawn_only_where_they_are_seen(lab):
    notebook, panel = await opened(lab, MANY, SHOW)
    await expect(panel).to_contain_text("100,000 variables")
    await expect(row(panel, "name_000000")).to_be_visible()
    grid = panel.get_by_role("grid", name="Variables")
    await grid.focus()
    await notebook.page.keyboard.press("End")
    await expect(details(panel)).to_contain_text("99999")
    await notebook.page.keyboard.press("ArrowUp")
    await expect(details(panel)).to_contain_text("99998")
    assert await ask(notebook.page, KEEP_ROWS) < 80
    await grid.evaluate("(grid) => (grid.scrollTop = 24 * 50_000)")
    await expect(row(panel, "name_050003")).to_be_visible()
    await panel.get_by_role("searchbox").fill("77123")
    await expect(row(panel, "name_077123")).to_be_visible()
    await expect(panel.get_by_role("row")).to_have_count(2)


async def test_whatever_slots_the_ops_answer_are_shown(lab):
    _, panel = await opened(lab, SHOP, MORE_SLOTS, SHOW)
    await expect(panel.get_by_role("columnheader")).to_have_text(
        ["name", "type", "size", "memory", "module"]
    )
    await expect(row(panel, "orders").get_by_role("gridcell")).to_have_text(
        ["orders", "list", "120", "1.2 MB", "shop"]
    )
    await row(panel, "login").click()
    await expect(details(panel).get_by_role("img")).to_be_visible()
    await expect(details(panel)).not_to_contain_text("iVBOR")


async def test_keys_in_it_reach_no_notebook(lab):
    notebook, panel = await opened(lab, SHOP, SHOW)
    await row(panel, "login").click()
    for key in "ddaxz":
        await notebook.page.keyboard.press(key)
    await notebook.page.keyboard.press("/")
    await expect(panel.get_by_role("searchbox")).to_be_focused()
    await notebook.page.keyboard.type("tok")
    await notebook.page.keyboard.press("ArrowDown")
    await notebook.page.keyboard.press("ArrowDown")
    await expect(details(panel)).to_contain_text("Redacted: its name is that of a secret.")
    await notebook.page.keyboard.press("Enter")
    await expect(panel.get_by_role("textbox", name="Path of a value")).to_be_focused()
    assert await notebook.cells.count() == 2


async def test_where_there_is_nothing_it_states_what_will_be_there(lab):
    notebook, panel = await opened(lab, "import repl_pair", SHOW)
    await expect(panel).to_contain_text("No variables yet.")
    await notebook.run_cell("orders = [1]")
    await expect(row(panel, "orders")).to_be_visible()
    await panel.get_by_role("searchbox").fill("zzz")
    await expect(panel).to_contain_text("No name holds zzz.")
    await panel.get_by_role("button", name="Clear the filter").click()
    await expect(row(panel, "orders")).to_be_visible()


async def test_the_shell_opens_it_from_the_palette(lab):
    notebook, _ = await opened(lab, SHOP, "repl_pair.show()")
    shell = notebook.page.locator(".rp-shell")
    await shell.get_by_role("button", name="Commands").click()
    await shell.get_by_role("combobox").fill("show variables")
    await notebook.page.keyboard.press("Enter")
    section = shell.get_by_role("region", name="Variables", exact=True)
    await expect(section.locator("[data-name=orders]")).to_be_visible()


async def test_everyone_can_use_it_light_and_dark_and_narrow(lab, axe):
    notebook, panel = await opened(lab, SHOP, SHOW)
    await row(panel, "orders").click()
    await expect(details(panel)).to_contain_text("elided")
    for theme in ("light", "dark"):
        await notebook.set_theme(theme)
        await expect(panel).to_have_attribute("data-theme", theme)
        assert await axe(notebook.page, ".rp-variables") == []
    shell = notebook.page.locator(".rp-shell")
    await shell.evaluate("(shell) => (shell.style.width = '400px')")
    await expect(row(panel, "api_token")).to_be_visible()
    assert await ask(notebook.page, OVER) == []
    assert await axe(notebook.page, ".rp-variables") == []
