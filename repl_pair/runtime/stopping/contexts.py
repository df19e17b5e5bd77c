"""A context for a run: the context variables that it sets end with it."""

import sys
from collections.abc import Coroutine, Generator
from contextvars import Context, copy_context
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def own_context() -> Context:
    """Copy the current context for a run, with a `decimal` context of its own."""
    context = copy_context()
    if (decimal := sys.modules.get("decimal")) is not None:
        context.run(lambda: decimal.setcontext(decimal.getcontext().copy()))
    return context


@coroutine
def in_context(context: Context, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Await a coroutine, each step of it in a context; what it sets there stays there."""
    step, sent = work.send, None
    while True:
        try:
            waited = context.run(step, sent)
        except StopIteration as end:
            return end.value
        try:
            step, sent = work.send, (yield waited)
        except GeneratorExit:
            context.run(work.close)
            raise
        except BaseException as error:  # noqa: BLE001  such as a cancellation: the work handles it
            step, sent = work.throw, error
