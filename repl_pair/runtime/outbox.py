"""Events on their way out: those of a busy moment travel together."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

TOGETHER = 50
"""Events in one message at most: a loop of registrations becomes few messages, none of them big."""

Event = dict[str, Any]


class Outbox:
    """Takes events on any thread and sends them, in order, on the one that may.

    `schedule` has a function called on that thread soon; `send` sends one message there.
    """

    def __init__(
        self,
        *,
        schedule: Callable[[Callable[[], None]], object],
        send: Callable[[dict[str, Any]], None],
    ) -> None:
        self._schedule = schedule
        self._send = send
        self._waiting: deque[Event] = deque()
        self._lock = threading.Lock()

    def put(self, event: Event) -> None:
        """Let an event go out with the next message."""
        with self._lock:
            self._waiting.append(event)
            is_first = len(self._waiting) == 1
        if is_first:
            self._schedule(self._flush)

    def _flush(self) -> None:
        with self._lock:
            events = list(self._waiting)
            self._waiting.clear()
        for first in range(0, len(events), TOGETHER):
            self._send({"events": events[first : first + TOGETHER]})
