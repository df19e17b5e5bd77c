"""Which remarks and reviews a view sees: those whose targets it sees."""

import json
from pathlib import Path
from sqlite3 import Connection

from repl_pair.runtime.notices.notices import find_entry
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.review.pages import is_private, private_patterns, sees_page, sees_private
from repl_pair.runtime.review.targets import ENTRIES, Target, parse_target
from repl_pair.wire import View

SHOWN = (
    "(:hidden IS NULL OR target || char(10) || ifnull(tier, '') NOT IN"
    " (SELECT value FROM json_each(:hidden)))"
)
"""The condition of what a view sees, with what `hidden_targets` gives."""


def sees_target(root: Path, view: View, text: str, tier: str | None) -> bool:
    """Return whether a view sees a target; `tier` decides where its entry is gone."""
    target = parse_target(text)
    if target.kind not in ENTRIES:
        return sees_page(root, view, target.name)
    entry = find_entry(text)
    return view.tier in (None, tier) if entry is None else is_seen(view, entry)


def is_registered(view: View, target: Target) -> bool:
    """Return whether a target is an entry that is registered and that a view sees."""
    entry = find_entry(target.whole)
    return entry is not None and is_seen(view, entry)


def tier_of(text: str) -> str | None:
    """Return the tier of the entry that a target is; None where it has none, or is no entry."""
    entry = find_entry(text)
    return None if entry is None else entry.tier


def access_of(root: Path, text: str) -> str | None:
    """Return the access that an agent needs to see a target; None where it needs none."""
    target = parse_target(text)
    is_page = target.kind not in ENTRIES
    return "inspect" if is_page and is_private(root, target.name) else None


def hides_private(connection: Connection, view: View) -> bool:
    """Return whether a view does not see what was written on a page that was private then.

    The page may have another name by now, or the settings of another branch apply.
    """
    return not sees_private(view) and any(connection.execute(_ON_PRIVATE))


_ON_PRIVATE = (
    "SELECT 1 FROM annotations WHERE access IS NOT NULL"
    " UNION ALL SELECT 1 FROM reviews WHERE access IS NOT NULL LIMIT 1"
)


def hidden_targets(connection: Connection, root: Path, view: View) -> str | None:
    """Return, as JSON, what of the targets in the tables a view does not see; None: nothing."""
    if view.tier is None and (sees_private(view) or not private_patterns(root)):
        return None
    query = "SELECT target, tier FROM annotations UNION SELECT target, tier FROM reviews"
    return json.dumps(
        [
            f"{target}\n{tier or ''}"
            for target, tier in connection.execute(query)
            if not sees_target(root, view, target, tier)
        ]
    )
