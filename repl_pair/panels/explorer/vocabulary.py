"""What the explorer can be filtered by."""

from collections.abc import Mapping
from typing import Any

from repl_pair.panels.explorer.row_json import title_of
from repl_pair.panels.explorer.statuses import RANKS
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY


def filter_choices() -> Mapping[str, Any]:
    """Return every tag, kind and status; of a tag also what is done with it unasked."""
    tags = REGISTRY.snapshot("tag")
    return {
        "tags": [_say_tag(tags[id]) for id in sorted(tags)],
        "kinds": [{"id": kind, "title": title_of(kind)} for kind in REGISTRY.kinds],
        "statuses": list(RANKS),
    }


def _say_tag(entry: Entry) -> Mapping[str, str]:
    unasked = "any" if entry.body.default_filter == "include" else "without"
    return {"id": entry.id, "doc": entry.body.doc, "unasked": unasked}
