"""Notices of remarks: to whom, and in which words."""

from pathlib import Path
from sqlite3 import Connection, Row

from repl_pair.runtime.notices.notices import report_notice
from repl_pair.runtime.review.sight import is_for_all
from repl_pair.wire import AGENTS, PERSON, View, cut_at_word

_HEAD_CHARS = 80


def report_remark(connection: Connection, root: Path, view: View, row: Row, does: str) -> None:
    """Report what a caller did with a remark to those for whom it is.

    What the person does is for the author of the remark or of its thread, else for all agents; what
    an agent does is for the person, and for another agent that began the thread. A target that not
    every agent may see is not named.
    """
    query = "SELECT principal FROM annotations WHERE id IN (?, ?)"
    authors = {one for (one,) in connection.execute(query, (row["id"], row["parent_id"]))}
    others = authors - {PERSON, view.principal}
    recipients = others or {AGENTS} if view.principal == PERSON else {PERSON, *others}
    for recipient in sorted(recipients):
        report_notice(
            connection,
            kind="remark",
            subject=row["target"] if _is_named(root, row, recipient) else f"annotation:{row['id']}",
            text=_describe(root, view, row, does, recipient),
            recipient=recipient,
            by=view.principal,
        )


def _is_named(root: Path, row: Row, recipient: str) -> bool:
    return recipient == PERSON or is_for_all(root, row["target"], row["tier"])


def _describe(root: Path, view: View, row: Row, does: str, recipient: str) -> str:
    if not _is_named(root, row, recipient):
        return f"{view.principal} {does} {row['id']}"
    words = cut_at_word(" ".join(row["content"].split()), _HEAD_CHARS)
    return f"{view.principal} {does} {row['id']} on {row['target']}: {words}"


def report_review(connection: Connection, root: Path, view: View, review: Row, count: int) -> None:
    """Report a review that was submitted: the person's to all agents, an agent's to the person."""
    recipient = AGENTS if view.principal == PERSON else PERSON
    is_named = recipient == PERSON or is_for_all(root, review["target"], review["tier"])
    on = f" on {review['target']}" if is_named else ""
    remarks = "1 remark" if count == 1 else f"{count} remarks"
    report_notice(
        connection,
        kind="remark",
        subject=review["target"] if is_named else f"review:{review['id']}",
        text=f"{view.principal} submitted the review {review['id']}{on} ({remarks})",
        recipient=recipient,
        by=view.principal,
    )
