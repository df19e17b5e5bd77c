"""Waits for awaitables: on the current loop, or on a private loop with its own thread."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from repl_pair.runtime.stopping.sections import raise_in
from repl_pair.runtime.stopping.stop import (
    BY_THE_PERSON,
    ENDS,
    STUCK_S,
    PendingStop,
    defer_stops,
    this_section,
)

if TYPE_CHECKING:
    from repl_pair.runtime.stopping.awaiting import AwaitingTask, OtherContext

T = TypeVar("T")

WaitFor = Callable[[Awaitable[Any]], Awaitable[Any]]
"""Waits for an awaitable, on one certain loop."""


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
            # A process that was forked has none of the threads of its parent.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name=self.name, daemon=True
                )
                self._thread.start()
            return self._loop

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Run an awaitable to its end in the task of the run; an interrupt here cancels it there.

        A loop that is stuck in code that does not await is stopped by an exception, and replaced.
        """
        result: Future[Any] = Future()
        with self._lock:
            self._awaited[result] = None
        started: list[AwaitingTask] = []
        self._awaited[result] = loop = self.loop
        with _awaiting() as there:
            here = copy_context()
            loop.call_soon_threadsafe(
                lambda: started.append(there.begin(loop, awaitable, result, here))
            )
            try:
                return result.result()
            finally:
                try:
                    if not result.done():
                        # The stop of a run is repeated until it has ended.
                        with defer_stops():
                            self._end(loop, started, result)
                finally:
                    there.end(result)
                    if result.done():
                        del result  # what it raises has a traceback, which holds this frame

    def _end(
        self, loop: asyncio.AbstractEventLoop, started: "list[AwaitingTask]", result: Future[Any]
    ) -> None:
        ended, stop = False, this_section().wanted or BY_THE_PERSON

        def cancel() -> None:
            for one in started:
                if not result.done():
                    one.task.cancel(stop)

        try:
            loop.call_soon_threadsafe(cancel)
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
            self._stop()
            if self._thread is not None and self._thread.ident is not None:
                raise_in(self._thread.ident, PendingStop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            _serve(loop)
        finally:
            with self._lock:
                awaited = list(self._awaited.items())
            for result, its_loop in awaited:
                # A coroutine that ignored its cancellation and awaits again never resumes.
                if its_loop is loop and not result.done():
                    result.set_exception(asyncio.CancelledError())

    def close_idle(self) -> None:
        """Stop the loop if nothing runs or waits on it; the next need starts a new one."""
        with self._lock:
            is_awaited = not all(result.done() for result in self._awaited)
            if self._loop is not None and not is_awaited and not asyncio.all_tasks(self._loop):
                self._stop()

    def _stop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    stopped = False
    try:
        while True:
            try:
                if not stopped:
                    loop.run_forever()
                stopped = True
                end_tasks(loop)
            except PendingStop:
                # It hit the loop between two steps of the task that it was meant for.
                continue
            return
    finally:
        loop.close()


def end_tasks(loop: asyncio.AbstractEventLoop) -> bool:
    """Cancel the tasks of a loop that does not run; return whether all end within `STUCK_S`."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel(ENDS)
    if not tasks:
        return True
    waiting = loop.create_task(asyncio.wait(tasks, timeout=STUCK_S))
    while not waiting.done():
        # What a task ends with is its own: no reason to end the process.
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_until_complete(waiting)
    return all(task.done() for task in tasks)


def _awaiting() -> "AbstractContextManager[OtherContext]":
    from repl_pair.runtime.stopping.awaiting import this_awaiting  # a kernel attaches without it

    return this_awaiting()


PRIVATE = LoopThread("repl_pair loop")
"""The loop on which `run` waits for awaitables."""


async def on_this_loop(awaitable: Awaitable[Any]) -> Any:
    """Wait for an awaitable on the loop of the run."""
    return await awaitable


async def on_private_loop(awaitable: Awaitable[Any]) -> Any:
    """Wait for an awaitable on the private loop; this thread blocks meanwhile."""
    return PRIVATE.wait_for(awaitable)


def on_loop(loop: asyncio.AbstractEventLoop) -> WaitFor:
    """Return what waits for awaitables on a loop that does not run now, on this thread."""

    async def wait_for(awaitable: Awaitable[Any]) -> Any:
        result, is_done = Future[Any](), asyncio.Event()
        result.add_done_callback(lambda _done: is_done.set())
        with _awaiting() as there:
            in_task = there.begin(loop, awaitable, result, copy_context())
            try:
                with this_section().on_task(in_task.task):
                    while not result.done():
                        # A stop that hits the loop between two steps comes again.
                        with suppress(PendingStop, asyncio.CancelledError):
                            loop.run_until_complete(is_done.wait())
            finally:
                if not result.done():
                    in_task.task.cancel(BY_THE_PERSON)
                    with suppress(TimeoutError):
                        loop.run_until_complete(asyncio.wait_for(is_done.wait(), STUCK_S))
                there.end(result)
        try:
            return result.result()
        finally:
            del result

    return wait_for


def close_unstarted(error: BaseException) -> None:
    """Close the coroutines that a stop has kept from being awaited, in the frames that it left.

    Python warns of one that is freed unawaited, in whichever cell runs by then. One that a task has
    taken up is the task's.
    """
    values = [v for frame, _ in walk_tb(error.__traceback__) for v in frame.f_locals.values()]
    waiting = [v for v in values if iscoroutine(v) and getcoroutinestate(v) == CORO_CREATED]
    holders = gc.get_referrers(*waiting) if waiting else ()
    taken = {id(one.get_coro()) for one in holders if issubclass(type(one), asyncio.Task)}
    for coroutine in waiting:
        if id(coroutine) not in taken:
            coroutine.close()


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends to its end, on this thread, with or without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError("a coroutine that must not suspend awaited something")
