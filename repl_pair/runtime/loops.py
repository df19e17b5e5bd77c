"""A private event loop on a thread of its own, for what a running loop must not wait on."""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable
from concurrent.futures import Future, wait
from typing import Any

from repl_pair.runtime.stopping import PendingStop, raise_in

STUCK_S = 0.3
"""What a cancelled coroutine gets to end, before its loop counts as stuck."""


class LoopThread:
    """An event loop on a daemon thread, started on first need."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Give the loop, running."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name=self.name, daemon=True
                )
                self._thread.start()
            return self._loop

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Run an awaitable to its end in the caller's context; an interrupt cancels it there.

        A loop that is stuck in code that does not wait is stopped by exception and replaced.
        """
        result: Future[Any] = Future()
        started: list[asyncio.Future[Any]] = []
        loop = self.loop

        def start() -> None:
            task = asyncio.ensure_future(awaitable, loop=loop)
            started.append(task)
            task.add_done_callback(lambda done: _hand_over(done, result))

        loop.call_soon_threadsafe(start, context=contextvars.copy_context())
        try:
            return result.result()
        finally:
            if not result.done():
                loop.call_soon_threadsafe(lambda: [task.cancel() for task in started])
                if not wait([result], timeout=STUCK_S).done:
                    self._replace(loop)

    def _replace(self, stuck: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if self._loop is not stuck:
                return
            self._loop = None
            stuck.call_soon_threadsafe(stuck.stop)
            if self._thread is not None and self._thread.ident is not None:
                raise_in(self._thread.ident, PendingStop)

    def close(self) -> None:
        """Stop the loop; its thread ends."""
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None


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
                # It met the loop between two steps of what it was meant for.
                continue
            return
    finally:
        loop.close()


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=STUCK_S))


def _hand_over(done: "asyncio.Future[Any]", result: "Future[Any]") -> None:
    if done.cancelled():
        result.set_exception(asyncio.CancelledError())
    elif (error := done.exception()) is not None:
        result.set_exception(error)
    else:
        result.set_result(done.result())


PRIVATE = LoopThread("repl_pair loop")
"""Where `run` sends what is asynchronous."""
