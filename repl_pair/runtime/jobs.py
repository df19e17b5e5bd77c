"""One call under way in the kernel: begun once, answered once, stopped while it runs."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import Op
from repl_pair.runtime.stopping import RunStopped, Stop
from repl_pair.wire import Reply


class Job:
    """The state of one call; every method may be called from any thread."""

    def __init__(
        self, *, op: Op, args: Mapping[str, Any], call: Call, reply: Callable[[Reply], None]
    ) -> None:
        self.op = op
        self.args = args
        self.call = call
        self.since = time.monotonic()
        self._reply = reply
        self._lock = threading.Lock()
        self._begun = False
        self._answered = False
        self._stop: Stop | None = None
        self._stop_wanted: RunStopped | None = None
        self.at_end: list[Callable[[], None]] = []
        """Called once when the caller has been answered."""

    @property
    def lane(self) -> str:
        """Name the lane that the call asks for, else the op's own."""
        return str(self.args.get("lane", self.op.lane))

    @property
    def begun(self) -> bool:
        """Tell whether the lane has taken the call up."""
        return self._begun

    def begin(self) -> bool:
        """Take the call up; False if it has been answered already and must not run."""
        with self._lock:
            if self._answered:
                return False
            self._begun = True
            return True

    def running(self, stop: Stop) -> None:
        """Say how what runs now is stopped; a stop that came before is delivered at once."""
        with self._lock:
            self._stop = stop
            wanted = self._stop_wanted
        if wanted is not None:
            stop(wanted)

    def stop(self, reason: RunStopped) -> None:
        """Stop what runs for this call; nothing happens once it has ended."""
        with self._lock:
            self._stop_wanted = reason
            stop = self._stop
        if stop is not None:
            stop(reason)

    def answer(self, reply: Reply) -> bool:
        """Answer the caller; False, and nothing is sent, if it has been answered."""
        with self._lock:
            if self._answered:
                return False
            self._answered = True
        for fn in self.at_end:
            fn()
        self._reply(reply)
        return True
