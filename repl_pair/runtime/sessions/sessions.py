"""Work sessions as the project keeps them."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.records import record
from repl_pair.runtime.clients.clients import Client, has_ended, is_visible, this_process
from repl_pair.runtime.project.schema import write_time
from repl_pair.runtime.sessions.counting import Counts
from repl_pair.wire import PERSON, View, may_have

if TYPE_CHECKING:
    from sqlite3 import Connection, Row

Status = Literal["open", "stopped", "abandoned"]
UNSEEN_S = 7 * 86_400.0
"""After how long without a count a session counts as left whose process cannot be seen."""


class Summary(Counts):
    """What was done in a work session of so many seconds.

    `contracts` is how many changed in the realm from its start to its stop; only a stop knows it.
    """

    seconds: float
    contracts: NotRequired[int]


class WorkSession(Summary):
    """A work session; times are ISO 8601 in UTC.

    One is abandoned where its client or its kernel ended before it was stopped: what was done in
    the last second of a kernel may be missing then. Whether those of another machine, container or
    boot have ended is not known: such a session is abandoned after a week in which nothing counted.
    """

    id: str
    principal: str
    goal: str
    rfc: str | None
    status: Status
    started_at: str
    ended_at: str | None


@record
class Start:
    """Who begins a session, for what, and when."""

    principal: str
    at: float
    goal: str = ""
    rfc: str | None = None


def keep_started(connection: "Connection", id: str, start: Start, counts: Counts) -> None:
    """Keep a session of this process, unless it is kept: the database may be a new one."""
    process = json.dumps(this_process())
    times = (start.at, time.time())
    connection.execute(
        "INSERT OR IGNORE INTO sessions (id, principal, process, goal, rfc, status, counts,"
        " started_at, counted_at) VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?)",
        (id, start.principal, process, start.goal, start.rfc, json.dumps(counts), *times),
    )


def keep_counts(connection: "Connection", id: str, counts: Mapping[str, Any], at: float) -> None:
    """Keep what was done so far in an open session."""
    connection.execute(
        "UPDATE sessions SET counts = ?, counted_at = ? WHERE id = ? AND status = 'open'",
        (json.dumps(counts), at, id),
    )


def keep_ended(
    connection: "Connection", id: str, status: Status, counts: Mapping[str, Any], at: float
) -> None:
    """Keep that a session ended, and all that was done in it; one that has ended stays as it is."""
    connection.execute(
        "UPDATE sessions SET status = ?, counts = ?, counted_at = ?, ended_at = ?"
        " WHERE id = ? AND status = 'open'",
        (status, json.dumps(counts), at, at, id),
    )


def find_dead(connection: "Connection | None") -> list[str]:
    """Return the open sessions whose processes have ended."""
    if connection is None:
        return []
    rows = connection.execute("SELECT * FROM sessions WHERE status = 'open'")
    return [row["id"] for row in rows if _is_dead(row)]


def _is_dead(row: "Row") -> bool:
    process = Client(id=row["id"], principal="", **json.loads(row["process"]))
    is_silent = time.time() - row["counted_at"] > UNSEEN_S
    return has_ended(process) or (is_silent and not is_visible(process))


def keep_abandoned(connection: "Connection", ids: Iterable[str]) -> None:
    """Keep that sessions were abandoned, when what was done in them was last kept."""
    connection.executemany(
        "UPDATE sessions SET status = 'abandoned', ended_at = counted_at"
        " WHERE id = ? AND status = 'open'",
        [(id,) for id in ids],
    )


def list_session_ids(connection: "Connection | None", view: View) -> list[str]:
    """Return the ids of a view's own sessions, of all for the person; the newest first."""
    if connection is None:
        return []
    query = (
        "SELECT id FROM sessions WHERE principal = ?1 OR ?1 = ?2"
        " ORDER BY started_at DESC, rowid DESC"
    )
    return [row["id"] for row in connection.execute(query, (view.principal, PERSON))]


def read_session(connection: "Connection | None", view: View, id: str) -> WorkSession:
    """Return a session that a view may have; RequestError `not_found` otherwise."""
    query = "SELECT * FROM sessions WHERE id = ?"
    row = connection and connection.execute(query, (id,)).fetchone()
    if row is None or not may_have(view.principal, row["principal"]):
        near = did_you_mean(id, list_session_ids(connection, view))
        steps = [next_step("list_sessions")]
        raise RequestError("not_found", f"There is no session {id!r}.{near}", next_steps=steps)
    status, ended = row["status"], row["ended_at"]
    if status == "open" and _is_dead(row):  # nothing could be written
        status, ended = "abandoned", row["counted_at"]
    until = time.time() if ended is None else ended
    slots: dict[str, Any] = {
        "id": row["id"],
        "principal": row["principal"],
        "goal": row["goal"],
        "rfc": row["rfc"],
        "status": status,
        "started_at": write_time(row["started_at"]),
        "ended_at": None if ended is None else write_time(ended),
        "seconds": round(max(0.0, until - row["started_at"]), 3),
    }
    return cast("WorkSession", slots | json.loads(row["counts"]))
