"""The play panel shows how each line of a run went, and walks through what they left."""

import pytest
from front_ends.measuring import find_barriers
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

CART = """
import repl_pair
from repl_pair import check, step

@repl_pair.story("cart")
class Cart:
    def __init__(self):
        self.items, self.total = [], 0.0
    def add(self, name: str, price: float = 1.0):
        print("added", name)
        self.items.append(name)
        self.total += price

@repl_pair.assertion("is_cheap")
def is_cheap(settled, most):
    return settled.result.total < most

repl_pair.variant("cart/Filled", plays={
    "fill": [
        step.dispatch("add", name="pear", price=1.5),
        check.path_equals("result.total", 1.5),
        step.dispatch("add", name="fig"),
        check.path_equals("state.items", ["pear", "plum"]),
        check.path_equals("stdout", "added pear\\nadded figs\\n"),
        check.path_equals("state.total", 4.0),
        ["is_cheap", 2],
    ],
    "more": {"steps": [step.dispatch("add", name="kiwi")], "auto_run": False},
})
repl_pair.variant("cart/Bare")
repl_pair.variant("cart/Late", play=[
    check.path_equals("result.items", [None, 1.0, True]), step.dispatch("add", name="fig"),
])
repl_pair.story("torn", component=lambda: 1 / 0)
repl_pair.variant("torn/It", play=[check.result_equals(1)])
"""
RUN = 'repl_pair.run("cart/Filled");'
LIST = "Lines of the plays"


def show(id="cart/Filled"):
    return f"repl_pair.show({id!r}, panel='play')" if id else "repl_pair.show(panel='play')"


async def opened(lab, *cells):
    notebook = await lab.notebook(CART, *cells)
    await notebook.run_all()
    return notebook, notebook.page.locator(".rp-play")


def lines(play, **which):
    return play.get_by_role("listbox", name=LIST).get_by_role("option", **which)


def line(play, place):
    return lines(play).nth(place)


async def test_the_first_failure_is_opened_with_its_difference_and_each_other_line_has_its_own(lab):
    _, play = await opened(lab, show())
    details = play.get_by_role("region", name="Details of the line")
    await expect(play.locator(".rp-verdict")).to_have_text("fail")
    await expect(play).to_contain_text("1/5 passed")
    chosen = lines(play, selected=True)
    await expect(chosen).to_contain_text("state.items")
    paths = details.get_by_role("table", name="Differences")
    await expect(paths.get_by_role("row", name="[1]")).to_contain_text("'plum''fig'")
    await line(play, 5).click()
    seen = details.get_by_role("table", name="Lines that differ")
    await expect(seen.locator("del")).to_have_text("figs")
    await expect(seen.locator("ins")).to_have_text("fig")
    await line(play, 6).click()
    await expect(details).to_contain_text("difference -1.5")


async def test_values_are_pythons_own_as_they_were_judged_and_leave_with_their_variant(lab):
    run = "repl_pair.run('torn/It');"
    notebook, play = await opened(lab, run, f"shell = {show('cart/Late')}\nshell")
    details = play.get_by_role("region", name="Details of the line")
    paths = details.get_by_role("table", name="Differences").get_by_role("row")
    rows = ["atexpectedactualΔ", "[0]Nonenothing", "[1]1.0nothing", "[2]Truenothing"]
    await expect(paths).to_have_text(rows)
    await line(play, 2).click()
    await expect(details.get_by_role("row", name="total")).to_contain_text("0.0 → 1.0")
    focus = "repl_pair.panels.base.context.Focus(story='torn', variant='torn/It')"
    await notebook.run_code(f"shell.view.context.set_focus({focus})")
    await expect(line(play, 1)).to_contain_text("not done")
    await expect(details).to_have_text("")


async def test_a_run_scrolls_no_page_under_the_person(lab):
    below = [f"print({n})\n" * 12 for n in range(8)]
    notebook, play = await opened(lab, show(), *below)
    last = notebook.page.locator(".jp-Notebook .jp-CodeCell .cm-content").last
    await last.click()
    scroller = notebook.page.locator(".jp-WindowedPanel-outer").last
    await scroller.evaluate("each => { each.scrollTop = each.scrollHeight; }")
    before = await scroller.evaluate("each => each.scrollTop")
    assert before > 500
    await notebook.run_code('repl_pair.run("cart/Filled", overrides={})')
    await notebook.run_code('repl_pair.variant("cart/Filled", play=[check.result_equals(1)])')
    await notebook.run_code('repl_pair.run("cart/Filled")')
    await expect(play.locator(".rp-verdict")).to_have_text("fail")
    await expect(play).to_contain_text("0/1 passed")
    assert await scroller.evaluate("each => each.scrollTop") == before
    await expect(last).to_be_focused()


