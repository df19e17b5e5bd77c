"""Ops for approvals: asking, answering and pausing, between the bridge and the person."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

from repl_pair.errors import RequestError
from repl_pair.runtime.clients.approvals import QUEUE, Answer, Approval, Asker
from repl_pair.runtime.clients.pausing import pause, paused_since, resume
from repl_pair.runtime.clients.previews import describe_approval, describe_grant
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import READ_DEADLINE_S, TABLE, check_call, op
from repl_pair.runtime.surface import PERSONS
from repl_pair.wire import ACCESS

EXPIRES_S = 600.0
MAX_WAIT_S = 50.0
SPARE_S = 3.0
"""Time for the answer after the wait, in seconds."""
PREVIEW_CHARS = 20_000


class ApprovalState(TypedDict):
    """What an asker may know of an approval; `reason` is the person's."""

    handle: str
    state: str
    expires_in_s: float
    reason: NotRequired[str]


def _wait_deadline(args: Mapping[str, Any]) -> float:
    return max(READ_DEADLINE_S, min(float(args.get("wait_s", 0.0)), MAX_WAIT_S) + SPARE_S)


@op(access="run", lane="inline", toolset="approval", internal=True)
def ask_approval(
    call: Call, op: str, args: dict[str, Any], expires_s: float = EXPIRES_S
) -> ApprovalState:
    """Ask the person for one exact call of an op that this view does not open."""
    name, access = _missing_access(call, op, args)
    approval = QUEUE.ask(name, args, asker=_asker(call), access=access, expires_s=expires_s)
    return _state(approval)


@op(access="read", toolset="approval", internal=True, deadline=_wait_deadline, stoppable=False)
def await_approval(call: Call, handle: str, wait_s: float = 20.0) -> ApprovalState:
    """Wait for the person's answer to what this client asked; gives its state and nothing else."""
    call.at_cancel(PERSONS.wake)
    timeout_s = min(wait_s, MAX_WAIT_S)
    return _state(QUEUE.wait(handle, _asker(call), timeout_s, call.cancelled.is_set))


@op(access="run", lane="inline", toolset="approval", internal=True)
def withdraw_approval(call: Call, handle: str) -> dict[str, Any]:
    """Withdraw what this client asked."""
    QUEUE.withdraw(handle, _asker(call))
    return {"handle": handle}


@op(access="read", toolset="approval", internal=True, persons=True)
def list_approvals(call: Call) -> dict[str, Any]:
    """List the calls that wait for the person, what each would do, and the grants."""
    items = [describe_approval(approval) for approval in QUEUE.pending()]
    call.max_items = PREVIEW_CHARS
    since = paused_since()
    return {
        "items": items,
        "total": len(items),
        "grants": [describe_grant(grant) for grant in QUEUE.grants()],
        "paused_s": None if since is None else round(time.time() - since, 1),
    }


@op(access="run", lane="inline", toolset="approval", internal=True, persons=True)
def answer_approval(handle: str, answer: Answer, reason: str = "") -> dict[str, Any]:
    """Record the person's answer to a call that waits for it."""
    approval = QUEUE.answer(handle, answer, reason)
    return {"handle": handle, "op": approval.op, "state": approval.state}


@op(access="run", lane="inline", toolset="approval", internal=True, persons=True)
def pause_agents(on: bool = True) -> dict[str, Any]:
    """Refuse every request of agents, or accept them again."""
    (pause if on else resume)()
    return {"paused": on}


def _missing_access(call: Call, name: str, args: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the name of an op, and the access that its call needs beyond the view's."""
    all_open = replace(call.view, access=frozenset(ACCESS))
    op = TABLE.find(name, all_open)
    if op.internal:
        raise RequestError("not_found", f"There is no op {name!r}.")
    check_call(op, args, all_open)
    needed = {op.access, *(access for slot, access in op.needs.items() if slot in args)}
    access = tuple(sorted(needed - call.view.access))
    if not access:
        raise RequestError("bad_arguments", f"{name} needs no approval.")
    return op.name, access


def _state(approval: Approval) -> ApprovalState:
    state: ApprovalState = {
        "handle": approval.handle,
        "state": approval.state,
        "expires_in_s": round(max(0.0, approval.expires_at - time.time()), 1),
    }
    if approval.reason:
        state["reason"] = approval.reason
    return state


def _asker(call: Call) -> Asker:
    return Asker(principal=call.view.principal, client=call.client)
