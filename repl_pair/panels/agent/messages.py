"""What the agent panel and its script send each other; the script holds the same shapes."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from repl_pair.runtime.op_base.approval_rows import ApprovalRow, GrantRow


class Overview(TypedDict):
    """The principals of the clients, the calls that wait, the grants.

    `refused` where no agent may attach; `loses` is what of the person's a detach would end.
    """

    clients: Sequence[str]
    refused: bool
    pending: Sequence[ApprovalRow]
    grants: Sequence[GrantRow]
    paused: bool
    loses: str


class State(Overview):
    """All that the panel shows; a call is an `Activity` of the runtime as JSON."""

    calls: Sequence[Mapping[str, Any]]


class Detached(TypedDict):
    """Whether agents are out now; `loses` is what of the person's ends with it."""

    detached: bool
    loses: str


class AgentPatch(TypedDict, total=False):
    """Calls that came or ended; the overview, where any of it changed."""

    calls: Sequence[Mapping[str, Any]]
    overview: Overview
