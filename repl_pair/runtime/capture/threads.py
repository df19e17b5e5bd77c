"""Threads that a run starts: what they put out is the run's, with no order to the rest.

They take along which run they are of and its stubs, and no more of the context: whatever else a
library keeps in one is as in any other new thread. A thread that outlives its run keeps its output
from everybody. The workers of pools serve others too, so they take nothing along for good: each
item of work does.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import CAPTURED, PLACE, POOL, THREAD, current_capture, wrap

Carried = list[tuple[ContextVar[Any], Any]]

TAKEN_ALONG = frozenset(("repl_pair_captured", "repl_pair_effects", "repl_pair_stubs"))
"""Names of the context variables that make code part of a run."""
POOLS = "concurrent.futures.thread"


def put_into_threads() -> Iterator[Undo]:
    """Let threads, and what is called when a future is done, take along the run they are of."""
    yield wrap(threading.Thread, "start", _start)
    yield wrap(Future, "add_done_callback", _add_done_callback)


def put_into_pools() -> Undo:
    """Let items of work take along the run they are of; `concurrent.futures.thread` is loaded."""
    return wrap(sys.modules[POOLS].ThreadPoolExecutor, "submit", _submit)


def _start(own: Callable[..., None]) -> Callable[..., None]:
    def start(thread: threading.Thread) -> None:
        place = None if current_capture() is None else _place_of(thread)
        if place is None:
            own(thread)
            return
        names = vars(thread)
        theirs = names.get("run")
        names["run"] = partial(_run_thread, names, theirs, thread.run, _take_along(place))
        try:
            own(thread)
        except BaseException:
            _put_back(names, theirs)
            raise

    return start


def _run_thread(
    names: dict[str, Any], theirs: Any, run: Callable[[], None], carried: Carried
) -> None:
    _put_back(names, theirs)
    # For good: what the thread fails with is told by its hook, after it has run.
    for variable, value in carried:
        variable.set(value)
    run()


def _put_back(names: dict[str, Any], theirs: Any) -> None:
    if theirs is None:
        names.pop("run", None)
    else:
        names["run"] = theirs


def _place_of(thread: threading.Thread) -> str | None:
    """Describe how a thread stands to the run that starts it; None if it is no part of it."""
    target = getattr(thread, "_target", None) or type(thread)
    module = f"{getattr(target, '__module__', '')}."
    if module.startswith((f"{POOLS}.", "repl_pair.")):
        return None
    return POOL if module.startswith(("concurrent.futures.", "multiprocessing.")) else THREAD


def _take_along(place: str) -> Carried:
    carried = [(v, value) for v, value in copy_context().items() if v.name in TAKEN_ALONG]
    return [*carried, (PLACE, place)]


def _submit(own: Callable[..., Any]) -> Callable[..., Any]:
    def submit(pool: Any, fn: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        if current_capture() is None:
            return own(pool, fn, *args, **named)
        return own(pool, partial(_call, _take_along(THREAD), fn), *args, **named)

    return submit


def _add_done_callback(own: Callable[..., Any]) -> Callable[..., Any]:
    def add_done_callback(future: Any, fn: Callable[..., Any]) -> Any:
        if current_capture() is None:
            return own(future, fn)
        return own(future, partial(_call, _take_along(THREAD), fn))

    return add_done_callback


def _call(carried: Carried, fn: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Call as part of a run, on a thread that others use too."""
    if CAPTURED.get() is dict(carried).get(CAPTURED):
        return fn(*args, **named)
    tokens = [(variable, variable.set(value)) for variable, value in carried]
    try:
        return fn(*args, **named)
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)
