"""Changes of the project that no caller waits for: made together, on a thread of their own."""

import math
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from repl_pair.errors import RequestError, error_text
from repl_pair.records import record, replace
from repl_pair.runtime.capture.own_threads import ServiceThread
from repl_pair.runtime.project.database import close_project, project
from repl_pair.runtime.store import STORE
from repl_pair.wire import monotonic

if TYPE_CHECKING:
    from sqlite3 import Connection

SOON_S = 0.05
"""How long a change waits for others, to be made with them."""
AGAIN_S, TRIES = 1.0, 10
"""When, and how often at most, a change is tried that the database did not take."""

Write = Callable[["Connection"], object]


@record
class _Waiting:
    """A change that waits until it is due."""

    due: float
    write: Write
    tries: int = 0


class LaterWrites:
    """Writes that wait, each until it is due; the thread ends when none is left. See `LATER`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._waiting: dict[object, _Waiting] = {}
        self._thread = ServiceThread(self._run, "database")
        self._wakes_at = -math.inf
        self._fault = ""

    def put(self, write: Write, *, within_s: float = SOON_S, key: object = None) -> None:
        """Make a change within so many seconds; a later one of that `key` takes its place."""
        with self._changed:
            key = object() if key is None else key
            before = self._waiting.get(key)
            due = monotonic() + within_s if before is None else before.due
            self._waiting[key] = _Waiting(due=due, write=write)
            if due < self._wakes_at:  # in a busy loop of runs the thread is left asleep
                self._changed.notify()
            self._thread.start()

    def flush(self) -> None:
        """Make all changes that wait, on this thread; a fault of the database is raised."""
        if (refusal := self._write(math.inf)) is not None:
            raise refusal

    def close(self) -> None:
        """Close the project's database, and make at once what waits, which opens it once more."""
        with self._changed:
            self._waiting = {key: replace(one, due=0.0) for key, one in self._waiting.items()}
            self._changed.notify()
        close_project()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._thread.end()
                    return
                self._wakes_at = min(one.due for one in self._waiting.values())
                self._changed.wait(self._wakes_at - monotonic())
                self._wakes_at = -math.inf
            try:
                self._write(monotonic())
            except Exception as error:  # noqa: BLE001  no caller waits who could be answered
                self.report(error_text(error))

    def _write(self, until: float) -> RequestError | None:
        """Make what is due until then; return why the database takes nothing now, if so.

        Then all waits as before, unless it was tried too often: that is raised, as defects are.
        """
        with self._writing:
            with self._changed:
                taken = self._take(until)
            return self._make(taken) if taken else None

    def _make(self, taken: dict[object, _Waiting]) -> RequestError | None:
        """Make changes together; where one has a defect, each by itself, and then raise that."""
        try:
            with project().writing() as connection:
                for one in taken.values():
                    one.write(connection)
        except RequestError as error:
            if error.code == "cannot_run" and self._put_back(taken):
                return error
            raise
        except Exception:
            if len(taken) > 1:
                with ExitStack() as each:
                    for key, one in reversed(taken.items()):
                        each.callback(self._make, {key: one})
            raise
        return None

    def _take(self, until: float) -> dict[object, _Waiting]:
        due = [key for key, one in self._waiting.items() if one.due <= until]
        return {key: self._waiting.pop(key) for key in due}

    def _put_back(self, taken: dict[object, _Waiting]) -> bool:
        """Let changes wait again, unless later ones took their place; False if some are dropped."""
        due = monotonic() + AGAIN_S
        left = {key: one for key, one in taken.items() if one.tries + 1 < TRIES}
        with self._changed:
            for key, one in left.items():
                again = _Waiting(due=due, write=one.write, tries=one.tries + 1)
                self._waiting.setdefault(key, again)
            if left:
                self._thread.start()
        return len(left) == len(taken)

    def report(self, fault: str) -> None:
        """Report a fault to who looks at the notices of this process, once until another one."""
        if fault != self._fault:
            self._fault = fault
            STORE.emit("notices", f"What happened here could not be kept in the project: {fault}")


LATER = LaterWrites()
"""The changes of this process that no caller waits for."""
