"""Front ends in Chromium, cut off from the net; agents beside them in the same kernels."""

import asyncio
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import pytest
from front_ends.bounds import BOUND_MS, BOUND_S, visit
from front_ends.browsing import open_browser
from front_ends.lab import Lab
from front_ends.marimo import marimo_server
from front_ends.measuring import find_barriers
from front_ends.notebook7 import open_notebook7
from front_ends.server import jupyter_server
from front_ends.sessions import open_sessions
from front_ends.watching import watch
from install import find_chromium, has_axe
from mcp import Client, StdioServerParameters
from missing import miss
from playwright.async_api import async_playwright, expect

FAILED = pytest.StashKey[bool]()
HOW = "`make browser` installs it, or says why it cannot"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
async def playwright():
    expect.set_options(timeout=BOUND_MS)
    async with async_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
async def browser(playwright, server, tmp_path_factory):
    program = find_chromium() or miss(f"there is no Chromium: {HOW}")
    home = tmp_path_factory.mktemp("chromium")
    async with open_browser(playwright, program, home, server.picture) as browser:
        yield browser


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with jupyter_server(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture
async def watched(browser, server, request, tmp_path):
    """Fresh pages; fails where something left this machine or an error was logged."""
    async with watch(browser) as watched:
        yield watched
        if request.node.stash.get(FAILED, False):
            for file in await watched.take_pictures(tmp_path):
                print(f"what the page showed: {file}")
            print(server.stacks())
        watched.check()


@pytest.fixture
async def sessions(playwright, server):
    """Notebooks and their kernels; these end after the pages, which would complain."""
    server.forget_settings()
    async with open_sessions(playwright, server) as sessions:
        yield sessions


@pytest.fixture
def lab(server, sessions, watched):
    """JupyterLab: `notebook = await lab.notebook(cell, …)`."""
    return Lab(server=server, sessions=sessions, watched=watched)


@pytest.fixture
def notebook7(server, sessions, watched):
    """Notebook 7: `notebook = await notebook7(cell, …)`."""
    return partial(open_notebook7, server, sessions, watched)


@pytest.fixture
async def marimo(watched, tmp_path):
    """An app of marimo's: `page = await marimo(cell, …)`."""
    async with AsyncExitStack() as stack:

        async def open_app(*cells):
            address = stack.enter_context(marimo_server(tmp_path, *cells))
            page = await watched.open_page()
            await visit(page, address)
            return page

        yield open_app


@pytest.fixture(scope="session")
def axe():
    """Finds barriers to people: `assert await axe(page, selector) == []`."""
    if not has_axe():
        miss(f"there is no axe-core: {HOW}")
    return find_barriers


class Agent:
    """A client of the real server, over stdio."""

    def __init__(self, client):
        self.client = client

    async def ask(self, tool, /, **args):
        """Call a tool; gives the envelope."""
        async with asyncio.timeout(3 * BOUND_S):
            return (await self.client.call_tool(tool, args)).structured_content


@pytest.fixture
def attach():
    """Attaches agents: `async with attach(notebook, "--allow", "inspect") as agent:`."""

    @asynccontextmanager
    async def open_agent(notebook, *options):
        target = StdioServerParameters(
            command=sys.executable,
            args=["-m", "repl_pair", "mcp", "--kernel", str(notebook.connection_file), *options],
            env=notebook.server.environment,
        )
        async with Client(target) as client:
            yield Agent(client)

    return open_agent
