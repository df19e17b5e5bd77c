"""Reviews: annotations of one target that are submitted together."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from sqlite3 import Connection, Row

from repl_pair.errors import RequestError, check_not_empty
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.project.schema import new_id
from repl_pair.runtime.review.annotations import delete_emptied_reviews, read_rows
from repl_pair.runtime.review.finding import find_known_target
from repl_pair.runtime.review.model import (
    Annotation,
    Review,
    ReviewedAnnotations,
    ReviewStatus,
    Submitted,
    author_of,
    read_review,
)
from repl_pair.runtime.review.querying import (
    Conditions,
    at_target,
    find_annotation,
    find_review,
    shown_to,
)
from repl_pair.runtime.review.reporting import report_review
from repl_pair.runtime.review.rules import check_owner
from repl_pair.runtime.review.targets import Target, parse_target
from repl_pair.runtime.review.visibility import access_of, tier_of
from repl_pair.wire import View

MAX_REVIEWS = 200
"""How many reviews are listed."""
_OLDEST_FIRST = "ORDER BY rowid"  # a clock may be set back


def submit_review(
    database: Database, view: View, target: str, annotation_ids: Sequence[str] | None = None
) -> Submitted:
    """Submit annotations of a target and its parts as one review, all of them or none.

    Without ids: the drafts there that the caller may submit, and its own remarks that are in no
    review. RequestError `not_found`, `bad_arguments` or `forbidden`; then nothing has changed.
    """
    check_not_empty("annotation_ids", annotation_ids)
    with database.reading() as connection:
        place = find_known_target(connection, database.root, view, target)
        if connection is None:
            raise _nothing_to_submit(place, [])
    with database.writing() as connection:
        if annotation_ids is None:
            rows = _open_rows(connection, database.root, view, place)
        else:
            found = dict.fromkeys(annotation_ids)
            rows = [_find_of(connection, database.root, view, place, id) for id in found]
        check_owner(view, rows)
        id = _insert(connection, database.root, view, place)
        ids = json.dumps([row["id"] for row in rows])
        connection.execute(_SUBMIT, (id, time.time(), ids))
        connection.execute(_TAKE_REPLIES, (id, ids))
        delete_emptied_reviews(connection)
        review = find_review(connection, database.root, view, id)
        report_review(connection, database.root, view, review, len(rows))
        submitted = connection.execute(_SUBMITTED, (ids,)).fetchall()
    items = read_rows(database, submitted)
    return {"review_id": id, "count": len(items), "items": items}


def waiting_annotations(database: Database, view: View, target: str) -> Sequence[Annotation]:
    """Return what `submit_review` would submit without ids; RequestError as there."""
    with database.reading() as connection:
        place = find_known_target(connection, database.root, view, target)
        if connection is None:
            raise _nothing_to_submit(place, [])
        return read_rows(database, _open_rows(connection, database.root, view, place))


def list_reviews(
    database: Database, view: View, target: str | None = None, status: ReviewStatus | None = None
) -> tuple[Sequence[Review], int]:
    """Return reviews, the newest first and at most 200, and how many there are."""
    with database.reading() as connection:
        place = target and find_known_target(connection, database.root, view, target)
        if connection is None:
            return [], 0
        asked = shown_to(connection, database.root, view)
        if place:
            asked = at_target(asked, place)
        if status is not None:
            asked = asked.and_also("status = :status", status=status)
        (total,) = asked.rows(connection, "count(*) FROM reviews")[0]
        newest = "ORDER BY created_at DESC, id DESC LIMIT :most"
        rows = asked.rows(connection, "* FROM reviews", newest, most=MAX_REVIEWS)
        return list(map(read_review, rows)), total


def get_review(database: Database, view: View, id: str) -> ReviewedAnnotations:
    """Return a review with its annotations; RequestError `not_found`."""
    with database.reading() as connection:
        review = find_review(connection, database.root, view, id)
        assert connection is not None
        mine = shown_to(connection, database.root, view).and_also("review_id = :id", id=id)
        rows = mine.rows(connection, "* FROM annotations", _OLDEST_FIRST)
        return {"review": read_review(review), "annotations": read_rows(database, rows)}


def complete_review(database: Database, view: View, id: str) -> Review:
    """Complete a review, which stays as it is where it was completed; RequestError `not_found`."""
    with database.reading() as connection:  # for an unknown id no database is made
        find_review(connection, database.root, view, id)
    with database.writing() as connection:
        change = "UPDATE reviews SET status = 'completed', updated_at = ?"
        query = f"{change} WHERE id = ? AND status != 'completed'"
        connection.execute(query, (time.time(), id))
        return read_review(find_review(connection, database.root, view, id))


_AMONG = "IN (SELECT value FROM json_each(?))"
_SUBMIT = (
    "UPDATE annotations SET status = CASE WHEN status <> 'draft' THEN status"
    " WHEN EXISTS (SELECT 1 FROM annotations AS reply WHERE reply.parent_id = annotations.id)"
    " THEN 'replied' ELSE 'submitted' END,"
    f" review_id = ?, updated_at = ? WHERE id {_AMONG}"
)
_TAKE_REPLIES = f"UPDATE annotations SET review_id = ? WHERE parent_id {_AMONG}"
_SUBMITTED = f"SELECT * FROM annotations WHERE id {_AMONG} {_OLDEST_FIRST}"


def _insert(connection: Connection, root: Path, view: View, place: Target) -> str:
    id, now, text = new_id(), time.time(), place.text
    connection.execute(
        "INSERT INTO reviews (id, target, author, principal, tier, access, status, created_at,"
        " updated_at) VALUES (?, ?, ?, ?, ?, ?, 'submitted', ?, ?)",
        (
            *(id, text, author_of(view.principal), view.principal),
            *(tier_of(text), access_of(root, text), now, now),
        ),
    )
    return id


def _open_rows(connection: Connection, root: Path, view: View, place: Target) -> list[Row]:
    """Return what a caller submits who names nothing; where it is another's alone, refuse."""
    there = at_target(shown_to(connection, root, view), place).and_also("parent_id IS NULL")
    waiting = there.and_also(
        "(status = 'draft' OR principal = :own AND review_id IS NULL AND status != 'resolved')",
        own=view.principal,
    ).rows(connection, "* FROM annotations", _OLDEST_FIRST)
    own = [row for row in waiting if row["principal"] == view.principal]
    try:
        check_owner(view, waiting)
    except RequestError:
        if not own:
            raise
        return own
    if not waiting:
        raise _nothing_to_submit(place, _counts(connection, there))
    return waiting


def _counts(connection: Connection, there: Conditions) -> list[str]:
    rows = there.rows(connection, "status, count(*) FROM annotations", "GROUP BY status")
    return [f"{count} {status}" for status, count in rows]


def _nothing_to_submit(place: Target, there: Sequence[str]) -> RequestError:
    what = f"What is there: {', '.join(there)}." if there else "There is no annotation."
    return RequestError("bad_arguments", f"Nothing of {place.text} waits to be submitted. {what}")


def _find_of(connection: Connection, root: Path, view: View, place: Target, id: str) -> Row:
    row = find_annotation(connection, root, view, id)
    why = None
    if not place.covers(parse_target(row["target"])):
        why = f"is an annotation on {row['target']}, not on {place.text}"
    elif row["parent_id"] is not None:
        why = f"is a reply, which goes with its annotation {row['parent_id']}"
    elif row["review_id"] is not None and row["status"] != "draft":
        why = f"is in the review {row['review_id']} already"
    if why is not None:
        raise RequestError("bad_arguments", f"{id} {why}. Nothing was submitted.")
    return row