async def test_the_debugger_is_walked_by_keys_and_shows_what_changed(lab):
    notebook, play = await opened(lab, show())
    keys = notebook.page.keyboard
    chosen = lines(play, selected=True)
    state = play.get_by_role("table", name="State after this line")
    await expect(chosen).to_contain_text("state.items")
    await play.get_by_role("listbox", name=LIST).focus()
    await keys.press("Home")
    await expect(chosen).to_have_text("before the first line")
    await expect(state.get_by_role("row", name="total")).to_contain_text("0.0")
    await keys.press("j")
    await expect(chosen).to_contain_text("add(name='pear', price=1.5)")
    await expect(state.locator(".rp-changed")).to_have_count(2)
    await expect(state.get_by_role("row", name="total")).to_contain_text("+1.5")
    await keys.press("b")
    await expect(play.locator(".rp-stop", has_text="●")).to_have_count(2)
    await keys.press("c")
    await expect(chosen).to_contain_text("add(name='fig')")
    await keys.press("n")
    await expect(chosen).to_contain_text("state.items")
    await keys.press("n")
    await expect(chosen).to_contain_text("stdout")
    await keys.press("k")
    await expect(chosen).to_contain_text("state.items")
    await keys.press("End")
    await expect(chosen).to_contain_text("is_cheap")
    await expect(play.get_by_role("listbox", name=LIST)).to_be_focused()
    assert await notebook.cells.count() == 2, "no key reached the notebook"


async def test_a_run_in_a_cell_and_another_registration_are_followed(lab):
    notebook, play = await opened(lab, show("cart/Bare"))
    await expect(play.locator(".rp-verdict")).to_have_text("pass")
    await expect(play).to_contain_text("This variant has no play, so nothing was checked.")
    await notebook.run_cell(
        'repl_pair.variant("cart/Bare", play=[check.path_equals("result.total", 0.0)]);'
    )
    await expect(play.get_by_text("stale", exact=True)).to_be_visible()
    await play.get_by_role("button", name="Run", exact=True).click()
    await expect(play).to_contain_text("1/1 passed")
    await expect(play.get_by_text("stale", exact=True)).to_have_count(0)
    await notebook.run_cell('repl_pair.run("cart/Bare", overrides={});')
    await expect(lines(play, selected=True)).to_contain_text("result.total")


async def test_a_play_that_runs_on_demand_is_run_by_its_name(lab):
    _, play = await opened(lab, show())
    await play.get_by_role("combobox", name="Play to run").select_option("more")
    await play.get_by_role("button", name="Run", exact=True).click()
    await expect(play.get_by_role("group", name="play more")).to_be_visible()
    await expect(line(play, 1)).to_contain_text("add(name='kiwi')")
    await expect(play.get_by_role("combobox", name="Play to run")).to_have_value("more")


OTHER = """
steps = [step.dispatch("add", name="kiwi")]
repl_pair.variant("cart/Other", plays={"more": {"steps": steps, "auto_run": False}})
"""


async def test_a_press_on_run_and_a_choice_of_plays_are_of_the_variant_they_were_made_on(lab):
    notebook, play = await opened(lab, OTHER, f"shell = {show()}\nshell")
    choice = play.get_by_role("combobox", name="Play to run")
    await choice.select_option("more")
    focus = "repl_pair.panels.base.context.Focus(story='cart', variant='cart/Other')"
    async with notebook.pressed(play.get_by_role("button", name="Run", exact=True)):
        await notebook.run_code(f"shell.view.context.set_focus({focus})")
        await expect(play).to_contain_text("cart/Other has not been run yet")
    await expect(play.get_by_role("alert")).to_contain_text("cart/Filled is not in focus any more")
    await expect(play.locator(".rp-id")).to_have_text("cart/Other")
    await expect(choice).to_have_value("")


async def test_a_line_leads_to_its_line_in_the_cell(lab):
    notebook, play = await opened(lab, show())
    details = play.get_by_role("region", name="Details of the line")
    await details.get_by_role("button", name="In[1]:22").click()
    editor = notebook.cells.first.locator(".cm-content")
    await expect(editor).to_be_focused()
    await expect(notebook.page.get_by_role("button", name="Ln 22, Col 1")).to_be_visible()
    await line(play, 7).click()
    await expect(details.get_by_role("button", name="In[1]:13")).to_be_visible()


async def test_where_nothing_is_looked_at_it_states_what_to_do(lab):
    _, play = await opened(lab, show(""), show("cart"))
    await expect(play.first).to_contain_text("Choose a variant in the registry")
    await expect(play.last).to_contain_text("Choose a variant of cart")


async def test_it_can_be_used_by_everyone_light_and_dark(lab):
    notebook, play = await opened(lab, RUN, show())
    await expect(lines(play, selected=True)).to_be_visible()
    for theme in ("light", "dark"):
        await notebook.set_theme(theme)
        await expect(play).to_have_attribute("data-theme", theme)
        for place in (4, 5, 6, 1):
            await line(play, place).click()
            await expect(line(play, place)).to_have_attribute("aria-selected", "true")
            assert await find_barriers(notebook.page, ".rp-play") == []
