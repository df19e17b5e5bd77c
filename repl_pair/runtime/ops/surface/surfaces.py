"""Ops over what an app publishes: its surfaces, and what of all that an agent sees."""

from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any, NotRequired, TypedDict, cast

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.op_base.answers import Items, Page, Place
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import (
    DEFAULT_LIMIT,
    Cursor,
    Limit,
    mark_of_ids,
    page,
    read_line,
)
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.registry.exposure import hidden_because, is_seen
from repl_pair.runtime.registry.model import PUBLISHED, Entry, Member, MemberKind
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import tool_functions, visible_ids
from repl_pair.runtime.secrets.schemas import public_schema
from repl_pair.runtime.signatures.schema import PARTIAL, type_schema
from repl_pair.runtime.surfaces.state import STATES
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.wire import AGENT, View

NONE_EXPOSED = (
    "No live value of the app is exposed to you. The person publishes one with "
    "repl_pair.surface('training').cell('loss', float, expose=True)."
)
SCHEMA_CHARS = 1_000
"""Of the schema of one member in a list; of a longer one only the type is listed."""


class MemberLine(TypedDict):
    """A member; `schema` is that of a value, of a collection that of an item, whose `keys` count.

    `revision` is the `since` that waits for the next change.
    """

    id: str
    kind: MemberKind
    doc: NotRequired[str]
    schema: NotRequired[dict[str, Any]]
    revision: NotRequired[int]
    keys: NotRequired[int]


class SurfaceLine(TypedDict):
    """A surface, and those of its members that stand on the page."""

    id: str
    doc: NotRequired[str]
    members: list[MemberLine]


class Exposure(TypedDict):
    """A surface, member or function; `why` an agent does not see it, `tool` its name if it is one.

    A function that is seen and has no `tool` is called by run_function.
    """

    id: str
    kind: str
    seen: bool
    why: NotRequired[str]
    tool: NotRequired[str]
    registered: Place


@op(access="read", toolset="surface")
def list_surfaces(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[SurfaceLine]:
    """List the live values of the app: its surfaces with their members; limit counts members."""
    members = visible_ids(call.view, "member")
    # A surface of functions alone stands for itself.
    alone = set(visible_ids(call.view, "surface")) - {_surface_of(id) for id in members}
    ids = sorted([*members, *alone])
    query = [mark_of_ids(ids), call.view.tier]
    found = page(ids, limit=limit, cursor=cursor, query=query)
    call.max_items = limit
    for id in [id for id in found["items"] if id in STATES and STATES[id].is_filled][:1]:
        call.suggest("read_member", member=id)
    if not found["total"]:
        call.notifications.append(NONE_EXPOSED)
    lines = [_surface_line(call, id, ids) for id, ids in groupby(found["items"], _surface_of)]
    return {**found, "items": lines}


def _surface_line(call: Call, surface: str, ids: Iterable[str]) -> SurfaceLine:
    entry = REGISTRY.find("surface", surface)
    head = {"id": surface}
    if entry is not None and is_seen(call.view, entry):
        head = read_line(entry)
    found = [REGISTRY.find("member", id) for id in ids if id != surface]
    lines = [_member_line(call, one) for one in found if one is not None]
    return cast("SurfaceLine", head | {"members": lines})


def _member_line(call: Call, entry: Entry) -> MemberLine:
    body: Member = entry.body
    name, state = entry.id.rpartition("/")[2], body.state
    schema = public_schema(type_schema(body.hint), secret=is_secret_key(name))
    if len(str(schema)) > SCHEMA_CHARS:
        schema = {slot: schema[slot] for slot in ("type",) if slot in schema} | {PARTIAL: True}
    shown = None if schema == {PARTIAL: True} else call.add_raw_json(schema)
    is_many = body.kind == "collection"
    count = {"keys": len(state.items)} if is_many else {"revision": state.revision}
    return cast("MemberLine", read_line(entry, kind=body.kind, schema=shown) | count)


def _surface_of(id: str) -> str:
    """Return the surface of a member; a surface is its own."""
    return id.partition("/")[0]


@op(access="read", toolset="surface", internal=True, persons=True)
def list_exposure(
    call: Call, id: str | None = None, tier: str | None = None, expose_all: bool = False
) -> Items[Exposure]:
    """List what an agent sees of what the app publishes, and why it does not see the rest.

    id: that entry only, of a surface with all that stands on it. The agent's server has this tier
    and `--expose-all` or not.
    """
    entries = [entry for kind in PUBLISHED for entry in REGISTRY.snapshot(kind).values()]
    chosen = [entry for entry in entries if id is None or _is_at(entry.id, id)]
    if id is not None and not chosen:
        near = did_you_mean(id, [entry.id for entry in entries])
        raise RequestError(
            "not_found", f"No surface, member or function is registered as {id!r}.{near}"
        )
    view = View(principal=AGENT, tier=tier, expose_all=expose_all)
    tools = {entry.id for entry in tool_functions(view)}
    items = [_describe(view, entry, tools) for entry in sorted(chosen, key=lambda entry: entry.id)]
    call.max_items = len(items)
    return {"items": items, "total": len(items)}


def _is_at(id: str, wanted: str) -> bool:
    return id == wanted or id.startswith((f"{wanted}/", f"{wanted}."))


def _describe(view: View, entry: Entry, tools: Collection[str]) -> Exposure:
    why = hidden_because(view, entry)
    line: Exposure = {
        "id": entry.id,
        "kind": entry.kind,
        "seen": not why,
        "registered": {"where": entry.origin.label, "line": entry.origin.line},
    }
    if why:
        line["why"] = why
    if entry.kind == "function" and entry.id in tools:
        line["tool"] = entry.body.tool
    return line
