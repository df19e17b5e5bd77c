"""One thread that does what panels ask, in order, and tells them in batches what changed."""

import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from repl_pair.errors import error_text
from repl_pair.records import Undo
from repl_pair.runtime.surface import PERSONS, STORE, Change

Changes = Mapping[str, frozenset[str] | None]
"""What changed, by member of the surface: the keys, or None where all of it may have."""
Hear = Callable[[Changes], None]

BATCH_S = 0.05
"""How long changes are gathered before the panels hear of them: twenty batches a second."""
MANY = 500
"""From how many changed keys on a member counts as changed in whole."""


class Pump:
    """Calls what it is given on a thread of its own; who gives is never kept waiting.

    A comm message may arrive on any thread, and a change is made on the person's: neither place is
    one to work in.
    """

    def __init__(self) -> None:
        self._errands: deque[Callable[[], None]] = deque()
        self._changed: dict[str, set[str] | None] = {}
        self._changed_at = 0.0
        self._hearers: dict[object, Hear] = {}
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._following = ExitStack()

    def do(self, errand: Callable[[], None]) -> None:
        """Have something done behind what was asked before; what it raises becomes a warning."""
        with self._wake:
            self._errands.append(errand)
            self._start()
            self._wake.notify()

    def follow(self, hear: Hear) -> Undo:
        """Tell `hear` of changes of the surface, on the pump's thread; the undo ends that."""
        token = object()
        if not self._hearers:
            for store in (STORE, PERSONS):
                self._following.callback(store.subscribe(self._note))
        self._hearers = {**self._hearers, token: hear}

        def undo() -> None:
            self._hearers = {t: h for t, h in self._hearers.items() if t is not token}
            if not self._hearers:
                self._following.close()

        return undo

    def settle(self, timeout_s: float = 5.0) -> bool:
        """Wait until all that was given by now is done; False when the time ran out."""
        done = threading.Event()

        def hear_and_finish() -> None:
            self._tell()
            done.set()

        self.do(hear_and_finish)
        return done.wait(timeout_s)

    def note(self, member: str, key: str | None) -> None:
        """Tell of a change with the next batch; None where all of a member may have changed."""
        with self._wake:
            if not self._changed:
                self._changed_at = time.monotonic()
            keys = self._changed.setdefault(member, set())
            if keys is not None:
                if key is None or len(keys) >= MANY:
                    self._changed[member] = None
                else:
                    keys.add(key)
            self._start()
            self._wake.notify()

    def _note(self, change: Change) -> None:
        self.note(change.member, change.key)

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="repl_pair panels", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            errand = self._next()
            _carry_out(errand)

    def _next(self) -> Callable[[], None]:
        """Wait for something to do: what was asked goes before what changed."""
        with self._wake:
            while not self._errands:
                wait_s = self._changed_at + BATCH_S - time.monotonic() if self._changed else None
                if wait_s is not None and wait_s <= 0:
                    return self._tell
                self._wake.wait(wait_s)
            return self._errands.popleft()

    def _tell(self) -> None:
        with self._wake:
            changed, self._changed = self._changed, {}
        if not changed:
            return
        told = {name: None if keys is None else frozenset(keys) for name, keys in changed.items()}
        for hear in self._hearers.values():
            hear(told)


def _carry_out(errand: Callable[[], None]) -> None:
    try:
        errand()
    except Exception as error:  # noqa: BLE001  the thread serves every other panel too
        warnings.warn(f"a panel failed: {error_text(error)}", stacklevel=1)


PUMP = Pump()
"""The pump of this process."""
