"""Chromium, cut off from the net; its one profile keeps what it compiled from page to page."""

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass

from front_ends.bounds import BOUND_MS, visit

ARGUMENTS = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--process-per-site",
)
LOOK = {"viewport": {"width": 1400, "height": 1000}, "color_scheme": "light"}
PATIENT = """
const { timeout } = AbortSignal;
AbortSignal.timeout = (ms) => timeout.call(AbortSignal, 30 * ms);
"""
"""On a busy machine a page takes longer than the 2 s that anywidget gives a panel's script."""
STORED = "cache_storage,cookies,file_systems,indexeddb,local_storage,service_workers"


@dataclass(kw_only=True)
class Browser:
    """A browser with one page of its own, whose process the pages of tests share."""

    context: object
    anchor: object
    devtools: object

    @property
    def pages(self):
        return [page for page in self.context.pages if page is not self.anchor]

    async def forget_pages(self):
        """Close them; what they stored and were permitted goes too, the caches stay."""
        for page in self.pages:
            await page.close()
        await self.context.clear_permissions()
        await self.devtools.send(
            "Storage.clearDataForOrigin", {"origin": "*", "storageTypes": STORED}
        )


@asynccontextmanager
async def open_browser(playwright, program, home, address):
    """Its own page shows the address, since a process ends with the last page of its site."""
    # Chromium refuses its sandbox to root.
    own = () if os.geteuid() else ("--no-sandbox",)
    context = await playwright.chromium.launch_persistent_context(
        home / "profile",
        executable_path=program,
        args=[*ARGUMENTS, *own],
        env={**os.environ, "HOME": str(home)},
        **LOOK,
    )
    context.set_default_timeout(BOUND_MS)
    await context.add_init_script(PATIENT)
    (anchor,) = context.pages
    await visit(anchor, address)
    devtools = await context.new_cdp_session(anchor)
    try:
        yield Browser(context=context, anchor=anchor, devtools=devtools)
    finally:
        await context.close()
