"""The server's notebooks and kernels, over its REST API."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import nbformat

from front_ends.bounds import BOUND_MS


@dataclass(kw_only=True)
class Sessions:
    """Makes notebooks, each with a kernel that runs before a page opens it."""

    server: object
    api: object
    ids: list = field(default_factory=list)

    async def make_notebook(self, cells, name, kernel_id=None):
        """Return the path of the new file and the id of its kernel."""
        # A page finds its kernel by the path alone, and the server remembers paths.
        path = f"{name}-{self.server.count()}.ipynb"
        document = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(document, self.server.folder / path)
        kernel = {"id": kernel_id} if kernel_id else {"name": "python3"}
        about = {"path": path, "name": path, "type": "notebook", "kernel": kernel}
        reply = await self.api.post("api/sessions", data=about)
        assert reply.ok, await reply.text()
        session = await reply.json()
        self.ids.append(session["id"])
        return path, session["kernel"]["id"]

    async def end(self):
        for id in self.ids:
            reply = await self.api.delete(f"api/sessions/{id}")
            # Sessions that share a kernel end with it.
            assert reply.ok or reply.status == 404, await reply.text()


@asynccontextmanager
async def open_sessions(playwright, server):
    api = await playwright.request.new_context(
        base_url=server.url,
        extra_http_headers={"Authorization": f"token {server.token}"},
        timeout=BOUND_MS,
    )
    sessions = Sessions(server=server, api=api)
    try:
        yield sessions
    finally:
        await sessions.end()
        await api.dispose()
