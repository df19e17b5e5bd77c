"""Stopping a run: only the run that is meant, and only while its section is live."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from repl_pair.errors import Ending
from repl_pair.records import row
from repl_pair.wire import monotonic

T = TypeVar("T")
Task = asyncio.Task[Any] | None

TEARDOWN_S = 0.5
"""How long the teardown of a stopped run may take, before it is stopped too."""
STUCK_S = 0.3
"""How long a cancelled coroutine may take to end, before its loop counts as stuck."""
ENDS = "its loop ends"
"""The message of the cancellation with which a loop ends its tasks."""


@row
class Stop:
    """The reason why a run is stopped, and the status of its record."""

    status: str
    reason: str
    still_running: bool = False


def unstopped(stop: Stop) -> Stop:
    """Return the stop of a run that runs on in spite of it."""
    reason = f"{stop.reason}, and it could not be stopped: it still runs"
    return Stop("error", reason, still_running=True)


BY_THE_PERSON = Stop("cannot_run", "interrupted by the person")


class RunStopped(Ending):
    """Raised in a run that is stopped; `except Exception` in a component does not catch it."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.stop = stop


class PendingStop(RunStopped):
    """Raised in a thread by another thread; its section holds the stop that is wanted."""

    def __init__(self) -> None:
        super().__init__(Stop("error", "stopped"))


STOPS = (RunStopped, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
"""Exceptions that end a run from outside; all others are failures of the run itself."""


def is_stop(error: BaseException) -> bool:
    """Return whether an exception ends a run from outside, which none does that is its own."""
    if isinstance(error, asyncio.CancelledError) and this_section().wanted is None:
        return count_cancellations() > CANCELLED_BEFORE.get()
    return isinstance(error, STOPS) and not is_own(error)


def is_own(error: BaseException) -> bool:
    """Return whether code raised KeyboardInterrupt or GeneratorExit itself: none came to it."""
    if not isinstance(error, KeyboardInterrupt):
        return isinstance(error, GeneratorExit) and not CLOSES.get()
    section = this_section()
    return section.wanted is None and section.takes_interrupts()


CANCELLED_BEFORE: ContextVar[int] = ContextVar("repl_pair_cancelled_before", default=0)
"""How often the task of a run was cancelled before it began: a `TaskGroup` may leave some."""
CLOSES: ContextVar[bool] = ContextVar("repl_pair_closes", default=False)
"""Whether the coroutine of a run is being closed."""


def count_cancellations() -> int:
    """Return how often the current task was cancelled from outside; 0 where there is no task."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs on this thread
        return 0
    return 0 if task is None else task.cancelling()


def stop_of(error: BaseException) -> Stop:
    """Return the stop behind an exception of STOPS: a requested one, or the person's interrupt."""
    if (wanted := this_section().wanted) is not None:
        return wanted
    if isinstance(error, RunStopped):
        return error.stop
    if isinstance(error, KeyboardInterrupt):
        return BY_THE_PERSON
    return Stop("error", "cancelled from inside the kernel")


class Section:
    """A stretch of one thread in which a run can be stopped, while `live` is set.

    `while_live` sets and clears `live`. A stop that comes while it is not set is raised when it is
    set. This base class cannot be stopped while its code runs.
    """

    def __init__(self, task: Task = None) -> None:
        self.live = False
        self.wanted: Stop | None = None
        self.left_running: Future[object] | None = None
        self.when_stopped: Callable[[], None] = lambda: None
        """Called on the section's own thread for a stop that did not come through `stop`."""
        self._task = task
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._loop_responded = True
        self._tears_down = False
        self._teardown_until = 0.0
        self._closed = False

    def enter(self) -> None:
        """Make this the section of the current context, and of contexts copied from it."""
        _SECTION.set(self)

    @contextmanager
    def on_task(self, task: asyncio.Task[Any]) -> Generator[None]:
        """Let a stop during the block cancel a task, which the section's thread waits for."""
        outer, self._task = self._task, task
        try:
            yield
        finally:
            self._task = outer

    def stop(self, stop: Stop) -> None:
        """Stop what runs in the section, from any thread; the first stop counts."""
        self.wanted = self.wanted or stop
        self.send()

    def send(self) -> None:
        """Send the wanted stop again, but not into a teardown that has just begun."""
        with self._lock:
            if self._is_open_to_stops():
                self._deliver()

    def raise_wanted(self) -> None:
        """Raise the stop that is wanted, unless its teardown has begun: the code may catch it."""
        if self.wanted is not None and not self._tears_down:
            raise RunStopped(self.wanted)

    def begin_teardown(self) -> None:
        """Report that a stop has ended the run; its teardown is not stopped for `TEARDOWN_S`."""
        self._tears_down = True
        self._teardown_until = monotonic() + TEARDOWN_S
        while self._task is not None and self._task.cancelling():
            self._task.uncancel()

    def leave_running(self, result: "Future[object]") -> None:
        """Report that code of the section runs on elsewhere, until it sets `result`."""
        self.left_running = result
        self.wanted = self.wanted and unstopped(self.wanted)

    def takes_interrupts(self) -> bool:
        """Return whether an interrupt of the person is a stop here, and no KeyboardInterrupt."""
        return False

    def clear_pending_stops(self) -> None:
        """Wait for stops that were sent before the section ceased to be live.

        May raise a PendingStop itself; after a normal return no stop is pending.
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
        return self.live and monotonic() >= self._teardown_until

    def _ask_loop(self) -> None:
        if self._task is not None:
            self._loop_responded = False
            self._task.get_loop().call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        self._loop_responded = True
        if self._task is not None and self._is_open_to_stops():
            self._task.cancel(self.wanted)


_SECTION: ContextVar[Section | None] = ContextVar("repl_pair_section", default=None)


def this_section() -> Section:
    """Return the section of the calling thread; an unstoppable one where there is none."""
    section = _SECTION.get()
    return section if section is not None and section.is_here() else Section()


def raise_wanted() -> None:
    """Raise the stop that is wanted of the calling thread's section, if it has one."""
    this_section().raise_wanted()


async def while_live(section: Section, work: Callable[[], Awaitable[T]]) -> T:
    """Do work that may be stopped; no stop of the section is raised after it."""
    try:
        section.live = True
        section.raise_wanted()
        return await work()
    finally:
        # Nothing is raised between two plain statements, but at the start of a function call it may
        # be. After this statement at most two stops are left: one that is pending for this thread,
        # and one that another thread is just sending.
        section.live = False
        try:
            try:
                section.clear_pending_stops()
            except PendingStop:
                section.clear_pending_stops()
        except PendingStop:
            pass  # the last one; it came too late


@contextmanager
def defer_stops() -> Generator[None]:
    """Defer stops of the current section to the end of the block."""
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
