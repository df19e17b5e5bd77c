"""Keeps what was elided, already redacted, for those it was elided for to read on."""

import json
import os
import threading
from collections.abc import Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.marks import hide_spans
from repl_pair.wire import REDACTED, Json, may_have


class Handles:
    """JSON values by handle, the least recently used dropped beyond `limit_chars` of JSON."""

    def __init__(self, limit_chars: int = 8_000_000, *, needles: Needles = NEEDLES) -> None:
        self.limit_chars = limit_chars
        self._needles = needles
        self._kept: dict[str, tuple[str, Any, int]] = {}
        self._searched = set[str]()
        self._chars = 0
        self._lock = threading.Lock()

    def keep(self, value: Json, principal: str) -> str:
        """Keep a redacted value for one principal, whatever its size; return its random handle."""
        handle, chars = f"h-{os.urandom(12).hex()}", len(json.dumps(value))
        with self._lock:
            self._kept[handle] = (principal, value, chars)
            self._chars += chars
            while self._chars > self.limit_chars and len(self._kept) > 1:
                dropped = next(iter(self._kept))
                self._searched.discard(dropped)
                self._chars -= self._kept.pop(dropped)[2]
        return handle

    def search(
        self, handle: str, principal: str, chars: int, rounds: Sequence[Sequence[int]]
    ) -> str | None:
        """Hide what a server found in a text of so many characters: from, to, from, to, a round.

        Return the text that is to be searched; None once it was, and for what is no text.
        RequestError `not_found` as `read`.
        """
        text = self._find(handle, principal)
        if type(text) is not str or handle in self._searched:
            return None
        is_searched = chars == len(text)
        text = text if is_searched else self._needles.scrub(text)[0]
        for ends in rounds if is_searched else ():
            text = hide_spans(text, zip(ends[::2], ends[1::2], strict=True))
        with self._lock:
            if handle in self._kept and handle not in self._searched:
                owner, _, kept = self._kept[handle]
                self._kept[handle] = owner, text, kept
                self._searched |= {handle} if is_searched else set()
        return None if is_searched else text

    def read(self, handle: str, offset: int, limit: int, principal: str) -> dict[str, Any]:
        """Return a page: `{type, offset, text | items, total, next_offset?}`.

        `offset`, `limit` and `total` count characters of a str, items of a list, and entries of a
        dict, which come as `{"key", "value"}`. No page of a str ends within a marker. A page that
        exceeds the egress limits is elided again on its way out. RequestError `not_found` for a
        handle that is unknown, dropped or another agent's; `bad_arguments` for an offset below 0 or
        past the end, or a limit below 1.
        """
        if type(offset) is not int or type(limit) is not int or offset < 0 or limit < 1:
            what = f"offset must be an int from 0 and limit an int from 1, not {offset!r} and"
            raise RequestError("bad_arguments", f"{what} {limit!r}.")
        value, end = self._find(handle, principal), offset + limit
        kind, whole = "list", value if real_class(value) is list else [value]
        if type(value) is str:
            # A secret that was learned since must not leave in two halves on two pages.
            kind, whole = "str", self._needles.scrub(value)[0]
            end = _end_of_page(whole, offset, end)
        elif real_class(value) is dict:
            kind, whole = "dict", [{"key": key, "value": item} for key, item in value.items()]
        if offset and offset >= len(whole):
            raise RequestError(
                "bad_arguments",
                f"offset {offset} is past the end: {len(whole)} {_PARTS[kind]} of this value are "
                "kept. If it had more, ask for a part of it: with a path, a filter or a lower "
                "limit in the call that gave the handle.",
            )
        page = whole[offset:end]
        shown = {"text" if kind == "str" else "items": page, "total": len(whole)}
        more = {"next_offset": end} if end < len(whole) else {}
        return {"type": kind, "offset": offset, **shown, **more}

    def _find(self, handle: str, principal: str) -> Any:
        with self._lock:
            entry = self._kept.get(handle)
            if entry and may_have(principal, entry[0]):
                self._kept[handle] = self._kept.pop(handle)
        if entry is None or not may_have(principal, entry[0]):
            raise RequestError(
                "not_found",
                "There is no such handle: handles are dropped when newer ones need the room, and"
                " are readable only by whom they were given to. Make the call again that gave it.",
            )
        return entry[1]


def _end_of_page(text: str, start: int, end: int) -> int:
    """Return where a page of a text ends: before a marker that it would cut, or that one's end."""
    size = len(REDACTED)
    at = text.rfind(REDACTED, max(0, end - size + 1), end + size - 1)
    return end if at < 0 else at if at > start else at + size


_PARTS = {"str": "characters", "list": "items", "dict": "entries"}
HANDLES = Handles()
"""What was too large for the replies of this process."""
