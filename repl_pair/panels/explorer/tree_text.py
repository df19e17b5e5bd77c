"""The registries as text: what a saved notebook shows of the explorer."""

from collections import Counter

from repl_pair.panels.explorer.statuses import NOT_RUN, RANKS
from repl_pair.panels.explorer.tree import NESTED
from repl_pair.panels.explorer.tree_rows import title_of
from repl_pair.runtime.registry.registry import EMPTY, REGISTRY
from repl_pair.runtime.results.last import is_stale, last_result
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, table

MOST_STORIES = 50


def tree_text() -> Markdown:
    """Return the stories with the statuses of their variants, and the count of each other kind."""
    stories = REGISTRY.ids("story")
    if not stories:
        return Markdown(prose(EMPTY))
    rows = [_row(id) for id in stories[:MOST_STORIES]]
    more = len(stories) - len(rows)
    others = [
        f"{title_of(kind)}: {len(ids)}"
        for kind in REGISTRY.kinds
        if kind not in NESTED and (ids := REGISTRY.ids(kind))
    ]
    parts = (
        table(("story", "", "variants", "last"), rows),
        f"… and {more} more stories." if more else "",
        ", ".join(others),
    )
    return Markdown("\n\n".join(part for part in parts if part))


def _row(id: str) -> tuple[str, str, str, str]:
    entry = REGISTRY.find("story", id)
    doc = "" if entry is None else entry.body.doc.partition("\n")[0]
    ids = REGISTRY.ids("variant", f"{id}/")
    counts = Counter(map(_status, ids))
    last = ", ".join(f"{counts[s]} {s.replace('_', ' ')}" for s in RANKS if counts[s])
    return code(id), cell(doc), str(len(ids)), last


def _status(variant_id: str) -> str:
    record = last_result(variant_id)
    if record is None:
        return NOT_RUN
    return "stale" if is_stale(record) else record.status
