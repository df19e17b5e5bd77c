"""Processes that were started with a connection file, and what started them."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TypeVar

import psutil

from repl_pair.runtime.project.root import find_root

T = TypeVar("T")

_OPTIONS = ("-f", "--f", "--connection-file", "--connection_file", "--IPKernelApp.connection_file")
_OF_VSCODE = re.compile(r"kernel-v[23]-?[0-9A-Za-z]{16,}")
_PROGRAMS = {
    "jupyter-console": "console",
    "jupyter-execute": "nbclient",
    "jupyter-lab": "jupyter-server",
    "jupyter-nbconvert": "nbconvert",
    "jupyter-notebook": "jupyter-server",
    "jupyter-qtconsole": "qtconsole",
    "jupyter-server": "jupyter-server",
    "nbconvert": "nbconvert",
    "papermill": "papermill",
}
EMBEDDED = "embedded"
"""What is given as the front end of a kernel that a program has started in itself."""
WORKER = "worker"
"""What is given as the front end of a kernel that a session has started for itself."""
WORKER_FILE = "kernel.json"
"""The connection file in the folder of a worker."""
WORKER_BEGAN = "began"
"""The file there that is made when the code of the worker begins."""
CLOCKS_S = 2.0
"""How far the clocks of processes and of files may be apart."""
_RUN_A_NOTEBOOK = ("nbclient", "nbconvert", "papermill")


@dataclass(frozen=True, kw_only=True)
class KernelProcess:
    """The process that was started with a connection file.

    `began` is seconds since the epoch; `halted` says that it does not run (a signal, a debugger).
    `front_end` and `notebook` are None unless the command lines leave no doubt.
    """

    process: psutil.Process
    began: float
    halted: bool
    front_end: str | None
    notebook: str | None


def scan_processes() -> Mapping[Path, KernelProcess]:
    """Return processes of this machine that were started with a connection file, by that file."""
    candidates: dict[Path, list[psutil.Process]] = defaultdict(list)
    for process in psutil.process_iter(["cmdline"]):
        words: list[str] = process.info["cmdline"] or []
        for name in files_named(words):
            file = os.path.realpath(os.path.join(read_or("", process.cwd) or "/", name))
            candidates[Path(file)].append(process)
    read = {path: _read(path, _choose(named)) for path, named in candidates.items()}
    return {path: started for path, started in read.items() if started is not None}


def find_embedding(path: Path, pid: object) -> KernelProcess | None:
    """Return the program in which a kernel of `repl_pair.embed` runs, as its file says.

    None where a process that began after the file was written has its pid now.
    """
    if type(pid) is not int or pid <= 0:
        return None
    try:
        process = psutil.Process(pid)
        began, halted = process.create_time(), _is_halted(process)
        if began > path.stat().st_mtime + CLOCKS_S:
            return None
    except (psutil.Error, OSError):
        return None
    return KernelProcess(
        process=process, began=began, halted=halted, front_end=EMBEDDED, notebook=None
    )


def project_of(pid: int | None) -> Path | None:
    """Return the root of the project in whose folders a process works; None if unknown."""
    folder = None if pid is None else read_or(None, lambda: psutil.Process(pid).cwd())
    return find_root(Path(folder)) if folder else None


def files_named(words: Sequence[str]) -> Iterator[str]:
    """Return the JSON files that a command line names as connection files, quotes taken off."""
    for word, following in pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        name = (value if equals else following).strip("\"'")
        if option in _OPTIONS and name.endswith(".json"):
            yield name


def read_parent(parent: Sequence[str], cwd: str) -> tuple[str | None, str | None]:
    """Return the front end and the notebook that the command line of a kernel's parent names.

    Each is None unless it is certain. Of papermill's two notebooks it is the input.
    """
    program, rest = _split(parent)
    front_end = _PROGRAMS.get(program)
    named = [word for word in rest if word.endswith(".ipynb")]
    is_certain = len(named) == 1 or (program == "papermill" and named[:1] == list(rest[:1]))
    if front_end not in _RUN_A_NOTEBOOK or not named or not is_certain:
        return front_end, None
    place = Path(cwd, named[0])
    return front_end, str(place.resolve()) if place.is_file() else None


def _choose(named: Sequence[psutil.Process]) -> psutil.Process:
    """Return the kernel itself among processes that name its file.

    A fork of the kernel has its command line; a program that wraps or manages it is older.
    """
    lines = {process.pid: process.info["cmdline"] for process in named}
    own = [p for p in named if lines.get(read_or(-1, p.ppid)) != lines[p.pid]]
    return max(own or named, key=lambda p: (read_or(0.0, p.create_time), p.pid))


def _read(path: Path, process: psutil.Process) -> KernelProcess | None:
    try:
        parent = process.parent()
        words = read_or([], parent.cmdline) if parent else []
        front_end, notebook = read_parent(words, read_or("", parent.cwd) if parent else "")
        # The file's name together with the spelling of the option.
        has_option = any(word.startswith("--f=") for word in process.info["cmdline"])
        is_vscode = has_option and _OF_VSCODE.fullmatch(path.stem)
        return KernelProcess(
            process=process,
            began=process.create_time(),
            halted=_is_halted(process),
            front_end=front_end or ("vscode" if is_vscode else None),
            notebook=notebook,
        )
    except psutil.Error:
        return None


def _is_halted(process: psutil.Process) -> bool:
    return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


def _split(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    if not words:
        return "", ()
    name = _stem(words[0])
    if not re.fullmatch(r"python[0-9.]*w?", name):
        return name, words[1:]
    n = 1
    while n < len(words) and words[n].startswith("-") and words[n] not in ("-m", "-c"):
        n += 2 if words[n] in ("-X", "-W") else 1
    n += words[n : n + 1] == ["-m"]
    return (_stem(words[n]), words[n + 1 :]) if n < len(words) else (name, ())


def _stem(word: str) -> str:
    return PurePath(word.replace("\\", "/")).name.removesuffix(".exe").removesuffix("-script.py")


def read_or(default: T, read: Callable[[], T]) -> T:
    """Return what psutil reads of a process; `default` where it has ended or may not be read."""
    try:
        return read()
    except psutil.Error:
        return default
