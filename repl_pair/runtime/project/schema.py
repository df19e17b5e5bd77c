"""The tables of a project's database; each step takes it one version further."""

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
        client TEXT,
        process TEXT NOT NULL,
        goal TEXT NOT NULL,
        rfc TEXT,
        status TEXT NOT NULL,
        counts TEXT NOT NULL,
        started_at REAL NOT NULL,
        ended_at REAL
    );
    CREATE TABLE notices (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        text TEXT NOT NULL,
        recipient TEXT NOT NULL,
        by TEXT NOT NULL,
        count INTEGER NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    );
    CREATE TABLE seen (
        number INTEGER NOT NULL REFERENCES notices(number) ON DELETE CASCADE,
        principal TEXT NOT NULL,
        seen_at REAL NOT NULL,
        PRIMARY KEY (number, principal)
    );
    CREATE TABLE known_contracts (
        realm TEXT NOT NULL,
        subject TEXT NOT NULL,
        version TEXT NOT NULL,
        PRIMARY KEY (realm, subject)
    );
    """,
)
"""Times are seconds since the epoch. A released step is never changed: a new one is added."""
VERSION = len(STEPS)
