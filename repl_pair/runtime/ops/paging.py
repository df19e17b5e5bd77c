"""Pages of lists: bounded, in a stable order, with a cursor that knows when it is stale."""

import base64
import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Annotated, Any

from repl_pair.errors import RequestError
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.list_answers import Page
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_ids

Limit = Annotated[int, "Items per page, 1 to 200"]
Cursor = Annotated[str | None, "From the previous page"]


DEFAULT_LIMIT = 25
MAX_LIMIT = 200


def page(
    ids: Sequence[str],
    describe: Callable[[str], Any],
    *,
    limit: int,
    cursor: str | None,
    revision: int,
    query: Any,
) -> Page[Any]:
    """Return `{items, total, cursor?}`; a cursor holds for one revision and one query only."""
    if not 1 <= limit <= MAX_LIMIT:
        raise RequestError("bad_arguments", f"limit is {limit}; it goes from 1 to {MAX_LIMIT}.")
    start = 0 if cursor is None else _read_cursor(cursor, _mark(revision, query))
    end = start + limit
    answer: Page[Any] = {"items": [describe(id) for id in ids[start:end]], "total": len(ids)}
    if end < len(ids):
        mark = _mark(revision, query)
        answer["cursor"] = base64.urlsafe_b64encode(f"{mark}:{end}".encode()).decode()
    return answer


def page_of(
    call: Call,
    kind: str,
    describe: Callable[[Entry], dict[str, Any]],
    limit: int,
    cursor: str | None,
    *,
    ids: Sequence[str] | None = None,
    query: Sequence[Any] = (),
    then: str = "",
) -> Page[Any]:
    """Return a page of the entries of a kind, each as `describe` gives it.

    Without `ids` it is of all that are visible; `then` is suggested with the first id of the page.
    """
    call.max_items = limit

    def line(id: str) -> dict[str, Any]:
        entry = REGISTRY.find(kind, id)
        return {"id": id} if entry is None else describe(entry)

    chosen = page(
        visible_ids(call.view, kind) if ids is None else ids,
        line,
        limit=limit,
        cursor=cursor,
        revision=REGISTRY.revision,
        query=[kind, *query, call.view.tier],
    )
    if then:
        call.suggest(*(then.format(item["id"]) for item in chosen["items"][:1]))
    return chosen


def _mark(revision: int, query: Any) -> str:
    return sha256(json.dumps([revision, query], default=str).encode()).hexdigest()[:12]


def _read_cursor(cursor: str, mark: str) -> int:
    try:
        found, _, start = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
        offset = int(start)
    except ValueError as error:
        raise RequestError(
            "stale_cursor", "That is no cursor of this list: call again without a cursor."
        ) from error
    if found != mark:
        raise RequestError(
            "stale_cursor",
            "The list or the question changed since that page: call again without a cursor.",
        )
    return offset
