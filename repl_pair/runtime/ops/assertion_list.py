"""The op that lists what a play may assert."""

from typing import Any

from repl_pair.runtime.model import Entry
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.paging import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.ops.visible import visible_ids
from repl_pair.runtime.origin import BUILTIN
from repl_pair.runtime.registry import REGISTRY


@op(access="read", lane="inline", toolset="story")
def list_assertions(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> dict[str, Any]:
    """List what a play may assert, each with its payload: a line is `[id, *payload]`.

    `canonical` ships, `registered` is the person's own, page by page.
    """
    entries = REGISTRY.snapshot("assertion")
    ships = [entry for entry in entries.values() if entry.origin.key == BUILTIN]
    ids = [id for id in visible_ids(call.view, "assertion") if id in entries]
    own = [id for id in ids if entries[id].origin.key != BUILTIN]
    call.room = max(limit, len(ships))
    found = page(
        own,
        lambda id: _line(entries[id]),
        limit=limit,
        cursor=cursor,
        revision=REGISTRY.revision,
        query=["assertion", call.view.tier],
    )
    canonical = {} if cursor else {"canonical": [_line(entry) for entry in sorted(ships, key=_age)]}
    return canonical | {"registered": found.pop("items")} | found


def _age(entry: Entry) -> int:
    return entry.revision


def _line(entry: Entry) -> dict[str, str]:
    """Give what an assertion takes and means; the payload of a doc says it better than names."""
    head, _, rest = entry.body.doc.partition("`: ")
    meaning = rest if head.startswith("`[") and rest else entry.body.doc
    return {"id": entry.id, "payload": entry.body.takes, "meaning": " ".join(meaning.split())}
