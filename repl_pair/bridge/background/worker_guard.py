"""The end of a worker, with what it has started and its folder, also where its server is killed."""

import os
import shutil
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

WAIT_S = 1.0
"""How long a guard waits until what it killed has ended."""


def find_started(worker: psutil.Process) -> Sequence[psutil.Process]:
    """Return what a worker has started, also in sessions of its own; nothing once it has ended."""
    with suppress(psutil.NoSuchProcess):
        return worker.children(recursive=True)
    return ()


def send_signal(number: signal.Signals, processes: Iterable[psutil.Process]) -> None:
    """Send a signal to processes, of which some may have ended."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def end_with_server(folder: Path) -> None:
    """Have another process end this one, what it has started and its folder, when stdin ends.

    It does so whatever holds the interpreter here then. As it is in the group of this process, the
    number of that stays taken; as it is no child, code that waits for any child does not find it.
    On Windows the kernel itself looks at intervals whether its parent lives.
    """
    if sys.platform == "win32":
        return
    worker = psutil.Process()
    if child := os.fork():
        os.waitpid(child, 0)
        _redirect(sys.stdin.fileno())
        return
    try:
        if os.fork() == 0:
            _guard(worker, folder)
    finally:
        os._exit(0)


def _guard(worker: psutil.Process, folder: Path) -> None:
    """Wait for the end of stdin; then end a worker and all of its group, this process too."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _redirect(sys.stdout.fileno(), sys.stderr.fileno())
    try:
        os.read(sys.stdin.fileno(), 1)
        ended = [worker, *find_started(worker)]
        send_signal(signal.SIGKILL, ended)
        psutil.wait_procs(ended, timeout=WAIT_S)  # they write to the folder no more
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.killpg(0, signal.SIGKILL)


def _redirect(*descriptors: int) -> None:
    """Have nothing be read from, or come of what is written to, a descriptor."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nothing, descriptor)
    os.close(nothing)
