"""Ops over annotations and reviews."""

from functools import partial
from typing import Annotated, cast

from repl_pair.runtime.ops.answers import Items, Page
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.listing import DEFAULT_LIMIT, Cursor, Limit
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.project.database import project
from repl_pair.runtime.review import annotations, reviews
from repl_pair.runtime.review.model import (
    Annotation,
    AnnotationStatus,
    Deleted,
    PageLine,
    Review,
    ReviewedAnnotations,
    ReviewStatus,
    Submitted,
    Thread,
)

_op = partial(op, toolset="review", project=True)

Target = Annotated[str, "Such as variant:shop.quote/Bulk or doc:README.md#Install"]
AnnotationId = Annotated[str, "As list_annotations has it"]
ReviewId = Annotated[str, "As list_reviews has it"]


@_op(access="read")
def list_annotations(
    call: Call,
    target: Annotated[str | None, "Only there, such as doc:README.md"] = None,
    section: Annotated[str | None, "A part of its section"] = None,
    status: Annotated[AnnotationStatus | None, "Only in this state"] = None,
    review_id: Annotated[str | None, "Of this review"] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[Annotation]:
    """List remarks on stories, variants, workspaces, notebooks and pages, newest first."""
    call.max_items = limit
    items, total = annotations.list_annotations(
        project(),
        call.view,
        target=target,
        section=section,
        status=status,
        review_id=review_id,
        limit=limit,
        offset=0,
    )
    return cast("Page[Annotation]", {"items": items, "total": total})


@_op(access="read")
def get_annotation(call: Call, annotation_id: AnnotationId) -> Thread:
    """Read one annotation with its replies, the oldest first."""
    return annotations.get_annotation(project(), call.view, annotation_id)


@_op(access="run")
def create_annotation(
    call: Call,
    target: Target,
    content: Annotated[str, "What you have to say"],
    section: Annotated[str, "Which part of the target"] = "",
    quote: Annotated[str, "The words of the target that you speak of"] = "",
    parent_id: Annotated[str | None, "The annotation that you reply to"] = None,
    review_id: Annotated[str | None, "Of this review"] = None,
) -> Annotation:
    """Remark on a target, or reply to a remark; the same words within 30 s are one annotation."""
    return annotations.create_annotation(
        project(),
        call.view,
        target=target,
        content=content,
        section=section,
        quote=quote,
        parent_id=parent_id,
        review_id=review_id,
    )


@_op(access="run")
def edit_annotation(
    call: Call, annotation_id: AnnotationId, content: Annotated[str, "The new words"]
) -> Annotation:
    """Replace the words of an annotation."""
    return annotations.edit_annotation(project(), call.view, annotation_id, content)


@_op(access="run")
def resolve_annotation(call: Call, annotation_id: AnnotationId) -> Annotation:
    """Mark an annotation as resolved."""
    return annotations.set_status(project(), call.view, annotation_id, "resolved")


@_op(access="run")
def reopen_annotation(call: Call, annotation_id: AnnotationId) -> Annotation:
    """Open a resolved annotation again; it is submitted then."""
    return annotations.set_status(project(), call.view, annotation_id, "submitted")


@_op(access="run")
def delete_annotation(call: Call, annotation_id: AnnotationId) -> Deleted:
    """Delete an annotation of yours with all replies, and its review where that is left empty."""
    return annotations.delete_annotation(project(), call.view, annotation_id)


@_op(access="run")
def submit_review(
    call: Call,
    target: Target,
    annotation_ids: Annotated[list[str] | None, "All drafts there where it is left out"] = None,
) -> Submitted:
    """Submit annotations of one target as a review."""
    return reviews.submit_review(project(), call.view, target, annotation_ids)


@_op(access="read")
def list_reviews(
    call: Call,
    target: Annotated[str | None, "Only there, such as doc:README.md"] = None,
    status: Annotated[ReviewStatus | None, "Only in this state"] = None,
) -> Items[Review]:
    """List reviews, the newest first."""
    items = list(reviews.list_reviews(project(), call.view, target, status))
    return {"items": items, "total": len(items)}


@_op(access="read")
def get_review(call: Call, review_id: ReviewId) -> ReviewedAnnotations:
    """Read one review with its annotations, the oldest first."""
    return reviews.get_review(project(), call.view, review_id)


@_op(access="run")
def complete_review(call: Call, review_id: ReviewId) -> Review:
    """Mark a review as completed."""
    return reviews.complete_review(project(), call.view, review_id)


@_op(access="read")
def list_pages(
    call: Call, private: Annotated[bool, "Private ones too, where inspect is open"] = False
) -> Items[PageLine]:
    """List the Markdown pages and notebooks of the project, which can be annotated."""
    return {"items": [], "total": 0}
