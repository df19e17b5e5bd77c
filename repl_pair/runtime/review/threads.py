"""Threads: remarks with their replies, those on some targets first, page by page."""

import json
from collections.abc import Sequence
from sqlite3 import Connection, Row
from typing import Literal, TypedDict

from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review.annotations import get_annotation, read_rows
from repl_pair.runtime.review.model import (
    Annotation,
    AnnotationStatus,
    Author,
    Deleted,
    Review,
    read_review,
)
from repl_pair.runtime.review.querying import Conditions, in_status, shown_to
from repl_pair.runtime.review.reviews import get_review
from repl_pair.wire import View

ThreadStatus = Literal["open"] | AnnotationStatus
"""`open` is every status but resolved."""
REPLIES = 20
"""How many replies of each thread are listed: the newest ones."""


class ListedThread(TypedDict):
    """A remark with its newest replies, the oldest of these first; `earlier` counts the others."""

    annotation: Annotation
    replies: list[Annotation]
    earlier: int
    review: Review | None


class Threads(TypedDict):
    """A page of threads; `total` fit; `drafts` has the ids of all drafts by target."""

    threads: list[ListedThread]
    total: int
    drafts: dict[str, list[str]]


def list_threads(
    database: Database,
    view: View,
    *,
    first: Sequence[str] = (),
    status: ThreadStatus | None = None,
    author: Author | None = None,
    match: str = "",
    keep: Sequence[str] = (),
    limit: int,
) -> Threads:
    """Return the first threads that fit, of those that a view sees.

    Threads on the targets `first` come first, in that order, then the others by target; those of
    one target newest first. `match` is a part of the target. The threads `keep` are there whether
    or not they fit, beyond `limit`.
    """
    with database.reading() as connection:
        if connection is None:
            return {"threads": [], "total": 0, "drafts": {}}
        seen = shown_to(connection, database.root, view)
        fits = seen.and_also("parent_id IS NULL")
        if author is not None:
            fits = fits.and_also("author = :author", author=author)
        if match:
            fits = fits.and_also("instr(casefold(target), casefold(:match))", match=match)
        if status == "open":
            fits = fits.and_also("status != 'resolved'")
        elif status is not None:
            fits = in_status(database, connection, fits, status)
        ranks = {f"first_{rank}": target for rank, target in enumerate(first)}
        cases = " ".join(f"WHEN target = :{name} THEN {n}" for n, name in enumerate(ranks))
        rank = f"CASE {cases} ELSE {len(ranks)} END, " if ranks else ""
        order = f"ORDER BY {rank}target, created_at DESC, id"
        page = fits.rows(
            connection, "id FROM annotations", f"{order} LIMIT :limit", limit=limit, **ranks
        )
        listed = _among(seen, [*(id for (id,) in page), *keep])
        rows = listed.rows(connection, "* FROM annotations", order, **ranks)
        return {
            "threads": _read_threads(database, connection, seen, rows),
            "total": fits.rows(connection, "count(*) FROM annotations")[0][0],
            "drafts": _find_drafts(connection, seen),
        }


def preview_deletion(database: Database, view: View, id: str) -> Deleted:
    """Return what `delete_annotation` would take, and take nothing; RequestError `not_found`."""
    thread = get_annotation(database, view, id)
    taken = {id, *(reply["id"] for reply in thread["replies"])}
    review_id = thread["annotation"]["review_id"]
    left = {id}
    if review_id is not None:
        left = {one["id"] for one in get_review(database, view, review_id)["annotations"]} - taken
    return {"deleted": id, "replies": len(thread["replies"]), "review_deleted": not left}


_ANSWERS = "parent_id IN (SELECT value FROM json_each(:parents))"
_NEWEST = (
    "id IN (SELECT id FROM (SELECT id, row_number() OVER"
    " (PARTITION BY parent_id ORDER BY rowid DESC) AS place"
    f" FROM annotations WHERE {_ANSWERS}) WHERE place <= :replies)"
)


def _among(seen: Conditions, ids: Sequence[str | None]) -> Conditions:
    return seen.and_also("id IN (SELECT value FROM json_each(:ids))", ids=json.dumps(ids))


def _read_threads(
    database: Database, connection: Connection, seen: Conditions, rows: Sequence[Row]
) -> list[ListedThread]:
    parents = json.dumps([row["id"] for row in rows])
    answers = seen.and_also(_ANSWERS, parents=parents)
    by_parent = "parent_id, count(*) AS replies FROM annotations"
    counted = answers.rows(connection, by_parent, "GROUP BY parent_id")
    counts: dict[str, int] = {row["parent_id"]: row["replies"] for row in counted}
    newest = seen.and_also(_NEWEST, parents=parents, replies=REPLIES)
    replies: dict[str | None, list[Annotation]] = {}
    for reply in read_rows(
        database, newest.rows(connection, "* FROM annotations", "ORDER BY rowid")
    ):
        replies.setdefault(reply["parent_id"], []).append(reply)
    of_rows = _among(seen, [row["review_id"] for row in rows])
    reviews = {row["id"]: read_review(row) for row in of_rows.rows(connection, "* FROM reviews")}
    return [
        {
            "annotation": head,
            "replies": (answered := replies.get(head["id"], [])),
            "earlier": counts.get(head["id"], 0) - len(answered),
            "review": reviews.get(head["review_id"] or ""),
        }
        for head in read_rows(database, rows)
    ]


def _find_drafts(connection: Connection, seen: Conditions) -> dict[str, list[str]]:
    drafts: dict[str, list[str]] = {}
    waiting = seen.and_also("status = 'draft'")
    rows = waiting.rows(connection, "target, id FROM annotations", "ORDER BY rowid")
    for target, id in rows:
        drafts.setdefault(target, []).append(id)
    return drafts
