"""Notices of remarks: to whom, and in which words."""

from pathlib import Path
from sqlite3 import Connection, Row

from repl_pair.errors import count_of
from repl_pair.runtime.notices.notices import report_notice
from repl_pair.runtime.review.visibility import access_of
from repl_pair.wire import AGENTS, PERSON, View


def report_remark(connection: Connection, root: Path, view: View, row: Row, does: str) -> None:
    """Report what a caller did with a remark to those for whom it is.

    What the person does is for the author of the remark or of its thread, else for all agents; what
    an agent does is for the person, and for another agent that began the thread. A notice holds no
    words of a remark: they may be edited, deleted or made private after it.
    """
    query = "SELECT principal FROM annotations WHERE id IN (?, ?)"
    authors = {one for (one,) in connection.execute(query, (row["id"], row["parent_id"]))}
    others = authors - {PERSON, view.principal}
    text = f"{view.principal} {does} {row['id']} on {row['target']}"
    for recipient in sorted(others or {AGENTS} if view.principal == PERSON else {PERSON, *others}):
        _report(connection, root, view, row, text, recipient)


def report_review(connection: Connection, root: Path, view: View, review: Row, count: int) -> None:
    """Report a review that was submitted: the person's to all agents, an agent's to the person."""
    recipient = AGENTS if view.principal == PERSON else PERSON
    what = f"{view.principal} submitted the review {review['id']} on {review['target']}"
    text = f"{what} ({count_of(count, 'annotation')})"
    _report(connection, root, view, review, text, recipient)


def _report(
    connection: Connection, root: Path, view: View, row: Row, text: str, recipient: str
) -> None:
    """Report to a principal; an agent that may not see the target gets no notice."""
    target = row["target"]
    access = None if recipient == PERSON else row["access"] or access_of(root, target)
    report_notice(
        connection,
        kind="remark",
        subject=target,
        text=text,
        recipient=recipient,
        by=view.principal,
        access=access,
    )
