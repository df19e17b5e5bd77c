"""Writes the pictures of the README from the example notebook: `make screenshots`."""

import asyncio
import tempfile
from pathlib import Path

import nbformat
from front_ends.browsing import open_browser
from front_ends.lab import Lab
from front_ends.server import jupyter_server
from front_ends.sessions import open_sessions
from front_ends.watching import watch
from install import find_chromium
from playwright.async_api import async_playwright

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "explore_registries.ipynb"
PICTURES = ROOT / "docs" / "images"
SIZE = {"width": 1500, "height": 1000}


def cells():
    """Return the code of the notebook up to the first shell after a run."""
    code = [c.source for c in nbformat.read(NOTEBOOK, as_version=4).cells if c.cell_type == "code"]
    before = [cell for cell in code if not cell.startswith("rp.show(")][:2]
    return [*before, "rp.show()"]


async def take(lab, theme):
    notebook = await lab.notebook(*cells())
    page = notebook.page
    await page.set_viewport_size(SIZE)
    await notebook.set_theme(theme)
    await notebook.run_all()
    await page.get_by_role("treeitem", name="Wrong").first.click()
    canvas = page.get_by_role("region", name="Canvas", exact=True)
    await canvas.get_by_text("shop.total/Wrong").first.wait_for()
    await canvas.get_by_role("button", name="Run", exact=True).click()
    await canvas.get_by_text('"currency": "EUR"').wait_for()
    await page.get_by_role("region", name="Play", exact=True).get_by_text("approx").first.wait_for()
    await page.mouse.move(0, 0)
    await page.locator(".rp-shell").screenshot(path=PICTURES / f"shell-{theme}.png")


async def main():
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, jupyter_server(Path(folder)) as server:
        async with (
            async_playwright() as playwright,
            open_browser(
                playwright, find_chromium(), Path(folder) / "chromium", server.picture
            ) as browser,
        ):
            for theme in ("light", "dark"):
                async with (
                    watch(browser) as watched,
                    open_sessions(playwright, server) as sessions,
                ):
                    await take(Lab(server=server, sessions=sessions, watched=watched), theme)


if __name__ == "__main__":
    asyncio.run(main())
