"""Processes that a run starts: their output to inherited streams belongs to the run.

A child without own output inherits descriptors 1 and 2, which an ipykernel reads into the person's
latest cell. A child of a run gets the end of a pipe instead. It may outlive the run: its output is
read and dropped from then on.
"""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import Captured, current_capture
from repl_pair.runtime.capture.descriptors import copy_originals
from repl_pair.runtime.capture.wrapping import wrap

T = TypeVar("T")


async def in_one_process(captured: Captured, work: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Await work; a child that it forks ends with it, with the exit status of a script.

    The child would otherwise be a second kernel, on the sockets of this one. It ends without
    flushing files and without `atexit`.
    """
    try:
        value = await work(*args)
    except BaseException as error:
        if captured.forked:
            _end(error)
        raise
    if captured.forked:
        _end(None)
    return value


def _end(error: BaseException | None) -> NoReturn:
    code: Any = error.code if isinstance(error, SystemExit) else None
    if error is not None and code is None and not isinstance(error, SystemExit):
        code = type(error).__name__  # its text may hold secrets that only the child knows
    if not isinstance(code, int | None):
        sys.stderr.write(f"{code}\n")
        code = 1
    os._exit((code or 0) & 0xFF)


def hook_children() -> Iterator[Undo]:
    """Hook each way to start a process."""
    yield wrap(subprocess.Popen, "__init__", _popen)
    if hasattr(os, "fork"):
        yield wrap(os, "system", _system)
        yield wrap(os, "fork", _fork)


@contextmanager
def _ends() -> Generator[tuple[int, int] | None]:
    """Yield the descriptors 1 and 2 for a child started here; None for those of this process."""
    captured = current_capture()
    if captured is None:
        ends = copy_originals()
    elif captured.forked:
        ends = None
    else:
        end = captured.child_end()
        end = os.open(os.devnull, os.O_WRONLY) if end is None else end
        ends = (end, end)
    try:
        yield ends
    finally:
        for end in set(ends or ()):
            os.close(end)


def _popen(
    own: Callable[..., None],
    process: Any,
    args: Any,
    bufsize: int = -1,
    executable: Any = None,
    stdin: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    *more: Any,
    **named: Any,
) -> None:
    def start(stdout: Any, stderr: Any) -> None:
        own(process, args, bufsize, executable, stdin, stdout, stderr, *more, **named)

    if not (_is_inherited(stdout) or _is_inherited(stderr)):
        start(stdout, stderr)
        return
    with _ends() as ends:
        outs = (stdout, stderr)
        start(*(e if _is_inherited(o) else o for o, e in zip(outs, ends or outs, strict=True)))


def _is_inherited(out: Any) -> bool:
    if out is None or (isinstance(out, int) and out in (1, 2)):
        return True
    # `fileno` of a kernel's stream is that of its terminal, not where a run's output goes.
    return (out is sys.stdout or out is sys.stderr) and current_capture() is not None


def _system(own: Callable[[Any], int], command: Any) -> int:
    with _ends() as ends:
        if ends is None:
            return own(command)
        shell = ["/bin/sh", "-c", os.fsencode(command)]
        process = subprocess.Popen(
            shell, stdout=ends[0], stderr=ends[1], close_fds=False, restore_signals=False
        )
    try:
        _, status = os.waitpid(process.pid, 0)
    except BaseException:
        process.kill()
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return status


def _fork(own: Callable[[], int]) -> int:
    captured = current_capture()
    with _ends() as ends:
        pid = own()
        if pid == 0 and ends is not None:
            os.dup2(ends[0], 1)
            os.dup2(ends[1], 2)
            if captured is not None:
                captured.become_child()
    return pid
