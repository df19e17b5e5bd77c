"""Stopping what runs: only the run that is meant, and only while it is live."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from repl_pair.records import row

T = TypeVar("T")
Task = asyncio.Task[None] | None

TEARDOWN_S = 0.5
"""What the teardown of a run that was stopped may take, before it is stopped too."""


@row
class Stop:
    """Why a run ends before its time, and the status that it has then."""

    status: str
    reason: str
    still_running: bool = False


def unstopped(stop: Stop) -> Stop:
    """Return the stop of a run that goes on in spite of it."""
    reason = f"{stop.reason}, and it could not be stopped: it still runs"
    return Stop("error", reason, still_running=True)


BY_THE_PERSON = Stop("cannot_run", "interrupted by the person")


class RunStopped(BaseException):
    """Raised inside a run that is stopped; no `except Exception` of the component's swallows it."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.stop = stop


class PendingStop(RunStopped):
    """Raised in a thread by another one; what is wanted stands in the section of the thread."""

    def __init__(self) -> None:
        super().__init__(Stop("error", "stopped"))


STOPS = (RunStopped, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
"""What ends a run from outside; all else that is raised in it is the run's own."""


def stop_of(error: BaseException) -> Stop:
    """Return stop behind what ended a run: raised in it, sent by cancelling, or the person's."""
    wanted = this_section().wanted
    if wanted is not None:
        return wanted
    if isinstance(error, RunStopped):
        return error.stop
    if isinstance(error, KeyboardInterrupt):
        return BY_THE_PERSON
    return Stop("error", "cancelled from inside the kernel")


class Section:
    """A stretch of one thread in which a run can be stopped, while `live` is set.

    `while_live` sets and takes back `live`. A stop that comes meanwhile is raised when it is set.
    This one cannot be stopped in between.
    """

    def __init__(self, task: Task = None) -> None:
        self.live = False
        self.wanted: Stop | None = None
        self.left: Future[object] | None = None
        self.when_stopped: Callable[[], None] = _do_nothing
        """Called on the section's own thread with a stop that did not come through `stop`."""
        self._task = task
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._was_heard = True
        self._taken = False
        self._rests_until = 0.0
        self._closed = False

    def enter(self) -> None:
        """Begin the section in this context, and in all that come from it."""
        _SECTION.set(self)

    def is_in_context(self) -> bool:
        """Return whether what runs here came from the section's own context."""
        return _SECTION.get() is self

    def stop(self, stop: Stop) -> None:
        """Stop what runs here, from any thread; the first stop that is wanted counts."""
        self.wanted = self.wanted or stop
        self.send()

    def send(self) -> None:
        """Send the stop that is wanted once more, but not into a teardown that has just begun."""
        with self._lock:
            if self._is_open_to_stops():
                self._deliver()

    def resume(self) -> None:
        """Make the section live, and raise the stop that came before, unless it was taken."""
        self.live = True
        if self.wanted is not None and not self._taken:
            raise RunStopped(self.wanted)

    def take(self) -> None:
        """Report that a stop has ended the run, whose teardown now has its time."""
        self._taken = True
        self._rests_until = time.monotonic() + TEARDOWN_S
        while self._task is not None and self._task.cancelling():
            self._task.uncancel()

    def leave(self, result: "Future[object]") -> None:
        """Report that what was stopped here goes on elsewhere, until it gives a result."""
        self.left = result
        self.wanted = self.wanted and unstopped(self.wanted)

    def clear_pending_stops(self) -> None:
        """Wait for stops that are on their way to a section that is live no more.

        May raise a PendingStop itself; one that comes back normally leaves none behind.
        """

    def close(self) -> None:
        """End the section: it is never live again."""
        self._closed = True

    def is_here(self) -> bool:
        """Return whether the calling thread is in this section."""
        return not self._closed and self._thread == threading.get_ident()

    def _deliver(self) -> None:
        pass

    def _is_open_to_stops(self) -> bool:
        return self.live and time.monotonic() >= self._rests_until

    def _ask_loop(self) -> None:
        """Let the loop cancel the task, as soon as it comes to it."""
        if self._task is not None:
            self._was_heard = False
            self._task.get_loop().call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        self._was_heard = True
        if self._task is not None and self._is_open_to_stops():
            self._task.cancel(self.wanted)


def _do_nothing() -> None:
    return None


_SECTION: ContextVar[Section | None] = ContextVar("repl_pair_section", default=None)


def this_section() -> Section:
    """Return the section that runs here."""
    section = _SECTION.get()
    return section if section is not None and section.is_here() else Section()


async def while_live(section: Section, work: Callable[[], Awaitable[T]]) -> T:
    """Do work that may be stopped; no stop of the section is raised after it."""
    try:
        section.resume()
        return await work()
    finally:
        # Nothing is raised between two plain statements, but at the begin of any function it may
        # be. Once this one is done, at most two stops are left: one that waits for this thread
        # and one that another thread is just sending.
        section.live = False
        try:
            try:
                section.clear_pending_stops()
            except PendingStop:
                section.clear_pending_stops()
        except PendingStop:
            pass  # it was the last one, and came too late


@contextmanager
def defer_stops() -> Generator[None]:
    """Keep the section that runs here from being live in the block; then it is as it was."""
    section = this_section()
    live = section.live
    try:
        section.live = False
        section.clear_pending_stops()
        yield
    finally:
        section.live = live
    if live and section.wanted is not None:
        section.send()
