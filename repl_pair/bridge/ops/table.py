"""The table of the ops that the bridge answers itself, and what each of their calls has."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.background.background import Background
from repl_pair.bridge.link.link import Link, OnProgress
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session_links import SessionLinks
from repl_pair.errors import NextStep, ReplPairError
from repl_pair.runtime.op_base.table import Op, Table
from repl_pair.wire import Args, Reply, View, error_reply, ok_reply

TABLE = Table()

_WHICH = "Id, pid, notebook or file"
Which = Annotated[str, _WHICH]
WhichOrChosen = Annotated[str | None, _WHICH]


@dataclass(frozen=True)
class ForwardedReply:
    """The reply of another op, returned unchanged."""

    reply: Reply


@dataclass(kw_only=True)
class BridgeCall:
    """One call that the bridge answers, with what its session has for it.

    `forward` answers a call that came through `read_op` or `run_op`. `link` leads to the kernel
    that the call concerns. `is_reported` is false where the caller may never see the whole reply.
    """

    __op_context__ = True

    policy: Policy
    links: SessionLinks
    approvals: ApprovalCalls
    background: Background
    forward: Callable[..., Awaitable[Reply]]
    link: Link | None = None
    on_progress: OnProgress | None = None
    is_reported: bool = True
    next_steps: list[NextStep] = field(default_factory=list[NextStep])
    hints: list[str] = field(default_factory=list[str])
    notifications: list[str] = field(default_factory=list[str])


async def answer_here(
    here: BridgeCall,
    op: Op,
    args: Args,
    *,
    view: View,
    on_progress: OnProgress | None = None,
    approval: str | None = None,
) -> Reply:
    """Answer an op of the bridge; one that was asked for uses the approval of exactly this call."""
    if approval is not None:
        assert here.link is not None, "the kernel in which the person was asked"
        asked = {"handle": approval, "op": op.name, "args": dict(args)}
        used = await here.link.request("use_approval", asked, view=view)
        if not used["ok"]:
            return used
    here.on_progress = on_progress
    try:
        answer = await op.fn(here, **args)
    except ReplPairError as error:
        return error_reply(error)
    if isinstance(answer, ForwardedReply):
        return answer.reply
    return ok_reply(
        answer,
        next_steps=here.next_steps,
        hints=here.hints,
        notifications=here.notifications,
    )
