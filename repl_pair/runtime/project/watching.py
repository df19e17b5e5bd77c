"""Who watches a database: called after each change by this process, and by others soon after."""

import threading
from collections.abc import Callable

from repl_pair.records import Undo
from repl_pair.runtime.capture.own_threads import start_thread

POLL_S = 0.25
"""How soon changes by other processes are noticed while somebody watches."""


class Watchers:
    """The watchers of a database in this process; `read_version` differs after each change.

    While there are any, one thread looks for changes by other processes.
    """

    def __init__(self, read_version: Callable[[], object]) -> None:
        self._read_version = read_version
        self._lock = threading.Lock()
        self._watchers: dict[object, Callable[[], None]] = {}
        self._reported: object = None
        self._end = threading.Event()

    @property
    def are_any(self) -> bool:
        """Return whether anybody watches."""
        return bool(self._watchers)

    def add(self, fn: Callable[[], None]) -> Undo:
        """Call `fn` after each change until the undo, on any thread; it must not raise."""
        token = object()
        with self._lock:
            if not self._watchers:
                self._reported, self._end = self._read_version(), threading.Event()
                start_thread(self._look, self._end, name="project")
            self._watchers[token] = fn

        def undo() -> None:
            with self._lock:
                if self._watchers.pop(token, None) is not None and not self._watchers:
                    self._end.set()

        return undo

    def report(self) -> None:
        """Call the watchers after a change by this process."""
        if self._watchers:
            self._reported = self._read_version()
            self._call()

    def _look(self, end: threading.Event) -> None:
        while not end.wait(POLL_S):
            version = self._read_version()
            if version != self._reported:
                self._reported = version
                self._call()

    def _call(self) -> None:
        for fn in tuple(self._watchers.values()):
            fn()
