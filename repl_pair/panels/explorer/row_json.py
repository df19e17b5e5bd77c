"""What one row of the explorer says."""

from collections.abc import Mapping
from typing import Any

from repl_pair.panels.explorer.row_list import RowList
from repl_pair.panels.explorer.statuses import NOT_RUN
from repl_pair.panels.explorer.tree import above, read_key
from repl_pair.panels.explorer.tree_rows import level_of, name_of, place_of
from repl_pair.panels.explorer.watches import is_watched
from repl_pair.runtime.registry.model import Entry, Origin
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last import last_result

TITLES = {"story": "Stories", "derived": "Derived"}
_DOC_CHARS = 200


def row_json(key: str, row_list: RowList, watched: frozenset[str]) -> Mapping[str, Any]:
    """Describe what a row shows; slots that say nothing are left out."""
    kind, id = read_key(key)
    place, of = place_of(key, row_list.shown)
    facts: dict[str, Any] = {"key": key, "kind": kind}
    facts |= {"name": name_of(key), "level": level_of(key), "above": above(key)}
    facts |= {"place": place, "of": of, "open": row_list.is_open(key)}
    if not row_list.can_open(key):
        facts.pop("open")
    if kind == "group":
        facts |= {"kind": "group", "name": title_of(id), "size": len(row_list.shown.others[id])}
    elif kind == "path":
        facts |= _path_json(id, row_list)
    elif kind == "variant":
        facts |= _variant_json(id, row_list)
    if kind in ("path", "variant") and is_watched(key, watched):
        facts["watched"] = True
    entry = _entry(kind, id)
    if entry is not None:
        facts |= entry_json(entry)
    return facts


def title_of(kind: str) -> str:
    """Return the title of a kind's group."""
    return TITLES.get(kind, f"{kind.capitalize()}s")


def origin_of(origin: Origin) -> str:
    """Say where an entry comes from, with the line where there is one."""
    return f"{origin.label}:{origin.line}" if origin.line else origin.label


def entry_json(entry: Entry) -> Mapping[str, Any]:
    """Describe what a registration tells of itself; `agent` where it is one's."""
    doc = (getattr(entry.body, "doc", "") or "").partition("\n")[0][:_DOC_CHARS]
    said = {
        "origin": origin_of(entry.origin),
        "doc": doc,
        "agent": entry.origin.label if is_agents(entry.origin) else "",
    }
    return {slot: text for slot, text in said.items() if text}


def _entry(kind: str, id: str) -> Entry | None:
    known = "story" if kind == "path" else kind
    return REGISTRY.find(known, id) if known in REGISTRY.kinds else None


def _path_json(path: str, row_list: RowList) -> Mapping[str, Any]:
    counts = row_list.counts(path)
    return {
        "kind": "story" if path in row_list.tree.stories else "folder",
        "size": row_list.tree.sizes.get(path, 0),
        "counts": counts,
        "status": row_list.worst(path),
    }


def _variant_json(id: str, row_list: RowList) -> Mapping[str, Any]:
    status = row_list.listing.statuses.of.get(id, NOT_RUN)
    facts: dict[str, Any] = {"status": status}
    last = last_result(id)
    if status == "stale" and last is not None:
        facts["last"] = last.status
    if id in row_list.shown.kept:
        facts["kept"] = True
    return facts
