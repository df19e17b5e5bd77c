"""The front ends do in these tests what they do for a person, and the tests can see it."""

import re

import pytest
from front_ends.bounds import visit
from front_ends.measuring import count_frames, measure_heap
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

WIDGET = '''
import anywidget, traitlets

class Panel(anywidget.AnyWidget):
    _esm = """
    export default {
      render({ model, el, signal }) {
        el.tabIndex = 0;
        el.setAttribute("role", "group");
        el.setAttribute("aria-label", model.get("name"));
        if (model.get("stops")) el.addEventListener("keydown", (event) => event.stopPropagation());
        const count = document.createElement("button");
        const show = () => { count.textContent = `count ${model.get("count")}`; };
        count.addEventListener("click", () => {
          model.set("count", model.get("count") + 1);
          model.save_changes();
        });
        model.on("change:count", show);
        show();
        el.append(count);
      },
    };
    """
    name = traitlets.Unicode("panel").tag(sync=True)
    stops = traitlets.Bool(True).tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
'''
SHOW = "panel = Panel()\npanel"
FRAMES = """async ({ count, work_ms }) => {
  for (let frame = 0; frame < count; frame += 1) {
    const end = performance.now() + work_ms;
    while (performance.now() < end);
    await new Promise(requestAnimationFrame);
  }
}"""
UNNAMED = """() => {
  document.body.insertAdjacentHTML("beforeend",
    "<div id=unnamed><button></button></div><div id=named><button>Name</button></div>");
}"""
STORE = "() => { localStorage.mark = document.cookie = 'mark=1'; }"
STORED = "() => Object.keys(localStorage).join() + document.cookie"
PID = "import os; print(os.getpid())"


def count_button(page, count):
    return page.get_by_role("button", name=f"count {count}", exact=True)


def group(page, name):
    return page.get_by_role("group", name=name, exact=True)


async def test_a_widget_shows_in_lab_and_exchanges_messages_with_the_kernel_both_ways(lab):
    notebook = await lab.notebook(WIDGET, SHOW)
    await notebook.run_all()
    await notebook.run_code("panel.count = 7")
    await expect(count_button(notebook.page, 7)).to_be_visible()
    await count_button(notebook.page, 7).click()
    await expect(count_button(notebook.page, 8)).to_be_visible()
    await notebook.run_cell("assert panel.count == 8")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        await notebook.run_cell("1 / 0")


async def test_keys_pressed_in_a_widget_reach_the_notebook_unless_it_stops_them(lab):
    stopping = "Panel(name='stopping')"
    passing = "Panel(name='passing', stops=False)"
    notebook = await lab.notebook(WIDGET, stopping, passing)
    await notebook.run_all()
    for name in ("stopping", "passing"):
        await group(notebook.page, name).focus()
        await notebook.page.keyboard.press("d")
        await notebook.page.keyboard.press("d")
    await expect(group(notebook.page, "passing")).to_have_count(0)
    await expect(notebook.cells).to_have_count(2)
    await expect(group(notebook.page, "stopping")).to_be_visible()


async def test_a_reload_shows_the_widget_of_the_kernel_again(lab):
    notebook = await lab.notebook(WIDGET, SHOW)
    await notebook.run_all()
    await notebook.run_code("panel.count = 3")
    await notebook.reload()
    await expect(count_button(notebook.page, 3)).to_be_visible()


async def test_a_restart_gives_a_new_process_under_the_same_connection_file(lab):
    notebook = await lab.notebook(WIDGET, SHOW)
    before = await notebook.run_code(PID)
    await notebook.restart_kernel()
    assert await notebook.run_code(PID) != before
    await notebook.run_all()
    await expect(count_button(notebook.page, 0)).to_be_visible()


async def test_two_notebooks_show_one_kernel(lab):
    first = await lab.notebook(WIDGET, SHOW)
    await first.run_all()
    second = await lab.notebook("panel", kernel=first)
    await second.run_all()
    await count_button(first.page, 0).click()
    await expect(count_button(second.page, 1)).to_be_visible()


async def test_an_agent_is_answered_by_the_kernel_of_the_notebook_while_its_cell_runs(lab, attach):
    register = "import repl_pair\n\n@repl_pair.story('shop.total')\ndef total():\n    return 1"
    notebook = await lab.notebook(register)
    await notebook.run_all()
    async with attach(notebook) as agent, notebook.busy():
        reply = await agent.ask("list_stories")
    assert [entry["id"] for entry in reply["result"]["items"]] == ["shop.total"]


async def test_the_theme_is_the_one_of_the_host_until_the_test_ends(lab):
    notebook = await lab.notebook()
    body = notebook.page.locator("body")
    await expect(body).to_have_attribute("data-jp-theme-light", "true")
    await notebook.set_theme("dark")
    await expect(body).to_have_attribute("data-jp-theme-light", "false")
    await notebook.set_theme("light")
    await expect(body).to_have_attribute("data-jp-theme-light", "true")


async def test_a_widget_shows_in_notebook_7(notebook7):
    notebook = await notebook7(WIDGET + SHOW)
    await notebook.run_first()
    await count_button(notebook.page, 0).click()
    await expect(count_button(notebook.page, 1)).to_be_visible()


async def test_a_widget_shows_in_marimo(marimo):
    show = "import marimo\n\nmarimo.ui.anywidget(Panel())"
    page = await marimo(WIDGET, show)
    await count_button(page, 0).click()
    await expect(count_button(page, 1)).to_be_visible()


async def test_what_asks_the_net_or_logs_an_error_is_noted(lab):
    notebook = await lab.notebook()
    address = "http://example.org/far.js"
    await notebook.page.evaluate("(address) => fetch(address).catch(() => {})", address)
    await notebook.page.evaluate("() => { setTimeout(() => { throw new Error('thrown') }) }")
    await notebook.page.wait_for_event("pageerror")
    assert lab.external == [address]
    assert re.search("ERR_NAME_NOT_RESOLVED", lab.errors[0])
    assert re.match("Error: thrown\n", lab.errors[1])
    lab.external.clear()
    lab.errors.clear()


async def test_what_a_page_stores_is_forgotten_with_it(browser, server, watched):
    found = []
    for _ in range(2):
        page = await watched.open_page()
        await visit(page, server.picture)
        found.append("mark" in await page.evaluate(STORED))
        await page.evaluate(STORE)
        assert "mark" in await page.evaluate(STORED)
        await browser.forget_pages()
    assert found == [False, False]


async def test_slow_frames_held_memory_and_barriers_are_measured(lab, axe):
    page = (await lab.notebook()).page
    async with count_frames(page) as quick:
        await page.evaluate(FRAMES, {"count": 30, "work_ms": 0})
    async with count_frames(page) as slow:
        await page.evaluate(FRAMES, {"count": 5, "work_ms": 300})
    assert min(quick.deltas_ms) < 300 <= slow.p95_ms
    before = await measure_heap(page)
    await page.evaluate("() => { window.held = new Array(1e6).fill(0).map((_, i) => ({ i })); }")
    assert await measure_heap(page) > before + 8e6
    await page.evaluate(UNNAMED)
    assert [barrier["id"] for barrier in await axe(page, "#unnamed")] == ["button-name"]
    assert await axe(page, "#named") == []
