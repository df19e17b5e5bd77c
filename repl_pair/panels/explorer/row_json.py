"""One row of the explorer as JSON."""

from repl_pair.panels.explorer.messages import Row
from repl_pair.panels.explorer.row_list import RowList
from repl_pair.panels.explorer.statuses import NOT_RUN
from repl_pair.panels.explorer.tree import above, read_key
from repl_pair.panels.explorer.tree_rows import level_of, name_of, place_of, title_of
from repl_pair.panels.explorer.watches import is_watched
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last import last_result

_DOC_CHARS = 200


def row_json(key: str, row_list: RowList, watched: frozenset[str]) -> Row:
    """Return what a row shows; empty slots are left out."""
    kind, id = read_key(key)
    place, of = place_of(key, row_list.shown)
    row: Row = {
        "key": key,
        "kind": kind,
        "name": name_of(key),
        "level": level_of(key),
        "above": above(key),
        "place": place,
        "of": of,
    }
    if row_list.can_open(key):
        row["open"] = row_list.is_open(key)
    if kind == "group":
        row["name"], row["size"] = title_of(id), len(row_list.shown.others[id])
    elif kind == "path":
        row["kind"] = "story" if id in row_list.tree.stories else "folder"
        row["size"] = row_list.tree.sizes.get(id, 0)
        counts = row["counts"] = row_list.counts(id)
        row["status"] = next(iter(counts), None)
    elif kind == "variant":
        status = row["status"] = row_list.listing.statuses.of.get(id, NOT_RUN)
        last = last_result(id)
        if status == "stale" and last is not None:
            row["last"] = last.status
        if id in row_list.shown.kept:
            row["kept"] = True
    if kind in ("path", "variant") and is_watched(key, watched):
        row["watched"] = True
    _add_entry(row, "story" if kind == "path" else kind, id)
    return row


def _add_entry(row: Row, kind: str, id: str) -> None:
    """Add what the registration holds of itself; `agent` where an agent registered it."""
    entry = REGISTRY.find(kind, id) if kind in REGISTRY.kinds else None
    if entry is None:
        return
    label, line = entry.origin.label, entry.origin.line
    if origin := f"{label}:{line}" if line else label:
        row["origin"] = origin
    if doc := (getattr(entry.body, "doc", "") or "").partition("\n")[0][:_DOC_CHARS]:
        row["doc"] = doc
    if is_agents(entry.origin) and label:
        row["agent"] = label
