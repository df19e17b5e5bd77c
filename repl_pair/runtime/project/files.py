"""The files of a project's database: where they are, and that nobody else and no git takes them."""

import os
from contextlib import suppress
from pathlib import Path

from repl_pair.errors import RequestError
from repl_pair.runtime.project.root import FOLDER, NAME

IGNORED = f"""\
# Written by repl_pair: its database belongs to this machine.
{NAME}*
.gitignore
"""


def find_file(root: Path) -> Path:
    """Return where the database is or would be, its links followed.

    RequestError `bad_database` where they lead out of the project, or to no file.
    """
    named, file = root / FOLDER / NAME, Path(os.path.realpath(root / FOLDER / NAME))
    if not file.is_relative_to(os.path.realpath(root)):
        message = (
            f"{named} is a link out of the project, to {file}; it was neither read nor written."
        )
        hint = "Put a folder or file of the project in the place of the link."
        raise RequestError("bad_database", message, hints=[hint])
    if file.exists() and not file.is_file():
        raise RequestError("bad_database", f"{named} is not a file; it was not read or written.")
    return file


def make_file(file: Path) -> None:
    """Make an empty file that only its owner can read, ignored by git, where there is none.

    A `.gitignore` that is there stays as it is. RequestError `cannot_run` where the folder cannot
    be written.
    """
    try:
        file.parent.mkdir(exist_ok=True)
        _make(file.with_name(".gitignore"), IGNORED, mode=0o666)
        _make(file, "", mode=0o600)
    except OSError as error:
        message = f"{file} could not be made: {error.strerror}. Nothing was written."
        raise RequestError("cannot_run", message) from error


def _make(file: Path, text: str, *, mode: int) -> None:
    with suppress(FileExistsError), open(os.open(file, _NEW, mode), "w") as made:
        made.write(text)


_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
