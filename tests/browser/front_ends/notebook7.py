"""Notebook 7, which shows no handle to its app: driven by the keyboard."""

from dataclasses import dataclass

from playwright.async_api import expect

from front_ends.bounds import visit

KERNEL_NAME = ".jp-Toolbar-kernelName"
IS_IDLE = ".jp-Notebook-ExecutionIndicator[data-status=idle]"


@dataclass(kw_only=True)
class Notebook7:
    """A notebook open in Notebook 7: `page` is Playwright's."""

    page: object

    async def run_first(self):
        """Run the first cell with the keyboard; it may still run afterwards."""
        await self.page.locator(".jp-Cell .jp-InputArea-editor").first.click()
        await self.page.keyboard.press("Shift+Enter")


async def open_notebook7(server, sessions, watched, *cells):
    path, _ = await sessions.make_notebook(cells, "classic")
    page = await watched.open_page()
    await visit(page, server.address(f"notebooks/{path}"))
    # It seems idle before it has a kernel, and a cell run then opens a dialog.
    await expect(page.locator(KERNEL_NAME)).to_have_text("Python 3 (ipykernel)")
    await page.locator(IS_IDLE).wait_for(state="attached")
    return Notebook7(page=page)
