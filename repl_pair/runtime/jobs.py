"""One call under way in the kernel: begun once, answered once, stopped while it runs."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import WAIT_S, Op
from repl_pair.runtime.stopping import RunStopped, Section
from repl_pair.wire import LANES, Reply


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
        self._section: Section | None = None
        self._stop_wanted: RunStopped | None = None
        self._at_end: list[Callable[[], None]] = []

    @property
    def lane(self) -> str:
        """Name the lane that the call asks for, else the op's own."""
        asked = self.args.get("lane")
        return str(asked) if asked in LANES else self.op.lane

    @property
    def wait_s(self) -> float:
        """What the call waits for the main lane, in seconds."""
        return float(self.args.get("wait_s", WAIT_S))

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

    def run_in(self, section: Section) -> None:
        """Say where the call runs now; a stop that came before is delivered once that is live."""
        with self._lock:
            self._section = section
            section.wanted = self._stop_wanted

    def stop(self, reason: RunStopped) -> None:
        """Stop what runs for this call; nothing happens once it has ended."""
        with self._lock:
            self._stop_wanted = reason
            section = self._section
        if section is not None:
            section.stop(reason)

    def at_end(self, fn: Callable[[], None]) -> None:
        """Call `fn` when the caller is answered, now if it has been."""
        with self._lock:
            if not self._answered:
                self._at_end.append(fn)
                return
        fn()

    def answer(self, reply: Reply, *, unbegun: bool = False) -> bool:
        """Answer the caller; False, and nothing is sent, if it has been answered.

        `unbegun` answers only what no lane has taken up.
        """
        with self._lock:
            if self._answered or (unbegun and self._begun):
                return False
            self._answered = True
        for fn in self._at_end:
            fn()
        self._reply(reply)
        return True
