"""Ops that code in this process calls itself, through the host that answers agents here."""

import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from repl_pair.errors import KernelError
from repl_pair.records import Undo
from repl_pair.wire import ProgressContent, Reply, Request, View, error_reply

PERSON = ""
"""The owner of what the person's own code began; no client has this name."""

Submit = Callable[
    [Mapping[str, Any], Callable[[Reply], None], Callable[[ProgressContent], None]], None
]
"""Takes a request and two functions, for its reply and its progress; see `Host.submit`."""


class OwnCalls:
    """The hosts that run own calls, and what is to end with its owner; see `OWN_CALLS`."""

    def __init__(self) -> None:
        self._handlers: dict[object, Submit] = {}
        self._held: dict[object, tuple[str, Callable[[], object]]] = {}

    @property
    def has_handler(self) -> bool:
        """Return whether a host runs own calls."""
        return bool(self._handlers)

    def serve(self, submit: Submit) -> Undo:
        """Let a host run own calls; the undo of the last host ends what agents began."""
        token = object()
        self._handlers[token] = submit

        def undo() -> None:
            if self._handlers.pop(token, None) and not self._handlers:
                self.keep_only(())

        return undo

    def run(
        self, op: str, args: Mapping[str, Any], *, view: View, done: Callable[[Reply], None]
    ) -> None:
        """Call an op as the view; `done` gets the reply on any thread: `detached` if no host is."""
        request = Request(op=op, args=args, call=uuid.uuid4().hex, view=view)
        latest = next(reversed(self._handlers.values()), None)
        if latest is None:
            done(
                error_reply(KernelError("detached", f"repl_pair is detached: {op} was not called."))
            )
        else:
            latest(request.to_wire(), done, lambda _progress: None)

    def hold(self, owner: str, end: Callable[[], object]) -> Undo:
        """Call `end` when its owner, a client id or a principal, is gone; the undo forgets it."""
        token = object()
        self._held[token] = owner, end
        return lambda: self._held.pop(token, None)

    def keep_only(self, owners: Collection[str]) -> None:
        """End everything whose owner is not among `owners`, except what the person began."""
        self.end(lambda owner: owner != PERSON and owner not in owners)

    def end(self, applies: Callable[[str], bool] = lambda _owner: True) -> None:
        """End what belongs to an owner to which this applies, else all, also of the person."""
        for owner, end in list(self._held.values()):
            if applies(owner):
                end()


OWN_CALLS = OwnCalls()
"""The own calls of this process."""
