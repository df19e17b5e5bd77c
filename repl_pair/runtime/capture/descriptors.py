"""Descriptors 1 and 2 of the process, redirected while one exclusive run has the main lane.

An ipykernel reads both into the person's latest cell. Redirected to a run, they capture the output
of C code and of `os.write`. Processes that other code starts meanwhile get the kernel's own.
"""

import codecs
import ctypes
import os
import select
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.own_threads import start_thread

GRACE_S = 0.2
"""How long the end of a run waits for output of its processes."""
_CHUNK = 65_536


class Pipe:
    """A pipe; a process that inherits its `end` may write to it even after `finish`.

    The thread reads until the last writer is gone, since a full or closed pipe blocks or kills a
    process that writes. `take` gets late text too.
    """

    def __init__(self, take: Callable[[str], object]) -> None:
        self.take = take
        self._out, self.end = os.pipe()
        os.set_blocking(self._out, False)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._lock = threading.RLock()
        self._ended = False
        self._thread = start_thread(self._serve, name="pipe")

    def drain(self) -> None:
        """Pass on what is in the pipe now."""
        with self._lock:
            if self._ended:
                return
            try:
                data = os.read(self._out, _CHUNK)
            except BlockingIOError:
                return
            self.take(self._decode(data, final=not data))
            if not data:
                self._ended = True
                os.close(self._out)

    def close(self) -> None:
        """Close this process's own end; the thread ends when all other ends are closed."""
        os.close(self.end)

    def finish(self) -> None:
        """Close this process's own end, and wait up to 0.2 s for the others."""
        self.close()
        self._thread.join(GRACE_S)
        self.drain()

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        while not self._ended:
            poll.poll()
            self.drain()


def redirect(take: Callable[[str], object], at_end: list[Undo]) -> None:
    """Redirect the descriptors to `take` until the end, if this is a kernel's main thread."""
    watched = all(getattr(s, "_should_watch", False) for s in (sys.stdout, sys.stderr))
    if not watched or threading.current_thread() is not threading.main_thread():
        return
    if not _pipes:
        _pipes.append(Pipe(_drop))
    pipe = _pipes[0]
    at_end.append(partial(_take_back, pipe))
    _flush_c()
    with _lock:
        _redirected[:] = [(number, os.dup(number)) for number in (1, 2)]
        pipe.take = take
        for number, _ in _redirected:
            os.dup2(pipe.end, number)


def copy_originals() -> tuple[int, int] | None:
    """Return copies of the kernel's own descriptors while they are redirected; caller closes."""
    with _lock:
        own = [os.dup(own) for _, own in _redirected]
    return (own[0], own[1]) if own else None


def close() -> None:
    """End the thread that reads the output of runs."""
    while _pipes:
        _pipes.pop().close()


_lock = threading.RLock()
_redirected: list[tuple[int, int]] = []
"""The redirected numbers, each with a copy of the kernel's own descriptor."""
_pipes: list[Pipe] = []
"""The one pipe of all runs, once it is needed."""


def _take_back(pipe: Pipe) -> None:
    _flush_c()
    with _lock:
        for number, own in _redirected:
            os.dup2(own, number)
        owns = [own for _, own in _redirected]
        _redirected.clear()
    for own in owns:
        os.close(own)
    pipe.drain()
    pipe.take = _drop


def _drop(_text: str) -> None:
    """Drop the output of a process that outlives its run."""


def _flush_c() -> None:
    if _c_stdout is not None:
        _libc.fflush(_c_stdout)


_libc = ctypes.CDLL(None)
_known = (name for name in ("stdout", "__stdoutp") if hasattr(_libc, name))
_c_stdout: Any = next((ctypes.c_void_p.in_dll(_libc, name) for name in _known), None)
