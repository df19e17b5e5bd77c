"""What the members of surfaces hold now, each with its revision, and who waits for a change.

The body of a member's entry holds its state, so the two come and go together. `STATES` follows the
registry: each registration, retirement and restoring of a member is a change of that member.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Protocol

from repl_pair.records import Undo
from repl_pair.runtime.registry.model import KINDS, MemberKind
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.store import NOTHING, STORE, Change

REMEMBERED = 10_000
"""Of how many ids the last revision is remembered after they have left, and of how many keys."""

OnChange = Callable[[str], None]
"""Takes the id of the member that changed; called on the thread that changes it, at each change."""


class Computed(Protocol):
    """How the value of a projected member is computed from other members."""

    sources: tuple[str, ...]

    def begin(self) -> None:
        """Follow the sources, from when its member is registered."""
        ...

    def end(self) -> None:
        """Follow them no longer, when its member has left."""
        ...

    def ask(self) -> None:
        """Let it be computed soon, on a thread of its own."""
        ...

    async def refresh(self, timeout_s: float) -> bool:
        """Wait until it is computed from what its sources hold; False where that takes longer."""
        ...


class State:
    """What one member holds: the value of a cell, the items of a collection, the last entries.

    It is changed under `LOCK`, and each change counted; then `announce` is called without the lock.
    """

    __slots__ = (
        "began",
        "computed",
        "entries",
        "error",
        "forgotten",
        "ids",
        "items",
        "keys_revision",
        "kind",
        "removed",
        "revision",
        "revisions",
        "searched",
        "value",
        "watchers",
    )

    def __init__(self, kind: MemberKind, *, value: Any = NOTHING, keep: int = 0) -> None:
        self.kind: MemberKind = kind
        self.revision = STORE.first
        """Counts the changes of all members that ever had its id."""
        self.began = 0
        """The revision at which it was published: what was there before, it does not know."""
        self.value = value
        self.items: dict[str, Any] = {}
        self.revisions: dict[str, int] = {}
        """Of each item, at its last change."""
        self.keys_revision = 0
        """When an item was last added or removed."""
        self.removed: dict[str, int] = {}
        """When the keys that were removed last were, the oldest first."""
        self.forgotten = 0
        """The last revision whose removal is no longer kept."""
        self.entries: deque[tuple[int, Any]] = deque(maxlen=keep)
        """Of a stream or an event: revision and value, the oldest first."""
        self.error = ""
        """Why a computed member has no value now."""
        self.computed: Computed | None = None
        self.searched = -1
        """The revision up to which secrets were looked for in what it holds."""
        self.ids: frozenset[str] = frozenset()
        """The members whose state it is: one, and those that pass it through; none once it left."""
        self.watchers: tuple[tuple[str, OnChange], ...] = ()

    def note_removal(self, keys: Iterable[str]) -> None:
        """Count the removal of items as one change; the caller holds LOCK."""
        self.revision += 1
        self.keys_revision = self.revision
        for key in keys:
            self.removed.pop(key, None)
            self.removed[key] = self.revision
        for oldest in tuple(islice(self.removed, max(0, len(self.removed) - REMEMBERED))):
            self.forgotten = self.removed.pop(oldest)

    def is_removed_since(self, key: str, since: int) -> bool:
        """Return whether a key that is not there was removed since, or may have been."""
        return self.removed.get(key, max(self.began, self.forgotten)) > since

    def announce(self) -> None:
        """Report a change to those who watch; the caller holds no lock."""
        for id, fn in self.watchers:
            fn(id)

    @property
    def is_filled(self) -> bool:
        """Return whether it can be read: all can but a cell without a value."""
        return self.kind != "cell" or self.value is not NOTHING

    @property
    def lost(self) -> int:
        """The last revision whose entry is no longer kept; a reader since then has a gap."""
        return max(self.began, self.entries[0][0] - 1) if self.entries else self.began


STATES: dict[str, State] = {}
"""The state of each registered member, by its id."""
# Reentrant: an object of the person's that is collected inside a write may write too.
LOCK = threading.RLock()
_WATCHERS: dict[str, dict[object, OnChange]] = {}
_LEFT: dict[str, int] = {}
"""The last revisions of ids that no member has now."""


def watch(ids: Iterable[str], fn: OnChange, *, asks: bool = True) -> Undo:
    """Call `fn` at each change of these members, also of those that are not registered yet.

    What is computed is computed soon, unless it `asks` for nothing.

    That a member comes, leaves, or is exposed or hidden is a change, without a new revision where
    what it holds is the same.
    """
    token, watched = object(), tuple(ids)
    with LOCK:
        for id in watched:
            _WATCHERS.setdefault(id, {})[token] = fn
            _renew_watchers(STATES.get(id))
    for id in watched if asks else ():
        if (state := STATES.get(id)) is not None and state.computed is not None:
            state.computed.ask()

    def undo() -> None:
        with LOCK:
            for id in watched:
                of_id = _WATCHERS.get(id, {})
                of_id.pop(token, None)
                if not of_id:
                    _WATCHERS.pop(id, None)
                _renew_watchers(STATES.get(id))

    return undo


def begin_anew() -> None:
    """Let what members hold be news for whoever read it in another process, before the fork."""
    with LOCK:
        for state in STATES.values():
            state.revision = state.began = state.keys_revision = STORE.first


def _follow(change: Change) -> None:
    if change.member == _MEMBERS and change.key is not None:
        settle(change.key)


def settle(id: str) -> None:
    """Make the state of an id that of its entry as it is now, whichever change came last."""
    with LOCK:
        entry, before = REGISTRY.find("member", id), STATES.get(id)
        state: State | None = None if entry is None else entry.body.state
        if before is not state:
            if before is not None:
                _withdraw(before, id)
            if state is not None:
                _publish(state, id)
        watching = tuple(_WATCHERS.get(id, {}).values())
    for fn in watching:
        fn(id)


def _withdraw(state: State, id: str) -> None:
    del STATES[id]
    state.ids -= {id}
    _renew_watchers(state)
    if state.computed is not None and not state.ids:
        state.computed.end()
    _LEFT[id] = state.revision
    for oldest in tuple(islice(_LEFT, max(0, len(_LEFT) - REMEMBERED))):
        del _LEFT[oldest]


def _publish(state: State, id: str) -> None:
    least = _LEFT.pop(id, -1) + 1
    if state.computed is not None and not state.ids:
        state.computed.begin()
    if not state.ids or least:  # who read another state under this id knows none of its changes
        state.revision = state.began = max(state.revision + bool(state.ids), least)
        state.keys_revision = state.revision
    STATES[id] = state
    state.ids |= {id}
    _renew_watchers(state)


def _renew_watchers(state: State | None) -> None:
    if state is not None:
        state.watchers = tuple(
            (id, fn) for id in sorted(state.ids) for fn in _WATCHERS.get(id, {}).values()
        )


_MEMBERS = KINDS["member"].collection
STORE.subscribe(_follow)
