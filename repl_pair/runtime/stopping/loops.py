"""Waits for awaitables: on the current loop, or on a private loop with its own thread."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, Token, copy_context
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from traceback import walk_tb
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from repl_pair.runtime.stopping.sections import raise_in
from repl_pair.runtime.stopping.stop import PendingStop, defer_stops, this_section

T = TypeVar("T")

WaitFor = Callable[[Awaitable[Any]], Awaitable[Any]]
"""Waits for an awaitable, on one certain loop."""

_UNSET: Any = object()
_Tokens = dict[ContextVar[Any], Token[Any]]

STUCK_S = 0.3
"""How long a cancelled coroutine may take to end, before its loop counts as stuck."""


class ContextPair:
    """Two contexts, here and on another thread; values set in one are copied to the other.

    The context there stays the same object, so that a token made there can be reset there later.
    """

    def __init__(self) -> None:
        self._there = copy_context()
        self._set_there: _Tokens = {}
        self._set_here: _Tokens = {}

    def copy_there(self) -> Context:
        """Return the context there with the values from here; a new one if it is in use."""
        here = copy_context()
        try:
            self._there.run(_copy_values, here, self._set_there)
        except RuntimeError:
            # Code that could not be stopped still runs in it.
            self._there, self._set_there = here, {}
        return self._there

    def copy_back(self) -> None:
        """Copy the values from there."""
        _copy_values(self._there, self._set_here)


def _copy_values(values: Context, tokens: _Tokens) -> None:
    """Set the variables of this context as in another; reset those that it no longer has."""
    for variable, value in values.items():
        if variable.get(_UNSET) is not value:
            tokens.setdefault(variable, variable.set(value))
    for variable in [known for known in tokens if known not in values]:
        variable.reset(tokens.pop(variable))


_PAIR: ContextVar[ContextPair | None] = ContextVar("repl_pair_context_pair", default=None)


@contextmanager
def pair_contexts() -> Generator[None]:
    """Let everything that the block runs on another thread share one context there."""
    outer = _PAIR.get()
    _PAIR.set(ContextPair())
    try:
        yield
    finally:
        _PAIR.set(outer)


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
        pair = _PAIR.get() or ContextPair()
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
            self._stop()
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
                self._stop()

    def close(self) -> None:
        """Stop the loop; its thread ends."""
        with self._lock:
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
        task.cancel()
    if not tasks:
        return True
    waiting = loop.create_task(asyncio.wait(tasks, timeout=STUCK_S))
    while not waiting.done():
        # What a task ends with is its own: no reason to end the process.
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_until_complete(waiting)
    return all(task.done() for task in tasks)


async def _outcome_of(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Return the value, or an exception that would end the loop, or lose its text with the task."""
    try:
        return await awaitable, None
    except (SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:
        return None, error


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


def on_loop(loop: asyncio.AbstractEventLoop) -> WaitFor:
    """Return what waits for awaitables on a loop that does not run now, on this thread."""

    async def wait_for(awaitable: Awaitable[Any]) -> Any:
        pair = _PAIR.get() or ContextPair()
        task = loop.create_task(_outcome_of(awaitable), context=pair.copy_there())
        try:
            with this_section().on_task(task):
                while not task.done():
                    # A stop that hits the loop between two steps cancels the task or comes again.
                    with suppress(PendingStop, asyncio.CancelledError):
                        loop.run_until_complete(asyncio.wait([task]))
        finally:
            if not task.done():
                task.cancel()
                loop.run_until_complete(asyncio.wait([task], timeout=STUCK_S))
            pair.copy_back()
        value, error = task.result()
        if error is not None:
            raise error
        return value

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
