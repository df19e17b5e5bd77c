"""The op that lists what a play may assert."""

from typing import Any, NotRequired, TypedDict, cast

from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import DEFAULT_LIMIT, Cursor, Limit, page_of
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_ids


class AssertionLine(TypedDict):
    """An assertion: what follows its id in a line, and what it holds."""

    id: str
    payload: str
    meaning: str


class Assertions(TypedDict):
    """Those that ship, with the first page, and a page of the person's own."""

    canonical: NotRequired[list[AssertionLine]]
    registered: list[AssertionLine]
    total: int
    cursor: NotRequired[str]


@op(access="read", toolset="story")
def list_assertions(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Assertions:
    """List what a play may assert, each with its payload: a line is `[id, *payload]`.

    `canonical` ships, `registered` is the person's own, page by page.
    """
    entries = REGISTRY.snapshot("assertion")
    ships = [entry for entry in entries.values() if entry.origin.key == BUILTIN]
    ships.sort(key=lambda entry: entry.revision)
    ids = [id for id in visible_ids(call.view, "assertion") if id in entries]
    own = [id for id in ids if entries[id].origin.key != BUILTIN]
    found = page_of(call, "assertion", _assertion_line, limit, cursor, ids=own)
    call.max_items = max(limit, len(ships))
    canonical = {} if cursor else {"canonical": [_assertion_line(entry) for entry in ships]}
    return cast("Assertions", canonical | {"registered": found.pop("items")} | found)


def _assertion_line(entry: Entry) -> dict[str, Any]:
    """Return what an assertion takes and means; a doc may begin with a payload, which is cut."""
    text = entry.body.text
    head, _, rest = text.partition("`: ")
    meaning = rest if head.startswith("`[") and rest else text
    return {"id": entry.id, "payload": entry.body.takes, "meaning": " ".join(meaning.split())}
