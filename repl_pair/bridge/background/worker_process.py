"""The process of a worker: an ipykernel that ends with its server, and whose output is scrubbed.

It is started with its folder as the only argument, and stdin is a pipe from the server.
"""

import atexit
import faulthandler
import os
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from ipykernel.kernelapp import IPKernelApp

from repl_pair.bridge.background.scrubbed import ScrubbedOutputs
from repl_pair.bridge.kernels.processes import WORKER_BEGAN, WORKER_FILE

if sys.platform == "linux":
    import fcntl

OPTIONS = ("--HistoryManager.enabled=False", "--colors=NoColor")


def main(folder: Path) -> None:
    """Serve until the server ends; the first cell that is no silent one is the worker's code."""
    _end_with_server()
    outputs = ScrubbedOutputs()
    atexit.register(outputs.release)
    faulthandler.enable(outputs.descriptor, all_threads=False)
    sys.argv = ["worker"]
    connection = folder / WORKER_FILE
    app: Any = IPKernelApp.instance(
        connection_file=str(connection), outstream_class=None, parent_handle=os.getppid()
    )
    app.initialize([f"--ipython-dir={folder}", *OPTIONS])
    shell = app.shell

    def note_begin(_info: Any) -> None:
        shell.events.unregister("pre_run_cell", note_begin)
        (folder / WORKER_BEGAN).touch()

    def end_at_error(*_: Any, **__: Any) -> NoReturn:
        connection.unlink(missing_ok=True)  # before what takes longer: it shows that this ends
        status = _report(sys.exc_info()[1])
        outputs.release()
        os._exit(status)

    def keep_from_now_on(_result: Any) -> None:
        shell.events.unregister("post_run_cell", keep_from_now_on)
        del shell.showtraceback

    shell.showtraceback = end_at_error
    shell.events.register("pre_run_cell", note_begin)
    shell.events.register("post_run_cell", keep_from_now_on)
    app.start()


def _report(error: BaseException | None) -> int:
    """Print what the code raised, from its first line on; return the status to exit with."""
    if isinstance(error, SystemExit) and isinstance(error.code, int | None):
        return error.code or 0
    trace = error.__traceback__ if error else None
    while trace is not None and "__name__" not in trace.tb_frame.f_locals:
        trace = trace.tb_next
    traceback.print_exception(error and error.with_traceback(trace))
    return 1


def _end_with_server() -> None:
    """Have the system kill this process, and what it has started, when stdin ends.

    It does so whatever holds the interpreter then. Elsewhere than on Linux the kernel itself looks
    at intervals whether its parent lives.
    """
    if sys.platform != "linux":
        return
    end = os.dup(sys.stdin.fileno())
    os.set_inheritable(end, True)  # the program that this process may become ends too
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    fcntl.fcntl(end, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(end, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(end, fcntl.F_SETFL, fcntl.fcntl(end, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([end], [], [], 0)[0]:
        sys.exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
