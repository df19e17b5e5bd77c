"""The realm of a project watched from replies: at most every two seconds, without the database."""

import time
from collections.abc import Callable
from pathlib import Path

from repl_pair.errors import RequestError
from repl_pair.runtime.realm.realms import home_file

EVERY_S = 2.0
_checked: dict[Path, float] = {}
"""When each project was last looked at, in seconds of the monotonic clock."""


def look_at_realm(root: Path, report: Callable[[], None]) -> None:
    """Call `report` where the project is in a realm, at most once in EVERY_S.

    A project that is in none costs one stat. `report` is `report_changes` of its database, which
    imports sqlite3.
    """
    now = time.monotonic()
    if now - _checked.get(root, -EVERY_S) < EVERY_S:
        return
    _checked[root] = now
    if home_file(root).is_file():
        try:
            report()
        except RequestError:
            pass  # A reply of another op is no place for it; the realm's own ops refuse with it.
