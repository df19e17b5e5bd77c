"""Annotations: made, read, changed and deleted, by one set of rules for the person and agents."""

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from sqlite3 import Connection, Row

from repl_pair.runtime.project.database import Database
from repl_pair.runtime.project.schema import new_id
from repl_pair.runtime.review.finding import find_known_target
from repl_pair.runtime.review.model import (
    Annotation,
    AnnotationStatus,
    Deleted,
    Thread,
    author_of,
    read_annotation,
)
from repl_pair.runtime.review.orphans import orphans_of
from repl_pair.runtime.review.placing import find_place
from repl_pair.runtime.review.querying import (
    at_target,
    behind,
    find_annotation,
    find_review,
    in_section,
    in_status,
    shown_to,
)
from repl_pair.runtime.review.reporting import report_remark
from repl_pair.runtime.review.rules import check_count, check_owner, check_words, count_deleted
from repl_pair.runtime.review.visibility import access_of, tier_of
from repl_pair.wire import View

REPEATED_S = 30.0
"""Within how long the same words of the same author are one annotation."""
_REPLIES = "SELECT * FROM annotations WHERE parent_id = ? ORDER BY rowid"


def list_annotations(
    database: Database,
    view: View,
    *,
    target: str | None = None,
    section: str | None = None,
    status: AnnotationStatus | None = None,
    review_id: str | None = None,
    limit: int,
    after: str | None = None,
) -> tuple[Sequence[Annotation], int]:
    """Return a page of annotations, the newest first, and how many there are.

    A target without a part covers its parts. `after` is the last annotation of the page before.
    RequestError `stale_cursor` where that is gone; `not_found` or `bad_arguments` for a review or
    target that is not there.
    """
    with database.reading() as connection:
        place = target and find_known_target(connection, database.root, view, target)
        if review_id is not None:
            find_review(connection, database.root, view, review_id)
        if connection is None:
            return [], 0
        asked = seen = shown_to(connection, database.root, view)
        if place:
            asked = at_target(asked, place)
        if section is not None:
            asked = in_section(connection, asked, view, section)
        if review_id is not None:
            asked = asked.and_also("review_id = :review_id", review_id=review_id)
        if status is not None:
            asked = in_status(database, connection, asked, status)
        (total,) = asked.rows(connection, "count(*) FROM annotations")[0]
        if after is not None:
            asked = behind(connection, seen, asked, after)
        newest = "ORDER BY created_at DESC, id DESC LIMIT :limit"
        return read_rows(
            database, asked.rows(connection, "* FROM annotations", newest, limit=limit)
        ), total


def get_annotation(database: Database, view: View, id: str) -> Thread:
    """Return an annotation with its replies; RequestError `not_found`."""
    with database.reading() as connection:
        row = find_annotation(connection, database.root, view, id)
        assert connection is not None
        first, *replies = read_rows(database, [row, *connection.execute(_REPLIES, (id,))])
        return {"annotation": first, "replies": replies}


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
    """Make an annotation, or the reply to one, which takes its target, review and section over.

    The same words of the same author in the same place are one annotation for 30 s, unless that is
    resolved, and answered as `duplicate`. RequestError `bad_arguments` and `not_found` for what
    does not fit together, and `cannot_run` for an agent that wrote MAX_IN_AN_HOUR already.
    """
    check_words(content=content, quote=quote, section=section)
    asked = (database.root, view, target, section, parent_id, review_id)
    with database.reading() as connection:
        place = find_place(connection, *asked)
    with database.writing() as connection:
        if parent_id is not None or review_id is not None:  # which may have changed meanwhile
            place = find_place(connection, *asked)
        words = {**place, "principal": view.principal, "quote": quote, "content": content}
        times = {"after": (now := time.time()) - REPEATED_S, "now": now}
        same = connection.execute(_SAME, words | times).fetchone()
        if same is None:
            check_count(connection, view)
            row = _insert(connection, words)
            if parent_id is not None:
                connection.execute(_ANSWERED, (row["created_at"], parent_id))
            if row["status"] != "draft":
                does = "remarked" if parent_id is None else f"replied to {parent_id} with"
                report_remark(connection, database.root, view, row, does)
        else:
            row = same
    (made,) = read_rows(database, [row])
    return made if same is None else {**made, "duplicate": True}


def edit_annotation(database: Database, view: View, id: str, content: str) -> Annotation:
    """Replace the words of an annotation; RequestError `forbidden` where they are another's."""
    check_words(content=content)
    with _changing(database, view, id) as (connection, row):
        check_owner(view, [row])
        access = row["access"] or access_of(database.root, row["target"])
        query = "UPDATE annotations SET content = ?, edited_by = ?, access = ?, updated_at = ?"
        now = time.time()
        connection.execute(f"{query} WHERE id = ?", (content, view.principal, access, now, id))
        row = _row(connection, id)
    return read_rows(database, [row])[0]


