"""Threads as the person reads them: remarks with their replies, those of some targets first."""

from collections.abc import Iterable, Sequence
from sqlite3 import Connection, Row
from typing import Literal, TypedDict

from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review.annotations import get_annotation
from repl_pair.runtime.review.model import (
    Annotation,
    AnnotationStatus,
    Author,
    Deleted,
    Review,
    read_annotation,
    read_review,
)
from repl_pair.runtime.review.reviews import get_review
from repl_pair.wire import View

ThreadStatus = Literal["open"] | AnnotationStatus
"""`open` is every status but resolved."""
REPLIES = 20
"""How many replies of each thread are listed: the newest ones."""
_STATUS = "CASE WHEN orphaned AND status <> 'resolved' THEN 'orphaned' ELSE status END"


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
    *,
    first: Sequence[str] = (),
    status: ThreadStatus | None = None,
    author: Author | None = None,
    match: str = "",
    keep: Sequence[str] = (),
    limit: int,
) -> Threads:
    """Return the first threads that fit, for the person: nothing is hidden.

    Threads on the targets `first` come first, in that order, then the others by target; those of
    one target newest first. `match` is a part of the target. The threads `keep` are there whether
    or not they fit, beyond `limit`.
    """
    with database.reading() as connection:
        if connection is None:
            return {"threads": [], "total": 0, "drafts": {}}
        conditions = {
            "parent_id IS NULL": True,
            f"{_STATUS} <> 'resolved'": status == "open",
            f"{_STATUS} = :status": status not in (None, "open"),
            "author = :author": author is not None,
            "instr(lower(target), lower(:match))": bool(match),
        }
        fits = " AND ".join(text for text, applies in conditions.items() if applies)
        given = {"status": status, "author": author, "match": match, "limit": limit}
        ranks = {f"first_{rank}": target for rank, target in enumerate(first)}
        cases = " ".join(f"WHEN target = :{name} THEN {n}" for n, name in enumerate(ranks))
        rank = f"CASE {cases} ELSE {len(ranks)} END, " if ranks else ""
        order = f"{rank}target, created_at DESC, id"
        kept = {f"keep_{at}": id for at, id in enumerate(keep)}
        query = (
            f"SELECT * FROM annotations WHERE id IN ({', '.join(f':{name}' for name in kept)})"
            f" OR id IN (SELECT id FROM annotations WHERE {fits} ORDER BY {order} LIMIT :limit)"
            f" ORDER BY {order}"
        )
        rows = connection.execute(query, {**given, **ranks, **kept}).fetchall()
        count = f"SELECT count(*) FROM annotations WHERE {fits}"
        return {
            "threads": _read_threads(connection, rows),
            "total": connection.execute(count, given).fetchone()[0],
            "drafts": _find_drafts(connection),
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


def _read_threads(connection: Connection, rows: Sequence[Row]) -> list[ListedThread]:
    query = (
        "SELECT * FROM (SELECT *, count(*) OVER of_parent AS in_all, row_number() OVER"
        " (PARTITION BY parent_id ORDER BY created_at DESC, id DESC) AS place FROM annotations"
        f" WHERE parent_id IN ({_marks(rows)}) WINDOW of_parent AS (PARTITION BY parent_id))"
        f" WHERE place <= {REPLIES} ORDER BY created_at, id"
    )
    replies: dict[str, list[Row]] = {}
    for reply in connection.execute(query, [row["id"] for row in rows]):
        replies.setdefault(reply["parent_id"], []).append(reply)
    ids = list({row["review_id"] for row in rows} - {None})
    query = f"SELECT * FROM reviews WHERE id IN ({_marks(ids)})"
    reviews = {row["id"]: read_review(row) for row in connection.execute(query, ids)}
    return [
        {
            "annotation": read_annotation(row),
            "replies": list(map(read_annotation, of_row := replies.get(row["id"], []))),
            "earlier": of_row[0]["in_all"] - len(of_row) if of_row else 0,
            "review": reviews.get(row["review_id"]),
        }
        for row in rows
    ]


def _find_drafts(connection: Connection) -> dict[str, list[str]]:
    query = "SELECT target, id FROM annotations WHERE status = 'draft' ORDER BY created_at, id"
    drafts: dict[str, list[str]] = {}
    for target, id in connection.execute(query):
        drafts.setdefault(target, []).append(id)
    return drafts


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)
