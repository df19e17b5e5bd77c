"""Tasks of asyncio that are not done, of every loop, and the lines at which they wait."""

import _asyncio
import asyncio
import gc
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from repl_pair.runtime.inspection.places import Line
from repl_pair.runtime.reading.fields import keys_are
from repl_pair.runtime.reading.stored_fields import stored_fields
from repl_pair.runtime.stopping.contexts import in_context
from repl_pair.runtime.values.classes import is_of, name_of, real_class, root_of

MAX_TASKS, MAX_DEEP = 5_000, 200
"""How many tasks are read, and how many coroutines of one."""
LISTS_ALL_TASKS = sys.version_info < (3, 14)
"""Whether the tasks of all threads can be listed; later Pythons keep those lists in C."""
_CTask: Any = _asyncio.Task
_TRIES = 10
_REGISTRIES = ("_all_tasks", "_scheduled_tasks", "_eager_tasks")
"""Where `asyncio.tasks` keeps its tasks: on Python 3.11, and later."""
_WRAPPERS = frozenset(
    {"coroutine_wrapper", "async_generator_asend", "async_generator_athrow", "anext_awaitable"}
)
"""Objects of the interpreter's that stand between a coroutine and what it awaits."""


def _getters(cls: Any, prefix: str, awaited: str) -> tuple[Any, ...]:
    names = (f"{prefix}_code", f"{prefix}_frame", awaited)
    slots = cast("dict[str, Any]", vars(cls))
    return tuple(slots[name].__get__ for name in names)


_READERS = {
    id(types.CoroutineType): _getters(types.CoroutineType, "cr", "cr_await"),
    id(types.GeneratorType): _getters(types.GeneratorType, "gi", "gi_yieldfrom"),
    id(types.AsyncGeneratorType): _getters(types.AsyncGeneratorType, "ag", "ag_await"),
}
"""Code, frame and what is awaited of what can be suspended, by the id of its exact class."""


class WaitingTask(NamedTuple):
    """A task that is not done: its name, and its outermost coroutine."""

    name: str
    coroutine: Any


def waiting_tasks() -> Iterator[WaitingTask]:
    """Yield the tasks that are not done, in no order, none of them asked or hashed."""
    for task in _registered():
        if is_of(task, _CTask):
            if not _CTask.done(task):
                yield WaitingTask(text_of(_CTask.get_name(task)), _CTask.get_coro(task))
        elif is_of(task, asyncio.tasks._PyTask):  # pyright: ignore
            fields = stored_fields(task)
            if not keys_are(str, fields):
                continue
            if text_of(fields.get("_state", "PENDING")) == "PENDING":
                yield WaitingTask(text_of(fields.get("_name")), fields.get("_coro"))


def text_of(name: Any) -> str:
    """Return the name of a task or thread as exactly text."""
    return str.__str__(name) if is_of(name, str) else "?"


def _registered() -> Iterator[Any]:
    for name in _REGISTRIES:
        registry: Any = vars(asyncio.tasks).get(name)
        if real_class(registry) is set:
            yield from _copy(registry)
        elif registry is not None:
            # `all_tasks` would hash the tasks, and ask each for its loop.
            yield from (task for ref in _copy(registry.data) if (task := ref()) is not None)


def _copy(tasks: "set[Any]") -> list[Any]:
    for _ in range(_TRIES):
        try:
            return list(tasks)[:MAX_TASKS]
        except RuntimeError:  # a task was added or freed by another thread
            continue
    return []


def lines_of(coroutine: Any) -> list[Line]:
    """Return the lines of a coroutine and of what it awaits, the innermost first.

    Only what the interpreter itself keeps of a coroutine is read: objects with attributes of such
    names are passed over.
    """
    lines: list[Line] = []
    at = coroutine
    for _ in range(MAX_DEEP):
        readers = _READERS.get(id(real_class(at)))
        if readers is not None:
            code, frame, awaited = (read(at) for read in readers)
            lines.append((code, code.co_firstlineno if frame is None else frame.f_lineno or 0))
            # It takes the steps of its coroutine itself, so it awaits nothing.
            is_in_steps = code is in_context.__code__ and awaited is None
            at = _coroutine_in(at) if is_in_steps else awaited
        elif _is_wrapper(at):
            at = _coroutine_in(at)
        else:
            break
    return lines[::-1]


def _coroutine_in(holder: Any) -> Any:
    inner = gc.get_referents(holder)
    return next((e for e in inner if id(real_class(e)) in _READERS or _is_wrapper(e)), None)


def _is_wrapper(awaited: Any) -> bool:
    kind = real_class(awaited)
    return root_of(kind) == "builtins" and name_of(kind) in _WRAPPERS
