"""Runs a command on a thread of its own, beside the main thread, which runs the project's code."""

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.kernel.lanes import LocalLanes

T = TypeVar("T")
LEAVES_S = 5.0
"""How long a run that could not be stopped may keep the process from its end."""


def run_beside(lanes: LocalLanes, command: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end, and on this thread what it asks of the main lane.

    The person's interrupt cancels the command; KeyboardInterrupt once it has ended. Where the
    project's code goes on then, because nothing stops it, the process ends with the command's code.
    """
    result, is_free = Future[T](), threading.Event()
    began = Future[asyncio.Task[T]]()

    def run() -> None:
        try:
            with asyncio.Runner() as runner:
                task = runner.get_loop().create_task(command)
                began.set_result(task)
                value = runner.get_loop().run_until_complete(task)
        except BaseException as error:  # noqa: BLE001  it is raised where the command is waited for
            result.set_exception(error)
        else:
            result.set_result(value)
        lanes.close()
        if not is_free.wait(LEAVES_S):
            _exit_at_once(result)

    def interrupt() -> None:
        task = began.result()
        with suppress(RuntimeError):  # the loop is closed: the command has just ended
            task.get_loop().call_soon_threadsafe(lambda: task.cancelling() or task.cancel())

    start_thread(run, name="command", runs_cells=True)
    try:
        lanes.serve(interrupt)
    except KeyboardInterrupt:
        with suppress(asyncio.CancelledError):
            result.result()
        raise
    finally:
        if not lanes.tasks_left:
            is_free.set()
    value = result.result()
    if lanes.tasks_left:
        _exit_at_once(result)
    return value


def _exit_at_once(result: Future[Any]) -> None:
    code = 1 if result.exception() else result.result()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code or 0)
