"""Waits for a condition, runs what an op awaits as a kernel does, and lets a clock stand still."""

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

import pytest
from bounds import BOUND_S

from repl_pair.runtime.stopping.waiting import Waiters

T = TypeVar("T")


def wait_until(
    condition: Callable[[], Any], what: str = "the condition", bound_s: float = BOUND_S
) -> Any:
    """Return the first true answer of `condition`; fail with `what` after the bound."""
    until = time.monotonic() + bound_s
    while not (found := condition()):
        if time.monotonic() > until:
            pytest.fail(f"not within {bound_s:g} s: {what}")
        time.sleep(0.005)
    return found


async def eventually(
    condition: Callable[[], Any], what: str = "the condition", bound_s: float = BOUND_S
) -> Any:
    """Do the same in a loop, where the answer may be awaitable."""
    until = time.monotonic() + bound_s
    while True:
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        if time.monotonic() > until:
            pytest.fail(f"not within {bound_s:g} s: {what}")
        await asyncio.sleep(0.005)


@contextmanager
def frozen(module: ModuleType) -> Generator[None]:
    """Let the `monotonic` of a module stand still: nothing comes due while the block runs."""
    now = module.monotonic()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "monotonic", lambda: now)
        yield


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for events to its end, and return or raise what it does."""
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
