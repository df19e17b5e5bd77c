"""A cell that waits for an agent's run says so in JupyterLab, and its notebook keeps nothing."""

import asyncio

import pytest
from front_ends.bounds import wait_until
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

STORY = """
import time, pathlib, repl_pair
def wait():
    pathlib.Path({gate!r}).mkdir()
    while not pathlib.Path({gate!r}, "open").exists():
        time.sleep(0.01)
repl_pair.story("shop.slow")(wait)
repl_pair.variant("shop.slow/It")
"""
NOTICE = "this cell waits for a run of shop.slow/It (agent"


async def test_a_cell_shows_what_it_waits_for_and_only_its_own_output_once_it_ran(
    lab, attach, tmp_path
):
    gate = tmp_path / "gate"
    notebook = await lab.notebook(STORY.format(gate=str(gate)))
    await notebook.run_all()
    outputs = notebook.page.locator(".jp-Cell").last.locator(".jp-OutputArea-output")
    async with attach(notebook) as agent:
        running = asyncio.create_task(agent.ask("run_variant", variant_id="shop.slow/It"))
        await wait_until(gate.exists, "the run")
        cell = asyncio.create_task(notebook.run_cell("6 * 7"))
        await expect(outputs).to_contain_text(NOTICE)
        (gate / "open").touch()
        await cell
        assert (await running)["result"]["status"] == "pass"
    await expect(outputs).to_have_text("42")
    await notebook.do("docmanager:save")
    saved = await notebook.page.evaluate(
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.model.toJSON())"
    )
    assert NOTICE not in saved
