"""An ipykernel for a thread of another program: what it does to a whole process is left out."""

import asyncio
import atexit
import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.own_threads import TURNS, travel_s
from repl_pair.runtime.ipython import embed_shell
from repl_pair.runtime.kernel.embedded_cells import CellNames
from repl_pair.runtime.kernel.embedded_shell import do_nothing, make, make_shell_class
from repl_pair.wire import monotonic

APP_LEAVES = (
    "configure_tornado_logger",  # a handler that prints
    "reset_io",  # sys.stdout, sys.stderr and sys.displayhook, as Python began with them
)
"""Methods of ipykernel that change what belongs to the process; here they do nothing."""

CLOSE_S = 5.0
"""How long the end of the kernel waits for each of its threads."""
LOOP_S, TASKS_S = 4.0, 0.5
"""How long it waits for one of their loops on a busy machine, and for the tasks there."""
LOOKS_S = 0.05
"""How often it looks whether a thread has ended, which then runs nothing more."""
TURNS_S = 2.0
"""How long after the latest message turns stay short, since one that came late."""
_DEBUGGER = "ipykernel.debugger"


def start_app(
    space: dict[str, Any],
    about: Mapping[str, Any],
    interrupt: Callable[[], None],
    before_end: Callable[[], None],
) -> tuple[Any, Undo]:
    """Start a kernel over a namespace, on the calling thread, whose loop its caller then runs.

    `about` goes into the connection file too. `interrupt` and `before_end` are called, on the
    control thread, when a client interrupts or ends the kernel. The undo closes it. ImportError
    where ipykernel is missing.
    """
    thread = threading.current_thread()
    with ExitStack() as undo:
        # debugpy's import adds names to `builtins` and replaces functions of other modules.
        no_debugger = ModuleType(_DEBUGGER)
        vars(no_debugger)["_is_debugpy_available"] = False
        if sys.modules.setdefault(_DEBUGGER, no_debugger) is no_debugger:
            undo.callback(sys.modules.pop, _DEBUGGER)
        comm: Any = import_module("comm")
        comms = comm.create_comm, comm.get_comm_manager
        base: Any = import_module("ipykernel.thread").BaseThread
        try:
            # IPython sets filters when it is imported, and others in each shell.
            with warnings.catch_warnings():
                app = _make_app(space, about, interrupt, before_end)
                undo.callback(app.close)
                ipykernel: Any = import_module("ipykernel.ipkernel")
                comm.get_comm_manager = ipykernel._get_comm_manager
                app.initialize()
        finally:
            comm.create_comm, comm.get_comm_manager = comms

        def is_own_thread() -> bool:
            current = threading.current_thread()
            return current is thread or isinstance(current, base)

        app.kernel.cells = CellNames(app.kernel, is_own_thread)
        undo.callback(embed_shell(app.shell, is_own_thread))
        undo.callback(TURNS.restore)
        app.kernel.start()
        return app, undo.pop_all().close


def _make_app(
    space: dict[str, Any],
    about: Mapping[str, Any],
    interrupt: Callable[[], None],
    before_end: Callable[[], None],
) -> Any:
    kernelapp: Any = import_module("ipykernel.kernelapp")
    shell = make_shell_class(kernelapp.ZMQInteractiveShell, space)
    kernel = _kernel_class(kernelapp.IPythonKernel, shell, interrupt, before_end)
    # A logger of the process's would print warnings, or set up logging for all.
    log = logging.Logger("embedded", 100)
    app = _app_class(kernelapp.IPKernelApp, kernel, about)(user_ns=space, profile_dir=None, log=log)
    app.connection_file = str(Path(app.connection_dir, f"kernel-embed-{os.getpid()}.json"))
    app.config.HistoryManager.enabled = False
    app.config.HistoryManager.hist_file = ":memory:"
    app.config.InteractiveShell.cache_size = 0
    return app


