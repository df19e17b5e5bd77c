"""The settings of the interpreter and its library that a run has for itself, a row each."""

import ctypes
import gc
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """One row of SETTINGS; its functions are called where its module is imported.

    `is_as` compares what `read` gave with what it would give now. Each run pays for it twice, for
    `read` only where it differs: a comparison that finds too many differences costs time alone.
    """

    name: str
    module: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    is_as: Callable[[Any], bool] | None = None
    is_kept: bool = True
    """Whether what was read is kept for the next run; objects of the person are not."""

    def is_still(self, was: Any) -> bool:
        """Return whether the setting is as it was."""
        return self.read() == was if self.is_as is None else self.is_as(was)


def _environ() -> dict[Any, Any]:
    return vars(os.environ)["_data"].copy()


def _set_environ(was: Mapping[Any, Any]) -> None:
    environ: Any = os.environ
    now = _environ()
    for key in now.keys() - was.keys():
        del environ[environ.decodekey(key)]
    for key, value in was.items():
        if now.get(key) != value:
            environ[environ.decodekey(key)] = environ.decodevalue(value)


def _is_as_environ(was: Mapping[Any, Any]) -> bool:
    return vars(os.environ)["_data"] == was


def _gc() -> Any:
    return gc.isenabled(), gc.get_threshold(), gc.get_debug()


def _set_gc(was: Any) -> None:
    (gc.enable if was[0] else gc.disable)()
    gc.set_threshold(*was[1])
    gc.set_debug(was[2])


_TRACES: tuple[tuple[Callable[[], Any], Callable[[Any], None]], ...] = (
    (sys.gettrace, sys.settrace),
    (sys.getprofile, sys.setprofile),
    (threading.gettrace, threading.settrace),
    (threading.getprofile, threading.setprofile),
)


def _traces() -> list[Any]:
    return [get() for get, _ in _TRACES]


def _set_traces(was: Any) -> None:
    for (get, put), trace in zip(_TRACES, was, strict=True):
        if get() is not trace:
            put(trace)


def _is_as_traces(was: Any) -> bool:
    """Return whether the functions are as they were, or a debugger was attached meanwhile."""
    now = _traces()
    return now == was or any("pydevd" in f"{type(one).__module__} {one!r}" for one in now)


def memory(thing: Any) -> bytes:
    """Return what an object of C code holds, which tells whether a generator was drawn from."""
    head = object.__basicsize__
    return ctypes.string_at(id(thing) + head, type(thing).__basicsize__ - head)


HOOKED: dict[int, Callable[[], Any]] = {}
"""The streams that were hooked as they stood, by id, weakly: one of the person may be collected."""
_STREAMS = ("stdin", "stdout", "stderr")


def _streams() -> list[Any]:
    return [getattr(sys, name) for name in _STREAMS]


def _set_streams(was: list[Any]) -> None:
    for name, stream in zip(_STREAMS, was, strict=True):
        if not _stood_before(name):
            setattr(sys, name, stream)


def _is_as_streams(was: list[Any]) -> bool:
    other = [name for name, one in zip(_STREAMS, was, strict=True) if getattr(sys, name) is not one]
    return all(map(_stood_before, other))


def _stood_before(name: str) -> bool:
    """Return whether a stream is the process's: another thread may have put it back meanwhile."""
    stream = getattr(sys, name)
    return stream is getattr(sys, f"__{name}__") or id(stream) in HOOKED


_signal: Any = vars(signal)["_signal"]
"""Its functions give no enums, which take most of the time of those of `signal`."""
_OF_STOPS = {_signal.SIGINT, getattr(_signal, "SIGURG", None)}
_SIGNALS: list[int] = sorted(_signal.valid_signals() - _OF_STOPS)
"""Without those that stop runs: their handlers are put back elsewhere."""


def _signals() -> list[Any]:
    return list(map(_signal.getsignal, _SIGNALS))


def _set_signals(was: list[Any]) -> None:
    for number, now, handler in zip(_SIGNALS, _signals(), was, strict=True):
        if now is not handler and handler is not None:  # None: one that no Python code set
            _signal.signal(number, handler)


_TIMERS = [
    getattr(_signal, name)
    for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")
    if hasattr(_signal, name)  # not on Windows
]


def _timers() -> list[tuple[float, float]]:
    return [_signal.getitimer(which) for which in _TIMERS]


def _set_timers(was: list[tuple[float, float]]) -> None:
    for which, now, before in zip(_TIMERS, _timers(), was, strict=True):
        if not _goes_on(now, before):
            _signal.setitimer(which, *before)


def _is_as_timers(was: list[tuple[float, float]]) -> bool:
    return all(map(_goes_on, _timers(), was))


def _goes_on(now: tuple[float, float], was: tuple[float, float]) -> bool:
    """Return whether a timer was neither begun nor ended; one that goes on has less time left."""
    return (bool(now[0]), now[1]) == (bool(was[0]), was[1])


def _logging() -> list[Any]:
    root: Any = sys.modules["logging"].root
    return [root.manager.disable, root.level, root.handlers[:], root.filters[:], _disabled()]


def _disabled() -> list[Any]:
    """Return the loggers that are switched off, as `dictConfig` does with all that it finds."""
    logging: Any = sys.modules["logging"]
    gap = logging.PlaceHolder  # a class that is compared so is half of the time of a default
    every: list[Any] = [logging.root, *logging.root.manager.loggerDict.values()]
    return [one for one in every if type(one) is not gap and one.disabled]


def _set_logging(was: list[Any]) -> None:
    logging: Any = sys.modules["logging"]
    disable, logging.root.level, logging.root.handlers[:], logging.root.filters[:], off = was
    for logger in _disabled():
        logger.disabled = False
    for logger in off:
        logger.disabled = True
    logging.disable(disable)  # it empties the caches of all loggers too


def _random_mark() -> Any:
    inst: Any = vars(random)["_inst"]
    return inst.gauss_next, memory(inst)


def _random() -> Any:
    return _random_mark(), random.getstate()


def _set_random(was: Any) -> None:
    random.setstate(was[1])


def _is_as_random(was: Any) -> bool:
    return _random_mark() == was[0]


STREAMS = "standard streams"
OF_THE_PROCESS = (
    Setting("cwd", "os", os.getcwd, os.chdir),
    Setting("environ", "os", _environ, _set_environ, _is_as_environ),
    Setting("recursion limit", "sys", sys.getrecursionlimit, sys.setrecursionlimit),
    Setting("gc", "gc", _gc, _set_gc),
    Setting("trace functions", "sys", _traces, _set_traces, _is_as_traces, is_kept=False),
    Setting(STREAMS, "sys", _streams, _set_streams, _is_as_streams, is_kept=False),
    # Before the handlers: a timer that ends without its handler ends the process.
    Setting("timers", "sys", _timers, _set_timers, _is_as_timers, is_kept=False),
    Setting("signals", "sys", _signals, _set_signals, is_kept=False),
    Setting("logging", "logging", _logging, _set_logging, is_kept=False),
    Setting("random", "random", _random, _set_random, _is_as_random),
)
