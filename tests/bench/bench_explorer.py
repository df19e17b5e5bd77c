"""What the registry explorer takes in JupyterLab: scrolls and frames over 100,000 variants."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from front_ends.bounds import ask
from front_ends.browsing import open_browser
from front_ends.crowd import PLACES, ROW, SCROLL, SHOW, SWEEP, UPDATES, open_crowd
from front_ends.lab import Lab, LabNotebook
from front_ends.measuring import Frames, count_frames
from front_ends.server import jupyter_server
from front_ends.sessions import open_sessions
from front_ends.watching import watch
from install import find_chromium
from measure import Row, row, scaled
from missing import miss
from playwright.async_api import async_playwright, expect

UPDATE_S = 30
IDLE_MS = 1_500
MANY = 5_000
BURST = "for n in range({}):\n    repl_pair.variant(f'burst/N{{n:04}}')"


def figures() -> list[Row]:
    return asyncio.run(measure())


async def measure() -> list[Row]:
    async with open_lab() as lab:
        notebook, _ = await open_crowd(lab)
        return [*await crowd_rows(notebook), await burst_row(lab)]


async def crowd_rows(notebook: LabNotebook) -> list[Row]:
    """Measure scrolls, a sweep and results that keep coming, each beside frames of an idle page."""
    page = notebook.page
    idle = await idle_frames(page)
    found = await ask(page, SCROLL, [PLACES[: scaled(len(PLACES), 2)], ROW])
    async with count_frames(page) as swept:
        await ask(page, SWEEP, [0, scaled(40_000, 800), 80])
    await notebook.run_code(UPDATES)
    async with count_frames(page) as updated:
        await notebook.run_code(f"begin({scaled(UPDATE_S, 1)})\nfinished.wait()")
    return [
        row(
            "rows of 100,000 in the explorer are there after a scroll, at most",
            max(each["ms"] for each in found),
            "ms",
            baseline=median(idle.deltas_ms),
            baseline_what="a frame of the idle page",
            budget="<= 300",
        ),
        frames_row("while it is swept", swept, idle),
        frames_row("while 100 results a second come", updated, idle),
    ]


async def burst_row(lab: Lab) -> Row:
    """Measure the longest frame while a cell registers many variants."""
    notebook = await lab.notebook("import repl_pair\nrepl_pair.story('burst')(lambda a=1: a)", SHOW)
    await notebook.run_all()
    story = notebook.page.get_by_role("tree", name="Registry").locator("[data-key=burst]")
    await expect(story).to_be_visible()
    idle = await idle_frames(notebook.page)
    many = scaled(MANY, 50)
    async with count_frames(notebook.page) as frames:
        await notebook.run_cell(
            f"for n in range({many}):\n    repl_pair.variant(f'burst/N{{n:04}}')"
        )
        label = f"burst, story, {many} variants: {many} not run"
        await expect(story).to_have_attribute("aria-label", label)
    return row(
        f"the longest frame of the explorer while a cell registers {MANY:,} variants",
        max(frames.deltas_ms),
        "ms",
        baseline=max(idle.deltas_ms),
        baseline_what="the longest of the idle page",
        budget="<= 1000",
    )


def frames_row(when: str, frames: Frames, idle: Frames) -> Row:
    return row(
        f"frames of the explorer over 100,000 variants {when}, p95",
        frames.p95_ms,
        "ms",
        baseline=idle.p95_ms,
        baseline_what="frames of the idle page",
        budget="ratio <= 1.5",
    )


async def idle_frames(page: Any) -> Frames:
    """Count the frames of a page in which nobody does anything."""
    async with count_frames(page) as frames:
        await page.wait_for_timeout(IDLE_MS)
    return frames


@asynccontextmanager
async def open_lab() -> AsyncGenerator[Lab]:
    """Start JupyterLab and Chromium during the block."""
    program = find_chromium() or miss("there is no Chromium: `make browser` installs it")
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(jupyter_server(folder))
        server.forget_settings()
        playwright = await stack.enter_async_context(async_playwright())
        home = folder / "chromium"
        browser = await stack.enter_async_context(
            open_browser(playwright, program, home, server.picture)
        )
        sessions = await stack.enter_async_context(open_sessions(playwright, server))
        watched = await stack.enter_async_context(watch(browser))
        yield Lab(server=server, sessions=sessions, watched=watched)
