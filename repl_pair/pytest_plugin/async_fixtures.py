"""On which loop the async fixtures of a variant live: what the variant awaits runs there too."""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction
from types import MethodType
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from repl_pair.errors import RequestError

_LOOPS: WeakKeyDictionary[Any, asyncio.AbstractEventLoop | None] = WeakKeyDictionary()
"""The loop of each async fixture that is set up; None for one of another library's."""


class AsyncFixtureHooks:
    """Notes the loop on which pytest-asyncio or anyio sets up each async fixture."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """Have an async fixture note its loop as it begins."""
        fn = fixturedef.func
        if not (iscoroutinefunction(fn) or isasyncgenfunction(fn)):
            return (yield)
        fixturedef.func = _noting(fn, fixturedef)
        try:
            return (yield)
        finally:
            fixturedef.func = fn


def loop_of(fixtures: Mapping[str, Sequence[Any]]) -> asyncio.AbstractEventLoop | None:
    """Return the loop of those fixtures that are async, None without any.

    `fixtures` are pytest's definitions by name, of which the last one is used. RequestError
    `cannot_run` for several loops, and for one that is not of asyncio.
    """
    used = fixtures.values() if _LOOPS else ()
    live = [_LOOPS[own[-1]] for own in used if own[-1] in _LOOPS]
    loops = {id(loop): loop for loop in live}
    if len(loops) > 1:
        raise RequestError(
            "cannot_run", "its async fixtures live on several loops: give them one loop scope."
        )
    if loops and None in live:
        raise RequestError(
            "cannot_run", "its async fixtures live on a loop that is not one of asyncio."
        )
    return next(iter(loops.values()), None)


def _noting(fn: Callable[..., Any], fixturedef: Any) -> Callable[..., Any]:
    if isinstance(fn, MethodType):  # one of a class is bound to the instance of each test
        return MethodType(_noting(fn.__func__, fixturedef), fn.__self__)

    def note() -> None:
        try:
            _LOOPS[fixturedef] = asyncio.get_running_loop()
        except RuntimeError:
            _LOOPS[fixturedef] = None

    @wraps(fn)
    async def make(*args: Any, **kwargs: Any) -> Any:
        note()
        return await fn(*args, **kwargs)

    @wraps(fn)
    async def make_and_end(*args: Any, **kwargs: Any) -> Any:
        note()
        async with aclosing(fn(*args, **kwargs)) as made:
            async for given in made:
                yield given

    return make_and_end if isasyncgenfunction(fn) else make
