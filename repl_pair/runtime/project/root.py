"""Where the project around a folder is, and what it keeps."""

from pathlib import Path

FOLDER = ".repl_pair"
"""The folder of a project that holds what is kept of it."""
NAME = "pair.db"
"""The database, in that folder."""
_MARKS = (FOLDER, "pyproject.toml", ".git")


def find_root(start: Path) -> Path:
    """Return the nearest folder, from `start` upward, that is a project's; else `start`."""
    folders = (start, *start.parents)
    return next((f for f in folders if any((f / mark).exists() for mark in _MARKS)), start)
