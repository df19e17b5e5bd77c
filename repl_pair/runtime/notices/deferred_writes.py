"""Changes of the project that no caller waits for: made together, on a thread of their own."""

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from repl_pair.errors import error_text
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.project.database import close_project, project
from repl_pair.runtime.store import STORE

if TYPE_CHECKING:
    from sqlite3 import Connection

SOON_S = 0.05
"""How long a change waits for others, to be made with them."""

Write = Callable[["Connection"], object]


class LaterWrites:
    """Writes that wait, each until it is due; the thread ends when none is left. See `LATER`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._waiting: dict[object, tuple[float, Write]] = {}
        self._is_running = False
        self._wakes_at = -math.inf
        self._fault = ""

    def put(self, write: Write, *, within_s: float = SOON_S, key: object = None) -> None:
        """Make a change within so many seconds; a later one of that `key` takes its place."""
        with self._changed:
            key = object() if key is None else key
            due, _ = self._waiting.get(key, (time.monotonic() + within_s, write))
            self._waiting[key] = due, write
            if due < self._wakes_at:  # in a busy loop of runs the thread is left asleep
                self._changed.notify()
            if self._is_running:
                return
            self._is_running = True
        start_thread(self._run, name="database")

    def flush(self) -> None:
        """Make all changes that wait, on this thread; a fault of the database is raised."""
        self._write(math.inf)

    def close(self) -> None:
        """Close the project's database, and make at once what waits, which opens it once more."""
        with self._changed:
            self._waiting = {key: (0.0, write) for key, (_, write) in self._waiting.items()}
            self._changed.notify()
        close_project()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._is_running = False
                    return
                self._wakes_at = min(due for due, _ in self._waiting.values())
                self._changed.wait(self._wakes_at - time.monotonic())
                self._wakes_at = -math.inf
            try:
                self._write(time.monotonic())
            except Exception as error:  # noqa: BLE001  no caller waits who could be answered
                self.report(error_text(error))

    def _write(self, until: float) -> None:
        with self._writing:
            with self._changed:
                writes = self._take(until)
            if writes:
                with project().writing() as connection:
                    for write in writes:
                        write(connection)

    def _take(self, until: float) -> list[Write]:
        due = [key for key, (at, _) in self._waiting.items() if at <= until]
        return [self._waiting.pop(key)[1] for key in due]

    def report(self, fault: str) -> None:
        """Report a fault to who looks at the notices of this process, once until another one."""
        if fault != self._fault:
            self._fault = fault
            STORE.emit("notices", f"What happened here could not be kept in the project: {fault}")


LATER = LaterWrites()
"""The changes of this process that no caller waits for."""
