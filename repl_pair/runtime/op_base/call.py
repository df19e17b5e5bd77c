"""The call that an op answers: what it may read, and how it reports."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import field
from typing import Any, cast
from uuid import uuid4

from repl_pair.errors import NextStep, next_step
from repl_pair.records import holding, mutable
from repl_pair.runtime.op_base.table import Terms
from repl_pair.runtime.secrets.known import CallSecrets
from repl_pair.runtime.stopping.loops import WaitFor, on_this_loop
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.stopping.waiting import WaitEvent
from repl_pair.wire import PERSON, View


@mutable
class Call:
    """One call in progress: its view, how to report, and what its reply is to carry."""

    __op_context__ = True

    id: str = ""
    view: View = field(default_factory=View)
    client: str | None = None
    """The id of the calling client, None where it is not known."""
    progress: Callable[[str], None] = lambda _message: None
    wait_for: WaitFor = on_this_loop
    """Waits for an awaitable of a component, on the loop that the lane allows."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    next_steps: list[NextStep] = field(default_factory=list[NextStep])
    notifications: list[str] = field(default_factory=list[str])
    sensitive: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    secrets: CallSecrets = field(default_factory=CallSecrets)
    """What it meets that is a secret for this call alone, and what agents sent for it."""
    is_awaited: bool = True
    """Whether anybody reads the reply: not once its caller cancelled the call."""
    max_items: int = 0
    """Items of a container or characters of a text that the answer may hold, above the default."""
    max_depth: int = 0
    """Levels of containers that the answer may hold, above the default."""
    value_chars: int = 0
    """Characters that each value of a list may have; longer ones are elided, each by itself."""
    raw_json: list[Any] = field(default_factory=list[Any])
    terms: Terms | None = None
    """On which terms it was taken, where its args decide that."""
    unfinished: Callable[[Stop], Any] | None = None
    """Builds the answer of a stopped call, where the op can do better than `Op.unfinished`."""
    _outcome: threading.Lock = field(default_factory=threading.Lock)
    _at_cancel: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    raw_key: str = field(default_factory=lambda: f"$raw-{uuid4().hex[:12]}")

    @property
    def owner(self) -> str:
        """Return whose work session it belongs to: its client's, without one its principal's."""
        return self.client or self.view.principal

    @property
    def cause(self) -> str:
        """Return who causes what it does: a watch, which no client calls, runs for the person."""
        return PERSON if self.client is None else self.view.principal

    @property
    def decided(self) -> bool:
        """Return whether the outcome of the call is decided."""
        return self._outcome.locked()

    def decide(self) -> bool:
        """Claim the outcome of the call; False if it was claimed: drop the second outcome."""
        return self._outcome.acquire(blocking=False)

    def cancel(self) -> None:
        """Set `cancelled`, and run what was added with `at_cancel`."""
        self.cancelled.set()
        for fn in self._at_cancel:
            fn()

    def at_cancel(self, fn: Callable[[], None]) -> None:
        """Call `fn` when the call is cancelled or its time is over; at once if it is."""
        self._at_cancel.append(fn)
        if self.cancelled.is_set():
            fn()

    def make_event(self) -> WaitEvent:
        """Make an event that is set when the call is cancelled or its time is over."""
        event = WaitEvent()
        self.at_cancel(event.set)
        return event

    def add_raw_json(self, data: Any) -> dict[str, int]:
        """Keep JSON without secrets out of redaction and truncation; return its placeholder."""
        self.raw_json.append(data)
        return {self.raw_key: len(self.raw_json) - 1}

    def insert_raw_json(self, value: Any) -> Any:
        """Replace the placeholders in a value with their raw JSON."""
        if not self.raw_json or not isinstance(value, (list, dict)):
            return value
        if isinstance(value, list):
            return [self.insert_raw_json(item) for item in cast("list[Any]", value)]
        items = cast("dict[str, Any]", value)
        if items.keys() == {self.raw_key}:
            return self.raw_json[items[self.raw_key]]
        return {name: self.insert_raw_json(item) for name, item in items.items()}

    def suggest(self, op: str, /, **args: Any) -> None:
        """Add a next call that works as written, most useful first; a reply carries three."""
        self.next_steps.append(next_step(op, **args))


_CAUSE = ContextVar("who causes what changes", default=PERSON)


def current_cause() -> str:
    """Return the principal whose call runs here; the person where none does."""
    return _CAUSE.get()


def caused_by(principal: str) -> AbstractContextManager[None]:
    """Let what changes in the block be caused by a principal."""
    return holding(_CAUSE, principal)
