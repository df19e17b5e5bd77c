"""What the agent panel and its script send each other; the script holds the same shapes."""

from collections.abc import Sequence
from typing import TypedDict


class Call(TypedDict):
    """One call of an agent, as `runtime.clients.activity.Activity` describes it."""

    n: int
    at: float
    principal: str
    client: str | None
    op: str
    args: str
    state: str
    elapsed_ms: float
    redacted: int
    elided: int
    verdict: str
    approval: str | None
    reason: str


class Client(TypedDict):
    """One attached client."""

    id: str
    principal: str
    pid: int | None


class PendingCall(TypedDict):
    """A call that waits for approval; `kind` says what `text` is: a diff, code, a list, a call."""

    handle: str
    principal: str
    op: str
    access: Sequence[str]
    asked_s: float
    expires_in_s: float
    kind: str
    title: str
    text: str


class GrantShown(TypedDict):
    """An op that an agent may call without asking."""

    handle: str
    principal: str
    op: str


class Overview(TypedDict):
    """The clients, the calls that wait, the grants; `refused` where no agent may attach."""

    clients: Sequence[Client]
    refused: bool
    pending: Sequence[PendingCall]
    grants: Sequence[GrantShown]
    paused: bool


class State(Overview):
    """All that the panel shows."""

    calls: Sequence[Call]


class AgentPatch(TypedDict, total=False):
    """Calls that came or ended; the overview, where any of it changed."""

    calls: Sequence[Call]
    overview: Overview
