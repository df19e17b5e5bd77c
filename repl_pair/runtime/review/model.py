"""Annotations and reviews as records, and the words of their states."""

from sqlite3 import Row
from typing import Literal, NotRequired, TypedDict

from repl_pair.runtime.project.schema import write_time
from repl_pair.wire import PERSON

Author = Literal["human", "agent"]
AnnotationStatus = Literal["draft", "submitted", "replied", "resolved", "orphaned"]
ReviewStatus = Literal["submitted", "completed"]


class Annotation(TypedDict):
    """A remark on a target, or the reply to one; times are ISO 8601 in UTC.

    `quote` are the words of the target that it speaks of. `edited_by` wrote its content where that
    is another than its author. `duplicate`: it was there already.
    """

    id: str
    target: str
    section: str
    quote: str
    content: str
    author: Author
    principal: str
    status: AnnotationStatus
    parent_id: str | None
    review_id: str | None
    created_at: str
    updated_at: str
    edited_by: NotRequired[str]
    duplicate: NotRequired[Literal[True]]


class Review(TypedDict):
    """Annotations of one target that were submitted together."""

    id: str
    target: str
    author: Author
    principal: str
    status: ReviewStatus
    created_at: str
    updated_at: str


class Thread(TypedDict):
    """An annotation with its replies, the oldest first."""

    annotation: Annotation
    replies: list[Annotation]


class Deleted(TypedDict):
    """What a deletion took: the annotation, how many replies, and whether its review."""

    deleted: str
    replies: int
    review_deleted: bool


class Submitted(TypedDict):
    """A review as it was submitted, with its annotations."""

    review_id: str
    count: int
    items: list[Annotation]


class ReviewedAnnotations(TypedDict):
    """A review and its annotations, the oldest first."""

    review: Review
    annotations: list[Annotation]


class PageLine(TypedDict):
    """A page of the project that can be annotated."""

    title: str
    path: str
    access: Literal["public", "private"]


def author_of(principal: str) -> Author:
    """Return who a principal is to a reader."""
    return "human" if principal == PERSON else "agent"


def read_annotation(row: Row, *, orphaned: bool) -> Annotation:
    """Return a row of the table, with its slots in their order, as an annotation."""
    id, target, section, quote, content, author, principal, status, _, editor, *more = row
    parent_id, review_id, created_at, updated_at, _ = more
    found: Annotation = {
        "id": id,
        "target": target,
        "section": section,
        "quote": quote,
        "content": content,
        "author": author,
        "principal": principal,
        "status": "orphaned" if orphaned else status,
        "parent_id": parent_id,
        "review_id": review_id,
        "created_at": write_time(created_at),
        "updated_at": write_time(updated_at),
    }
    if editor is not None and editor != principal:
        found["edited_by"] = editor
    return found


def read_review(row: Row) -> Review:
    """Return a row of the table as a review."""
    return {
        "id": row["id"],
        "target": row["target"],
        "author": row["author"],
        "principal": row["principal"],
        "status": row["status"],
        "created_at": write_time(row["created_at"]),
        "updated_at": write_time(row["updated_at"]),
    }
