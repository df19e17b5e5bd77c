"""The database of a project: opened at first use, in SQLite, with each change one transaction."""

import os
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from repl_pair.errors import RequestError
from repl_pair.records import Undo
from repl_pair.runtime.project.root import database_file, project_root
from repl_pair.runtime.project.schema import STEPS, VERSION

BUSY_S = 10.0
"""How long a change waits for one of another process."""


class Database:
    """The database in the folder of a project; every method may be called from any thread.

    It is made at the first change, mode 0600. RequestError `bad_database` where the file is damaged
    or of a newer version; such a file is not written.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = database_file(root)
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._watchers: dict[object, Callable[[], None]] = {}

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection | None]:
        """Give a connection that only reads; None where nothing was kept yet."""
        with self._lock:
            yield self._open() if self.file.exists() else None

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Give a connection within one transaction, rolled back where the block raises."""
        with self._lock:
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
        for fn in tuple(self._watchers.values()):
            fn()

    def watch(self, fn: Callable[[], None]) -> Undo:
        """Call `fn` after each change, on any thread, until the undo."""
        token = object()
        self._watchers[token] = fn

        def undo() -> None:
            self._watchers.pop(token, None)

        return undo

    def close(self) -> None:
        """Close it; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None or self._process != os.getpid():
            self._connection, self._process = _connect(self.file), os.getpid()
        return self._connection


def _connect(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(exist_ok=True)
    file.touch(mode=0o600)
    connection = sqlite3.connect(
        file, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        connection.close()
        raise RequestError("bad_database", f"{file} is of version {version}, newer than {VERSION}.")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    for step in STEPS[version:]:
        connection.executescript(f"BEGIN IMMEDIATE; {step}; COMMIT")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    return connection


_open: list[Database] = []
_opening = threading.Lock()


def project() -> Database:
    """Return the database of this process's project, which is fixed at the first call."""
    with _opening:
        if not _open:
            _open.append(Database(project_root()))
        return _open[0]
