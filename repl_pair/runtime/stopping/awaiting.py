"""The task in which a run awaits on another loop, and the context that it shares with the run."""

import asyncio
from collections.abc import Awaitable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, Token, copy_context
from inspect import iscoroutine
from typing import Any

from repl_pair.runtime.stopping.stop import ENDS, STUCK_S, Stop

_UNSET: Any = object()
_Tokens = dict[ContextVar[Any], Token[Any]]
_Call = tuple[Awaitable[Any], Future[Any]]


class AwaitingTask:
    """Awaits what one run hands over in one task of a loop, which `stays` for more until `close`.

    Made on the loop's thread, or while the loop does not run.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, context: Context) -> None:
        self.loop = loop
        self.stays = False
        self._calls = asyncio.Queue[_Call | None]()
        self._awaited: Future[Any] | None = None
        self.task = loop.create_task(self._serve(), context=context)
        self.task.add_done_callback(self._end)

    def put(self, awaitable: Awaitable[Any], result: Future[Any], *, stays: bool) -> None:
        """Await an awaitable for `result`, on the loop's thread or before the loop runs."""
        self.stays = stays
        self._calls.put_nowait((awaitable, result))

    def close(self) -> None:
        """End the task, from any thread: at once, or soon if the loop runs on another thread."""
        if self.task.done() or self.loop.is_closed():
            return
        if not self.loop.is_running():
            self._calls.put_nowait(None)
            self.loop.run_until_complete(asyncio.wait([self.task], timeout=STUCK_S))
            return
        with suppress(RuntimeError):  # the loop was closed just now, and the task ended with it
            self.loop.call_soon_threadsafe(self._calls.put_nowait, None)

    async def _serve(self) -> None:
        while await self._await_next():
            pass

    async def _await_next(self) -> bool:
        """Await one awaitable, without keeping anything of it; return whether the task goes on."""
        try:
            call = await self._calls.get()
        except asyncio.CancelledError as error:
            return self._take_cancellation(error)
        if call is None:
            return False
        awaitable, self._awaited = call
        value, error, call = None, None, None
        try:
            value = await awaitable
        except BaseException as raised:
            if self.loop.is_closed():  # the task is freed
                raise
            error = raised
        while self.task.cancelling():
            self.task.uncancel()
        # In a step of its own: in this one the context is in use, and the run goes on at once.
        self.loop.call_soon(_hand_over, self._awaited, value, error)
        self._awaited = None
        ends = isinstance(error, asyncio.CancelledError) and _ends(error)
        error = None  # its traceback holds this function's frame
        return self.stays and not ends

    def _take_cancellation(self, error: asyncio.CancelledError) -> bool:
        """Handle one that came between two awaitables; return whether the task goes on.

        A stop is for what is not begun, and is sent again without that. Any other one ends a task
        that waits, as the tasks of a loop are expected to.
        """
        self.task.uncancel()
        if error.args and isinstance(error.args[0], Stop):
            self._cancel_waiting(error)
            return self.stays
        return not _ends(error) and not self._calls.empty()

    def _cancel_waiting(self, error: BaseException) -> None:
        while not self._calls.empty():
            if (call := self._calls.get_nowait()) is not None:
                awaitable, result = call
                if iscoroutine(awaitable):
                    awaitable.close()
                _hand_over(result, None, error)

    def _end(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        error = error or asyncio.CancelledError()
        if self._awaited is not None:
            _hand_over(self._awaited, None, error)
        self._cancel_waiting(error)


def _ends(error: asyncio.CancelledError) -> bool:
    return error.args == (ENDS,)


def _hand_over(result: Future[Any], value: Any, error: BaseException | None) -> None:
    if result.done():
        return
    if error is not None:
        result.set_exception(error)
    else:
        result.set_result(value)


class OtherContext:
    """The context in which a run awaits on another loop, and the task there.

    Values that are set in one of the two contexts are copied to the other. The one there stays the
    same object, so that a token made there can be reset there later.
    """

    def __init__(self) -> None:
        self._there = copy_context()
        self._set_there: _Tokens = {}
        self._set_here: _Tokens = {}
        self._task: AwaitingTask | None = None
        self.holds = False
        """Whether something was entered there that must be left in the same task."""

    def begin(
        self,
        loop: asyncio.AbstractEventLoop,
        awaitable: Awaitable[Any],
        result: Future[Any],
        here: Context,
    ) -> AwaitingTask:
        """Await in the task on a loop, with the values from here; return that task.

        On the loop's thread, where no step of the task can be under way, or while it does not run.
        """
        try:
            self._there.run(_copy_values, here, self._set_there)
        except RuntimeError:
            # Code that could not be stopped still runs in it.
            self._there, self._set_there, self._task = here, {}, None
        task = self._task
        if task is None or task.task.done() or task.loop is not loop:
            task = self._task = AwaitingTask(loop, self._there)
        task.put(awaitable, result, stays=self.holds)
        return task

    def end(self, result: Future[Any]) -> None:
        """Copy the values from there; where the result is not there yet, leave the task to it."""
        _copy_values(self._there, self._set_here)
        if not result.done() and self._task is not None:
            self._task.stays = False
            self._task = None

    def close(self) -> None:
        """End the task."""
        if self._task is not None:
            self._task.close()


def _copy_values(values: Context, tokens: _Tokens) -> None:
    """Set the variables of this context as in another; reset those that it no longer has."""
    for variable, value in values.items():
        if variable.get(_UNSET) is not value:
            tokens.setdefault(variable, variable.set(value))
    for variable in [known for known in tokens if known not in values]:
        variable.reset(tokens.pop(variable))


_THERE: ContextVar[OtherContext | None] = ContextVar("repl_pair_other_context", default=None)


@contextmanager
def await_together() -> Generator[OtherContext]:
    """Let all that the block awaits on another loop be awaited in one context there.

    After `hold_task` in one task too, so that a task group or a timeout that a loader enters is
    left in the task that entered it.
    """
    outer, there = _THERE.get(), OtherContext()
    _THERE.set(there)
    try:
        yield there
    finally:
        _THERE.set(outer)
        there.close()


def hold_task() -> None:
    """Let the run await in one task from now on, as it enters what has to be left in the same."""
    if (there := _THERE.get()) is not None:
        there.holds = True


@contextmanager
def this_awaiting() -> Generator[OtherContext]:
    """Give the context and task of the run, or outside of any run those for the block."""
    there = _THERE.get()
    if there is not None:
        yield there
        return
    with await_together() as there:
        yield there
