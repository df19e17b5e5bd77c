"""Code that is called once with the stops and the capture of a run, and what came of it."""

import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any, Self

from repl_pair.records import mutable, replace
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.capture.children import in_one_process
from repl_pair.runtime.capture.showing import show_open, show_value
from repl_pair.runtime.running.raised import as_raised, describe, place_of
from repl_pair.runtime.stopping.loops import close_unstarted
from repl_pair.runtime.stopping.stop import (
    STOPS,
    Stop,
    is_own,
    raise_wanted,
    stop_of,
    this_section,
    while_live,
)


@mutable
class CapturedCall:
    """What came of a call so far; `stop` ended it from outside, `error` also says where."""

    captured: Captured
    thread: int = field(default_factory=threading.get_ident)
    has_value: bool = False
    value: Any = None
    is_secret: bool = False
    """Whether the value is a secret, whatever it is."""
    error: Mapping[str, Any] | None = None
    stop: Stop | None = None
    started: float = field(default_factory=time.perf_counter)
    elapsed_ms: float = 0.0

    @property
    def status(self) -> str:
        """Return ok, error or cannot_run."""
        if self.stop is not None:
            return self.stop.status
        return "ok" if self.error is None else "error"

    def give(self, value: Any) -> None:
        """Set the value."""
        self.value, self.has_value = value, True

    def stopped_meanwhile(self, stop: Stop) -> Self:
        """Return what there is by now of code that runs on, and the line where it stands."""
        place = place_of(self.thread)
        error = {"type": "Stopped", "message": stop.reason, **place} if place else None
        now = replace(self, stop=stop, error=error, value=None, has_value=False)
        now.note_elapsed()
        return now

    def note_elapsed(self) -> None:
        """Set how long it has taken by now."""
        self.elapsed_ms = round((time.perf_counter() - self.started) * 1e3, 3)


async def run_stoppable(call: CapturedCall, work: Callable[[], Awaitable[None]]) -> None:
    """Do work that gives the value of a call; note what it raises or what stops it, and show it.

    Must be called in a section that is not live, inside the capture of the call; the section is
    live while the work is done.
    """
    section = this_section()

    async def show() -> None:
        show_open(call.captured)

    try:
        await while_live(section, lambda: _work(call, work))
    except STOPS as error:
        section.begin_teardown()
        close_unstarted(error)
        call.stop, call.error = stop_of(error), describe(error, {})
        with suppress(*STOPS):
            await while_live(section, show)


async def _work(call: CapturedCall, work: Callable[[], Awaitable[None]]) -> None:
    try:
        await in_one_process(call.captured, work)
        raise_wanted()
        show_value(call.captured, call.value)
    except BaseException as error:
        if isinstance(error, STOPS) and not is_own(error):
            raise
        # No local of a frame in the traceback holds the error: that would be a circle.
        call.error = describe(as_raised(error), {})
        show_open(call.captured)
