"""A text that a kernel keeps is searched whole, by its forms of secrets, before pages leave."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from repl_pair.errors import RequestError
from repl_pair.wire import Reply, error_reply

FindSecrets: TypeAlias = Callable[[str], Sequence[Sequence[int]]]
"""Gives where secrets stand in a text: from, to, from, to; then those that this lays open."""
Request: TypeAlias = Callable[..., Awaitable[Reply]]
_TRIES = 3
"""How often a text is searched anew that another server, or a new secret, has changed meanwhile."""


async def read_searched(
    find: FindSecrets, search: Request, make: Request, handle: str, **how: Any
) -> Reply:
    """Answer `make`, which reads a page of what is kept, once its text was searched whole.

    Cut into pages, a secret has no form that is known. Where the search fails nothing is read.
    """
    found: dict[str, Any] = {}
    for _ in range(_TRIES):
        reply = await search({"handle": handle, **found})
        if not reply["ok"] and reply["error"]["code"] != "not_found":
            return reply
        text = reply["result"].get("text") if reply["ok"] else None
        if text is None:
            return await make(**how)
        found = {"chars": len(text), "rounds": find(text)}
    return error_reply(RequestError("unreadable", "This text changes too often. Read it again."))
