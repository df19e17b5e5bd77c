"""Pages of lists: those that the server gives have one order, size and kind of cursor."""

import hashlib
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any, TypeVar

from mcp import types
from mcp.shared.exceptions import MCPError

from repl_pair.bridge.session import Session

PAGE = 128
"""How many items a page has: as many tools as hosts take, and all that a server can list."""
LIMIT = 200
"""How many items are read of an op at once."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


async def read_items(session: Session, op: str) -> AsyncGenerator[Mapping[str, Any]]:
    """Yield what an op lists, page by page, up to where the kernel does not answer.

    Who leaves it before its end closes it, as with `aclosing`.
    """
    args: dict[str, Any] = {"limit": LIMIT}
    while args.get("cursor", "") is not None:
        reply = await session.call(op, args, is_reported=False)
        if not reply["ok"]:
            _log.warning("%s was not read to its end: %s", op, reply["error"]["code"])
            return
        for item in reply["result"]["items"]:
            yield item
        args["cursor"] = reply["result"].get("cursor")


def page_of(
    params: types.PaginatedRequestParams | None, found: Iterable[T], key: Callable[[T], str]
) -> tuple[list[T], str | None]:
    """Return the page that is asked for, sorted by unique keys, and the cursor of the next one.

    A cursor holds for one list: MCPError once an item came or went, as for one that is none.
    """
    items = sorted(found, key=key)
    mark = _digest(repr([key(item) for item in items]))
    starts = {_digest(f"{mark}{at}"): at for at in range(PAGE, len(items), PAGE)}
    cursor = None if params is None else params.cursor
    if cursor is not None and cursor not in starts:
        raise MCPError(types.INVALID_PARAMS, "Unknown cursor, or the list changed: list anew.")
    end = (0 if cursor is None else starts[cursor]) + PAGE
    following = next((each for each, at in starts.items() if at == end), None)
    return items[end - PAGE : end], following


def _digest(text: str) -> str:
    # A hash: a name that looks like a secret must not leave in a form that no pattern finds.
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
