"""A context for a run: the context variables that it sets end with it."""

import sys
from collections.abc import Coroutine, Generator
from contextlib import AbstractContextManager
from contextvars import Context, ContextVar, copy_context
from inspect import CORO_CLOSED, getcoroutinestate
from types import coroutine
from typing import Any, TypeVar

from repl_pair.records import holding
from repl_pair.runtime.stopping.stop import CANCELLED_BEFORE, CLOSES, count_cancellations

T = TypeVar("T")


_SHARED: ContextVar[bool] = ContextVar("repl_pair_shared_context", default=False)


def share_context() -> AbstractContextManager[None]:
    """Let the runs of the block set variables of the context around it.

    What is set up in such a run and torn down after it, as a fixture of pytest, may reset them.
    """
    return holding(_SHARED, True)


def own_context() -> Context | None:
    """Copy the current context for a run, with a `decimal` context of its own; None if shared."""
    if _SHARED.get():
        return None
    context = copy_of(copy_context())
    context.run(CANCELLED_BEFORE.set, count_cancellations())
    return context


def copy_of(context: Context) -> Context:
    """Copy a context, and its `decimal` context too, which is an object that code changes."""
    copied = context.copy()
    if (decimal := sys.modules.get("decimal")) is not None:
        copied.run(lambda: decimal.setcontext(decimal.getcontext().copy()))
    return copied


@coroutine
def in_context(context: Context | None, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Await a coroutine, each step of it in a context; what it sets there stays there.

    What is raised here between two steps, as by a signal, is raised in the coroutine.
    """
    if context is None:
        return (yield from work.__await__())
    step, sent = work.send, None
    while True:
        try:
            while True:
                waited = context.run(step, sent)
                step, sent = work.send, (yield waited)
        except StopIteration as end:
            return end.value
        except GeneratorExit:
            context.run(_close, work)
            raise
        except BaseException as error:
            if getcoroutinestate(work) == CORO_CLOSED:
                raise
            step, sent = work.throw, error


def _close(work: Coroutine[Any, Any, Any]) -> None:
    with holding(CLOSES, True):
        work.close()
