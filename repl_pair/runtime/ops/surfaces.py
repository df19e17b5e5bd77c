"""Ops over the live values of an app: its surfaces and their members."""

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from repl_pair.runtime.op_base.answers import Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import (
    DEFAULT_LIMIT,
    Cursor,
    Limit,
    mark_of_ids,
    page,
    read_line,
)
from repl_pair.runtime.op_base.table import MAX_WAIT_S, op, wait_deadline
from repl_pair.runtime.ops.live_values import (
    check_reading,
    places_to_hide,
    read_state,
    refresh,
    suggest_next,
    surface_of,
    wait_for_news,
)
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.ids import plain_member_id
from repl_pair.runtime.registry.model import Entry, Member
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_entry, visible_ids
from repl_pair.runtime.secrets.schemas import public_schema
from repl_pair.runtime.signatures.arguments import Bounds
from repl_pair.runtime.signatures.schema import PARTIAL, type_schema
from repl_pair.runtime.surfaces.state import STATES
from repl_pair.runtime.values.marks import is_secret_key

MemberKind = Literal["cell", "collection", "stream", "event"]
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


class Item(TypedDict):
    """An item of a collection."""

    key: str
    value: Any


class MemberReading(TypedDict):
    """What a member holds: a cell its value, a collection a page of its items, else its entries.

    Entries are the last ones, or those since, the oldest first. `next` is the `since` of the next
    call; `gap`: some entries since are no longer kept; `timed_out`: nothing changed since.
    """

    kind: MemberKind
    value: NotRequired[Any]
    items: NotRequired[list[Item]]
    entries: NotRequired[list[Any]]
    total: NotRequired[int]
    cursor: NotRequired[str]
    revision: int
    next: int
    gap: NotRequired[Literal[True]]
    timed_out: NotRequired[Literal[True]]


@op(access="read", toolset="surface")
def list_surfaces(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[SurfaceLine]:
    """List the live values of the app: its surfaces with their members; limit counts members."""
    members = visible_ids(call.view, "member")
    # A surface of functions alone stands for itself.
    alone = set(visible_ids(call.view, "surface")) - {surface_of(id) for id in members}
    ids = sorted([*members, *alone])
    query = [mark_of_ids(ids), call.view.tier]
    found = page(ids, limit=limit, cursor=cursor, query=query)
    call.max_items = limit
    for id in [id for id in found["items"] if id in STATES and STATES[id].is_filled][:1]:
        call.suggest("read_member", member=id)
    if not found["total"]:
        call.notifications.append(NONE_EXPOSED)
    lines = [_surface_line(call, id, ids) for id, ids in groupby(found["items"], surface_of)]
    return cast("Page[SurfaceLine]", found | {"items": lines})


@op(access="read", lane="waiting", toolset="surface", deadline=wait_deadline, stoppable=False)
async def read_member(
    call: Call,
    member: Annotated[str, "Such as training/loss"],
    key: Annotated[str | None, "One item of a collection"] = None,
    since: Annotated[int | None, Bounds(0), "`next` of the last call: wait for a change"] = None,
    wait_s: Annotated[float, Bounds(0, MAX_WAIT_S), "Seconds to wait"] = 0.0,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> MemberReading:
    """Read what a member of a surface holds now, or wait for its next change or event."""
    member = plain_member_id(member)
    entry, is_news = visible_entry(call.view, "member", member), True
    check_reading(entry, key, cursor)
    if since is None or cursor is not None:
        await refresh(entry)
    else:
        is_news = await wait_for_news(call, member, key, since, wait_s)
        entry = visible_entry(call.view, "member", member)
    found = read_state(entry, key=key, since=since, limit=limit, is_news=is_news)
    if "items" in found:
        query = [entry.id, found.pop("version")]
        items: dict[str, Any] = found.pop("items")
        chosen = page(sorted(items), limit=limit, cursor=cursor, query=query)
        found |= chosen | {"items": [{"key": key, "value": items[key]} for key in chosen["items"]]}
    call.max_items = limit
    call.sensitive.extend(places_to_hide(entry, key))
    suggest_next(call, entry, key, found)
    return cast("MemberReading", found)


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
