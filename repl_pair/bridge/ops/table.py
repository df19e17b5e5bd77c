"""The table of the ops that the bridge answers itself, and what each of their calls has."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.background.background import Background
from repl_pair.bridge.held_links import HeldLinks
from repl_pair.bridge.link.link import Link, OnProgress
from repl_pair.bridge.policy import Policy
from repl_pair.errors import NextStep
from repl_pair.runtime.ops.table import Table
from repl_pair.wire import Reply

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

    `background` is what the session keeps running without a caller. `forward` answers a call that
    came through `run_op`. `link` leads to the kernel that the call
    concerns.
    """

    __op_context__ = True

    policy: Policy
    links: HeldLinks
    approvals: ApprovalCalls
    background: Background
    forward: Callable[..., Awaitable[Reply]]
    link: Link | None = None
    on_progress: OnProgress | None = None
    next_steps: list[NextStep] = field(default_factory=list[NextStep])
    hints: list[str] = field(default_factory=list[str])
    notifications: list[str] = field(default_factory=list[str])
