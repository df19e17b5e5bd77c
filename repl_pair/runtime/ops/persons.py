"""Ops of the person's side: approvals, the pause of agents, and panels of third parties."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NotRequired, Protocol, TypedDict

from repl_pair.errors import ReplPairError, RequestError
from repl_pair.runtime.clients.activity import LOG
from repl_pair.runtime.clients.approval import Answer, Approval, Asker
from repl_pair.runtime.clients.approvals import EXPIRES_S, QUEUE
from repl_pair.runtime.clients.clients import pause, paused_since, resume
from repl_pair.runtime.op_base.answers import Items
from repl_pair.runtime.op_base.approval_rows import (
    ApprovalRow,
    GrantRow,
    describe_approval,
    describe_grant,
    refuse_changed,
)
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.descriptors import check_call
from repl_pair.runtime.op_base.table import (
    MAX_WAIT_S,
    TABLE,
    WAIT_S,
    Op,
    Preview,
    op,
    timeout_deadline,
    waiting_op,
)
from repl_pair.runtime.signatures.arguments import MAX_S, Bounds
from repl_pair.wire import ACCESS, Request, View


class ApprovalState(TypedDict):
    """What an asker may know of an approval; `reason` is the person's."""

    handle: str
    state: str
    expires_in_s: float
    reason: NotRequired[str]


class Closed(TypedDict):
    """The approval that is used, or asked for no longer."""

    handle: str


class Answered(TypedDict):
    """The approval with its new state."""

    handle: str
    op: str
    state: str


class Approvals(Items[ApprovalRow]):
    """The calls that wait for the person, and what was granted; `paused_s`: since when, if so."""

    grants: list[GrantRow]
    paused_s: float | None


class Paused(TypedDict):
    """Whether agents are refused."""

    paused: bool


class PanelHost(Protocol):
    """Shows panels of third parties: a shell, or a panel that shows another one in itself."""

    def open(self, id: str) -> None:
        """Make the widget of a panel, on the caller's thread; a fault is shown in its place."""
        ...


PANEL_HOSTS: dict[str, PanelHost] = {}
"""The panel hosts of this process, by token."""
OPENING_S = 60.0
Seconds = Annotated[float, Bounds(0, MAX_S)]
WaitForPerson = Annotated[float, Bounds(0, MAX_WAIT_S)]


@op(access="run", toolset="approval", internal=True, stoppable=False)
def ask_approval(
    call: Call,
    op: str,
    args: dict[str, Any],
    expires_s: Seconds = EXPIRES_S,
    access: list[str] | None = None,
    preview: Preview | None = None,
) -> ApprovalState:
    """Ask the person for one exact call of an op that this view does not open.

    They are not asked for what would be refused anyway. `access` is what it takes of an op that the
    client answers itself, which no op of this table does, or for want of which it was forbidden.
    `preview` shows such a call to the person.
    """
    needed = _needed_access(call, op, args) if access is None else set(access)
    closed = tuple(sorted(needed - call.view.access))
    if not closed:
        raise RequestError("bad_arguments", f"{op} needs no approval.")
    how: Any = {"asker": _asker(call), "access": closed, "expires_s": expires_s}
    return _state(QUEUE.ask(op, args, **how, preview=preview))


def _needed_access(call: Call, op: str, args: Mapping[str, Any]) -> set[str]:
    """Return what access a call takes; raises what would refuse the call with all of it."""
    all_open = replace(call.view, access=frozenset(ACCESS))
    wanted = TABLE.find(op, all_open)
    if wanted.internal:
        raise RequestError("not_found", f"There is no op {op!r}.")
    own = check_call(wanted, args, all_open)
    needed = {wanted.access, *(access for slot, access in wanted.needs.items() if slot in own)}
    if wanted.terms is not None:
        needed |= wanted.terms(call.view, own).access
    if wanted.check is not None:
        wanted.check(call.view, own)
    if wanted.access == "write" and call.view.tier is None:
        _rehearse(call, wanted, own, all_open)
    return needed


