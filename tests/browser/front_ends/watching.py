"""Pages whose every request and error is noted."""

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

LOCAL = {"blob", "data"}
LOOPBACK = "127.0.0.1"
ALLOWED_ERRORS = (
    # Lab drops what it had asked of the kernel before a restart.
    r"Canceled future for \w+ message before replies were done",
    # Nor does it know the comms any more that the kernel closes as it ends.
    r"^Comm not found for comm id",
    # It asks the kernel for each widget that a saved notebook has.
    r"^Error: widget model not found",
    # Notebook 7 has neither the file browser nor a setting that its plugins ask for.
    r"^Error: Command 'filebrowser:open-path' not registered",
    r"^TypeError: Cannot read properties of undefined \(reading 'schema'\)\s+at \S+/notebook/",
    # The browser names what it keeps the HTML of a component from.
    r"^Blocked script execution in 'about:srcdoc'",
    r"^Refused to execute the redirect specified via",
    r"because the form's frame is sandboxed",
    r"violates the (following|document's) Content Security Policy",
)
"""Patterns of what the front ends themselves log as errors."""


@dataclass(kw_only=True)
class Watched:
    """`external`: addresses asked for outside this machine; `errors`: of console and page."""

    browser: object
    external: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    heard: list = field(default_factory=list)

    def hear(self, event, hearer):
        """Hear an event of the browser until the test ends."""
        self.browser.context.on(event, hearer)
        self.heard.append((event, hearer))

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
        page = await self.browser.context.new_page()
        page.on("websocket", lambda socket: self.see_address(socket.url))
        return page

    async def take_pictures(self, folder):
        """Return the files of what each page shows."""
        pages = self.browser.pages
        files = [folder / f"page-{number}.png" for number in range(len(pages))]
        for page, file in zip(pages, files, strict=True):
            await page.screenshot(path=file)
        return files


@asynccontextmanager
async def watch(browser):
    """Watch the pages that are opened, and close them in the end."""
    watched = Watched(browser=browser)
    watched.hear("request", lambda request: watched.see_address(request.url))
    watched.hear("console", watched.see_message)
    watched.hear("weberror", lambda seen: watched.see_error(seen.error.stack or str(seen.error)))
    try:
        yield watched
    finally:
        await browser.forget_pages()
        for event, hearer in watched.heard:
            browser.context.remove_listener(event, hearer)
