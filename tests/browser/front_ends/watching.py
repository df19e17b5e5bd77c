"""A browser's context whose every request and error is noted."""

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from front_ends.bounds import BOUND_MS

LOCAL = {"blob", "data"}
LOOPBACK = "127.0.0.1"
ALLOWED_ERRORS = (
    # Lab drops what it had asked of the kernel before a restart.
    r"Canceled future for \w+ message before replies were done",
    # Notebook 7 has neither the file browser nor a setting that its plugins ask for.
    r"^Error: Command 'filebrowser:open-path' not registered",
    r"^TypeError: Cannot read properties of undefined \(reading 'schema'\)\s+at \S+/notebook/",
)
"""Patterns of what the front ends themselves log as errors."""


@dataclass(kw_only=True)
class Watched:
    """`external`: addresses asked for outside this machine; `errors`: of console and page."""

    context: object
    external: list = field(default_factory=list)
    errors: list = field(default_factory=list)

    def see_address(self, address):
        parts = urlsplit(address)
        if parts.scheme not in LOCAL and parts.hostname != LOOPBACK:
            self.external.append(address)

    def see_message(self, message):
        if message.type == "error":
            self.see_error(f"{message.text} ({message.location.get('url', '')})")

    def see_error(self, text):
        if not any(re.search(pattern, text) for pattern in ALLOWED_ERRORS):
            self.errors.append(text)

    def check(self):
        seen = {"external": self.external, "errors": self.errors}
        assert seen == {"external": [], "errors": []}

    async def open_page(self):
        page = await self.context.new_page()
        page.on("websocket", lambda socket: self.see_address(socket.url))
        return page

    async def take_pictures(self, folder):
        """Give the files of what each page shows."""
        files = [folder / f"page-{number}.png" for number in range(len(self.context.pages))]
        for page, file in zip(self.context.pages, files, strict=True):
            await page.screenshot(path=file)
        return files


@asynccontextmanager
async def watched_context(browser):
    context = await browser.new_context(
        viewport={"width": 1400, "height": 1000},
        color_scheme="light",
    )
    context.set_default_timeout(BOUND_MS)
    watched = Watched(context=context)
    context.on("request", lambda request: watched.see_address(request.url))
    context.on("console", watched.see_message)
    context.on("weberror", lambda error: watched.see_error(error.error.stack or str(error.error)))
    try:
        yield watched
    finally:
        await context.close()
