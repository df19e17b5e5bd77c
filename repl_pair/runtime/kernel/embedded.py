"""`embed`: a kernel on a thread of any program, for agents and Jupyter front ends."""

import asyncio
import atexit
import os
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from repl_pair.errors import KernelError, RequestError
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.kernel import attach as hosting
from repl_pair.runtime.kernel.embedded_app import CLOSE_S, start_app
from repl_pair.runtime.registry.origin import outside
from repl_pair.runtime.stopping.loops import end_tasks
from repl_pair.runtime.stopping.stop import PendingStop
from repl_pair.runtime.store import PERSON_STORE, STORE

LONGEST_NAME = 100


def embed(namespace: dict[str, Any] | None = None, *, name: str = "") -> "Embedded":
    """Start a kernel in this program, on a thread of its own; agents find it by pid or by name.

    Its cells and evaluations see `namespace`, by default the globals of the caller's module. While
    it is open, a second call gives the same kernel. What else of the program is left as it is:
    its output, signals, hooks, prompts, builtins and exit code. KernelError `unsupported_kernel`
    without ipykernel; RequestError `cannot_run` in a Jupyter kernel.
    """
    space = outside()[0].f_globals if namespace is None else namespace
    _check(space, name)
    with _lock:
        if _open and not _open[0].is_ending:
            _open[0].check_process()
            return _open[0]
        if getattr(interactive_shell(), "kernel", None) is not None:
            raise RequestError(
                "cannot_run",
                "This process is a Jupyter kernel already: %pair attach prints the line by which "
                "an agent attaches to it.",
            )
        if not all(ending.wait() for ending in _open):
            raise RequestError(
                "cannot_run",
                f"The embedded kernel that was closed has not ended within {CLOSE_S:g} s: code in "
                "it does not stop.",
            )
        if STORE.process != os.getpid():
            _begin_anew()
        _open[:] = [Embedded(space, name or _name_of(space))]
        return _open[0]


def _begin_anew() -> None:
    """Be another process to agents than the one that this was forked from, and so its children."""
    from repl_pair.runtime.surfaces.state import begin_anew  # of a few apps

    for store in (STORE, PERSON_STORE):
        store.begin()
    BOOT.begin()
    begin_anew()


_lock = threading.RLock()
_open: "list[Embedded]" = []
"""The kernel of this program, where there is or was one."""


class Embedded:
    """A kernel in this program, open until `close` or the program's end; see `embed`.

    `file` is its connection file, for this user alone: whoever reads it can run code here.
    """

    def __init__(self, space: dict[str, Any], name: str) -> None:
        self.name = name
        self.is_ending = False
        self._space, self._pid = space, os.getpid()
        started: Future[Any] = Future()
        self._thread = start_thread(self._serve, started, name="embedded kernel", runs_cells=True)
        app = started.result()
        self.file = Path(app.connection_file)
        self._loop, self._control = app.kernel.io_loop, app.control_thread
        atexit.register(self.close)

    def __repr__(self) -> str:
        closed = ", closed" if self.is_ending else ""
        return f"<repl_pair kernel {self.name!r} of process {self._pid}{closed}>"

    def check_process(self) -> None:
        """Refuse, as `cannot_run`, a process that was forked from this kernel's."""
        if os.getpid() != self._pid:
            raise RequestError(
                "cannot_run",
                f"This process was forked from process {self._pid} while its embedded kernel was "
                "open. Embed after the fork, or close that kernel before it.",
            )

    def close(self) -> None:
        """End the kernel and remove what it brought; calls in progress are answered.

        Waits up to 5 s for its threads. A copy in a forked process does nothing.
        """
        if os.getpid() != self._pid:
            return
        if not self.is_ending:
            self._end_host()
            self._loop.add_callback(self._loop.stop)
        self.wait()

    def wait(self) -> bool:
        """Wait up to 5 s for the kernel's threads, on another thread; return whether they ended."""
        if threading.current_thread() not in (self._thread, self._control):
            self._thread.join(CLOSE_S)
        return not self._thread.is_alive()

    def _end_host(self) -> None:
        """Detach everybody, as the first step of the end, while the kernel still answers."""
        self.is_ending = True
        atexit.unregister(self.close)
        self.file.unlink(missing_ok=True)
        # The control thread may be held up; it does this as soon as it is free.
        with suppress(KernelError):
            hosting.end("the embedded kernel was closed")

    def _serve(self, started: "Future[Any]") -> None:
        """Run the kernel, on its thread."""
        try:
            app, close_app = _start(self._space, self.name, self._end_host)
        except BaseException as error:  # noqa: BLE001  it is raised again in the caller
            started.set_exception(error)
            return
        started.set_result(app)
        loop = app.kernel.io_loop
        try:
            _run(loop.start)
            app.end_control()
            self._end_host()
            _run(lambda: _end_tasks(loop.asyncio_loop))
            close_app()
            app.heartbeat.join()
            loop.close()
        finally:
            _open.clear()


def _start(space: dict[str, Any], name: str, before_end: Any) -> Any:
    try:
        about = {"kernel_name": name, "embedding_pid": os.getpid()}
        return start_app(space, about, hosting.interrupt, before_end)
    except ImportError as error:
        raise KernelError(
            "unsupported_kernel",
            f"embed needs ipykernel, and {sys.executable} cannot import it ({error}). Install it: "
            f"{sys.executable} -m pip install ipykernel",
        ) from error


def _run(run_loop: Any) -> None:
    while True:
        try:
            return run_loop()
        except (PendingStop, KeyboardInterrupt, SystemExit):
            continue  # it hit the loop between two steps of the task that it was meant for


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    # What pyzmq does for a task behind its end raises where the task was cancelled.
    loop.set_exception_handler(_report_but_cancellations)
    end_tasks(loop)


def _report_but_cancellations(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), asyncio.CancelledError):
        loop.default_exception_handler(context)


def _check(space: object, name: object) -> None:
    if type(space) is not dict:
        got = type(space).__name__
        raise RequestError(
            "bad_arguments", f"namespace is a dict, such as vars(module), not {got}."
        )
    if type(name) is not str or len(name) > LONGEST_NAME or not name.isprintable():
        raise RequestError(
            "bad_arguments", f"name is printable text of at most {LONGEST_NAME} characters."
        )


def _name_of(space: dict[str, Any]) -> str:
    """Return a module's name; of a main program the name of its file."""
    module, program = str(space.get("__name__", "__main__")), Path((sys.argv or [""])[0])
    if module != "__main__":
        return module
    name = program.parent.name if program.name == "__main__.py" else program.name
    return name if name and name != "-c" else "python"
