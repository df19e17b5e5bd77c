"""The panel thread: runs the tasks of all panels in order, and hands changes on in batches."""

import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

from repl_pair.errors import error_text
from repl_pair.records import Undo
from repl_pair.runtime.capture.own_threads import ServiceThread
from repl_pair.runtime.store import PERSON_STORE, STORE

Changes = Mapping[str, frozenset[str] | None]
"""What changed, by member of the store: the keys, or None where any of it may have changed."""
Listener = Callable[[Changes], None]

BATCH_S = 0.05
"""How long changes are collected before the listeners get them: twenty batches a second."""
MANY = 500
"""From how many changed keys on a member counts as changed as a whole."""


class PanelThread:
    """Runs tasks on one thread; the caller never waits.

    A comm message may arrive on any thread, and a change is made on the person's: neither is a
    thread to work on.
    """

    def __init__(self) -> None:
        self._tasks: deque[Callable[[], None]] = deque()
        self._changed: dict[str, set[str] | None] = {}
        self._changed_at = 0.0
        self._listeners: dict[object, tuple[Listener, object]] = {}
        self._listening = threading.RLock()
        self._wake = threading.Condition()
        self._thread = ServiceThread(self._run, "panels")
        self._subscriptions = ExitStack()

    def submit(self, task: Callable[[], None]) -> None:
        """Run a task behind those that wait; an exception becomes a warning."""
        with self._wake:
            self._tasks.append(task)
            self._wake_up()

    def subscribe(self, listener: Listener, source: object = None) -> Undo:
        """Call `listener` with changes of the store, and with those that `source` publishes."""
        token = object()
        with self._listening:
            for store in () if self._listeners else (STORE, PERSON_STORE):
                unsubscribe = store.subscribe(lambda one: self.mark_changed(one.member, one.key))
                self._subscriptions.callback(unsubscribe)
            self._listeners[token] = listener, source

        def undo() -> None:
            with self._listening:
                self._listeners.pop(token, None)
                if not self._listeners:
                    self._subscriptions.close()

        return undo

    def publish(self, changes: Changes, source: object) -> None:
        """Call the listeners of one source with changes, behind the tasks that wait."""
        self.submit(lambda: self._call_listeners(changes, lambda one: one is source))

    def mark_changed(self, member: str, key: str | None) -> None:
        """Add a change to the next batch; None where any key of a member may have changed."""
        with self._wake:
            if not self._changed:
                self._changed_at = time.monotonic()
            keys = self._changed.setdefault(member, set())
            if keys is not None:
                if key is None or len(keys) >= MANY:
                    self._changed[member] = None
                else:
                    keys.add(key)
            self._wake_up()

    def _wake_up(self) -> None:
        self._thread.start()
        self._wake.notify()

    def _run(self) -> None:
        while True:
            _attempt(self._next())

    def _next(self) -> Callable[[], None]:
        with self._wake:
            while not self._tasks:
                wait_s = self._changed_at + BATCH_S - time.monotonic() if self._changed else None
                if wait_s is not None and wait_s <= 0:
                    return self._publish
                self._wake.wait(wait_s)
            return self._tasks.popleft()

    def _publish(self) -> None:
        with self._wake:
            changed, self._changed = self._changed, {}
        if not changed:
            return
        batch = {name: None if keys is None else frozenset(keys) for name, keys in changed.items()}
        self._call_listeners(batch, lambda _source: True)

    def _call_listeners(self, changes: Changes, fits: Callable[[object], bool]) -> None:
        for token, (listener, source) in list(self._listeners.items()):
            # One before it may have ended it.
            if token in self._listeners and fits(source):
                _attempt(partial(listener, changes))


class Follows:
    """What ends with its owner, such as a panel; what comes after the owner's end ends at once."""

    def __init__(self) -> None:
        self._undos: dict[object, Undo] = {}
        self.is_closed = False

    def add(self, undo: Undo) -> Undo:
        """Call `undo` at the end of the owner; the undo of this calls it before that."""
        token = object()
        self._undos[token] = undo
        if self.is_closed:
            self._end(token)
        return partial(self._end, token)

    def close(self) -> None:
        """End everything."""
        self.is_closed = True
        for token in tuple(self._undos):
            self._end(token)

    def _end(self, token: object) -> None:
        self._undos.pop(token, lambda: None)()


def _attempt(task: Callable[[], None]) -> None:
    try:
        task()
    except Exception as error:  # noqa: BLE001  the thread serves every other panel too
        report = f"a panel failed: {error_text(error)}"
        try:
            warnings.warn(report, stacklevel=1)
        except Exception:  # noqa: BLE001  where warnings are errors too
            sys.stderr.write(f"{report}\n")


PANEL_THREAD = PanelThread()
"""The panel thread of this process."""
