"""Rows of annotations and reviews that a view sees."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from sqlite3 import Connection, Row
from typing import Any

from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.records import record
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review.contents import redact_text
from repl_pair.runtime.review.model import AnnotationStatus
from repl_pair.runtime.review.orphans import orphans_of
from repl_pair.runtime.review.targets import Target
from repl_pair.runtime.review.visibility import SHOWN, hidden_targets, hides_private
from repl_pair.wire import View

_NEWEST = 200
"""Among how many ids one is looked for that is near."""
PLACED_BY = (
    "ifnull((SELECT principal FROM annotations AS first WHERE first.id = annotations.parent_id),"
    " principal)"
)
"""Who chose target and section: a reply takes them over from its remark."""


@record
class Conditions:
    """Conditions of a query, and the values that they bind."""

    terms: Sequence[str]
    values: Mapping[str, Any]

    def and_also(self, term: str, **values: Any) -> "Conditions":
        """Return these conditions with one more."""
        return Conditions(terms=[*self.terms, term], values={**self.values, **values})

    def rows(self, connection: Connection, what: str, rest: str = "", **values: Any) -> list[Row]:
        """Return `what`, such as `* FROM reviews`, where the conditions hold."""
        where = f"WHERE {' AND '.join(self.terms)}" if self.terms else ""
        query = f"SELECT {what} {where} {rest}"
        return connection.execute(query, {**self.values, **values}).fetchall()


def shown_to(connection: Connection, root: Path, view: View) -> Conditions:
    """Return the condition of the annotations or reviews that a view sees."""
    hidden = hidden_targets(connection, root, view)
    shown = Conditions(terms=[], values={})
    if hides_private(connection, view):
        shown = shown.and_also("access IS NULL")
    return shown if hidden is None else shown.and_also(SHOWN, hidden=hidden)


def at_target(found: Conditions, target: Target) -> Conditions:
    """Return conditions that hold at a target too; one without a part covers its parts."""
    if target.part:
        return found.and_also("target = :target", target=target.text)
    below = "(target = :target OR target >= :target || '#' AND target < :target || '$')"
    return found.and_also(below, target=target.text)


def in_section(connection: Connection, asked: Conditions, view: View, section: str) -> Conditions:
    """Return conditions that hold for annotations with a part of a section, as a view reads it.

    What the view itself wrote is compared as it is: neither confirms a guess.
    """
    other = asked.and_also(f"{PLACED_BY} <> :own", own=view.principal)
    rows = other.rows(connection, "DISTINCT section FROM annotations")
    read = {one: redact_text(one, view.principal) for (one,) in rows}
    fitting = [one for one, text in read.items() if section.casefold() in text.casefold()]
    return asked.and_also(
        f"CASE {PLACED_BY} WHEN :own THEN instr(casefold(section), casefold(:section))"
        " ELSE section IN (SELECT value FROM json_each(:sections)) END",
        own=view.principal,
        section=section,
        sections=json.dumps(fitting),
    )


def in_status(
    database: Database, connection: Connection, asked: Conditions, status: AnnotationStatus
) -> Conditions:
    """Return conditions that hold for annotations of a status too; orphans are of no other."""
    among = "id IN (SELECT value FROM json_each(:orphans))"
    if status == "resolved":
        return asked.and_also("status = :status", status=status)
    orphans = orphans_of(database).all(connection)
    listed = json.dumps([*orphans])
    if status == "orphaned":
        return asked.and_also(among, orphans=listed)
    found = asked.and_also("status = :status", status=status)
    return found.and_also(f"NOT {among}", orphans=listed) if orphans else found


def behind(connection: Connection, seen: Conditions, asked: Conditions, after: str) -> Conditions:
    """Return conditions that hold behind the last of a page; RequestError `stale_cursor`."""
    last = seen.and_also("id = :id", id=after).rows(connection, "created_at, id FROM annotations")
    for created_at, id in last:
        return asked.and_also("(created_at, id) < (:at, :after)", at=created_at, after=id)
    raise RequestError(
        "stale_cursor", "The last of that page was deleted: call again without a cursor."
    )


def placers_of(database: Database, ids: Sequence[str]) -> Mapping[str, str]:
    """Return who chose the target and section of annotations, by their ids."""
    query = f"SELECT id, {PLACED_BY} FROM annotations WHERE id IN (SELECT value FROM json_each(?))"
    with database.reading() as connection:
        found = () if connection is None else connection.execute(query, (json.dumps(ids),))
        return dict(map(tuple, found))


def find_annotation(connection: Connection | None, root: Path, view: View, id: str) -> Row:
    """Return the row of an annotation that a view sees; RequestError `not_found`."""
    return _find(connection, root, view, "annotation", id)


def find_review(connection: Connection | None, root: Path, view: View, id: str) -> Row:
    """Return the row of a review that a view sees; RequestError `not_found`."""
    return _find(connection, root, view, "review", id)


def _find(connection: Connection | None, root: Path, view: View, kind: str, id: str) -> Row:
    near = ""
    if connection is not None:
        seen = shown_to(connection, root, view)
        table = f"FROM {kind}s"  # one of two words of this module
        for row in seen.and_also("id = :id", id=id).rows(connection, f"* {table}"):
            return row
        newest = "ORDER BY created_at DESC LIMIT :most"
        ids = [one for (one,) in seen.rows(connection, f"id {table}", newest, most=_NEWEST)]
        near = did_you_mean(id, ids)
    raise RequestError(
        "not_found",
        f"There is no {kind} {id!r}.{near}",
        next_steps=[next_step(f"list_{kind}s")],
    )
