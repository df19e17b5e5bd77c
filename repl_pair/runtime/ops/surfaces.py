"""Ops over what an app publishes: its surfaces, their members and its functions."""

from typing import Annotated, Any, NotRequired, TypedDict

from repl_pair.errors import RequestError
from repl_pair.runtime.ops.answers import Page
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.listing import DEFAULT_LIMIT, Cursor, Limit, filled, page_of, read_line
from repl_pair.runtime.ops.table import MAX_WAIT_S, op, wait_deadline
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_entry, visible_ids
from repl_pair.runtime.surfaces.state import NOTHING, STATES
from repl_pair.runtime.values.arguments import Bounds


class MemberReading(TypedDict):
    """What a member holds: a cell its value, a collection its items, else the last entries."""

    kind: str
    value: NotRequired[Any]
    items: NotRequired[list[Any]]
    entries: NotRequired[list[Any]]
    revision: int
    next: NotRequired[int]
    gap: NotRequired[bool]
    timed_out: NotRequired[bool]


class MemberLine(TypedDict):
    """A member as a list of surfaces shows it."""

    id: str
    kind: str
    doc: NotRequired[str]


class SurfaceLine(TypedDict):
    """A surface with its members that are seen."""

    id: str
    doc: NotRequired[str]
    members: list[MemberLine]


@op(access="read", toolset="surface")
def list_surfaces(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[SurfaceLine]:
    """List the surfaces of the app, each with its members."""

    def line(entry: Entry) -> dict[str, Any]:
        ids = visible_ids(call.view, "member", f"{entry.id}/")
        members = [_member_line(REGISTRY.find("member", id)) for id in ids]
        return read_line(entry) | {"members": members}

    return page_of(call, "surface", line, limit, cursor)


def _member_line(entry: Entry | None) -> dict[str, Any]:
    return {} if entry is None else filled(id=entry.id, kind=entry.body.kind, doc=entry.body.doc)


@op(access="read", toolset="surface", deadline=wait_deadline, stoppable=False)
def read_member(
    call: Call,
    member: Annotated[str, "Such as training/loss"],
    since: Annotated[int | None, Bounds(0), "`next` of the last call: wait for a change"] = None,
    wait_s: Annotated[float, Bounds(0, MAX_WAIT_S), "Seconds to wait"] = 0.0,
) -> MemberReading:
    """Read what a member of the app's surfaces holds now."""
    entry = visible_entry(call.view, "member", member)
    state = STATES.get(entry.id)
    if state is None or state.value is NOTHING:
        raise RequestError("not_found", f"{member} has no value yet.")
    return {"kind": state.kind, "value": state.value, "revision": state.revision}
