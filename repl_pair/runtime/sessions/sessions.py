"""Work sessions as the project keeps them."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.records import record
from repl_pair.runtime.clients.clients import Client, has_ended, this_process
from repl_pair.runtime.project.schema import write_time
from repl_pair.runtime.sessions.counting import Counts
from repl_pair.wire import PERSON, View, may_have

if TYPE_CHECKING:
    from sqlite3 import Connection

Status = Literal["open", "stopped", "abandoned"]


class Summary(Counts):
    """What was done in a work session of so many seconds.

    `contracts` is how many changed in the realm from its start to its stop; only a stop knows it.
    """

    seconds: float
    contracts: NotRequired[int]


class WorkSession(Summary):
    """A work session; times are ISO 8601 in UTC.

    One is abandoned where its client or its kernel ended before it was stopped: what was done in
    the last second of a kernel may be missing then.
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
    """Who begins a session, and for what."""

    principal: str
    goal: str = ""
    rfc: str | None = None


def keep_started(
    connection: "Connection", id: str, start: Start, counts: Counts, at: float
) -> None:
    """Keep a session that begins in this process."""
    process = json.dumps(this_process())
    connection.execute(
        "INSERT INTO sessions (id, principal, process, goal, rfc, status, counts, started_at,"
        " counted_at) VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?)",
        (id, start.principal, process, start.goal, start.rfc, json.dumps(counts), at, at),
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
    """Return the open sessions of processes that have certainly ended.

    Whether those of another machine or container have is not known.
    """
    if connection is None:
        return []
    rows = connection.execute("SELECT id, process FROM sessions WHERE status = 'open'")
    known = {row["id"]: json.loads(row["process"]) for row in rows}
    return [
        id for id, process in known.items() if has_ended(Client(id=id, principal="", **process))
    ]


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
    ended = row["ended_at"]
    until = time.time() if ended is None else ended
    slots: dict[str, Any] = {
        "id": row["id"],
        "principal": row["principal"],
        "goal": row["goal"],
        "rfc": row["rfc"],
        "status": row["status"],
        "started_at": write_time(row["started_at"]),
        "ended_at": None if ended is None else write_time(ended),
        "seconds": round(max(0.0, until - row["started_at"]), 3),
    }
    return cast("WorkSession", slots | json.loads(row["counts"]))
