"""Which remarks lost what they speak of: looked for again only where a target changed."""

import threading
from collections.abc import Iterable
from pathlib import Path
from sqlite3 import Connection, Row
from weakref import WeakKeyDictionary

from repl_pair.errors import RequestError
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review.contents import UNKNOWN, Content, read_content, read_version
from repl_pair.runtime.review.targets import parse_target


class Orphans:
    """What this process found of the remarks of one project, by target and its version.

    It is found anew in each process, and not stored: a process without the stories of a project
    does not see what another sees, and takes none of them for gone.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._found: dict[str, tuple[object, dict[str, bool]]] = {}
        self._mark: object = None
        self._rows: dict[str, list[Row]] = {}
        self._all: dict[str, tuple[object, list[str]]] = {}

    def among(self, rows: Iterable[Row]) -> frozenset[str]:
        """Return the ids of those rows that lost their quote, or without one their target.

        A quote is looked for in what its author may read. A resolved remark is never among them.
        """
        by_whole = _by_whole(row for row in rows if row["status"] != "resolved")
        with self._lock:
            return frozenset(
                id for whole, some in by_whole.items() for id in self._among(whole, some)
            )

    def all(self, connection: Connection) -> frozenset[str]:
        """Return the ids of all such rows of the project, kept while database and targets stay.

        That costs a look at each page, and at the count of changes of the database.
        """
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        mark = (id(connection), version, connection.total_changes)
        with self._lock:
            if mark != self._mark:
                self._rows, self._mark = _open_rows(connection), mark
                self._all.clear()
            for whole, rows in self._rows.items():
                target_version = read_version(self._root, parse_target(whole))
                if self._all.get(whole, (self,))[0] != target_version:
                    self._all[whole] = target_version, self._among(whole, rows)
            return frozenset(id for _, ids in self._all.values() for id in ids)

    def _among(self, whole: str, rows: list[Row]) -> list[str]:
        """Return which rows of a target and its parts are orphans; only new ones are looked for."""
        target = parse_target(whole)
        version = read_version(self._root, target)
        if version is UNKNOWN:
            return []
        if version is None:
            return [row["id"] for row in rows]
        known, found = self._found.get(whole, (None, dict[str, bool]()))
        if known != version:
            found = {}
        self._found[whole] = version, found
        new = [row for row in rows if row["id"] not in found]
        authors = {row["principal"] for row in new}
        contents: dict[str, Content | None] = {}
        for author in authors:
            try:
                contents[author] = read_content(self._root, target, author)
            except RequestError:  # whether it is a page for an agent is not known: looked for again
                self._mark = None
        for row in (row for row in new if row["principal"] in contents):
            content, part = contents[row["principal"]], parse_target(row["target"]).part
            found[row["id"]] = content is None or not content.holds(part, row["quote"])
        return [row["id"] for row in rows if found.get(row["id"])]


def _by_whole(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(parse_target(row["target"]).whole, []).append(row)
    return found


def _open_rows(connection: Connection) -> dict[str, list[Row]]:
    slots = "id, target, quote, principal, status"
    query = f"SELECT {slots} FROM annotations WHERE status != 'resolved'"
    return _by_whole(connection.execute(query))


_OF: WeakKeyDictionary[Database, Orphans] = WeakKeyDictionary()


def orphans_of(database: Database) -> Orphans:
    """Return what is known of the orphans of a project."""
    return _OF.setdefault(database, Orphans(database.root))
