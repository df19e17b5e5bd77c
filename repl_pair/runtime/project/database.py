"""The database of a project: opened at first use, each change one transaction; its watchers."""

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from repl_pair.errors import RequestError
from repl_pair.records import Undo, mutable
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.project.root import FOLDER, NAME, find_root, working_folder

if TYPE_CHECKING:
    from sqlite3 import Connection

    from repl_pair.runtime.project.connections import Connections

POLL_S = 0.25
"""How soon changes by other processes are noticed while somebody watches."""


class Database:
    """The database in the folder of a project; every method may be called from any thread.

    It is made at the first change; until then reads find nothing, and SQLite is not imported.
    RequestError `bad_database` where the file is damaged, of a newer version or not of this
    project: then it is not written. `cannot_run` where a change cannot be made: the folder or the
    file is read-only, the disk is full, or another process has been changing it for 5 s.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / FOLDER / NAME
        self._uses: dict[int, _Use] = {}

    @contextmanager
    def reading(self) -> "Generator[Connection | None]":
        """Give a connection that reads one state of the database; None where nothing was kept yet.

        Inside `writing` of the same thread it reads what that has changed.
        """
        connections = self._opened()
        if connections is None:
            yield None
            return
        with self._using(), connections.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> "Generator[Connection]":
        """Give a connection within one transaction, rolled back where the block raises.

        Of several threads and processes one writes at a time. A block in another one is a defect.
        """
        with self._using(), self._connections().writing() as connection:
            yield connection
        self._use().watchers.report()

    def watch(self, fn: Callable[[], None]) -> Undo:
        """Call `fn` after each change, on any thread, until the undo; it must not raise.

        After one of this process at once; after those of others within half a second, in one call.
        """
        end_watch = self._use().watchers.add(fn)

        def undo() -> None:
            with self._using():
                end_watch()

        return undo

    def version(self) -> object:
        """Return what differs after any change by any process, and at times without one.

        It costs microseconds. RequestError as for a read.
        """
        connections = self._opened()
        if connections is None:
            return None
        with self._using():
            return connections.version()

    def close(self) -> None:
        """Close it, at the end of what uses it.

        Each later use opens it and closes it at its end; while somebody watches it stays open.
        """
        use = self._use()
        use.is_kept = False
        if use.connections is not None:
            use.connections.close()

    @contextmanager
    def _using(self) -> Generator[None]:
        try:
            yield
        finally:
            use = self._use()
            if not use.is_kept and not use.watchers.are_any:
                self.close()

    def _opened(self) -> "Connections | None":
        connections = self._use().connections
        return self._connections() if connections is None and self.file.exists() else connections

    def _connections(self) -> "Connections":
        use = self._use()
        if use.connections is None:
            # SQLite is not imported where a project has no database and nobody makes one.
            from repl_pair.runtime.project.connections import Connections

            with use.lock:
                use.connections = use.connections or Connections(self.root)
        return use.connections

    def _use(self) -> "_Use":
        """Return what this process has of it: a child that was forked opens its own connections."""
        process = os.getpid()
        return self._uses.get(process) or self._uses.setdefault(
            process, _Use(watchers=Watchers(self._read_version), lock=threading.Lock())
        )

    def _read_version(self) -> object:
        """Return the version, or the refusal of a file that cannot be read."""
        try:
            return self.version()
        except RequestError as error:
            return error.message


class Watchers:
    """The watchers of a database in this process; `read_version` differs after each change.

    While there are any, one thread looks for changes by other processes.
    """

    def __init__(self, read_version: Callable[[], object]) -> None:
        self._read_version = read_version
        self._lock = threading.Lock()
        self._watchers: dict[object, Callable[[], None]] = {}
        self._reported: object = None
        self._end = threading.Event()

    @property
    def are_any(self) -> bool:
        """Return whether anybody watches."""
        return bool(self._watchers)

    def add(self, fn: Callable[[], None]) -> Undo:
        """Call `fn` after each change until the undo, on any thread; it must not raise."""
        token = object()
        with self._lock:
            if not self._watchers:
                self._reported, self._end = self._read_version(), threading.Event()
                start_thread(self._look, self._end, name="project")
            self._watchers[token] = fn

        def undo() -> None:
            with self._lock:
                if self._watchers.pop(token, None) is not None and not self._watchers:
                    self._end.set()

        return undo

    def report(self) -> None:
        """Call the watchers after a change by this process."""
        if self._watchers:
            self._reported = self._read_version()
            self._call()

    def _look(self, end: threading.Event) -> None:
        while not end.wait(POLL_S):
            version = self._read_version()
            if version != self._reported:
                self._reported = version
                self._call()

    def _call(self) -> None:
        for fn in tuple(self._watchers.values()):
            fn()


@mutable
class _Use:
    """What one process has of a database."""

    watchers: Watchers
    lock: threading.Lock
    connections: "Connections | None" = None
    is_kept: bool = True
    """Whether the connections stay open though nobody watches, as until the first `close`."""


_open: list[Database] = []
_choosing = threading.Lock()


def project() -> Database:
    """Return the database of this process's project, which is fixed at the first call.

    RequestError `cannot_run` while the process works in a folder that is gone.
    """
    with _choosing:
        if not _open:
            _open.append(Database(find_root(working_folder())))
        return _open[0]


def find_project() -> Database | None:
    """Return what `project` does; None while the process works in a folder that is gone."""
    try:
        return project()
    except RequestError:
        return None


def kept_project() -> Database | None:
    """Return what `find_project` does where its database is there and its folder may be read."""
    here = find_project()
    return here if here is not None and os.path.exists(here.file) else None


def close_project() -> None:
    """Close the database of this process's project, if it was opened; see `Database.close`."""
    for database in _open:
        database.close()
