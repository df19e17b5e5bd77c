"""Ops between the bridge, the kernel and the person: what is asked, answered and paused."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from repl_pair.errors import RequestError
from repl_pair.runtime.clients.pausing import pause, paused_since, resume
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import READ_DEADLINE_S, TABLE, Op, check_call, op
from repl_pair.runtime.surface import PERSONS
from repl_pair.wire import ACCESS

if TYPE_CHECKING:
    from repl_pair.runtime.clients.approvals import Approval, Approvals, Asker

USUAL_S = 600.0
MOST_WAIT_S = 50.0
SPARE_S = 3.0
"""What the answer may take once the wait is over."""
SHOWN_CHARS = 20_000


def _wait_deadline(args: Mapping[str, Any]) -> float:
    return max(READ_DEADLINE_S, min(float(args.get("wait_s", 0.0)), MOST_WAIT_S) + SPARE_S)


@op(access="run", lane="inline", toolset="approval", internal=True)
def ask_approval(
    call: Call, op: str, args: dict[str, Any], expires_s: float = USUAL_S
) -> dict[str, Any]:
    """Ask the person for one exact call of an op that this view does not open."""
    found, access = _closed(call, op, args)
    approval = _queue().ask(
        found.name, args, asker=_asker(call), access=access, expires_s=expires_s
    )
    return _state(approval)


@op(access="read", toolset="approval", internal=True, deadline=_wait_deadline, stoppable=False)
def await_approval(call: Call, handle: str, wait_s: float = 20.0) -> dict[str, Any]:
    """Wait for the person's word on what this client asked; tells its state and nothing else."""
    call.at_cancel(PERSONS.wake)
    waited_s = min(wait_s, MOST_WAIT_S)
    return _state(_queue().wait(handle, _asker(call), waited_s, call.cancelled.is_set))


@op(access="run", lane="inline", toolset="approval", internal=True)
def withdraw_approval(call: Call, handle: str) -> dict[str, Any]:
    """Take back what this client asked."""
    _queue().withdraw(handle, _asker(call))
    return {"handle": handle}


@op(access="read", toolset="approval", internal=True, persons=True)
def list_approvals(call: Call) -> dict[str, Any]:
    """List what waits for the person's word, what it would do, and what needs no asking."""
    # The diff needs rooms that only who is asked pays for.
    from repl_pair.runtime.clients.previews import describe_approval, describe_grant

    items = [describe_approval(approval) for approval in _queue().pending()]
    call.max_items = SHOWN_CHARS
    since = paused_since()
    return {
        "items": items,
        "total": len(items),
        "grants": [describe_grant(grant) for grant in _queue().grants()],
        "paused_s": None if since is None else round(time.time() - since, 1),
    }


@op(access="run", lane="inline", toolset="approval", internal=True, persons=True)
def answer_approval(
    handle: str, answer: Literal["once", "session", "deny"], reason: str = ""
) -> dict[str, Any]:
    """Return the person's word on what waits for it."""
    approval = _queue().answer(handle, answer, reason)
    return {"handle": handle, "op": approval.op, "state": approval.state}


@op(access="run", lane="inline", toolset="approval", internal=True, persons=True)
def pause_agents(on: bool = True) -> dict[str, Any]:
    """Refuse every request of agents, or take them up again."""
    (pause if on else resume)()
    return {"paused": on}


def _closed(call: Call, name: str, args: Mapping[str, Any]) -> tuple[Op, tuple[str, ...]]:
    """Return the op that a call is of, and what it takes beyond what the view opens."""
    all_open = replace(call.view, access=frozenset(ACCESS))
    found = TABLE.find(name, all_open)
    if found.internal:
        raise RequestError("not_found", f"There is no op {name!r}.")
    check_call(found, args, all_open)
    taken = {found.access, *(access for slot, access in found.needs.items() if slot in args)}
    access = tuple(sorted(taken - call.view.access))
    if not access:
        raise RequestError("bad_arguments", f"{name} needs no approval.")
    return found, access


def _state(approval: "Approval") -> dict[str, Any]:
    left_s = max(0.0, approval.expires_at - time.time())
    told = {
        "handle": approval.handle,
        "state": approval.state,
        "expires_in_s": round(left_s, 1),
    }
    return told | ({"reason": approval.reason} if approval.reason else {})


def _asker(call: Call) -> "Asker":
    from repl_pair.runtime.clients.approvals import Asker  # see _queue

    return Asker(principal=call.view.principal, client=call.client)


def _queue() -> "Approvals":
    # Only where something is asked is the room paid for.
    from repl_pair.runtime.clients.approvals import QUEUE

    return QUEUE
