"""Stopping what runs: only the run that is meant, and only while it is live."""

import asyncio
import ctypes
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType


class RunStopped(BaseException):
    """Raised inside a run that is stopped; no `except Exception` of the component's swallows it."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def stop_of(error: BaseException) -> RunStopped:
    """Give the stop behind what ended a run: raised in it, sent by cancelling, or the person's."""
    if isinstance(error, RunStopped):
        return error
    if isinstance(error, KeyboardInterrupt):
        return RunStopped(*BY_THE_PERSON)
    if error.args and isinstance(error.args[0], RunStopped):
        return error.args[0]
    return this_section().wanted or RunStopped("error", "cancelled from inside the kernel")


BY_THE_PERSON = ("cannot_run", "interrupted by the person")

SETTLE_S = 0.2
"""How long a run that ends waits for a stop that is already on its way to it."""

Task = asyncio.Task[object] | None


class Section:
    """A stretch of one thread in which a run can be stopped, while `live` is set.

    Whoever sets `live` takes it back in the first statement of a `finally`: nothing can be raised
    before that is done, and nothing is once it is. This one can never be stopped.
    """

    def __init__(self) -> None:
        self.live = False
        self.wanted: RunStopped | None = None
        self.taken = False
        """Set by the run when a stop has reached it."""

    def stop(self, reason: RunStopped) -> None:
        """Stop what runs in the section, from any thread; if it is not live, once it is."""
        self.wanted = reason

    def resume(self) -> None:
        """Make the section live, and raise the stop that came meanwhile."""
        self.live = True
        if self.wanted is not None:
            raise self.wanted

    def close(self) -> None:
        """Wait for stops that are on their way; none outlives the section."""


_SECTION: ContextVar[Section | None] = ContextVar("repl_pair_section", default=None)


def this_section() -> Section:
    """Give the section that runs here."""
    return _SECTION.get() or Section()


@contextmanager
def still_live() -> Generator[None]:
    """Leave the section that runs here after the block as it was before."""
    section = this_section()
    live = section.live
    try:
        yield
    finally:
        section.live = live


class SignalSection(Section):
    """A section of the main thread, which the person's Stop ends too.

    Between cells a kernel ignores SIGINT, so the section brings its own handler. The signal
    reaches code that sleeps; what awaits is cancelled through its task.
    """

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._task = task
        self._lock = threading.Lock()
        self._sent = 0
        self._handled = 0
        _SECTION.set(self)
        self._before = signal.signal(signal.SIGINT, self._on_signal) or signal.default_int_handler

    def stop(self, reason: RunStopped) -> None:
        """Send the signal to the main thread, and only while the section is live."""
        with self._lock:
            self.wanted = reason
            if self.live:
                self._sent += 1
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def close(self) -> None:
        """Take the handler out when no signal of ours is on its way any more."""
        with self._lock:
            sent = self._sent
        _wait_until(lambda: self._handled >= sent)
        signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._handled += 1
        self.wanted = reason = self.wanted or RunStopped(*BY_THE_PERSON)
        if not self.live:
            return
        task = self._task
        running = None if task is None else asyncio.current_task(task.get_loop())
        if task is not None and running is not task:
            task.get_loop().call_soon_threadsafe(task.cancel, reason)
        # Another task may be the person's own, or one that the run started and is stuck in.
        if running is task or (running is not None and _SECTION.get() is self):
            raise reason


class ThreadSection(Section):
    """A section of a thread of ours; C code is stopped when it returns."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._task = task
        self._lock = threading.Lock()
        self._thread = threading.get_ident()
        _SECTION.set(self)

    def stop(self, reason: RunStopped) -> None:
        """Raise in the thread, or cancel its task where that waits."""
        task = self._task
        with self._lock:
            self.wanted = reason
            if not self.live:
                return
            running = None if task is None else asyncio.current_task(task.get_loop())
            if task is not None and running is not task:
                task.get_loop().call_soon_threadsafe(task.cancel, reason)
            if running is task or running is not None:
                _PENDING[self._thread] = reason
                raise_in(self._thread, PendingStop)
            if task is not None and running is task:
                task.get_loop().call_soon_threadsafe(self._make_sure, task, reason)

    def _make_sure(self, task: asyncio.Task[object], reason: RunStopped) -> None:
        """Cancel the task if the exception met the loop, between two steps of the task."""
        if self.live and not self.taken:
            task.cancel(reason)

    def close(self) -> None:
        """Take in the stop that was on its way: it must not reach what this thread does next."""
        try:
            with self._lock:
                pass
            _wait_until(lambda: self._thread not in _PENDING)
        except PendingStop:
            return


class PendingStop(RunStopped):
    """A stop that was sent to a thread: carries the reason that waits for it there."""

    def __init__(self) -> None:
        reason = _PENDING.pop(threading.get_ident(), None)
        super().__init__(*((reason.status, reason.reason) if reason else ("error", "stopped")))


_PENDING: dict[int, RunStopped] = {}


def raise_in(thread: int, exception: type[BaseException]) -> None:
    """Raise in another thread, at its next step of Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(exception))


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SETTLE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.0005)
