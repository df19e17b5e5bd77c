"""What a remark may be, and who may change it."""

import time
from collections.abc import Iterable
from sqlite3 import Connection, Row

from repl_pair.errors import RequestError, next_step
from repl_pair.wire import PERSON, View

MAX_CHARS = {"content": 8_000, "quote": 2_000, "section": 200}
"""How many characters the words of a remark have at most."""
MAX_IN_AN_HOUR = 200
"""How many remarks and replies one agent writes within an hour, deleted ones among them."""
_HOUR_S = 3600


def check_words(**words: str) -> None:
    """Refuse words that are too long or not text, and empty content; `bad_arguments`."""
    for name, text in words.items():
        if name == "content" and not text.strip():
            raise RequestError("bad_arguments", "content is empty: say something in it.")
        if len(text) > MAX_CHARS[name]:
            raise RequestError(
                "bad_arguments",
                f"{name} has {len(text):,} characters; at most {MAX_CHARS[name]:,} are kept.",
            )
        if text.encode("utf-8", "ignore").decode() != text:
            raise RequestError(
                "bad_arguments", f"{name} holds half of a surrogate pair, which is not text."
            )


def check_count(connection: Connection, view: View) -> None:
    """Refuse one more remark of an agent that wrote many within an hour; `cannot_run`."""
    # A clock that was ahead has left times that are still to come.
    query = (
        "SELECT count(*) FROM (SELECT principal, created_at FROM annotations UNION ALL"
        " SELECT principal, created_at FROM deleted_annotations)"
        " WHERE principal = ? AND created_at BETWEEN ? AND ?"
    )
    now = time.time()
    (count,) = connection.execute(query, (view.principal, now - _HOUR_S, now)).fetchone()
    if view.principal != PERSON and count >= MAX_IN_AN_HOUR:
        raise RequestError(
            "cannot_run",
            f"{count} remarks of yours were written within the last hour, those deleted since "
            "among them, and no more are kept: wait.",
        )


def count_deleted(connection: Connection, id: str) -> None:
    """Let a remark that goes, and its replies, count on: else an agent would try words for ever."""
    now = time.time()
    left = "created_at NOT BETWEEN ? AND ?"
    connection.execute(f"DELETE FROM deleted_annotations WHERE {left}", (now - _HOUR_S, now))
    query = "SELECT principal, created_at FROM annotations WHERE id = ?1 OR parent_id = ?1"
    connection.execute(f"INSERT INTO deleted_annotations {query}", (id,))


def may_change(view: View, author: str) -> bool:
    """Return whether a view may change what a principal wrote."""
    return view.principal in (author, PERSON) or "write" in view.access


def check_owner(view: View, rows: Iterable[Row]) -> None:
    """Refuse a change of what another principal wrote; the person and `write` may change all.

    RequestError `forbidden`, with the access that would open it.
    """
    of_others = [row for row in rows if not may_change(view, row["principal"])]
    if not of_others:
        return
    others = ", ".join(sorted({row["principal"] for row in of_others}))
    raise RequestError(
        "forbidden",
        f"{others} wrote there: only they and the person change it, or who has access "
        "to write. Nothing was changed.",
        detail={"access": ["write"]},
        next_steps=[next_step("get_annotation", annotation_id=of_others[0]["id"])],
    )
