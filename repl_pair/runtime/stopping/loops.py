"""Waits for awaitables: on the current loop, or on a private event loop with its own thread."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from repl_pair.runtime.stopping.contexts import current_pair
from repl_pair.runtime.stopping.sections import raise_in
from repl_pair.runtime.stopping.stop import PendingStop, defer_stops, this_section

T = TypeVar("T")

WaitFor = Callable[[Awaitable[Any]], Awaitable[Any]]
"""Waits for an awaitable, on one certain loop."""

STUCK_S = 0.3
"""How long a cancelled coroutine may take to end, before its loop counts as stuck."""


class LoopThread:
    """An event loop on a daemon thread, started on first need."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._awaited: WeakKeyDictionary[Future[Any], asyncio.AbstractEventLoop | None] = (
            WeakKeyDictionary()
        )

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop, running."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name=self.name, daemon=True
                )
                self._thread.start()
            return self._loop

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Run an awaitable to its end in the paired context; an interrupt here cancels it there.

        A loop that is stuck in code that does not await is stopped by an exception, and replaced.
        """
        result: Future[Any] = Future()
        with self._lock:
            self._awaited[result] = None
        started: list[asyncio.Future[Any]] = []
        self._awaited[result] = loop = self.loop
        pair = current_pair()
        context = pair.copy_there()

        def start() -> None:
            task = loop.create_task(_outcome_of(awaitable), context=context)
            started.append(task)
            task.add_done_callback(lambda done: _hand_over(done, result))

        loop.call_soon_threadsafe(start)
        try:
            try:
                return result.result()
            finally:
                if not result.done():
                    # The stop of a run is repeated until it has ended.
                    with defer_stops():
                        self._end(loop, started, result)
        finally:
            pair.copy_back()

    def _end(
        self,
        loop: asyncio.AbstractEventLoop,
        started: "list[asyncio.Future[Any]]",
        result: "Future[Any]",
    ) -> None:
        ended = False
        try:
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in started])
            ended = bool(wait([result], timeout=STUCK_S).done)
        finally:
            # Also after a second interrupt: a stuck loop must not be used again.
            if not ended:
                self._replace(loop)
        if not ended and not wait([result], timeout=STUCK_S).done:
            this_section().leave_running(result)

    def _replace(self, stuck: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if self._loop is not stuck:
                return
            self._loop = None
            stuck.call_soon_threadsafe(stuck.stop)
            if self._thread is not None and self._thread.ident is not None:
                raise_in(self._thread.ident, PendingStop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            _serve(loop)
        finally:
            for result, its_loop in list(self._awaited.items()):
                # A coroutine that ignored its cancellation and awaits again never resumes.
                if its_loop is loop and not result.done():
                    result.set_exception(asyncio.CancelledError())

    def close_idle(self) -> None:
        """Stop the loop if nothing runs or waits on it; the next need starts a new one."""
        with self._lock:
            is_awaited = not all(result.done() for result in self._awaited)
            if self._loop is not None and not is_awaited and not asyncio.all_tasks(self._loop):
                self._stop(self._loop)

    def close(self) -> None:
        """Stop the loop; its thread ends."""
        with self._lock:
            if self._loop is not None:
                self._stop(self._loop)

    def _stop(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = None
        loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    stopped = False
    try:
        while True:
            try:
                if not stopped:
                    loop.run_forever()
                stopped = True
                _end_tasks(loop)
            except PendingStop:
                # It hit the loop between two steps of the task that it was meant for.
                continue
            return
    finally:
        loop.close()


async def _outcome_of(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Return the value, or an exception that would end the loop if a task raised it."""
    try:
        return await awaitable, None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=STUCK_S))


def _hand_over(
    done: "asyncio.Future[tuple[Any, BaseException | None]]", result: "Future[Any]"
) -> None:
    if done.cancelled():
        result.set_exception(asyncio.CancelledError())
        return
    value, error = (None, done.exception()) if done.exception() else done.result()
    if error is not None:
        result.set_exception(error)
    else:
        result.set_result(value)


PRIVATE = LoopThread("repl_pair loop")
"""The loop on which `run` waits for awaitables."""


async def on_this_loop(awaitable: Awaitable[Any]) -> Any:
    """Wait for an awaitable on the loop of the run."""
    return await awaitable


async def on_private_loop(awaitable: Awaitable[Any]) -> Any:
    """Wait for an awaitable on the private loop; this thread blocks meanwhile."""
    return PRIVATE.wait_for(awaitable)


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends to its end, on this thread, with or without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError("a coroutine that must not suspend awaited something")