def _kernel_class(
    base: Any, shell: Any, interrupt: Callable[[], None], before_end: Callable[[], None]
) -> Any:
    class Kernel(base):
        instance = classmethod(make)
        shell_class = shell
        debugger_class = None
        turns_end: Any = None
        shell_stream: Any

        def set_parent(self, ident: Any, parent: Any, channel: str = "shell") -> None:
            # The program is always at work, and may leave other threads no turn.
            base.set_parent(self, ident, parent, channel)
            if channel == "control":
                TURNS.shorten(travel_s(parent["header"].get("date")))

        async def process_control(self, msg: Any) -> None:
            """Process a message in short turns; after a late one they stay short for a while."""
            await base.process_control(self, msg)
            TURNS.relax()
            loop = self.control_thread.io_loop
            if self.turns_end is not None:
                loop.remove_timeout(self.turns_end)
            self.turns_end = loop.call_later(TURNS_S, TURNS.restore)

        def _cancel_on_sigint(self, future: Any) -> Any:
            # A handler of signals can be set on the main thread alone.
            return self._dummy_context_manager(future)

        def _forward_input(self, allow_stdin: bool = False) -> None:
            self._allow_stdin = allow_stdin
            self.cells.begin()

        def _restore_input(self) -> None:
            self.cells.end()

        def _send_interrupt_children(self) -> None:
            # ipykernel sends SIGINT to the process, or to its group.
            interrupt()

        async def poll_stopped_queue(self) -> None:
            """Do nothing: there is no debugger."""

        async def _progressively_terminate_all_children(self) -> None:
            """Do nothing: child processes are the program's."""

        async def do_shutdown(self, restart: bool) -> Any:
            before_end()
            return base.do_shutdown(self, restart)

        async def shutdown_request(self, *message: Any) -> None:
            """End the main loop and that of the control thread; `App.close` ends the others."""
            # ipykernel ends the shell channel's beside the main one, and closes that one's sockets.
            stream, self.shell_stream = self.shell_stream, None
            try:
                await base.shutdown_request(self, *message)
            finally:
                self.shell_stream = stream

    return Kernel


def _app_class(base: Any, kernel: Any, about: Mapping[str, Any]) -> Any:
    class App(base):
        locals().update(dict.fromkeys(APP_LEAVES, do_nothing))
        kernel_class = kernel

        def initialize(self, argv: Any = None) -> None:
            """Start the kernel; no files of settings, of code to begin with, or of history."""
            self.init_sockets()
            self.init_heartbeat()
            self.write_connection_file()
            self.displayhook = SimpleNamespace()
            self.init_kernel()
            self.init_shell()
            for fn in (self.close, self.iopub_thread.stop, self.shell.atexit_operations):
                atexit.unregister(fn)

        def write_connection_file(self, **_options: Any) -> None:
            """Write the file for this user alone, whole or not at all."""
            info = {**self.get_connection_info(), **about}
            info["key"] = info["key"].decode()
            file = Path(self.connection_file)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = file.with_suffix(".new")
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
                json.dump(info, out)
            new.replace(file)

        def end_control(self) -> None:
            """End the control thread; messages that it has received are answered."""
            if self.control_thread.is_alive():
                _end_receiving(self.control_thread, self.kernel.control_stream)
                self.control_thread.stop()
            self.control_thread.join()

        def close(self) -> None:
            iopub, shell = self.iopub_thread, self.kernel.shell_channel_thread

            async def end_iopub() -> None:
                iopub._event_pipe_gc_task.cancel()
                await asyncio.wait({iopub._event_pipe_gc_task})

            if iopub is not None and iopub.thread.is_alive():
                _call_on(iopub.thread, iopub.io_loop, end_iopub)
            if shell is not None and shell.is_alive():
                _end_receiving(shell, self.kernel.shell_stream)
            base.close(self)

    return App


def _end_receiving(thread: Any, stream: Any) -> None:
    """Take no more messages on a thread of ipykernel, and wait for those that it processes."""

    async def end() -> None:
        stream.stop_on_recv()
        # Left pending, tasks are reported on stderr when their loop is closed.
        if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(tasks, timeout=TASKS_S)

    _call_on(thread, thread.io_loop, end)


def _call_on(thread: threading.Thread, loop: Any, work: Callable[[], Awaitable[None]]) -> None:
    """Run a coroutine on the loop of a thread, until that ends; wait at most `LOOP_S`."""
    ended, until = threading.Event(), monotonic() + LOOP_S

    async def call() -> None:
        try:
            await work()
        finally:
            ended.set()

    loop.add_callback(call)
    while thread.is_alive() and not ended.wait(LOOKS_S) and monotonic() < until:
        pass
