"""JupyterLab with one notebook a page, driven by its own commands."""

import asyncio
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass
from queue import Empty

from jupyter_client.asynchronous.client import AsyncKernelClient
from playwright.async_api import expect

from front_ends.bounds import BOUND_S, ask, visit, wait_until

HAS_NOTEBOOK = "() => window.jupyterapp?.shell.currentWidget?.sessionContext"
IS_READY = """async () => {
  const { context, sessionContext } = window.jupyterapp.shell.currentWidget;
  await context.ready;
  await sessionContext.ready;
  await sessionContext.session.kernel.info;
}"""
IS_IDLE = """() => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  return kernel.connectionStatus === "connected" && kernel.status === "idle";
}"""
DO = "([command, args]) => window.jupyterapp.commands.execute(command, args)"
RUN_CELL = """async (source) => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = content.widgets.length - 1;
  await window.jupyterapp.commands.execute("notebook:insert-cell-below");
  content.activeCell.model.sharedModel.setSource(source);
  return window.jupyterapp.commands.execute("notebook:run-cell");
}"""
RESTART = "() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()"
ERRORS = ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']"
BUSY = """
import pathlib as _pathlib, time as _time
_pathlib.Path({began!r}).touch()
while not _pathlib.Path({end!r}).exists():
    _time.sleep(0.005)
"""


async def wait_until_subscribed(client):
    """Wait until a subscription is read: ipykernel may leave one until the next one comes."""
    for _ in range(10):
        client.iopub_channel.socket.subscribe(mark := uuid.uuid4().hex)
        try:
            while mark not in str(await client.get_iopub_msg(timeout=BOUND_S / 10)):
                pass
            return
        except Empty:
            continue
    raise AssertionError("the kernel welcomes no subscription")


@dataclass(kw_only=True)
class LabNotebook:
    """A notebook open in JupyterLab: `page` is Playwright's."""

    page: object
    server: object
    name: str
    kernel_id: str

    @property
    def cells(self):
        return self.page.locator(".jp-Notebook .jp-Cell")

    @property
    def connection_file(self):
        return self.server.runtime / f"kernel-{self.kernel_id}.json"

    async def wait_until_ready(self):
        await self.page.wait_for_function(HAS_NOTEBOOK)
        await ask(self.page, IS_READY)
        await self.page.wait_for_function(IS_IDLE)

    async def do(self, command, **args):
        """Execute one of Lab's commands; gives its answer."""
        return await ask(self.page, DO, [command, args])

    async def run_all(self):
        """Run every cell to its end; a cell that fails is an error."""
        assert await self.do("notebook:run-all-cells"), await self.read_errors()

    async def run_cell(self, source):
        """Run it as a new last cell to its end; a cell that fails is an error."""
        assert await ask(self.page, RUN_CELL, source), await self.read_errors()

    async def read_errors(self):
        return "\n".join(await self.page.locator(ERRORS).all_inner_texts()) or "a cell failed"

    async def run_code(self, code):
        """Run code that no notebook shows, by a client of our own; gives what it printed."""
        client = AsyncKernelClient(connection_file=str(self.connection_file))
        client.load_connection_file()
        client.start_channels(hb=False)
        printed = []
        try:
            # On a busy machine the output would come before the subscription stands.
            await wait_until_subscribed(client)
            reply = await client.execute_interactive(
                code,
                store_history=False,
                allow_stdin=False,
                timeout=BOUND_S,
                output_hook=lambda message: printed.append(message["content"].get("text", "")),
            )
        finally:
            client.stop_channels()
        assert reply["content"]["status"] == "ok", reply["content"]
        return "".join(printed)

    @asynccontextmanager
    async def pressed(self, button):
        """The pointer holds a button down for as long as this is open."""
        await button.hover()
        await self.page.mouse.down()
        yield
        await self.page.mouse.up()

    @asynccontextmanager
    async def busy(self):
        """A cell runs for as long as this is open."""
        mark = self.server.folder / f"{self.name}.{self.server.count()}"
        began, end = mark.with_suffix(".began"), mark.with_suffix(".end")
        cell = asyncio.create_task(self.run_cell(BUSY.format(began=str(began), end=str(end))))
        try:
            await wait_until(began.exists, "the cell begins")
            yield
        finally:
            end.touch()
            await cell

    async def restart_kernel(self):
        await ask(self.page, RESTART)
        await self.page.wait_for_function(IS_IDLE)

    async def reload(self):
        """Save and load the page again, as a person does."""
        await self.do("docmanager:save")
        await self.page.reload()
        await self.wait_until_ready()

    async def set_theme(self, name):
        """`light` or `dark`; Lab goes back to light when the test ends."""
        # Lab covers itself while it changes, and fails at a second change under the cover.
        cover = self.page.locator("#jupyterlab-splash")
        await expect(cover).to_have_count(0)
        await self.do("apputils:change-theme", theme=f"JupyterLab {name.title()}")
        light = str(name == "light").lower()
        await expect(self.page.locator("body")).to_have_attribute("data-jp-theme-light", light)
        await expect(cover).to_have_count(0)


@dataclass(kw_only=True)
class Lab:
    """Opens notebooks in JupyterLab."""

    server: object
    sessions: object
    watched: object

    @property
    def external(self):
        """Addresses asked for outside this machine; empty when a test ends, or it fails."""
        return self.watched.external

    @property
    def errors(self):
        """What the console and the pages reported; empty when a test ends, or it fails."""
        return self.watched.errors

    async def notebook(self, *cells, name="notebook", kernel=None):
        """Open a new notebook of these cells; `kernel`: of a notebook whose kernel it shares."""
        shared = kernel and kernel.kernel_id
        path, kernel_id = await self.sessions.make_notebook(cells, name, shared)
        page = await self.watched.open_page()
        opened = LabNotebook(page=page, server=self.server, name=path, kernel_id=kernel_id)
        # A workspace of its own: no page restores what another had open.
        workspace = path.removesuffix(".ipynb")
        await visit(page, self.server.address(f"doc/workspaces/{workspace}/tree/{path}"))
        await opened.wait_until_ready()
        return opened
