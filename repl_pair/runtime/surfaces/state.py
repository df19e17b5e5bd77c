"""What the members of surfaces hold now, each with its revision, and who waits for a change."""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from repl_pair.records import Undo

NOTHING: Any = object()
"""The value of a cell that was never set."""

OnChange = Callable[[str], None]
"""Takes the id of the member that changed; called on the thread that changes it, at each change."""


class State:
    """What one member holds: the value of a cell, the items of a collection, the last entries.

    `revision` counts the changes of all members that ever had this id.
    """

    def __init__(self, id: str, kind: str, revision: int, keep: int) -> None:
        self.id = id
        self.kind = kind
        self.revision = revision
        self.value = NOTHING
        self.items: dict[str, Any] = {}
        self.revisions: dict[str, int] = {}
        """Of each item, at its last change."""
        self.entries: deque[tuple[int, Any]] = deque(maxlen=keep)
        """Of a stream or an event: revision and value, the oldest first."""
        self.watchers: tuple[OnChange, ...] = ()

    def note_change(self) -> None:
        """Count a change; the caller holds LOCK."""
        self.revision += 1

    def announce(self) -> None:
        """Report a change to those who watch; the caller holds no lock."""
        for fn in self.watchers:
            fn(self.id)


STATES: dict[str, State] = {}
"""The state of each declared member, by its id."""
# Reentrant: an object of the person's that is collected inside a write may write too.
LOCK = threading.RLock()
_WATCHERS: dict[str, dict[object, OnChange]] = {}


def declare(id: str, kind: str, *, keep: int = 0) -> State:
    """Return a new state of a member in the place of the one before; that is a change."""
    with LOCK:
        before = STATES.get(id)
        state = State(id, kind, before.revision + 1 if before else 0, keep)
        state.watchers = tuple(_WATCHERS.get(id, {}).values())
        STATES[id] = state
    state.announce()
    return state


def watch(ids: Iterable[str], fn: OnChange) -> Undo:
    """Call `fn` at each change of these members, also of those that are not declared yet."""
    token, watched = object(), tuple(ids)

    def renew(id: str) -> None:
        if (state := STATES.get(id)) is not None:
            state.watchers = tuple(_WATCHERS.get(id, {}).values())

    with LOCK:
        for id in watched:
            _WATCHERS.setdefault(id, {})[token] = fn
            renew(id)

    def undo() -> None:
        with LOCK:
            for id in watched:
                of_id = _WATCHERS.get(id, {})
                of_id.pop(token, None)
                if not of_id:
                    _WATCHERS.pop(id, None)
                renew(id)

    return undo
