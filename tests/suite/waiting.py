"""Runs what an op awaits, as the kernel does, on the thread that calls."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from repl_pair.runtime.stopping.waiting import Waiters

T = TypeVar("T")


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for alarms to its end, and return or raise what it does."""
    serve: list[Callable[[], None]] = []
    waiters, results, errors = Waiters(serve.append), list[T](), list[BaseException]()

    async def run() -> None:
        try:
            results.append(await work)
        except BaseException as error:
            errors.append(error)
        waiters.close()

    waiters.add(run())
    serve[0]()
    for error in errors:
        raise error
    return results[0]
