"""The store of what can be looked at: cells and collections, each with its revision."""

import os
import threading
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any, cast

from repl_pair.records import Undo, record, row


@record
class Member:
    """Something that can be looked at, by its name."""

    name: str
    doc: str = ""


NOTHING: Any = object()
"""The value of a cell that was not set and has no default; None is a value like any other."""
ANY: Any = object()
"""Whatever stands there, or nothing."""


@record
class Cell(Member):
    """One current value, before the first `set` its `default`."""

    default: Any = NOTHING


@record
class Collection(Member):
    """Current values by key; each change keeps what `outline` gives of the items."""

    outline: Callable[[Any], Any] = lambda _item: None


class Event(Member):
    """Something that happens and leaves no current value."""


@row
class Change:
    """One change of one member: `set`, `put`, `remove`, `reset` or `emit`.

    `declare`: the member took the place of one of its name; `leave`: it is gone. `before` and
    `after` are the outlines of the item, None where there was or is none; of an event what it is
    about.
    """

    seq: int
    member: str
    change: str
    key: str | None
    revision: int
    payload: Any = None
    before: Any = None
    after: Any = None


class _Slot:
    """The state of one member; `keys` of a collection stay sorted at each write."""

    def __init__(self, member: Member, revision: int) -> None:
        self.member = member
        self.revision = revision
        self.value: Any = member.default if isinstance(member, Cell) else NOTHING
        self.items: dict[str, Any] = {}
        self.keys: list[str] = []
        self.snapshot: Mapping[str, Any] | None = None

    def outline(self, item: Any) -> Any:
        """Return what a change keeps of an item, None of NOTHING."""
        return None if item is NOTHING else cast("Collection", self.member).outline(item)


class Store:
    """Current values, revisions and subscribers; safe from any thread."""

    def __init__(self, *, keep: int = 10_000) -> None:
        self._slots: dict[str, _Slot] = {}
        self._left: dict[str, int] = {}
        """The revisions of the members that are gone; one of the same name counts on."""
        # Reentrant: a live object that is collected inside a write tears down, and may write.
        self._lock = threading.RLock()
        self._ring: deque[Change] = deque(maxlen=keep)
        self._subscribers: dict[object, Callable[[Change], None]] = {}
        self.begin()

    def begin(self) -> None:
        """Begin to count changes: beyond every count of the processes before this one.

        No process makes a change in each microsecond. JSON keeps the number exactly.
        """
        self.process, self.first = os.getpid(), time.time_ns() // 1_000
        self.seq = self.first
        self._ring.clear()

    def declare(self, member: Member) -> Undo:
        """Add a member without a value, in the place of any of its name; that one's undo is void.

        The undo takes the member out with its value. Taking a place and leaving are changes.
        """
        with self._lock:
            old = self._slots.get(member.name)
            revision = self._left.pop(member.name, 0) if old is None else old.revision
            slot = self._slots[member.name] = _Slot(member, revision)
            change = None if old is None else self._record(slot, "declare", None)
        if change is not None:
            self._notify(change)

        def undo() -> None:
            with self._lock:
                if self._slots.get(member.name) is not slot:
                    return
                del self._slots[member.name]
                change = self._record(slot, "leave", None)
                self._left[member.name] = slot.revision
            self._notify(change)

        return undo

    def revision(self, name: str) -> int:
        """Count the changes of all members that ever had this name."""
        return self._slots[name].revision

    def get(self, cell: str) -> Any:
        """Return the current value of a cell, NOTHING where it has none."""
        return self._slot(cell, Cell).value

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
            old = slot.items.get(key, NOTHING)
            if old is NOTHING:
                insort(slot.keys, key)
            slot.items[key] = value
            outlines = slot.outline(old), slot.outline(value)
            change = self._record(slot, "put", key, None, *outlines)
        self._notify(change)
        return True

    def remove(self, collection: str, key: str, *, only: Any = ANY) -> bool:
        """Take one item out, with `only` that very one; False if it was not there."""
        with self._lock:
            slot = self._slot(collection, Collection)
            if key not in slot.items or (only is not ANY and slot.items[key] is not only):
                return False
            old = slot.items.pop(key)
            del slot.keys[bisect_left(slot.keys, key)]
            change = self._record(slot, "remove", key, None, slot.outline(old))
        self._notify(change)
        return True

    def reset(self, collection: str, items: Mapping[str, Any]) -> None:
        """Replace all items at once, as one change."""
        with self._lock:
            slot = self._slot(collection, Collection)
            slot.items, slot.keys = dict(items), sorted(items)
            change = self._record(slot, "reset", None)
        self._notify(change)

    def emit(self, event: str, payload: Any, *, before: Any = None, after: Any = None) -> None:
        """Let an event happen; `before` and `after` outline what it is about."""
        with self._lock:
            change = self._record(self._slot(event, Event), "emit", None, payload, before, after)
        self._notify(change)

    def item(self, collection: str, key: str) -> Any:
        """Return one item, None if there is none."""
        return self._slot(collection, Collection).items.get(key)

    def keys(self, collection: str, prefix: str = "") -> Sequence[str]:
        """Return the keys that start with `prefix`, sorted, as of now."""
        with self._lock:
            keys = self._slot(collection, Collection).keys
            if not prefix:
                return keys[:]
            return keys[bisect_left(keys, prefix) : bisect_left(keys, prefix + "\U0010ffff")]

    def snapshot(self, collection: str) -> Mapping[str, Any]:
        """Return all items as an immutable mapping that later changes do not reach."""
        with self._lock:
            slot = self._slot(collection, Collection)
            if slot.snapshot is None:
                slot.snapshot = MappingProxyType(dict(slot.items))
            return slot.snapshot

    def changes(self, since: int) -> tuple[list[Change], bool]:
        """Return the changes after `since` and whether some of them are no longer kept."""
        with self._lock:
            oldest = self._ring[0].seq if self._ring else self.seq + 1
            newer = list(takewhile(lambda change: change.seq > since, reversed(self._ring)))
            return newer[::-1], since + 1 < oldest or since > self.seq

    def subscribe(self, fn: Callable[[Change], None]) -> Undo:
        """Call `fn` with each change, on the thread that makes it; the undo ends that."""
        token = object()
        self._subscribers[token] = fn
        return lambda: self._subscribers.pop(token, None)

    def _slot(self, name: str, kind: type[Member]) -> _Slot:
        slot = self._slots[name]
        if not isinstance(slot.member, kind):
            raise TypeError(f"{name} is a {type(slot.member).__name__}, not a {kind.__name__}")
        return slot

    def _record(self, slot: _Slot, change: str, key: str | None, *more: Any) -> Change:
        slot.revision += 1
        slot.snapshot = None
        self.seq += 1
        record = Change(self.seq, slot.member.name, change, key, slot.revision, *more)
        self._ring.append(record)
        return record

    def _notify(self, change: Change) -> None:
        for fn in list(self._subscribers.values()):
            fn(change)


STORE = Store()
"""The store of this process."""
PERSON_STORE = Store(keep=1_000)
"""The store that only the person looks at; no event of it leaves the process."""

STORE.declare(Event(name="notices", doc="What the person and the agent should know, in sentences."))
