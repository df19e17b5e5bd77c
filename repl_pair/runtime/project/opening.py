"""Opening a database of SQLite: checked before anything is written, then brought up to date."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, TypeVar

from repl_pair.errors import RequestError
from repl_pair.runtime.project.schema import APPLICATION, STEPS, VERSION
from repl_pair.wire import monotonic

C = TypeVar("C", bound=sqlite3.Connection)

BUSY_S = 5.0
"""How long a change waits for one of another process: less than the deadline of an op."""
RETRY_S = 0.01

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NOT_NOW = {
    sqlite3.SQLITE_BUSY: f"another process has been changing it for {BUSY_S:g} s; try again",
    sqlite3.SQLITE_READONLY: "it can be read only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk reports a fault",
    sqlite3.SQLITE_PERM: "its permissions do not allow that",
}


def refusal_of(file: Path, error: sqlite3.Error) -> RequestError | None:
    """Return what an error of SQLite means to a caller; None for a defect of the statement."""
    code = _code_of(error)
    if code in _DAMAGED:
        return _refuse(file, f"is damaged ({error})")
    if code in _NOT_NOW:
        message = f"{file}: {_NOT_NOW[code]} ({error}). Nothing was changed."
        return RequestError("cannot_run", message)
    return None


def check_file(file: Path) -> None:
    """Refuse a file that is damaged, of a newer version or of another program; writes nothing.

    RequestError `bad_database`. Without a -wal the file is read without a lock, which would make
    one: what seems a fault while another process writes is looked at again.
    """
    while True:
        before = state_of(file)
        try:
            with closing(_connect(file, "ro", immutable=before[1] is None)) as connection:
                _check(file, connection)
            return
        except sqlite3.DatabaseError as error:
            fault = refusal_of(file, error) or error
        except RequestError as error:
            fault = error
        if state_of(file) == before:
            raise fault


class Snapshot(sqlite3.Connection):
    """A connection to what cannot be written: changes after it was opened are not noticed."""


def open_reader(file: Path) -> sqlite3.Connection:
    """Open a checked file to read it; as a Snapshot where it or its folder cannot be written."""
    if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK):
        connection = _connect(file, "rw")
    else:
        connection = _connect(file, "ro", immutable=state_of(file)[1] is None)
    connection.execute("PRAGMA query_only = ON")
    return connection


def copy_up_to_date(older: sqlite3.Connection) -> Snapshot:
    """Return a copy in memory, with all its tables, of what is older and cannot be written."""
    copy = _prepare(":memory:", Snapshot)
    with closing(older):
        older.backup(copy)
    _migrate(copy)
    copy.execute("PRAGMA query_only = ON")
    return copy


def open_writer(file: Path) -> sqlite3.Connection:
    """Open a checked file to write it, with all its tables."""
    connection = _connect(file, "rw")
    try:
        _use_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if version_of(connection) < VERSION:
            _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def version_of(connection: sqlite3.Connection) -> int:
    """Return how many steps were done in a database; 0 before its tables are made."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return version


def state_of(file: Path) -> tuple[Any, Any]:
    """Return what changes when the file or its log is written; None where that is empty."""
    return _stat(file), _stat(file.with_name(f"{file.name}-wal"))


def _migrate(connection: sqlite3.Connection) -> None:
    """Do the steps that are missing; of several processes the first does them, and all or none."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for step in STEPS[version_of(connection) :]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _use_log(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on, for which SQLite does not wait for another process by itself."""
    until = monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code_of(error) != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
        time.sleep(RETRY_S)


def _check(file: Path, connection: sqlite3.Connection) -> None:
    version = version_of(connection)
    if version > VERSION:
        raise _refuse(
            file,
            f"is of version {version}, and this repl_pair knows versions up to {VERSION}",
            "Update repl_pair where this ran, and restart the kernel.",
        )
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise _refuse(file, "is a database of another program")
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise _refuse(file, f"is damaged ({found})")


def _refuse(file: Path, what: str, todo: str | None = None) -> RequestError:
    message = f"{file} {what}. It was not written."
    todo = todo or f"Put a copy in the place of {file}, or move it away: then a new one is made."
    return RequestError("bad_database", message, hints=[todo])


def _connect(
    file: Path, mode: Literal["ro", "rw"], *, immutable: bool = False
) -> sqlite3.Connection:
    uri = f"{file.as_uri()}?mode={mode}&immutable={immutable:d}"
    return _prepare(uri, Snapshot if mode == "ro" else sqlite3.Connection)


def _prepare(uri: str, factory: type[C]) -> C:
    connection = sqlite3.connect(
        uri,
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
        factory=factory,
    )
    connection.row_factory = sqlite3.Row
    # SQLite's own `lower` knows the letters of ASCII alone.
    connection.create_function("casefold", 1, str.casefold, deterministic=True)
    return connection


def _stat(file: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else None


def _code_of(error: sqlite3.Error) -> int:
    """Return the primary code of an error of SQLite, 0 of one of the module's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
