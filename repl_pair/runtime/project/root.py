"""Where the project around a folder is, and what it keeps."""

import os
from pathlib import Path

from repl_pair.errors import RequestError

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


def find_root(start: Path) -> Path:
    """Return the nearest folder, from `start` upward, that is a project's; else `start`.

    What stands in a folder that may not be read is not there.
    """
    folders = (start, *start.parents)
    return next((f for f in folders if any(os.path.exists(f / mark) for mark in _MARKS)), start)
