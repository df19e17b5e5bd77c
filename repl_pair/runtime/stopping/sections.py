"""Delivers a stop: by signal to the main thread, by exception to another thread."""

import asyncio
import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from repl_pair.records import Undo
from repl_pair.runtime.stopping.stop import (
    BY_THE_PERSON,
    PendingStop,
    RunStopped,
    Section,
    Task,
    this_section,
)


class SignalSection(Section):
    """A section of the main thread, which the person's interrupt stops too.

    Between cells a kernel ignores SIGINT, so the section installs its own handler. It sends SIGURG
    itself: a loop of the person's that handles SIGINT learns of each, beside the handler. A signal
    interrupts code that sleeps. Code that awaits is cancelled through its task: no signal is sent
    while the person's code may run on the loop instead, unless the loop does not get to the cancel.
    A signal that meets the loop's own code raises nothing: a task whose step does not get to the
    loop's list never runs again, and cannot be cancelled. The stop is repeated.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.enter()
        self._undos = [_handle(one, self._on_signal) for one in (signal.SIGINT, signal.SIGURG)]

    def takes_interrupts(self) -> bool:
        """Return whether the handler is still there: code may have set one of its own."""
        return signal.getsignal(signal.SIGINT) == self._on_signal

    def clear_pending_stops(self) -> None:
        """Restore the handlers where the run has replaced them."""
        for number in (signal.SIGINT, signal.SIGURG):
            signal.signal(number, self._on_signal)

    def close(self) -> None:
        """Remove the handlers when no signal of this section is pending any more."""
        super().close()
        with self._lock:
            pass  # a thread that was about to send a signal has sent it
        # A signal that was sent to this thread is delivered by the time it returns from a system
        # call, and Python handles it before the call below returns.
        signal.pthread_sigmask(signal.SIG_BLOCK, ())
        for undo in reversed(self._undos):
            undo()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            self.wanted = self.wanted or BY_THE_PERSON
        stop = self.wanted
        if stop is None or not self.live:
            return
        self.when_stopped()
        may_raise = not self._is_in_loop(frame)
        if may_raise and self._is_in_step():
            raise RunStopped(stop)
        self._ask_loop()
        # The code that runs now may be the person's own, or a task that the run started.
        if may_raise and this_section() is self:
            raise asyncio.CancelledError(stop)

    def _deliver(self) -> None:
        if self._is_in_step() or not self._loop_responded:
            signal.pthread_kill(self._thread, signal.SIGURG)
        self._ask_loop()

    def _is_in_step(self) -> bool:
        task = self._task
        return task is None or asyncio.current_task(task.get_loop()) is task

    def _is_in_loop(self, frame: FrameType | None) -> bool:
        """Return whether asyncio is interrupted, or a task whose coroutine has just yielded."""
        module = "" if frame is None else str(frame.f_globals.get("__name__"))
        if module.startswith("asyncio.") and frame and frame.f_code is not _RUN_CALLBACK:
            return True
        task = self._task and asyncio.current_task(self._task.get_loop())
        return task is not None and not getattr(task.get_coro(), "cr_running", True)


# Where a callback is C code, such as `time.sleep`, no frame is further in.
_RUN_CALLBACK = asyncio.Handle._run.__code__  # pyright: ignore[reportPrivateUsage]  it has no public name


class ThreadSection(Section):
    """A section of a repl_pair thread; C code is stopped when it returns.

    A loop is asked to cancel its task first. If it has not done so by the next stop, the code on it
    does not await, and is stopped by an exception.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.enter()

    def takes_interrupts(self) -> bool:
        """Return True: no signal is handled on this thread."""
        return True

    def clear_pending_stops(self) -> None:
        """Withdraw a pending exception: it must not be raised in what this thread does next."""
        with self._lock:
            raise_in(self._thread, None)

    def _deliver(self) -> None:
        if self._task is None or not self._loop_responded:
            raise_in(self._thread, PendingStop)
        self._ask_loop()


def main_section(task: Task) -> Section:
    """Begin a section of the thread that runs cells, which may not be the process's main thread."""
    is_main = threading.current_thread() is threading.main_thread()
    return SignalSection(task) if is_main else ThreadSection(task)


class _FlagTaken(BaseException):
    """Raised by a thread in itself, to clear the flag that an asynchronous exception is pending."""


_FLAG_STAYS = sys.version_info < (3, 13)


def raise_in(thread: int, exception: type[BaseException] | None) -> None:
    """Raise in another thread, at its next step of Python code; None withdraws that."""
    wanted, here = None if exception is None else id(exception), threading.get_ident()
    if not _FLAG_STAYS or (exception is not None and thread == here):
        _raise_in(thread, wanted)
        return
    # The flag "an asynchronous exception is pending" belongs to the interpreter: it stays set until
    # a thread raises its exception, and for ever if that was withdrawn. While it is set, all code
    # is slower; on 3.11 any thread that a debugger or a coverage tool traces hangs at its next call
    # of a function, this thread too. So it is cleared by an exception of its own, before anything
    # is called; a thread that returns from C sets it again.
    try:
        _raise_in(thread, wanted)
        _raise_in(here, id(_FlagTaken))
        while True:
            pass
    except _FlagTaken:
        return
    except BaseException:
        # A signal handler raised first, and that exception is still pending.
        try:
            while True:
                pass
        except _FlagTaken:
            pass
        raise


# Own prototypes: the attributes of `ctypes.pythonapi` are shared by the whole process.
_PYTHON, _INT, _POINTER = ctypes.pythonapi, ctypes.c_int, ctypes.c_void_p
_raise_in = ctypes.PYFUNCTYPE(_INT, ctypes.c_ulong, _POINTER)(
    ("PyThreadState_SetAsyncExc", _PYTHON)
)
_sigaction = ctypes.PYFUNCTYPE(_INT, _INT, _POINTER, _POINTER)(("sigaction", _PYTHON))
_LARGEST_ACTION = 512
"""In bytes; more than the structure takes on any system."""


def _handle(number: int, handler: Callable[[int, FrameType | None], None]) -> Undo:
    """Handle a signal; the undo restores the handler of Python, and that of C with its flags."""
    action = ctypes.create_string_buffer(_LARGEST_ACTION)
    _sigaction(number, None, action)
    before = signal.signal(number, handler)

    def undo() -> None:
        signal.signal(number, signal.SIG_DFL if before is None else before)
        _sigaction(number, action, None)

    return undo
