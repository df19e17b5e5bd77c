"""The tables of a project's database, and how ids and times stand in them."""

import os
from datetime import UTC, datetime
from functools import lru_cache

STEPS = (
    """
    CREATE TABLE annotations (
        id TEXT PRIMARY KEY,
        target TEXT NOT NULL,
        section TEXT NOT NULL,
        quote TEXT NOT NULL,
        content TEXT NOT NULL,
        author TEXT NOT NULL,
        principal TEXT NOT NULL,
        status TEXT NOT NULL,
        tier TEXT,
        edited_by TEXT,
        parent_id TEXT REFERENCES annotations(id) ON DELETE CASCADE,
        review_id TEXT REFERENCES reviews(id),
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    );
    CREATE INDEX annotations_by_target ON annotations (target, created_at, id);
    CREATE INDEX annotations_by_time ON annotations (created_at, id);
    CREATE INDEX annotations_by_status ON annotations (status, created_at, id);
    CREATE INDEX annotations_by_parent ON annotations (parent_id);
    CREATE INDEX annotations_by_review ON annotations (review_id);
    CREATE TABLE reviews (
        id TEXT PRIMARY KEY,
        target TEXT NOT NULL,
        author TEXT NOT NULL,
        principal TEXT NOT NULL,
        status TEXT NOT NULL,
        tier TEXT,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    );
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        principal TEXT NOT NULL,
        process TEXT NOT NULL,
        goal TEXT NOT NULL,
        rfc TEXT,
        status TEXT NOT NULL,
        counts TEXT NOT NULL,
        started_at REAL NOT NULL,
        counted_at REAL NOT NULL,
        ended_at REAL
    );
    CREATE INDEX sessions_by_status ON sessions (status);
    CREATE TABLE notices (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        text TEXT NOT NULL,
        recipient TEXT NOT NULL,
        by TEXT NOT NULL,
        by_several INTEGER NOT NULL DEFAULT 0,
        tier TEXT,
        access TEXT,
        count INTEGER NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    );
    CREATE INDEX notices_by_recipient ON notices (recipient, created_at);
    CREATE INDEX notices_by_subject ON notices (subject, kind, recipient, created_at);
    CREATE INDEX notices_by_time ON notices (created_at);
    CREATE TABLE seen (
        number INTEGER NOT NULL REFERENCES notices(number) ON DELETE CASCADE,
        principal TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (number, principal)
    );
    CREATE TABLE known_contracts (
        realm TEXT NOT NULL,
        subject TEXT NOT NULL,
        version TEXT NOT NULL,
        PRIMARY KEY (realm, subject)
    );
    """,
    """
    ALTER TABLE annotations ADD COLUMN access TEXT;
    ALTER TABLE reviews ADD COLUMN access TEXT;
    CREATE INDEX annotations_by_access ON annotations (access) WHERE access IS NOT NULL;
    CREATE INDEX reviews_by_access ON reviews (access) WHERE access IS NOT NULL;
    """,
    """
    CREATE TABLE deleted_annotations (
        principal TEXT NOT NULL,
        created_at REAL NOT NULL
    );
    """,
)
"""Each step takes it one version further; a released one is never changed. Times are in seconds.

A semicolon ends a statement, and stands nowhere else.
"""
VERSION = len(STEPS)
"""`user_version` of a file that every step was done in."""
APPLICATION = 0x52504149
"""`application_id` of each such file, so that no database of another program is changed."""
ID = "[a-f][0-9a-f]{7}"
"""The pattern of an id."""


def new_id() -> str:
    """Return an id for a row; a command line takes none of them for a number."""
    return "abcdef"[os.urandom(1)[0] % 6] + os.urandom(4).hex()[1:]


@lru_cache(maxsize=4096)
def write_time(at: float) -> str:
    """Return seconds since the epoch as ISO 8601 in UTC, to the microsecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
