"""Source text by which a process works in a project's folder of a test, and leaves it again."""

from pathlib import Path

_ENTER = """
from pathlib import Path
from repl_pair.runtime.project import database
database.kept_by_test, database._open[:] = [*database._open], [database.Database(Path({folder!r}))]
del Path, database
"""
LEAVE_PROJECT = """
from repl_pair.runtime.project import database
database._open[0].close()
database._open[:] = database.__dict__.pop("kept_by_test")
del database
"""


def enter_project(folder: Path) -> str:
    """Return source after which the project of its process is this folder, until LEAVE_PROJECT."""
    return _ENTER.format(folder=str(folder))