def resolve_annotation(database: Database, view: View, id: str) -> Annotation:
    """Resolve an annotation; one that is resolved stays as it is.

    RequestError `forbidden` for another's draft: one that is reopened is submitted.
    """
    with _changing(database, view, id) as (connection, row):
        if row["status"] == "draft":
            check_owner(view, [row])
        if row["status"] != "resolved":
            _set_status(connection, id, "resolved")
            report_remark(connection, database.root, view, row, "resolved")
        row = _row(connection, id)
    return read_rows(database, [row])[0]


def reopen_annotation(database: Database, view: View, id: str) -> Annotation:
    """Submit a resolved annotation again; another stays as it is."""
    with _changing(database, view, id) as (connection, row):
        if row["status"] == "resolved":
            _set_status(connection, id, "submitted")
            report_remark(connection, database.root, view, row, "reopened")
        row = _row(connection, id)
    return read_rows(database, [row])[0]


def delete_annotation(database: Database, view: View, id: str) -> Deleted:
    """Delete an annotation with its replies, and its review where nothing is left of it.

    RequestError `forbidden` where another wrote any of them.
    """
    with _changing(database, view, id) as (connection, row):
        replies = connection.execute(_REPLIES, (id,)).fetchall()
        check_owner(view, [row, *replies])
        count_deleted(connection, id)
        connection.execute("DELETE FROM annotations WHERE id = ?", (id,))
        connection.execute(_UNANSWERED, (row["parent_id"],))
        emptied = delete_emptied_reviews(connection)
        return {"deleted": id, "replies": len(replies), "review_deleted": emptied}


def delete_emptied_reviews(connection: Connection) -> bool:
    """Delete reviews without an annotation; return whether there was one."""
    query = (
        "DELETE FROM reviews WHERE NOT EXISTS"
        " (SELECT 1 FROM annotations WHERE review_id = reviews.id)"
    )
    return connection.execute(query).rowcount > 0


def read_rows(database: Database, rows: Sequence[Row]) -> list[Annotation]:
    """Return rows of the table as annotations; files may be read, so for no open change."""
    orphans = orphans_of(database).among(rows)
    return [read_annotation(row, orphaned=row["id"] in orphans) for row in rows]


_SAME = (
    "SELECT * FROM annotations WHERE principal = :principal AND target = :target"
    " AND section = :section AND quote = :quote AND content = :content"
    " AND parent_id IS :parent_id AND ifnull(:review_id, review_id) IS review_id"
    " AND status <> 'resolved' AND created_at BETWEEN :after AND :now"
    " ORDER BY created_at DESC LIMIT 1"
)
_ANSWERED = (
    "UPDATE annotations SET status = 'replied', updated_at = ?"
    " WHERE id = ? AND status NOT IN ('resolved', 'draft')"
)
_UNANSWERED = (
    "UPDATE annotations SET status = 'submitted' WHERE id = ?1 AND status = 'replied'"
    " AND NOT EXISTS (SELECT 1 FROM annotations WHERE parent_id = ?1)"
)


@contextmanager
def _changing(database: Database, view: View, id: str) -> Generator[tuple[Connection, Row]]:
    """Give a connection that writes, and the row of an annotation that the view sees."""
    with database.reading() as connection:  # for an unknown id no database is made
        find_annotation(connection, database.root, view, id)
    with database.writing() as connection:
        yield connection, find_annotation(connection, database.root, view, id)


def _row(connection: Connection, id: str) -> Row:
    return connection.execute("SELECT * FROM annotations WHERE id = ?", (id,)).fetchone()


def _set_status(connection: Connection, id: str, status: str) -> None:
    query = "UPDATE annotations SET status = ?, updated_at = ? WHERE id = ?"
    connection.execute(query, (status, time.time(), id))


def _insert(connection: Connection, words: Mapping[str, str | None]) -> Row:
    author, now = author_of(str(words["principal"])), time.time()
    is_draft = author == "human" and words["parent_id"] is None
    values = {
        **words,
        "id": (id := new_id()),
        "author": author,
        "status": "draft" if is_draft else "submitted",
        "tier": tier_of(str(words["target"])),
        "created_at": now,
        "updated_at": now,
    }
    slots = ", ".join(values)
    places = ", ".join(f":{name}" for name in values)
    connection.execute(f"INSERT INTO annotations ({slots}) VALUES ({places})", values)
    return _row(connection, id)
