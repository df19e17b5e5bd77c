"""Descriptors 1 and 2 of the process, while one run alone has them.

An ipykernel reads both into the person's latest cell. While a run has the main lane to itself they
lead to that run, so that what C code and `os.write` put out is its own. Processes that others start
meanwhile get the kernel's.
"""

import ctypes
import os
import sys
import threading
from functools import partial
from typing import Any

from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.capture.pipes import Pipe


def redirect(captured: Captured) -> None:
    """Let the descriptors lead to a run until its end, if this is a kernel's main thread."""
    watched = all(getattr(s, "_should_watch", False) for s in (sys.stdout, sys.stderr))
    if not watched or threading.current_thread() is not threading.main_thread():
        return
    pipe = _open_pipe()
    captured.at_end.append(partial(_take_back, pipe))
    _flush_c()
    with _lock:
        _lent[:] = [(number, os.dup(number)) for number in (1, 2)]
        pipe.take = captured.write_unattributed
        for number, _ in _lent:
            os.dup2(pipe.end, number)


def copy_originals() -> tuple[int, int] | None:
    """Return copies of the kernel's own descriptors while they are lent; the caller closes them."""
    with _lock:
        own = [os.dup(own) for _, own in _lent]
    return (own[0], own[1]) if own else None


def close() -> None:
    """End the thread that reads what runs put out."""
    while _pipes:
        _pipes.pop().close()


_lock = threading.RLock()
_lent: list[tuple[int, int]] = []
"""The numbers that are lent, with what the kernel has there."""
_pipes: list[Pipe] = []
"""The one pipe of all runs, once there was one; nobody has to wait for its thread."""


def _open_pipe() -> Pipe:
    if not _pipes:
        _pipes.append(Pipe(_drop))
    return _pipes[0]


def _take_back(pipe: Pipe) -> None:
    _flush_c()
    with _lock:
        for number, own in _lent:
            os.dup2(own, number)
        owns = [own for _, own in _lent]
        _lent.clear()
    for own in owns:
        os.close(own)
    pipe.drain()
    pipe.take = _drop


def _drop(_text: str) -> None:
    """Take what a process that no dispatcher knew of says after its run."""


def _flush_c() -> None:
    """Let go what C code has written and its library holds back."""
    if _c_stdout is not None:
        _libc.fflush(_c_stdout)


def _find_c_stdout() -> Any:
    for name in ("stdout", "__stdoutp"):
        try:
            return ctypes.c_void_p.in_dll(_libc, name)
        except ValueError:
            continue
    return None


_libc = ctypes.CDLL(None)
_c_stdout = _find_c_stdout()