def _rehearse(call: Call, wanted: Op, args: Mapping[str, Any], all_open: View) -> None:
    """Do a write up to where it would change something, and raise what refuses it.

    Not for a view with a tier: it would learn what is out of its view, and the person would not.
    """
    slots: Any = {slot: getattr(call, slot) for slot in ("id", "client", "secrets", "next_steps")}
    trial = Call(view=all_open, **slots)
    trial.decide()  # a write changes nothing for a call whose outcome was claimed
    try:
        wanted.fn(**args, **({wanted.context: trial} if wanted.context else {}))
    except ReplPairError as error:
        if error.code != "cancelled":
            asked = Request(op=wanted.name, args=args, call=call.id, view=call.view)
            LOG.refuse(replace(asked, client=call.client), error)
            raise


@waiting_op(toolset="approval", internal=True)
async def await_approval(call: Call, handle: str, wait_s: WaitForPerson = 20.0) -> ApprovalState:
    """Wait for the person's answer to what this client asked; gives its state and nothing else."""
    given_up = call.cancelled.is_set
    return _state(await QUEUE.wait(handle, _asker(call), wait_s, call.make_event(), given_up))


@op(access="run", lane="inline", toolset="approval", internal=True)
def use_approval(call: Call, handle: str, op: str, args: dict[str, Any]) -> Closed:
    """Use the person's approval for its call, which the client then answers itself."""
    QUEUE.take(handle, op, args, _asker(call))
    return {"handle": handle}


@op(access="run", lane="inline", toolset="approval", internal=True)
def withdraw_approval(call: Call, handle: str) -> Closed:
    """Withdraw what this client asked."""
    QUEUE.withdraw(handle, _asker(call))
    return {"handle": handle}


@op(access="read", toolset="approval", internal=True, persons=True)
def list_approvals(call: Call) -> Approvals:
    """List the calls that wait for the person, what each would do, and the grants."""
    items = [describe_approval(approval) for approval in QUEUE.pending()]
    # The person approves what they have read: no text is cut, also where markers make it longer.
    call.max_items = max((2 * len(item["text"]) for item in items), default=0)
    since = paused_since()
    return {
        "items": items,
        "total": len(items),
        "grants": [describe_grant(grant) for grant in QUEUE.grants()],
        "paused_s": None if since is None else round(time.time() - since, 1),
    }


@op(access="run", lane="inline", toolset="approval", internal=True, persons=True)
def answer_approval(
    handle: str, answer: Answer, reason: str = "", mark: str | None = None
) -> Answered:
    """Record the person's answer to a call that waits for it.

    `mark` is that of the call as it was shown; one that would do something else is not approved.
    """
    if mark is not None:
        refuse_changed(QUEUE.find(handle), answer, mark)
    approval = QUEUE.answer(handle, answer, reason)
    return {"handle": handle, "op": approval.op, "state": approval.state}


@op(access="run", lane="inline", toolset="approval", internal=True, persons=True)
def pause_agents(on: bool = True) -> Paused:
    """Refuse every request of agents, or accept them again."""
    (pause if on else resume)()
    return {"paused": on}


@op(
    access="run",
    lane="main",
    toolset="panel",
    internal=True,
    persons=True,
    deadline=timeout_deadline(OPENING_S),
)
def open_panel(
    host: str, panel_id: str, wait_s: Seconds = WAIT_S, timeout_s: Seconds = OPENING_S
) -> None:
    """Have a host make the widget of a panel; does nothing where the host is closed by now."""
    del wait_s, timeout_s  # the kernel's host reads them
    if host in PANEL_HOSTS:
        PANEL_HOSTS[host].open(panel_id)


def _state(approval: Approval) -> ApprovalState:
    """Return what an asker may know of an approval; `reason` is the person's."""
    left_s = round(max(0.0, approval.expires_at - time.time()), 1)
    found: ApprovalState = {
        "handle": approval.handle,
        "state": approval.state,
        "expires_in_s": left_s,
    }
    if approval.reason:
        found["reason"] = approval.reason
    return found


def _asker(call: Call) -> Asker:
    return Asker(principal=call.view.principal, client=call.client)
