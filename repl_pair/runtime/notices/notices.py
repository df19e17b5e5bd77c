"""Notices: reported within the transaction of what they are about, and read by who they are for."""

import time
from sqlite3 import Connection

AGENTS = "agents"
"""The recipient of what is for every agent."""


def report_notice(
    connection: Connection, *, kind: str, subject: str, text: str, recipient: str, by: str
) -> None:
    """Report to a principal, or to AGENTS, that something changed; `by` needs no notice of it."""
    now = time.time()
    connection.execute(
        "INSERT INTO notices (kind, subject, text, recipient, by, count, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, 1, ?, ?)",
        (kind, subject, text, recipient, by, now, now),
    )
