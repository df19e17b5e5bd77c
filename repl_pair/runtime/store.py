"""The store of what can be looked at: cells and collections, each with its revision."""

import threading
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from repl_pair.records import Undo, record, row


@record
class Member:
    """Something that can be looked at, by its name."""

    name: str
    doc: str = ""


class Cell(Member):
    """One current value."""


class Collection(Member):
    """Current values by key."""


class Event(Member):
    """Something that happens and leaves no current value."""


ANY: Any = object()
"""Whatever stands there, or nothing."""


@row
class Change:
    """One change of one member: `set`, `put`, `remove`, `reset` or `emit`."""

    seq: int
    member: str
    change: str
    key: str | None
    revision: int
    payload: Any = None


class _Slot:
    """The state of one member; `keys` of a collection stay sorted at each write."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.revision = 0
        self.value: Any = None
        self.items: dict[str, Any] = {}
        self.keys: list[str] = []
        self.snapshot: Mapping[str, Any] | None = None


class Store:
    """Current values, revisions and subscribers; safe from any thread."""

    def __init__(self, *, keep: int = 10_000) -> None:
        self._slots: dict[str, _Slot] = {}
        # Reentrant: a live object that is collected inside a write tears down, and may write.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._ring: deque[Change] = deque(maxlen=keep)
        self._subscribers: dict[object, Callable[[Change], None]] = {}
        self.seq = 0

    def declare(self, member: Member) -> Undo:
        """Add a member; the undo takes it out with its value.

        Declaring twice keeps the value, and only the first undo takes it out.
        """
        slot = _Slot(member)
        with self._lock:
            self._slots.setdefault(member.name, slot)

        def undo() -> None:
            with self._lock:
                if self._slots.get(member.name) is slot:
                    del self._slots[member.name]

        return undo

    def revision(self, name: str) -> int:
        """Count the changes of one member so far."""
        return self._slots[name].revision

    def get(self, cell: str) -> Any:
        """Return the current value of a cell, None before the first `set`."""
        return self._slots[cell].value

    def set(self, cell: str, value: Any) -> None:
        """Give a cell a new value."""
        with self._lock:
            slot = self._slot(cell, Cell)
            slot.value = value
            change = self._record(slot, "set", None)
        self._notify(change)

    def put(self, collection: str, key: str, value: Any, *, over: Any = ANY) -> bool:
        """Add or replace one item; with `over`, only that very one (None: only where none is)."""
        with self._lock:
            slot = self._slot(collection, Collection)
            if over is not ANY and slot.items.get(key) is not over:
                return False
            if key not in slot.items:
                insort(slot.keys, key)
            slot.items[key] = value
            change = self._record(slot, "put", key)
        self._notify(change)
        return True

    def remove(self, collection: str, key: str, *, only: Any = ANY) -> bool:
        """Take one item out, with `only` that very one; False if it was not there."""
        with self._lock:
            slot = self._slot(collection, Collection)
            if key not in slot.items or (only is not ANY and slot.items[key] is not only):
                return False
            del slot.items[key]
            del slot.keys[bisect_left(slot.keys, key)]
            change = self._record(slot, "remove", key)
        self._notify(change)
        return True

    def reset(self, collection: str, items: Mapping[str, Any]) -> None:
        """Replace all items at once, as one change."""
        with self._lock:
            slot = self._slot(collection, Collection)
            slot.items, slot.keys = dict(items), sorted(items)
            change = self._record(slot, "reset", None)
        self._notify(change)

    def emit(self, event: str, payload: Any) -> None:
        """Let an event happen."""
        with self._lock:
            change = self._record(self._slot(event, Event), "emit", None, payload)
        self._notify(change)

    def item(self, collection: str, key: str) -> Any:
        """Return one item, None if there is none."""
        return self._slots[collection].items.get(key)

    def keys(self, collection: str, prefix: str = "") -> Sequence[str]:
        """Return the keys that start with `prefix`, sorted, as of now."""
        with self._lock:
            keys = self._slots[collection].keys
            if not prefix:
                return keys[:]
            return keys[bisect_left(keys, prefix) : bisect_left(keys, prefix + "\U0010ffff")]

    def snapshot(self, collection: str) -> Mapping[str, Any]:
        """Return all items as an immutable mapping that later changes do not reach."""
        with self._lock:
            slot = self._slots[collection]
            if slot.snapshot is None:
                slot.snapshot = MappingProxyType(dict(slot.items))
            return slot.snapshot

    def changes(self, since: int) -> tuple[list[Change], bool]:
        """Return the changes after `since` and whether some of them are no longer kept."""
        with self._lock:
            oldest = self._ring[0].seq if self._ring else self.seq + 1
            newer = [c for c in self._ring if c.seq > since] if since < self.seq else []
            return newer, since + 1 < oldest or since > self.seq

    def wait(
        self, since: int, timeout_s: float, given_up: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait until there is a change after `since`; False when the time ran out.

        `given_up` ends the wait too; it is asked at each change and each `wake`.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.seq > since or given_up(), timeout_s)
            return self.seq > since

    def wake(self) -> None:
        """Let all who wait ask whether they still have to."""
        with self._changed:
            self._changed.notify_all()

    def subscribe(self, fn: Callable[[Change], None]) -> Undo:
        """Call `fn` with each change, on the thread that makes it; the undo ends that."""
        token = object()
        self._subscribers[token] = fn

        def undo() -> None:
            self._subscribers.pop(token, None)

        return undo

    def _slot(self, name: str, kind: type[Member]) -> _Slot:
        slot = self._slots[name]
        if not isinstance(slot.member, kind):
            raise TypeError(f"{name} is a {type(slot.member).__name__}, not a {kind.__name__}")
        return slot

    def _record(self, slot: _Slot, change: str, key: str | None, payload: Any = None) -> Change:
        slot.revision += 1
        slot.snapshot = None
        self.seq += 1
        record = Change(self.seq, slot.member.name, change, key, slot.revision, payload)
        self._ring.append(record)
        self._changed.notify_all()
        return record

    def _notify(self, change: Change) -> None:
        for fn in list(self._subscribers.values()):
            fn(change)


STORE = Store()
"""The surface of this process."""
PERSONS = Store(keep=1_000)
"""The surface that only the person looks at; no event of it leaves the process."""

STORE.declare(Event(name="notices", doc="What the person and the agent should know, in sentences."))
