"""Threads that a run starts: their output belongs to the run, in no order to its other output.

A thread inherits the run, its stubs and its secrets, and nothing else of the context: all other
context variables are as in any new thread. The output of a thread that outlives its run is dropped.
Workers of pools also serve others, so not the worker inherits the run but each item of work.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import (
    CAPTURED,
    ON_THREAD_ERROR,
    PLACE,
    POOL,
    THREAD,
    current_capture,
)
from repl_pair.runtime.capture.comms import close_comms
from repl_pair.runtime.capture.wrapping import wrap

Carried = list[tuple[ContextVar[Any], Any]]

INHERITED = frozenset(
    f"repl_pair_{name}" for name in ("captured", "effects", "secrets", "sender", "stubs")
)
"""Names of the context variables that make code part of a run."""
POOLS = "concurrent.futures.thread"


def hook_threads() -> Iterator[Undo]:
    """Let threads, and callbacks of futures, inherit the run that starts them."""
    yield wrap(threading.Thread, "start", _start)
    yield wrap(Future, "add_done_callback", _add_done_callback)


def hook_pools() -> Undo:
    """Let items of work inherit their run; `concurrent.futures.thread` must be imported."""
    return wrap(sys.modules[POOLS].ThreadPoolExecutor, "submit", _submit)


def _start(own: Callable[..., None], thread: threading.Thread) -> None:
    place = None if current_capture() is None else _place_of(thread)
    if place is None:
        own(thread)
        return
    names, run, carried = vars(thread), thread.run, _inherited(place)
    original = names.get("run")

    def restore() -> None:
        if original is None:
            names.pop("run", None)
        else:
            names["run"] = original

    def run_as_part() -> None:
        restore()
        # Not reset: `threading.excepthook` reports a failure after the thread has run.
        for variable, value in carried:
            variable.set(value)
        try:
            run()
        except BaseException as error:
            for take in ON_THREAD_ERROR:
                take(error)
            raise
        finally:
            _close_late(dict(carried))

    names["run"] = run_as_part
    try:
        own(thread)
    except BaseException:
        restore()
        raise


def _place_of(thread: threading.Thread) -> str | None:
    """Return the place of a thread in the run that starts it; None if it is no part of it."""
    target = getattr(thread, "_target", None) or type(thread)
    module = f"{getattr(target, '__module__', '')}."
    if module.startswith((f"{POOLS}.", "repl_pair.")):
        return None
    return POOL if module.startswith(("concurrent.futures.", "multiprocessing.")) else THREAD


def _inherited(place: str) -> Carried:
    carried = [(v, value) for v, value in copy_context().items() if v.name in INHERITED]
    return [*carried, (PLACE, place)]


def _close_late(carried: dict[Any, Any]) -> None:
    """Close what was opened here after the run had ended."""
    if (captured := carried.get(CAPTURED)) is not None and captured.closed:
        close_comms(captured)


def _submit(
    own: Callable[..., Any], pool: Any, fn: Callable[..., Any], /, *args: Any, **named: Any
) -> Any:
    return own(pool, _as_part(fn), *args, **named)


def _add_done_callback(own: Callable[..., Any], future: Any, fn: Callable[..., Any]) -> Any:
    return own(future, _as_part(fn))


def _as_part(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn if current_capture() is None else partial(_call, _inherited(THREAD), fn)


def _call(carried: Carried, fn: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Call as part of a run, on a thread that other code uses too."""
    if CAPTURED.get() is dict(carried).get(CAPTURED):
        return fn(*args, **named)
    tokens = [(variable, variable.set(value)) for variable, value in carried]
    try:
        return fn(*args, **named)
    finally:
        _close_late(dict(carried))
        for variable, token in reversed(tokens):
            variable.reset(token)
