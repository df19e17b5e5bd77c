"""Where the project around a folder is, and what it keeps."""

import os
from pathlib import Path
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.ipython import kernel_shell

FOLDER = ".repl_pair"
"""The folder of a project that holds what is kept of it."""
NAME = "pair.db"
"""The database, in that folder."""
_MARKS = (FOLDER, "pyproject.toml", ".git")


def working_folder() -> Path:
    """Return the folder that this process works in; RequestError `cannot_run` where it is gone."""
    try:
        return Path.cwd()
    except OSError as error:
        what = "The process works in a folder that is gone, so it has no project"
        raise RequestError("cannot_run", f"{what}: change to a folder that is there.") from error


def own_root() -> Path:
    """Return the project that this process started in; where that is none, the one it works in.

    A kernel began there; in another process this module was imported there. RequestError
    `cannot_run` where neither folder is known.
    """
    shell: Any = kernel_shell()
    started = _started[0] if getattr(shell, "kernel", None) is None else shell.starting_dir
    start = find_root(Path(started or working_folder()))
    now = find_root(Path(_current() or start))
    return now if _is_project(now) and not _is_project(start) else start


def start_in(folder: str) -> None:
    """Let a folder of this machine count as the one that this process started in."""
    if os.path.isdir(folder):
        _started[:] = [folder]


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return ""


_started = [_current()]


def find_root(start: Path) -> Path:
    """Return the nearest folder, from `start` upward, that is a project's; else `start`.

    What stands in a folder that may not be read is not there.
    """
    return next((folder for folder in (start, *start.parents) if _is_project(folder)), start)


def _is_project(folder: Path) -> bool:
    return any(os.path.exists(folder / mark) for mark in _MARKS)
