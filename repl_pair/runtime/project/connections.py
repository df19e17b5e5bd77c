"""The connections of one process to a database: opened at first use, each used by one at a time."""

import os
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from repl_pair.errors import RequestError
from repl_pair.runtime.project.files import find_file, make_file
from repl_pair.runtime.project.opening import (
    Snapshot,
    check_file,
    copy_up_to_date,
    open_reader,
    open_writer,
    refusal_of,
    state_of,
    version_of,
)
from repl_pair.runtime.project.root import FOLDER, NAME
from repl_pair.runtime.project.schema import VERSION

Identity = tuple[int, int]
"""Device and number of a file, which stay when its name is given to another one."""


class Connections:
    """One connection that writes, one that reads, and one that only asks whether anything changed.

    So a read waits for no change, neither of this process nor of another one.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._named = str(root / FOLDER / NAME)
        self._writer = _Connection(self._named, self._open_writer)
        self._reader = _Connection(self._named, self._open_reader)
        self._versions = _Connection(self._named, self._open_reader)
        self._checked: Identity | None = None
        self._refused: tuple[object, RequestError] | None = None
        self._writing: int | None = None

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection | None]:
        """Give a connection within one transaction that reads; None before there are tables.

        Inside `writing` of the same thread it is the connection that writes.
        """
        if self._writing == threading.get_ident():
            yield self._writer.connection
            return
        with self._refusing(), self._reader.use() as connection:
            if connection is None or connection.in_transaction:
                yield connection
                return
            try:
                connection.execute("BEGIN")
                self._refuse_newer(connection)
                yield connection
            finally:
                connection.rollback()

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Give a connection within one transaction, rolled back where the block raises."""
        with self._refusing(), self._writer.use() as connection:
            assert connection is not None
            assert not connection.in_transaction, "a change within a change"
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._refuse_newer(connection)
                self._writing = threading.get_ident()
                yield connection
                connection.commit()
            finally:
                self._writing = None
                connection.rollback()

    def _refuse_newer(self, connection: sqlite3.Connection) -> None:
        """Refuse a file that another process has brought to a newer version meanwhile."""
        if version_of(connection) > VERSION:
            self.close()
            check_file(find_file(self._root))

    def version(self) -> tuple[object, ...] | None:
        """Return what differs after any change by any connection of any process; None before."""
        try:
            with self._versions.use() as connection:
                if connection is None:
                    return None
                if isinstance(connection, Snapshot):
                    return state_of(find_file(self._root))
                ((version,),) = connection.execute("PRAGMA data_version").fetchall()
                return self._versions.opened, version
        except sqlite3.DatabaseError as error:
            raise self._refusal_of(error) from error

    def close(self) -> None:
        """Close what is open; what is in use at the end of its use. The next use opens anew."""
        self._checked = None
        for one in (self._versions, self._reader, self._writer):
            one.close()

    @contextmanager
    def _refusing(self) -> Generator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._refusal_of(error) from error

    def _refusal_of(self, error: sqlite3.DatabaseError) -> Exception:
        """Return what an error of SQLite means to a caller; after it the file is opened anew."""
        self.close()
        return refusal_of(find_file(self._root), error) or error

    def _open_writer(self) -> sqlite3.Connection:
        file = find_file(self._root)
        make_file(file)
        self._check(file)
        return open_writer(file)

    def _open_reader(self) -> sqlite3.Connection | None:
        if _identify(self._named) is None:
            if self._root.is_dir():
                return None
            raise RequestError("cannot_run", f"The folder of the project is gone: {self._root}.")
        file = find_file(self._root)
        self._check(file)
        connection = open_reader(file)
        version = version_of(connection)
        if version == 0:
            connection.close()
            return None
        if version < VERSION and isinstance(connection, Snapshot):
            return copy_up_to_date(connection)
        if version < VERSION:
            open_writer(file).close()
        return connection

    def _check(self, file: Path) -> None:
        """Check a file once, and again after it was refused and has changed since."""
        identity, state = _identify(file), state_of(file)
        if self._refused is not None and self._refused[0] == state:
            raise self._refused[1].with_traceback(None)
        if identity == self._checked:
            return
        try:
            check_file(file)
        except RequestError as error:
            if error.code == "bad_database":
                self._refused = (state, error)
            raise
        self._checked, self._refused = identity, None


class _Connection:
    """A connection that is opened again where its file was replaced, and made by `open_`."""

    def __init__(self, file: str, open_: Callable[[], sqlite3.Connection | None]) -> None:
        self._file = file
        self._open = open_
        self._lock = threading.RLock()
        self._identity: Identity | None = None
        self._is_to_close = False
        self.connection: sqlite3.Connection | None = None
        self.opened = 0
        """How often it was opened."""

    @contextmanager
    def use(self) -> Generator[sqlite3.Connection | None]:
        """Give the connection to one thread at a time; None where there is nothing to read."""
        try:
            with self._lock:
                if self.connection is None or self._is_of_other_file():
                    self._open_again()
                yield self.connection
        finally:
            if self._is_to_close:
                self.close()

    def close(self) -> None:
        """Close it now, or at the end of its use."""
        self._is_to_close = True
        if self._lock.acquire(blocking=False):
            try:
                if not self._is_in_use:
                    self._close()
            finally:
                self._lock.release()

    @property
    def _is_in_use(self) -> bool:
        """Whether the thread that has the lock is within a transaction."""
        return self.connection is not None and self.connection.in_transaction

    def _is_of_other_file(self) -> bool:
        return not self._is_in_use and self._identity != _identify(self._file)

    def _open_again(self) -> None:
        self._close()
        self.connection = self._open()
        if self.connection is not None:
            self.opened += 1
            if not isinstance(self.connection, Snapshot):
                self._identity = _identify(self._file)

    def _close(self) -> None:
        self._is_to_close = False
        connection, self.connection, self._identity = self.connection, None, None
        if connection is not None:
            connection.close()


def _identify(file: str | Path) -> Identity | None:
    try:
        found = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
