"""What a test may leave behind in its process, as a picture to compare with the one before it."""

import asyncio
import os
import signal
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path

import repl_pair

Picture = Mapping[str, frozenset[Hashable]]

LASTING_THREADS = frozenset(
    (
        "repl_pair closing",
        "repl_pair database",
        "repl_pair loop",
        "repl_pair main lane",
        "repl_pair panels",
        "repl_pair pipe",
        "repl_pair timers",
    )
)
"""Daemons of which a process has one, or which end by themselves when they have no more to do."""
STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")
USUAL_HANDLER = signal.default_int_handler
"""What a loop that ends in a test puts back."""
LASTING_VARIABLES = ("PYTEST_CURRENT_TEST", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK")
"""Variables that pytest keeps, and that scikit-learn sets for good when it is imported."""


def take_picture() -> Picture:
    """Return all that stands in this process now, by its sort."""
    return {sort: frozenset(read()) for sort, read in SORTS.items()}


def find_leftovers(before: Picture, after: Picture) -> list[str]:
    """Describe what is there now and was not before, or was there before and is missing."""
    lines = []
    for sort, now in after.items():
        lines += [f"{sort}: {one} was left" for one in now - before[sort]]
        if sort in EXACT:
            lines += [f"{sort}: {one} is gone" for one in before[sort] - now]
    return sorted(lines)


def _modules() -> Iterator[Hashable]:
    """Give each module of the package, and each that a package still has and `sys.modules` not."""
    if _SEARCHED.get("") != len(sys.modules):
        _SEARCHED[""] = len(sys.modules)
        for name, module in list(sys.modules.items()):
            if name.startswith("repl_pair") and module is not None:
                _FIRST.setdefault(name, module)
    for name, module in list(_FIRST.items()):
        names = vars(module)
        if "__path__" in names and _SEARCHED.get(name) != len(names):
            _SEARCHED[name] = len(names)
            for inner in list(names.values()):
                if isinstance(inner, types.ModuleType) and inner.__name__.startswith("repl_pair."):
                    _FIRST.setdefault(inner.__name__, inner)
    for name, first in _FIRST.items():
        now = sys.modules.get(name)
        if now is not first:
            yield f"{name} is {'missing' if now is None else 'another object'}"
            _put_back(name, first)


_SEARCHED: dict[str, int] = {}
"""How many names each package, and `sys.modules`, had when it was searched: a search is slow."""
_FIRST: dict[str, types.ModuleType] = {}


def _put_back(name: str, module: types.ModuleType) -> None:
    """Let the first object of a module be the only one, so that the next test does not fail too."""
    sys.modules[name] = module
    package, _, last = name.rpartition(".")
    if package:
        setattr(sys.modules[package], last, module)


def _capture() -> Iterator[Hashable]:
    from repl_pair.runtime.capture import capture

    capture.uninstall()
    yield from (f"run {captured}" for captured in tuple(capture._in_progress))
    if capture.CAPTURED.get() is not None:
        yield "the context still belongs to a run"
    for name in STREAMS:
        stream = getattr(sys, name)
        own = [vars(type(stream)).get("write"), getattr(stream, "__dict__", {}).get("write")]
        if any(map(_is_of_the_package, own)):
            yield f"sys.{name}.write is a dispatcher"
    yield from (f"{one} in sys.meta_path" for one in sys.meta_path if _is_of_the_package(one))


def _is_of_the_package(value: object) -> bool:
    of = (type(value), getattr(value, "func", None))
    return any(str(getattr(one, "__module__", "")).startswith("repl_pair.") for one in of)


def _stubs() -> Iterator[Hashable]:
    from repl_pair.runtime.running import dispatcher, stubs

    for place in list(stubs._places.values()):
        if place._frames:
            yield f"stub of {place.name}"
    if dispatcher._live():
        yield "a stub in the context"


def _live() -> Iterator[Hashable]:
    from repl_pair.runtime.running import live, openings

    yield from (f"listener {listener}" for listener in list(live.LISTENERS.values()))
    yield from (f"live object of {one}" for one in list(openings._OPENINGS.values()))


def _own_calls() -> Iterator[Hashable]:
    from repl_pair.runtime.clients.own_calls import OWN_CALLS

    yield from (f"host {host}" for host in list(OWN_CALLS._handlers.values()))


def _cells() -> Iterator[Hashable]:
    from repl_pair.runtime.registry.cells import CELLS

    yield from (f"{called} at the end of cells" for called in list(CELLS._at_end.values()))


def _for_all_stories() -> Iterator[Hashable]:
    from repl_pair.runtime.authoring.shared import GLOBAL_ARGS, GLOBAL_DECORATORS
    from repl_pair.runtime.store import STORE

    found = {cell.name: STORE.get(cell.name) for cell in (GLOBAL_ARGS, GLOBAL_DECORATORS)}
    yield from (f"{name} {value!r}" for name, value in found.items() if value)


def _threads() -> Iterator[Hashable]:
    lasting = Counter[str]()
    for thread in threading.enumerate():
        is_own = thread.name.startswith("repl_pair")
        # The threads of a loop's executor end with the loop, which may serve a whole file.
        is_lasting = thread.daemon or thread.name.startswith("asyncio_")
        if thread.name in LASTING_THREADS:
            lasting[thread.name] += 1
            if lasting[thread.name] > 1:
                yield f"{thread.name}, number {lasting[thread.name]}"
        elif is_own or not is_lasting:
            yield thread


def _tasks() -> Iterator[Hashable]:
    """Give the tasks that run code of the package."""
    # Other threads start tasks meanwhile: a set of references is copied in one step.
    for ref in list(asyncio.tasks._all_tasks.data):
        task = ref()
        code = None if task is None else getattr(task.get_coro(), "cr_code", None)
        if code is not None and not task.done() and code.co_filename.startswith(_PACKAGE):
            yield f"{code.co_qualname} ({task.get_name()})"


_PACKAGE = str(Path(repl_pair.__file__).parent)


def _children() -> Iterator[Hashable]:
    """Give the processes that this one started and that have not ended."""
    for file in Path("/proc/self/task").glob("*/children"):
        try:
            numbers = file.read_text().split()
        except OSError:  # the thread has ended
            continue
        for number in map(int, numbers):
            try:
                words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            # One process of multiprocessing's stays to the end.
            if not any(b"resource_tracker" in word for word in words):
                yield number, b" ".join(words).decode(errors="replace")[:200]


def _runtime_files() -> Iterator[Hashable]:
    try:
        yield from os.listdir(os.environ["JUPYTER_RUNTIME_DIR"])
    except (KeyError, FileNotFoundError):
        return


SORTS: Mapping[str, Callable[[], Iterator[Hashable]]] = {
    "modules": _modules,
    "capture": _capture,
    "stubs": _stubs,
    "live objects": _live,
    "own calls": _own_calls,
    "cells": _cells,
    "what holds for all stories": _for_all_stories,
    "threads": _threads,
    "tasks": _tasks,
    "processes": _children,
    "runtime files": _runtime_files,
    "environment": lambda: (p for p in os.environ.items() if p[0] not in LASTING_VARIABLES),
    "working directory": lambda: iter([os.getcwd()]),
    "sys.path": lambda: iter([tuple(sys.path)]),
    "handler of SIGINT": lambda: iter({signal.getsignal(signal.SIGINT)} - {USUAL_HANDLER}),
    "hooks": lambda: iter([sys.excepthook, sys.displayhook, threading.excepthook]),
}
EXACT = ("environment", "working directory", "sys.path")
"""What a test may not take away either."""
