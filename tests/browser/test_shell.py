"""The shell hosts whatever is registered as a panel, whoever registered it."""

import asyncio
import re

import pytest
from front_ends.bounds import BOUND_S
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

SHOP = """
import repl_pair
from repl_pair import check

@repl_pair.story("shop.sum")
def add(a: int = 1) -> int:
    return a + 1

repl_pair.variant("shop.sum/Two", play=[check.result_equals(2)])
"""
ACME = """
import ipywidgets

def render():
    return ipywidgets.Button(description="Press me")

repl_pair.panel("acme", title="Acme", placement="right", render=render)
"""
SHOW = "repl_pair.show()"
RAN = """
from repl_pair.runtime.results.last_results import last_result
print(last_result("shop.sum/Two") is not None)
"""

UNREGISTER = "repl_pair.registry.unregister('panel', 'acme')"
LATE_BUTTONS = """() => {
  const { rendermime } = window.jupyterapp.shell.currentWidget.content;
  const renderer = rendermime.createRenderer("application/vnd.jupyter.widget-view+json");
  return renderer._manager.promise.then((manager) => {
    const create = manager.create_view;
    manager.create_view = async (model, options) => {
      const view = await create.call(manager, model, options);
      if (model.name !== "ButtonModel") return view;
      window.buttons = (window.buttons ?? 0) + 1;
      return new Promise((resolve) => view.once("remove", () => resolve(view)));
    };
  });
}"""


def region(page, name):
    return page.get_by_role("region", name=name, exact=True)


def toggle(page, name):
    return page.get_by_role("group", name="Panels").get_by_role("button", name=name, exact=True)


async def test_a_panel_of_a_third_party_stands_in_its_slot_beside_the_built_in_ones(lab):
    notebook = await lab.notebook(SHOP, ACME, SHOW)
    await notebook.run_all()
    page = notebook.page
    await expect(region(page, "Agents")).to_be_visible()
    button = region(page, "Acme").get_by_role("button", name="Press me")
    await expect(button).to_be_visible()
    assert await page.locator(".rp-slot-right [data-panel=acme]").count() == 1


