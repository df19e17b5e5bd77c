"""Reviews: annotations of one target that are submitted together."""

import os
import time
from collections.abc import Sequence

from repl_pair.errors import RequestError
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review.model import (
    Review,
    ReviewedAnnotations,
    ReviewStatus,
    Submitted,
    author_of,
    read_annotation,
    read_review,
)
from repl_pair.wire import View


def submit_review(
    database: Database, view: View, target: str, annotation_ids: Sequence[str] | None = None
) -> Submitted:
    """Submit annotations of a target as one review; without ids, all drafts there."""
    with database.writing() as connection:
        if annotation_ids is None:
            query = "SELECT id FROM annotations WHERE target = ? AND status = 'draft'"
            annotation_ids = [row["id"] for row in connection.execute(query, (target,))]
        id, now = os.urandom(4).hex(), time.time()
        values = (id, target, author_of(view.principal), view.principal, "submitted", now, now)
        connection.execute("INSERT INTO reviews VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        connection.executemany(
            "UPDATE annotations SET status = 'submitted', review_id = ?, updated_at = ?"
            " WHERE id = ?",
            [(id, now, one) for one in annotation_ids],
        )
        query = "SELECT * FROM annotations WHERE review_id = ? ORDER BY created_at, id"
        items = list(map(read_annotation, connection.execute(query, (id,))))
        return {"review_id": id, "count": len(items), "items": items}


def list_reviews(
    database: Database, view: View, target: str | None = None, status: ReviewStatus | None = None
) -> Sequence[Review]:
    """Return reviews, the newest first."""
    with database.reading() as connection:
        if connection is None:
            return []
        query = (
            "SELECT * FROM reviews WHERE (?1 IS NULL OR target = ?1)"
            " AND (?2 IS NULL OR status = ?2) ORDER BY created_at DESC"
        )
        return list(map(read_review, connection.execute(query, (target, status))))


def get_review(database: Database, view: View, id: str) -> ReviewedAnnotations:
    """Return a review with its annotations; RequestError `not_found`."""
    with database.reading() as connection:
        row = None
        if connection is not None:
            row = connection.execute("SELECT * FROM reviews WHERE id = ?", (id,)).fetchone()
        if connection is None or row is None:
            raise RequestError("not_found", f"There is no review {id!r}.")
        query = "SELECT * FROM annotations WHERE review_id = ? ORDER BY created_at, id"
        annotations = list(map(read_annotation, connection.execute(query, (id,))))
        return {"review": read_review(row), "annotations": annotations}


def complete_review(database: Database, view: View, id: str) -> Review:
    """Complete a review; RequestError `not_found`."""
    with database.writing() as connection:
        query = "UPDATE reviews SET status = 'completed', updated_at = ? WHERE id = ?"
        connection.execute(query, (time.time(), id))
    return get_review(database, view, id)["review"]
