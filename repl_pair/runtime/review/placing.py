"""Where a new annotation stands: on which target, in whose thread, and in which review."""

from pathlib import Path
from sqlite3 import Connection, Row

from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.review.contents import redact_text
from repl_pair.runtime.review.finding import find_known_target, find_target
from repl_pair.runtime.review.querying import find_annotation, find_review
from repl_pair.runtime.review.targets import parse_target
from repl_pair.runtime.review.visibility import access_of
from repl_pair.wire import View


def find_place(
    connection: Connection | None,
    root: Path,
    view: View,
    target: str,
    section: str,
    parent_id: str | None,
    review_id: str | None,
) -> dict[str, str | None]:
    """Return target, section, access, parent and review of a new annotation, as the table has them.

    RequestError `bad_arguments` and `not_found` for what does not fit together.
    """
    access = None
    if parent_id is not None:
        parent = _find_parent(connection, root, view, parent_id, target)
        target, section, access = parent["target"], parent["section"], parent["access"]
        review_id = _review_of_reply(parent, review_id)
    else:
        target = find_target(root, view, target, section).text
        if review_id is not None:
            _check_covered(find_review(connection, root, view, review_id), target)
    place = {"target": target, "section": section, "access": access or access_of(root, target)}
    return {**place, "parent_id": parent_id, "review_id": review_id}


def _find_parent(
    connection: Connection | None, root: Path, view: View, id: str, target: str
) -> Row:
    parent = find_annotation(connection, root, view, id)
    if parent["parent_id"] is not None:
        raise RequestError(
            "bad_arguments",
            f"{id} is a reply itself: reply to {parent['parent_id']}, which it answers.",
            next_steps=[next_step("get_annotation", annotation_id=parent["parent_id"])],
        )
    its, place = redact_text(parent["target"], view.principal), parse_target(target).text
    if place != its:
        place = find_known_target(connection, root, view, target).text
    if place != its:
        raise RequestError(
            "bad_arguments",
            f"{id} is an annotation on {its}, not on {target}: a reply has its target.",
            next_steps=[next_step("get_annotation", annotation_id=id)],
        )
    return parent


def _review_of_reply(parent: Row, review_id: str | None) -> str | None:
    if review_id in (None, parent["review_id"]):
        return parent["review_id"]
    its = f"of review {parent['review_id']}" if parent["review_id"] else "of no review"
    raise RequestError(
        "bad_arguments", f"{parent['id']} is {its}, not of {review_id}: leave review_id out."
    )


def _check_covered(review: Row, place: str) -> None:
    if not parse_target(review["target"]).covers(parse_target(place)):
        raise RequestError(
            "bad_arguments",
            f"The review {review['id']} is of {review['target']}, and {place} is not part of that.",
            next_steps=[next_step("get_review", review_id=review["id"])],
        )