async def test_panels_are_shown_and_hidden_from_the_keyboard(lab):
    notebook = await lab.notebook(SHOP, ACME, SHOW)
    await notebook.run_all()
    page = notebook.page
    await expect(region(page, "Acme")).to_be_visible()
    await toggle(page, "Acme").focus()
    await page.keyboard.press("Enter")
    await expect(region(page, "Acme")).to_have_count(0)
    await expect(toggle(page, "Acme")).to_have_attribute("aria-pressed", "false")
    await expect(toggle(page, "Acme")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(region(page, "Acme")).to_be_visible()


async def test_a_panel_that_comes_or_is_replaced_later_is_shown_without_asking_again(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await notebook.run_cell(
        "repl_pair.panel('acme', title='Stub', placement='right', render=lambda: 'a stub')"
    )
    await expect(region(page, "Stub")).to_contain_text("a stub")
    await notebook.run_cell(ACME)
    await expect(region(page, "Acme").get_by_role("button", name="Press me")).to_be_visible()
    await expect(region(page, "Stub")).to_have_count(0)
    await notebook.run_cell(UNREGISTER)
    await expect(region(page, "Acme")).to_have_count(0)


async def test_a_widget_that_closes_before_it_is_drawn_is_left_alone(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await page.evaluate(LATE_BUTTONS)
    await notebook.run_cell(ACME)
    await page.wait_for_function("() => window.buttons === 1")
    await notebook.run_cell(UNREGISTER)
    await expect(region(page, "Acme")).to_have_count(0)


async def test_a_shell_whose_output_is_cleared_takes_its_widgets_with_it(lab):
    notebook = await lab.notebook(SHOP, ACME, SHOW)
    await notebook.run_all()
    button = region(notebook.page, "Acme").get_by_role("button", name="Press me")
    await expect(button).to_be_visible()
    await notebook.do("notebook:clear-all-cell-outputs")
    await expect(button).to_have_count(0)


async def test_what_a_panel_raises_stands_in_its_place(lab):
    bad = "repl_pair.panel('bad', title='Bad', placement='right', render=lambda: 1 / 0)"
    notebook = await lab.notebook(SHOP, bad, SHOW)
    await notebook.run_all()
    await expect(region(notebook.page, "Bad")).to_contain_text("division by zero")
    await notebook.run_cell(bad.replace("bad", "late").replace("Bad", "Late"))
    await expect(region(notebook.page, "Late")).to_contain_text("division by zero")
    await expect(region(notebook.page, "Agents")).to_be_visible()


async def test_of_two_modal_panels_the_one_that_was_shown_last_is_open(lab):
    one = "repl_pair.panel('one', title='One', placement='modal', render=lambda: 'of one')"
    notebook = await lab.notebook(SHOP, one, one.replace("one", "two").replace("One", "Two"), SHOW)
    await notebook.run_all()
    page = notebook.page
    for name, other in (("One", "Two"), ("Two", "One")):
        await toggle(page, name).press("Enter")
        await expect(region(page, name)).to_contain_text(f"of {name.lower()}")
        await expect(page.get_by_role("dialog", name=name)).to_be_visible()
        await expect(toggle(page, other)).to_have_attribute("aria-pressed", "false")


async def test_one_panel_is_shown_alone(lab):
    notebook = await lab.notebook(SHOP, ACME, "repl_pair.show(panel='acme')")
    await notebook.run_all()
    button = notebook.page.get_by_role("button", name="Press me")
    await expect(button).to_be_visible()
    await expect(region(notebook.page, "Agents")).to_have_count(0)


async def test_the_magic_shows_the_same_shell(lab):
    notebook = await lab.notebook(SHOP, "%load_ext repl_pair", "%pair panels")
    await notebook.run_all()
    await expect(region(notebook.page, "Agents")).to_be_visible()


async def test_the_palette_opens_finds_and_runs_a_command_by_keys_alone(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await toggle(page, "Agents").focus()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Command or variant")).to_be_focused()
    await page.keyboard.type("run all")
    await expect(page.get_by_role("option", name="Run all variants")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("combobox", name="Command or variant")).to_have_count(0)
    async with asyncio.timeout(BOUND_S):
        while await notebook.run_code(RAN) != "True\n":
            pass


async def test_escape_leaves_the_palette_with_the_focus_where_it_was(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await toggle(page, "Agents").focus()
    for _ in range(2):
        await page.keyboard.press("Control+k")
        await expect(page.get_by_role("combobox", name="Command or variant")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(toggle(page, "Agents")).to_be_focused()


async def test_keys_in_the_shell_never_reach_the_notebook(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    page = notebook.page
    await toggle(page, "Agents").focus()
    for key in "ddabm":
        await page.keyboard.press(key)
    await expect(notebook.cells).to_have_count(2)
    await expect(region(page, "Agents")).to_be_visible()


async def test_panels_answer_while_a_cell_runs(lab):
    notebook = await lab.notebook(SHOP, ACME, SHOW)
    await notebook.run_all()
    page = notebook.page
    await expect(region(page, "Agents")).to_contain_text("No agent is attached")
    async with notebook.busy():
        await region(page, "Agents").get_by_role("button", name="Pause").click()
        await expect(region(page, "Agents").get_by_role("button", name="Resume")).to_be_visible()


async def test_a_reload_shows_the_shell_as_it_stands_now(lab):
    notebook = await lab.notebook(SHOP, ACME, SHOW)
    await notebook.run_all()
    page = notebook.page
    await toggle(page, "Acme").click()
    await expect(region(page, "Acme")).to_have_count(0)
    await notebook.reload()
    await expect(region(page, "Agents")).to_be_visible()
    await expect(toggle(page, "Acme")).to_have_attribute("aria-pressed", "false")
    await expect(region(page, "Acme")).to_have_count(0)


LOSE_FIRST_MESSAGES = """
window.asked = {};
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (data) {
  const text = typeof data === "string" ? data : new TextDecoder().decode(data);
  const comm = text.includes('"ask"') && /"comm_id": ?"(\\w+)"/.exec(text)?.[1];
  if (comm) window.asked[comm] = (window.asked[comm] ?? 0) + 1;
  if (!comm || window.asked[comm] > 2) send.call(this, data);
};
"""
"""A page loses what it sends of a panel before its subshell is ready."""


async def test_a_panel_whose_first_messages_are_lost_shows_all_and_waits_for_nothing(lab):
    run, show = "repl_pair.run('shop.sum/Two')", "repl_pair.show('shop.sum/Two')"
    notebook = await lab.notebook(SHOP, run, show)
    await notebook.run_all()
    page = notebook.page
    await page.add_init_script(LOSE_FIRST_MESSAGES)
    await notebook.reload()
    await expect(region(page, "Canvas")).to_contain_text("content")
    for name in ("Registry", "Play"):
        await expect(region(page, name)).to_contain_text("Two")
    await expect(page.locator(".rp[data-waiting]")).to_have_count(0)
    asked = await page.evaluate("Object.values(window.asked)")
    assert len(asked) > 4
    assert min(asked) > 2


WIDTHS = """(all) => all.map((each) => ({
  panel: each.closest("[data-panel]").dataset.panel,
  beyond: each.scrollWidth - each.clientWidth,
  isNarrow: each.clientWidth < 200,
})).filter(({ beyond, isNarrow }) => beyond > 0 || isNarrow)"""


async def test_no_panel_is_too_narrow_or_pushed_out_by_long_words_whatever_the_width(lab):
    long = f"shop.sum/{'Long' * 40}"
    variant = f"repl_pair.variant({long!r}, doc='see https://a.example/{'word' * 60}')"
    notebook = await lab.notebook(SHOP, variant, "shown = repl_pair.show()\nshown")
    await notebook.run_all()
    page = notebook.page
    await notebook.run_code(
        "from repl_pair.panels.base.context import Focus\n"
        f"shown.view.context.set_focus(Focus(variant={long!r}))"
    )
    await expect(region(page, "Play")).to_contain_text("has not been run yet")
    await expect(region(page, "Canvas")).to_contain_text("wordword")
    for width in (1400, 1000, 560, 420):
        await page.set_viewport_size({"width": width, "height": 900})
        assert await page.locator(".rp-shell .rp-body").evaluate_all(WIDTHS) == []
    shell = await page.locator(".rp-shell").bounding_box()
    detach = await page.get_by_role("button", name="Detach").bounding_box()
    assert detach["x"] + detach["width"] <= shell["x"] + shell["width"]


async def test_a_restart_states_that_the_cell_is_to_be_run_again_and_no_button_is_left(lab):
    notebook = await lab.notebook(SHOP, SHOW, "repl_pair.show(panel='agent')")
    await notebook.run_all()
    page = notebook.page
    await expect(page.locator(".rp-agent button", has_text="Pause")).to_have_count(2)
    await page.locator(".rp-agent button", has_text="Pause").first.focus()
    await notebook.restart_kernel()
    notices = page.get_by_role("status").filter(has_text="The kernel was restarted")
    await expect(notices).to_have_count(2)
    for at in range(2):
        above = await notices.nth(at).bounding_box()
        below = await page.locator(".rp-shell").nth(at).bounding_box()
        assert above["y"] + above["height"] <= below["y"]
    pauses = page.locator(".rp-agent button", has_text="Pause")
    assert await pauses.evaluate_all("(all) => all.every((each) => each.closest('[inert]'))")
    for key in "dd":
        await page.keyboard.press(key)
    await expect(notebook.cells).to_have_count(3)


async def test_two_notebooks_show_one_kernel(lab):
    first = await lab.notebook(SHOP, SHOW)
    await first.run_all()
    second = await lab.notebook("repl_pair.show()", kernel=first)
    await second.run_all()
    await region(first.page, "Agents").get_by_role("button", name="Pause").click()
    for page in (first.page, second.page):
        await expect(region(page, "Agents").get_by_role("button", name="Resume")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_shell_takes_the_hosts_theme_and_is_accessible(lab, axe, theme):
    notebook = await lab.notebook(SHOP, ACME, SHOW)
    await notebook.set_theme(theme)
    await notebook.run_all()
    await expect(region(notebook.page, "Agents")).to_be_visible()
    shell = notebook.page.locator(".rp-shell")
    await expect(shell).to_have_attribute("data-theme", theme)
    background = await shell.evaluate("(each) => getComputedStyle(each).backgroundColor")
    light = sum(map(int, re.findall(r"\d+", background)[:3])) > 3 * 128
    assert light == (theme == "light")
    assert await axe(notebook.page, ".rp-shell") == []


async def test_the_shell_shows_in_notebook_7(notebook7):
    notebook = await notebook7(SHOP + "\n" + ACME + "\n" + SHOW)
    await notebook.run_first()
    await expect(
        region(notebook.page, "Acme").get_by_role("button", name="Press me")
    ).to_be_visible()


async def test_the_shell_shows_in_marimo(marimo):
    page = await marimo(SHOP, "import marimo\n\nmarimo.ui.anywidget(repl_pair.show())")
    await expect(region(page, "Agents")).to_be_visible()
    await page.get_by_role("treeitem", name="Two").click()
    await region(page, "Canvas").get_by_role("button", name="Run", exact=True).click()
    await expect(region(page, "Canvas")).to_contain_text("pass")
    await toggle(page, "Agents").focus()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Command or variant")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(toggle(page, "Agents")).to_be_focused()


async def test_a_saved_notebook_shows_the_table_where_its_kernel_is_gone(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    output = notebook.cells.nth(1).locator(".jp-OutputArea-child")
    await expect(output.nth(0).get_by_role("tree", name="Registry")).to_be_visible()
    await expect(output.get_by_role("table")).to_have_count(0)
    await expect(output.nth(1)).to_be_hidden()
    await notebook.do("docmanager:save")
    await notebook.restart_kernel()
    await notebook.reload()
    await expect(output.nth(0).get_by_role("table").first).to_be_visible()
    await expect(output.nth(0)).not_to_contain_text("model not found")
    await expect(output.nth(1)).to_be_hidden()
