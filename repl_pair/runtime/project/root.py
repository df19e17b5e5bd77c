"""The folder of the project around a folder, and that of this process."""

from pathlib import Path

FOLDER = ".repl_pair"
"""The folder of a project that holds what is kept of it."""
DATABASE = "pair.db"
_MARKS = (FOLDER, "pyproject.toml", ".git")


def find_root(start: Path) -> Path:
    """Return the nearest folder, from `start` upward, that is a project's; else `start`."""
    folders = (start, *start.parents)
    return next((f for f in folders if any((f / mark).exists() for mark in _MARKS)), start)


_root: list[Path] = []


def project_root() -> Path:
    """Return the folder of this process's project, which is fixed at the first call."""
    if not _root:
        _root.append(find_root(Path.cwd()))
    return _root[0]


def database_file(root: Path) -> Path:
    """Return the file of a project's database, which may not be there."""
    return root / FOLDER / DATABASE
