"""Stopping what runs: only the run that is meant, and only while it is live."""

import asyncio
import ctypes
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


class RunStopped(BaseException):
    """Raised inside a run that is stopped; no `except Exception` of the component's swallows it."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def stop_of(error: BaseException) -> RunStopped | None:
    """Give the stop behind an exception that ended a run: raised in it, or sent by cancelling."""
    if isinstance(error, RunStopped):
        return error
    if isinstance(error, asyncio.CancelledError) and error.args:
        return error.args[0] if isinstance(error.args[0], RunStopped) else None
    return None


BY_THE_PERSON = ("cannot_run", "interrupted by the person")

SETTLE_S = 0.2
"""How long a run that ends waits for a signal that is already on its way to it."""

Stop = Callable[[RunStopped], None]


@contextmanager
def stoppable_by_signal(task: "asyncio.Task[object] | None") -> Generator[Stop]:
    """Make what runs here on the main thread stoppable from any thread, and by the person's Stop.

    Between cells a kernel ignores SIGINT, so the run brings its own handler. The signal reaches
    code that sleeps; what awaits is cancelled through its task. No signal outlives the run.
    """
    lock = threading.Lock()
    live, sent, handled = True, 0, 0
    wanted: list[RunStopped] = []
    loop = task.get_loop() if task is not None else None

    def deliver(stop: RunStopped) -> None:
        running = asyncio.current_task(loop) if loop is not None else None
        if task is None or running is task:
            raise stop
        task.get_loop().call_soon_threadsafe(task.cancel, stop)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal handled
        handled += 1
        if live:
            deliver(wanted[0] if wanted else RunStopped(*BY_THE_PERSON))

    def stop(reason: RunStopped) -> None:
        nonlocal sent
        with lock:
            if live:
                wanted[:] = [reason]
                sent += 1
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(signal.SIGINT, on_signal) or signal.default_int_handler
    try:
        yield stop
    finally:
        with lock:
            live = False
        _wait_until(lambda: handled >= sent)
        signal.signal(signal.SIGINT, before)


@contextmanager
def stoppable_by_exception(task: "asyncio.Task[object] | None") -> Generator[Stop]:
    """Make what runs here on a thread of ours stoppable; C code is stopped when it returns."""
    lock = threading.Lock()
    live = True
    thread = threading.get_ident()
    loop = task.get_loop() if task is not None else None

    def stop(reason: RunStopped) -> None:
        with lock:
            if not live:
                return
            if task is not None and asyncio.current_task(loop) is not task:
                task.get_loop().call_soon_threadsafe(task.cancel, reason)
            else:
                _PENDING[thread] = reason
                _raise_in(thread, PendingStop)

    try:
        yield stop
    finally:
        with lock:
            live = False
        try:
            _wait_until(lambda: thread not in _PENDING)
        except PendingStop:
            # It was on its way when the run ended, and must not reach what this thread does next.
            pass


class PendingStop(RunStopped):
    """A stop that was sent to a thread: carries the reason that waits for it there."""

    def __init__(self) -> None:
        reason = _PENDING.pop(threading.get_ident(), None)
        super().__init__(*((reason.status, reason.reason) if reason else ("error", "stopped")))


_PENDING: dict[int, RunStopped] = {}


def _raise_in(thread: int, exception: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(exception))


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SETTLE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.0005)
