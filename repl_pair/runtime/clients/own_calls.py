"""What this process asks of itself: calls of ops, taken by the host that answers agents here."""

import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from repl_pair.records import Undo
from repl_pair.wire import Reply, Request, View

PERSON = ""
"""Who holds what the person's own code began: no client's name."""


class RequestHandler(Protocol):
    """Takes requests, as a host does."""

    def submit(
        self,
        content: Mapping[str, Any],
        reply: Callable[[Reply], None],
        progress: Callable[[dict[str, Any]], None],
    ) -> None:
        """Take one request and return at once; `reply` is called exactly once, on any thread."""
        ...


class OwnCalls:
    """Who takes errands here, and who asked for them; see `OWN_CALLS`."""

    def __init__(self) -> None:
        self._takers: list[RequestHandler] = []
        self._held: dict[object, tuple[str, Undo]] = {}

    @property
    def has_handler(self) -> bool:
        """Return whether anyone takes errands."""
        return bool(self._takers)

    def serve(self, taker: RequestHandler) -> Undo:
        """Let a host take errands; behind the last one ends what agents began."""
        self._takers.append(taker)

        def undo() -> None:
            self._takers.remove(taker)
            if not self._takers:
                self.keep_only(())

        return undo

    def run(
        self, op: str, args: Mapping[str, Any], *, view: View, done: Callable[[Reply], None]
    ) -> None:
        """Call an op as the view; `done` takes the reply, on any thread."""
        request = Request(op=op, args=args, call=uuid.uuid4().hex, view=view)
        self._takers[-1].submit(request.to_wire(), done, lambda _told: None)

    def hold(self, owner: str, end: Undo) -> Undo:
        """Call `end` once its owner, a client or its principal, is gone; the undo forgets that."""
        token = object()
        self._held[token] = owner, end

        def undo() -> None:
            self._held.pop(token, None)

        return undo

    def keep_only(self, owners: Collection[str]) -> None:
        """End what belongs to none of these owners, nor to the person."""
        for owner, end in list(self._held.values()):
            if owner != PERSON and owner not in owners:
                end()

    def end_of(self, owner: str) -> None:
        """End what belongs to one owner."""
        for held_by, end in list(self._held.values()):
            if held_by == owner:
                end()

    def end_all(self) -> None:
        """End whatever anyone began, the person too."""
        for _owner, end in list(self._held.values()):
            end()


OWN_CALLS = OwnCalls()
"""The errands of this process."""
