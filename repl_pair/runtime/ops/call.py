"""What an op may know of the call that it answers."""

import threading
from collections.abc import Callable
from dataclasses import field
from typing import Any, cast
from uuid import uuid4

from repl_pair.records import mutable
from repl_pair.runtime.stopping.loops import WaitFor, on_this_loop
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.wire import View


def _ignore(_message: str) -> None:
    return None


@mutable
class Call:
    """One call under way: its view, its way to report, and what goes into the envelope."""

    __op_context__ = True

    id: str = ""
    view: View = field(default_factory=View)
    client: str | None = None
    """The id of the client that calls, None where none is known."""
    progress: Callable[[str], None] = _ignore
    wait_for: WaitFor = on_this_loop
    """Waits for what a component awaits, where the lane lets it run."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    next_steps: list[str] = field(default_factory=list[str])
    notifications: list[str] = field(default_factory=list[str])
    sensitive: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    caller_values: list[Any] = field(default_factory=list[Any])
    """What callers said, now and before, that the answer may hold."""
    max_items: int = 0
    """How many parts of a container or characters of a text the answer may hold, if more than
    others may."""
    max_depth: int = 0
    """How many levels of containers the answer may hold, if more than others may."""
    raw_json: list[Any] = field(default_factory=list[Any])
    unfinished: Callable[[Stop], Any] | None = None
    """Gives the answer if the op cannot, once the op knows better than its args do."""
    _outcome: threading.Lock = field(default_factory=threading.Lock)
    _at_cancel: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    raw_key: str = field(default_factory=lambda: f"$whole-{uuid4().hex[:12]}")

    @property
    def decided(self) -> bool:
        """Return whether it is settled what came of the call."""
        return self._outcome.locked()

    def decide(self) -> bool:
        """Claim to settle what came of the call; what a second one brings is to be dropped."""
        return self._outcome.acquire(blocking=False)

    def cancel(self) -> None:
        """Set `cancelled`, and wake what waits in the call."""
        self.cancelled.set()
        for fn in self._at_cancel:
            fn()

    def at_cancel(self, fn: Callable[[], None]) -> None:
        """Call `fn` when the call is cancelled or its time is over, now if it is."""
        self._at_cancel.append(fn)
        if self.cancelled.is_set():
            fn()

    def add_raw_json(self, data: Any) -> dict[str, int]:
        """Take JSON without secrets past the walker, uncut; gives the placeholder for it."""
        self.raw_json.append(data)
        return {self.raw_key: len(self.raw_json) - 1}

    def insert_raw_json(self, value: Any) -> Any:
        """Put what was kept whole where its placeholders stand."""
        if not self.raw_json or not isinstance(value, (list, dict)):
            return value
        if isinstance(value, list):
            return [self.insert_raw_json(item) for item in cast("list[Any]", value)]
        items = cast("dict[str, Any]", value)
        if items.keys() == {self.raw_key}:
            return self.raw_json[items[self.raw_key]]
        return {name: self.insert_raw_json(item) for name, item in items.items()}

    def suggest(self, *steps: str) -> None:
        """Add concrete next calls, most useful first; the envelope carries three."""
        self.next_steps.extend(steps)
