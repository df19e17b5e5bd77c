"""Remarks: the first page of many, over a bare select of it."""

import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from measure import AGENT, Row, medians_ms, row, scaled

from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review.annotations import create_annotation, list_annotations

REMARKS, PAGES, ROUNDS = 10_000, 50, 200
LIMITS = (25, 200)
STATES = ("submitted", "replied", "resolved")


def figures() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder))
        try:
            fill(database)
            return [
                *(page_row(database, limit, {}, "") for limit in LIMITS),
                page_row(database, LIMITS[0], {"status": "submitted"}, " that are submitted"),
            ]
        finally:
            database.close()


def fill(database: Database) -> None:
    """Keep so many remarks on pages, in turn; half of them quote."""
    for number in range(PAGES):
        (database.root / f"page{number}.md").write_text("# Install\n\nwords of the page\n")
    create_annotation(database, AGENT, target="doc:page0.md#Install", content="x")
    with database.writing() as connection:
        first = connection.execute("SELECT * FROM annotations").fetchone()
        slots = first.keys()
        places = ", ".join("?" * len(slots))
        connection.execute("DELETE FROM annotations")
        for number in range(scaled(REMARKS, 100)):
            changed = {
                "id": f"{number:08x}",
                "target": f"doc:page{number % PAGES}.md#Install",
                "quote": "words of" if number % 2 else "",
                "content": f"remark {number}, " * 10,
                "status": STATES[number % 3],
                "created_at": first["created_at"] + number,
                "updated_at": first["updated_at"] + number,
            }
            values = tuple({**dict(first), **changed}.values())
            connection.execute(f"INSERT INTO annotations VALUES ({places})", values)


def page_row(database: Database, limit: int, asked: dict[str, Any], which: str) -> Row:
    bare = sqlite3.connect(database.file)
    bare.row_factory = sqlite3.Row
    where = " AND ".join(f"{name} = :{name}" for name in asked) or "1"

    def select() -> list[dict[str, Any]]:
        query = f"SELECT * FROM annotations WHERE {where} ORDER BY created_at DESC LIMIT {limit}"
        return [dict(found) for found in bare.execute(query, asked)]

    def ask() -> Any:
        return list_annotations(database, AGENT, limit=limit, **asked)

    assert [one["id"] for one in ask()[0]] == [one["id"] for one in select()]
    measured, baseline = (ms * 1e3 for ms in medians_ms([ask, select], scaled(ROUNDS, 2)))
    bare.close()
    return row(
        f"first {limit} of {REMARKS:,} remarks{which}, on {PAGES} pages",
        measured,
        "us",
        baseline=baseline,
        baseline_what="a bare select of it, as dicts",
        budget=None if which else "ratio <= 2",
    )
