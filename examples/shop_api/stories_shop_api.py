"""Stories of the service: its answers to good, bad and greedy requests, over ASGI, no socket."""

from typing import Any

import api
import httpx

import repl_pair
from repl_pair import check


class Shop:
    """A service of its own for each run, and the last answer that it gave."""

    def __init__(self) -> None:
        transport = httpx.ASGITransport(app=api.make_app())
        self._client = httpx.AsyncClient(transport=transport, base_url="http://shop")
        self.status = 0
        self.answer: Any = None

    async def get(self, path: str) -> None:
        """Ask for a page."""
        self._keep(await self._client.get(path))

    async def order(self, **body: Any) -> None:
        """Order something."""
        self._keep(await self._client.post("/orders", json=body))

    def _keep(self, reply: httpx.Response) -> None:
        self.status, self.answer = reply.status_code, reply.json()


def answers(status: int, answer: Any = None) -> list[list[Any]]:
    """Expect a status, and perhaps the whole answer."""
    checks = [] if answer is None else [check.path_equals("state.answer", answer)]
    return [check.path_equals("state.status", status), *checks, check.no_warnings()]


repl_pair.story("shop.api", component=Shop, tags=["test"])
repl_pair.variant(
    "shop.api/Stock",
    events=[["get", {"path": "/stock"}]],
    play=answers(200, {"tea": 5, "cup": 1}),
)
repl_pair.variant(
    "shop.api/Ordered",
    doc="What is ordered is gone from the stock.",
    events=[["order", {"sku": "tea", "quantity": 2}], ["get", {"path": "/stock"}]],
    play=answers(200, {"tea": 3, "cup": 1}),
)
repl_pair.variant(
    "shop.api/Sold_out",
    events=[["order", {"sku": "cup"}], ["order", {"sku": "cup"}]],
    play=answers(409, {"detail": "only 0 of 'cup' left"}),
)
repl_pair.variant(
    "shop.api/Unknown",
    events=[["order", {"sku": "pot"}]],
    play=answers(404, {"detail": "no 'pot' is sold here"}),
)
repl_pair.variant(
    "shop.api/Greedy",
    doc="More than one may order: the answer says where the limit is.",
    events=[["order", {"sku": "tea", "quantity": 11}]],
    play=[
        *answers(422),
        check.path_equals("state.answer.detail[0].loc", ["body", "quantity"]),
        check.contains("state.answer.detail[0].msg", "less than or equal to 10"),
    ],
)

repl_pair.story("shop.schema", component=lambda: api.make_app().openapi(), tags=["test"])
repl_pair.variant(
    "shop.schema/Orders",
    doc="What clients rely on.",
    play=[
        check.path_equals('result.components.schemas["Order"].required', ["sku"]),
        check.contains("result.paths", "/orders"),
    ],
)
