"""Ops over annotations and reviews."""

from functools import partial
from typing import Annotated

from repl_pair.runtime.op_base.answers import Items, Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import (
    DEFAULT_LIMIT,
    Cursor,
    Limit,
    mark_of,
    read_cursor,
    write_cursor,
)
from repl_pair.runtime.op_base.remarks import (
    preview_deletion,
    preview_edit,
    preview_submission,
    shown_remarks,
)
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.project.database import project
from repl_pair.runtime.project.schema import ID
from repl_pair.runtime.review import annotations, pages, reviews
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
from repl_pair.runtime.review.rules import MAX_CHARS, may_change
from repl_pair.runtime.review.targets import PAGES, parse_target
from repl_pair.runtime.review.visibility import is_registered

_op = partial(op, toolset="review", project=True)

Target = Annotated[str, "Such as variant:shop.quote/Bulk or doc:README.md#Install"]
AnnotationId = Annotated[str, "As list_annotations has it"]
ReviewId = Annotated[str, "As list_reviews has it"]


@_op(access="read")
def list_annotations(
    call: Call,
    target: Annotated[str | None, "Only there and on its parts, such as doc:README.md"] = None,
    section: Annotated[str | None, "A part of its section"] = None,
    status: Annotated[AnnotationStatus | None, "Only in this state"] = None,
    review_id: Annotated[str | None, "Of this review"] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[Annotation]:
    """List annotations on stories, variants, workspaces, notebooks and pages, newest first."""
    call.max_items = limit
    asked = (target, section, status, review_id)
    mark = mark_of([*asked, call.view.tier])
    items, total = annotations.list_annotations(
        project(),
        call.view,
        target=target,
        section=section,
        status=status,
        review_id=review_id,
        limit=limit + 1,
        after=None if cursor is None else read_cursor(cursor, mark, ID),
    )
    for one in items[:1]:
        call.suggest("get_annotation", annotation_id=one["parent_id"] or one["id"])
    if not items:
        call.suggest("list_annotations" if any(asked) or cursor else "list_pages")
    answer: Page[Annotation] = {"items": shown_remarks(call, items[:limit]), "total": total}
    if len(items) > limit:
        answer["cursor"] = write_cursor(mark, items[limit - 1]["id"])
    return answer


@_op(access="read")
def get_annotation(call: Call, annotation_id: AnnotationId) -> Thread:
    """Read one annotation with its replies, the oldest first."""
    found = annotations.get_annotation(project(), call.view, annotation_id)
    call.max_items = MAX_CHARS["content"]
    one = found["annotation"]
    if one["parent_id"] is not None:
        call.suggest("get_annotation", annotation_id=one["parent_id"])
    _suggest_target(call, one["target"])
    change = "reopen_annotation" if one["status"] == "resolved" else "resolve_annotation"
    if one["status"] != "draft" or may_change(call.view, one["principal"]):
        call.suggest(change, annotation_id=one["id"])
    if one["review_id"] is not None:
        call.suggest("get_review", review_id=one["review_id"])
    shown, *replies = shown_remarks(call, [one, *found["replies"]])
    return {"annotation": shown, "replies": replies}


@_op(access="run")
def create_annotation(
    call: Call,
    target: Target,
    content: Annotated[str, "What you have to say"],
    section: Annotated[str, "Which part of the target; of a page one of its headings"] = "",
    quote: Annotated[str, "The words of the target that you speak of"] = "",
    parent_id: Annotated[str | None, "The annotation that you reply to"] = None,
    review_id: Annotated[str | None, "Of this review"] = None,
) -> Annotation:
    """Annotate a target, or reply to an annotation; the same words within 30 s are one."""
    made = annotations.create_annotation(
        project(),
        call.view,
        target=target,
        content=content,
        section=section,
        quote=quote,
        parent_id=parent_id,
        review_id=review_id,
    )
    if quote and made["status"] == "orphaned":
        what = "The target does not hold this quote in whole words: it is orphaned until then."
        call.notifications.append(what)
    if made["status"] == "draft":
        call.suggest("submit_review", target=made["target"])
    if parent_id is not None:
        call.suggest("resolve_annotation", annotation_id=parent_id)
    return _answer(call, made)


@_op(access="run", preview=preview_edit)
def edit_annotation(
    call: Call, annotation_id: AnnotationId, content: Annotated[str, "The new words"]
) -> Annotation:
    """Replace the words of an annotation of yours; another's takes write access."""
    return _answer(call, annotations.edit_annotation(project(), call.view, annotation_id, content))


@_op(access="run")
def resolve_annotation(call: Call, annotation_id: AnnotationId) -> Annotation:
    """Mark an annotation as resolved; another's draft takes write access."""
    made = annotations.resolve_annotation(project(), call.view, annotation_id)
    call.suggest("list_annotations", status="submitted")
    return _answer(call, made)


@_op(access="run")
def reopen_annotation(call: Call, annotation_id: AnnotationId) -> Annotation:
    """Open a resolved annotation again; it is submitted then."""
    return _answer(call, annotations.reopen_annotation(project(), call.view, annotation_id))


@_op(access="run", preview=preview_deletion)
def delete_annotation(call: Call, annotation_id: AnnotationId) -> Deleted:
    """Delete an annotation of yours with all replies, and its review where that is left empty.

    What another wrote takes write access.
    """
    gone = annotations.delete_annotation(project(), call.view, annotation_id)
    call.suggest("list_annotations")
    return gone


@_op(access="run", preview=preview_submission)
def submit_review(
    call: Call,
    target: Target,
    annotation_ids: Annotated[list[str] | None, "All drafts there where it is left out"] = None,
) -> Submitted:
    """Submit annotations of one target as a review, all of them or none.

    Another's drafts take write access.
    """
    made = reviews.submit_review(project(), call.view, target, annotation_ids)
    call.max_items = made["count"]
    call.suggest("get_review", review_id=made["review_id"])
    return {**made, "items": shown_remarks(call, made["items"])}


@_op(access="read")
def list_reviews(
    call: Call,
    target: Annotated[str | None, "Only there and on its parts, such as doc:README.md"] = None,
    status: Annotated[ReviewStatus | None, "Only in this state"] = None,
) -> Items[Review]:
    """List reviews, the newest first."""
    items, total = reviews.list_reviews(project(), call.view, target, status)
    call.max_items = len(items)
    if total > len(items):
        more = f"{total - len(items)} older reviews are not listed: name a target."
        call.notifications.append(more)
    for one in items[:1]:
        call.suggest("get_review", review_id=one["id"])
    if not items:
        call.suggest("list_annotations")
    return {"items": list(items), "total": total}


@_op(access="read")
def get_review(call: Call, review_id: ReviewId) -> ReviewedAnnotations:
    """Read one review with its annotations, the oldest first."""
    found = reviews.get_review(project(), call.view, review_id)
    call.max_items = len(found["annotations"])
    waiting = [one["id"] for one in found["annotations"] if one["status"] != "resolved"]
    for id in waiting[:1]:
        call.suggest("get_annotation", annotation_id=id)
    if found["review"]["status"] != "completed":
        call.suggest("complete_review", review_id=review_id)
    call.suggest("list_annotations", review_id=review_id)
    return {**found, "annotations": shown_remarks(call, found["annotations"])}


@_op(access="run")
def complete_review(call: Call, review_id: ReviewId) -> Review:
    """Mark a review as completed."""
    made = reviews.complete_review(project(), call.view, review_id)
    call.suggest("list_reviews", status="submitted")
    return made


@_op(access="read", needs={"private": "inspect"})
def list_pages(call: Call, private: Annotated[bool, "Private ones too"] = False) -> Items[PageLine]:
    """List the Markdown pages and notebooks of the project, which can be annotated."""
    items = list(pages.list_pages(project().root, call.view, private=private))
    call.max_items = len(items)
    if len(items) == pages.MAX_PAGES:
        call.notifications.append(f"Of more than {len(items)} pages the first are listed.")
    for page in items[:1]:
        kind = next(k for k, ends in PAGES.items() if page["path"].lower().endswith(ends))
        call.suggest("list_annotations", target=f"{kind}:{page['path']}")
    if not items:
        call.suggest("list_annotations")
    return {"items": items, "total": len(items)}


def _answer(call: Call, made: Annotation) -> Annotation:
    """Return an annotation that was changed, with the way to its thread."""
    call.max_items = MAX_CHARS["content"]
    call.suggest("get_annotation", annotation_id=made["parent_id"] or made["id"])
    return shown_remarks(call, [made])[0]


def _suggest_target(call: Call, text: str) -> None:
    target = parse_target(text)
    if is_registered(call.view, target):
        call.suggest(f"get_{target.kind}", **{f"{target.kind}_id": target.name})
