"""Annotations: made, read, changed and deleted, by one set of rules for the person and agents."""

import os
import time
from collections.abc import Sequence
from sqlite3 import Connection, Row

from repl_pair.errors import RequestError
from repl_pair.runtime.notices.notices import report_notice
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review.model import (
    Annotation,
    AnnotationStatus,
    Deleted,
    Thread,
    author_of,
    read_annotation,
)
from repl_pair.wire import PERSON, View

REPEATED_S = 30.0
"""Within how long the same words of the same author are one annotation."""


def list_annotations(
    database: Database,
    view: View,
    *,
    target: str | None = None,
    section: str | None = None,
    status: AnnotationStatus | None = None,
    review_id: str | None = None,
    limit: int,
    offset: int,
) -> tuple[Sequence[Annotation], int]:
    """Return a page of annotations, the newest first, and how many there are."""
    with database.reading() as connection:
        if connection is None:
            return [], 0
        asked = {"target": target, "status": status, "review_id": review_id}
        given = {name: value for name, value in asked.items() if value is not None}
        where = " AND ".join(f"{name} = :{name}" for name in given) or "1"
        query = f"FROM annotations WHERE {where}"
        (total,) = connection.execute(f"SELECT count(*) {query}", given).fetchone()
        order = "ORDER BY created_at DESC LIMIT :limit OFFSET :offset"
        rows = connection.execute(
            f"SELECT * {query} {order}", {**given, "limit": limit, "offset": offset}
        )
        return list(map(read_annotation, rows)), total


def get_annotation(database: Database, view: View, id: str) -> Thread:
    """Return an annotation with its replies; RequestError `not_found`."""
    with database.reading() as connection:
        row = find_row(connection, view, id)
        assert connection is not None
        query = "SELECT * FROM annotations WHERE parent_id = ? ORDER BY created_at, id"
        replies = list(map(read_annotation, connection.execute(query, (id,))))
        return {"annotation": read_annotation(row), "replies": replies}


def create_annotation(
    database: Database,
    view: View,
    *,
    target: str,
    content: str,
    section: str = "",
    quote: str = "",
    parent_id: str | None = None,
    review_id: str | None = None,
) -> Annotation:
    """Make an annotation, or the reply to one."""
    with database.writing() as connection:
        id, now, author = os.urandom(4).hex(), time.time(), author_of(view.principal)
        is_draft = author == "human" and parent_id is None
        values = (
            *(id, target, section, quote, content, author, view.principal),
            *("draft" if is_draft else "submitted", parent_id, review_id, now, now),
        )
        connection.execute(
            "INSERT INTO annotations (id, target, section, quote, content, author, principal,"
            " status, parent_id, review_id, created_at, updated_at)"
            f" VALUES ({', '.join('?' * len(values))})",
            values,
        )
        if parent_id is not None:
            _set_status(connection, parent_id, "replied", now)
        if not is_draft:
            recipient = "agents" if author == "human" else PERSON
            report_notice(
                connection,
                kind="remark",
                subject=target,
                text=f"A remark on {target}.",
                recipient=recipient,
                by=view.principal,
            )
        return read_annotation(find_row(connection, view, id))


def edit_annotation(database: Database, view: View, id: str, content: str) -> Annotation:
    """Replace the words of an annotation."""
    with database.writing() as connection:
        find_row(connection, view, id)
        query = "UPDATE annotations SET content = ?, updated_at = ? WHERE id = ?"
        connection.execute(query, (content, time.time(), id))
        return read_annotation(find_row(connection, view, id))


def set_status(database: Database, view: View, id: str, status: AnnotationStatus) -> Annotation:
    """Resolve an annotation, or reopen it with `submitted`."""
    with database.writing() as connection:
        find_row(connection, view, id)
        _set_status(connection, id, status, time.time())
        return read_annotation(find_row(connection, view, id))


def delete_annotation(database: Database, view: View, id: str) -> Deleted:
    """Delete an annotation with its replies, and its review where nothing is left of it."""
    with database.writing() as connection:
        row = find_row(connection, view, id)
        count = "SELECT count(*) FROM annotations WHERE parent_id = ?"
        (replies,) = connection.execute(count, (id,)).fetchone()
        connection.execute("DELETE FROM annotations WHERE id = ?", (id,))
        emptied = connection.execute(
            "DELETE FROM reviews WHERE id = ?1"
            " AND NOT EXISTS (SELECT 1 FROM annotations WHERE review_id = ?1)",
            (row["review_id"],),
        )
        return {"deleted": id, "replies": replies, "review_deleted": emptied.rowcount == 1}


def find_row(connection: Connection | None, view: View, id: str) -> Row:
    """Return the row of an annotation that a view may see; RequestError `not_found`."""
    row = None
    if connection is not None:
        row = connection.execute("SELECT * FROM annotations WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise RequestError("not_found", f"There is no annotation {id!r}.")
    return row


def _set_status(connection: Connection, id: str, status: str, now: float) -> None:
    query = "UPDATE annotations SET status = ?, updated_at = ? WHERE id = ?"
    connection.execute(query, (status, now, id))
