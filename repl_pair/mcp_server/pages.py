"""Pages of the server's lists: one order, one size and one kind of cursor for all of them."""

import hashlib
from collections.abc import Callable, Iterable
from typing import TypeVar

from mcp import types
from mcp.shared.exceptions import MCPError

PAGE = 128
"""How many items a page has: as many tools as hosts take, and all that a server can list."""

T = TypeVar("T")


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
