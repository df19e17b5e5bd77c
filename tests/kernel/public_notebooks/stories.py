"""Stories that call the functions of a notebook, for an agent that has variants of its own."""

import inspect
import json
import sys
import threading
import time
from typing import Any

import repl_pair

RUNS: list[tuple[str, bool, float, float]] = []
"""Of each run: the function, whether it stood on the main thread, when it began and ended."""


def runs() -> str:
    """Return the runs so far as JSON."""
    return json.dumps(RUNS)


def _endless() -> None:
    while True:
        sum(range(1000))
        time.sleep(0.001)


OWN = {"endless": _endless, "greet": "Hello, {}!".format, "input": input}


def _look_up(value: Any) -> Any:
    """Return a variable of the person's, or one of `OWN`, for `$name`."""
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    return {**OWN, **vars(sys.modules["__main__"])}[value[1:]]


def call(name: str, args: list[Any] = [], kwargs: dict[str, Any] = {}) -> Any:  # noqa: B006
    """Call a function of the notebook as it is defined now."""
    begun, is_main = time.time(), threading.current_thread() is threading.main_thread()

    def end() -> None:
        RUNS.append((name, is_main, begun, time.time()))

    async def wait_for(awaited: Any) -> Any:
        try:
            return await awaited
        finally:
            end()

    result = None
    try:
        given = {key: _look_up(value) for key, value in kwargs.items()}
        result = _look_up(f"${name}")(*map(_look_up, args), **given)
    finally:
        if not inspect.isawaitable(result):
            end()
    return wait_for(result) if inspect.isawaitable(result) else result


repl_pair.story("notebook.call", component=call)
repl_pair.story("notebook.beside", component=call, thread_safe=True)
repl_pair.variant("notebook.call/Any", args={"name": "dir"})
repl_pair.variant("notebook.beside/Any", args={"name": "dir"})
