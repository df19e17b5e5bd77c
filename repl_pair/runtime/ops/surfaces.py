"""Ops over what an app publishes: its surfaces, their members and its functions."""

from typing import Annotated, Any, NotRequired, TypedDict

from repl_pair.errors import RequestError
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import MAX_WAIT_S, op, wait_deadline
from repl_pair.runtime.registry.visible import visible_entry
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
