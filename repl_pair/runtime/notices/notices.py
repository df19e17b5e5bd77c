"""Notices: reported within the transaction of what they are about, and read by who they are for."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

from repl_pair.records import row
from repl_pair.runtime.project.schema import new_id, write_time
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.model import KINDS, Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import AGENTS, PERSON, View

if TYPE_CHECKING:
    from sqlite3 import Connection, Row

TOGETHER_S = 60.0
"""How long after a notice another of its kind, subject and recipient is counted with it."""
EXPIRES_S = 7 * 86_400.0
DELETED_S = 30 * 86_400.0
MAX_UNSEEN = 1_000
"""How many unseen notices of one principal are read for its replies, the newest."""

NoticeState = Literal["pending", "seen", "expired"]


class Notice(TypedDict):
    """What changed, as who it is for reads it; times are ISO 8601 in UTC.

    `count` is how often it was reported within a minute, `text` the latest report, of a contract
    all that changed in that minute, `by` who caused the latest.
    """

    id: str
    kind: str
    subject: str
    text: str
    count: int
    by: str
    state: NoticeState
    created_at: str
    updated_at: str


@row
class Unseen:
    """A notice that a principal has not seen with this `count`, and what a view needs for it."""

    id: str
    count: int
    subject: str
    tier: str | None
    access: str | None


def report_notice(
    connection: "Connection",
    *,
    kind: str,
    subject: str,
    text: str,
    recipient: str,
    by: str,
    access: str | None = None,
    at: float | None = None,
    text_after: Callable[[str], str] | None = None,
) -> None:
    """Report to a principal, or to AGENTS, that something changed; `by` needs no notice of it.

    A subject `KIND:ID` of the registry is hidden from views that may not see that entry. `access`
    is what a view must have open to be shown it. Reports of one kind, subject and recipient within
    a minute are one notice with a count, pending again for who had seen it; its text is the latest,
    or what `text_after` makes of the one before.
    """
    if recipient == by:
        return
    now, entry = time.time() if at is None else at, find_entry(subject)
    connection.execute("DELETE FROM notices WHERE created_at <= ?", (now - DELETED_S,))
    new = {
        **{"kind": kind, "subject": subject, "text": text, "recipient": recipient, "by": by},
        **{"tier": None if entry is None else entry.tier, "access": access},
        **{"id": new_id(), "now": now, "since": now - TOGETHER_S},
    }
    found = connection.execute(
        "SELECT max(number), text FROM notices WHERE subject = :subject AND kind = :kind"
        " AND recipient = :recipient AND created_at BETWEEN :since AND :now",
        new,
    ).fetchone()
    if found[0] is None:
        connection.execute(
            "INSERT INTO notices (id, kind, subject, text, recipient, by, tier, access, count,"
            " created_at, updated_at) VALUES"
            " (:id, :kind, :subject, :text, :recipient, :by, :tier, :access, 1, :now, :now)",
            new,
        )
        return
    new["number"], before = found
    new["text"] = text if text_after is None else text_after(before)
    connection.execute(  # who had seen all that was there causes this one: it stays seen
        "UPDATE seen SET count = count + 1 WHERE number = :number AND principal = :by"
        " AND count = (SELECT count FROM notices WHERE number = :number)",
        new,
    )
    connection.execute(
        "UPDATE notices SET count = count + 1, text = :text, updated_at = max(updated_at, :now),"
        " by_several = by_several OR by <> :by, by = :by, tier = :tier, access = :access"
        " WHERE number = :number",
        new,
    )


def list_notices(
    connection: "Connection | None",
    view: View,
    state: Literal[NoticeState, "all"] = "pending",
    *,
    at: float | None = None,
) -> list[Notice]:
    """Return the notices in a state that are for a view, the latest change first."""
    now = time.time() if at is None else at
    found = [
        _describe(row, now)
        for row in _rows(connection, view.principal, since=-math.inf)
        if is_open(view, _unseen(row))
    ]
    return [notice for notice in found if state in ("all", notice["state"])]


def read_unseen(
    connection: "Connection | None", principal: str, *, at: float | None = None
) -> list[Unseen]:
    """Return the newest notices that a principal has not seen, whatever its view may see."""
    now = time.time() if at is None else at
    rows = _rows(connection, principal, since=now - EXPIRES_S)
    return [_unseen(row) for row in rows if row["seen"] < row["count"]][:MAX_UNSEEN]


def mark_seen(connection: "Connection", principal: str, counts: Mapping[str, int]) -> None:
    """Mark notices as seen by a principal, each up to the count with which it was shown."""
    connection.executemany(
        "INSERT INTO seen (number, principal, count)"
        " SELECT number, ?, ? FROM notices WHERE id = ?"
        " ON CONFLICT DO UPDATE SET count = max(seen.count, excluded.count)",
        [(principal, count, id) for id, count in counts.items()],
    )


def is_open(view: View, notice: Unseen) -> bool:
    """Return whether a view may be shown a notice.

    One about an entry that is not registered now goes by the tier that the entry had.
    """
    if notice.access is not None and notice.access not in view.access:
        return False
    kind, _, _ = notice.subject.partition(":")
    if view.tier is None or kind not in KINDS:
        return True
    entry = find_entry(notice.subject)
    return notice.tier == view.tier if entry is None else is_seen(view, entry)


def find_entry(subject: str) -> Entry | None:
    """Return the entry that a subject `KIND:ID` names, None where it names none."""
    kind, _, id = subject.partition(":")
    return REGISTRY.find(kind, id) if kind in KINDS else None


def _rows(connection: "Connection | None", principal: str, *, since: float) -> "Iterable[Row]":
    if connection is None:
        return ()
    return connection.execute(
        "SELECT notices.*, coalesce(seen.count, 0) AS seen FROM notices"
        " LEFT JOIN seen ON seen.number = notices.number AND seen.principal = :principal"
        " WHERE notices.created_at > :since AND (recipient = :principal OR (recipient = :agents"
        " AND :principal <> :person AND (by <> :principal OR by_several)))"
        " ORDER BY updated_at DESC, notices.number DESC",
        {"principal": principal, "since": since, "agents": AGENTS, "person": PERSON},
    )


def _unseen(row: "Row") -> Unseen:
    return Unseen(row["id"], row["count"], row["subject"], row["tier"], row["access"])


def _describe(row: "Row", now: float) -> Notice:
    is_seen = row["seen"] >= row["count"]
    is_over = now - row["created_at"] >= EXPIRES_S
    return {
        "id": row["id"],
        "kind": row["kind"],
        "subject": row["subject"],
        "text": row["text"],
        "count": row["count"],
        "by": row["by"],
        "state": "expired" if is_over else "seen" if is_seen else "pending",
        "created_at": write_time(row["created_at"]),
        "updated_at": write_time(row["updated_at"]),
    }
