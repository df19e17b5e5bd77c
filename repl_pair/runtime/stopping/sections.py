"""How a stop gets to what runs: by signal to the main thread, by exception to another one."""

import asyncio
import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from repl_pair.records import Undo
from repl_pair.runtime.stopping.stop import BY_THE_PERSON, PendingStop, RunStopped, Section, Task


class SignalSection(Section):
    """A section of the main thread, which the person's Stop ends too.

    Between cells a kernel ignores SIGINT, so the section brings its own handler. The signal
    reaches code that sleeps. What awaits is cancelled through its task: no signal is sent while
    something of the person's may run on the loop instead, unless the loop does not come to it.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.enter()
        self._put_back = _handle_interrupts(self._on_signal)

    def clear_pending_stops(self) -> None:
        """Take the signal back from a run that changed what it does."""
        if signal.getsignal(signal.SIGINT) != self._on_signal:
            signal.signal(signal.SIGINT, self._on_signal)

    def close(self) -> None:
        """Take the handler out when no signal of ours is on its way any more."""
        super().close()
        with self._lock:
            pass  # who was about to send has sent
        # A signal that was sent to this thread is there when it comes back from the system, and
        # this call handles it.
        signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._put_back()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        stop = self.wanted
        if stop is None:
            self.wanted = stop = BY_THE_PERSON
        if not self.live:
            return
        self.when_stopped()
        if self._is_in_step():
            raise RunStopped(stop)
        self._ask_loop()
        # What runs instead may be the person's own, or a task that the run started.
        if self.is_in_context():
            raise asyncio.CancelledError(stop)

    def _deliver(self) -> None:
        # The run may have changed what the signal does: it must not end the process.
        is_safe = signal.getsignal(signal.SIGINT) is not signal.SIG_DFL
        if is_safe and (self._is_in_step() or not self._was_heard):
            signal.pthread_kill(self._thread, signal.SIGINT)
        self._ask_loop()

    def _is_in_step(self) -> bool:
        task = self._task
        return task is None or asyncio.current_task(task.get_loop()) is task


class ThreadSection(Section):
    """A section of a thread of ours; C code is stopped when it returns.

    A loop is asked to cancel first. Where it does not come to that before the next stop, what
    runs on it does not wait, and is stopped by exception.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.enter()

    def clear_pending_stops(self) -> None:
        """Call off what was to be raised here: it must not reach what this thread does next."""
        with self._lock:
            raise_in(self._thread, None)

    def _deliver(self) -> None:
        if self._task is None or not self._was_heard:
            raise_in(self._thread, PendingStop)
        self._ask_loop()


def main_section(task: Task) -> Section:
    """Begin a section of the thread that runs cells, which the process may not have as its main."""
    is_main = threading.current_thread() is threading.main_thread()
    return SignalSection(task) if is_main else ThreadSection(task)


class _FlagTaken(BaseException):
    """What a thread raises in itself, to put down the flag that such an exception is on its way."""


_FLAG_STAYS = sys.version_info < (3, 13)


def raise_in(thread: int, exception: type[BaseException] | None) -> None:
    """Raise in another thread, at its next step of Python code; None calls that off."""
    wanted, here = None if exception is None else id(exception), threading.get_ident()
    if not _FLAG_STAYS or (exception is not None and thread == here):
        _raise_in(thread, wanted)
        return
    # The flag is the interpreter's: it stays up until a thread takes its exception, for ever where
    # it was called off. While it is up, all code is slower; on 3.11 any thread that a debugger or a
    # coverage tool traces stands still at its next call of a function, this one too. So it is put
    # down by an exception of our own, before anything is called; a thread that comes back from C
    # puts it up again.
    try:
        _raise_in(thread, wanted)
        _raise_in(here, id(_FlagTaken))
        while True:
            pass
    except _FlagTaken:
        return
    except BaseException:
        # A signal came first, and ours is still on its way.
        try:
            while True:
                pass
        except _FlagTaken:
            pass
        raise


# Prototypes of our own: those that hang on `ctypes.pythonapi` are shared by the whole process.
_raise_in = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)
_system_handler = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int)(
    ("PyOS_getsig", ctypes.pythonapi)
)
_set_system_handler = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(
    ("PyOS_setsig", ctypes.pythonapi)
)


def _handle_interrupts(handler: Callable[[int, FrameType | None], None]) -> Undo:
    """Handle SIGINT; the undo brings back what Python and the system did before."""
    of_the_system = _system_handler(signal.SIGINT)
    before = signal.signal(signal.SIGINT, handler)

    def undo() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        _set_system_handler(signal.SIGINT, of_the_system)

    return undo
