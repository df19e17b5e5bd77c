"""A private event loop on a thread of its own, for what a running loop must not wait on."""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from typing import Any


class LoopThread:
    """An event loop on a daemon thread, started on first need."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Give the loop, running."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                serve = threading.Thread(
                    target=_serve, args=(self._loop,), name=self.name, daemon=True
                )
                serve.start()
            return self._loop

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Run an awaitable to its end in the caller's context; an interrupt cancels it there."""
        result: Future[Any] = Future()
        started: list[asyncio.Future[Any]] = []

        def start() -> None:
            task = asyncio.ensure_future(awaitable, loop=self.loop)
            started.append(task)
            task.add_done_callback(lambda done: _hand_over(done, result))

        self.loop.call_soon_threadsafe(start, context=contextvars.copy_context())
        try:
            return result.result()
        finally:
            if not result.done():
                self.loop.call_soon_threadsafe(lambda: [task.cancel() for task in started])

    def close(self) -> None:
        """Stop the loop; its thread ends."""
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _hand_over(done: "asyncio.Future[Any]", result: "Future[Any]") -> None:
    if done.cancelled():
        result.set_exception(asyncio.CancelledError())
    elif (error := done.exception()) is not None:
        result.set_exception(error)
    else:
        result.set_result(done.result())


PRIVATE = LoopThread("repl_pair loop")
"""Where `run` sends what is asynchronous."""
