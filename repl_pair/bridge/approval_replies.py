"""One call that takes the person's word: what it asks for, and what its caller is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repl_pair.bridge.link.link import Link
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.bridge.suggestions import write_call
from repl_pair.errors import KernelError, RequestError
from repl_pair.wire import Reply, View, error_reply

LOST = "The kernel was left, lost or restarted before the person answered."


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest:
    """One exact call, and the access that the person has to open for it, in words."""

    link: Link
    op: str
    args: Mapping[str, Any]
    view: View
    access: str
    timeout_s: float


def closed_access(policy: Policy, descriptor: Descriptor, args: Mapping[str, Any]) -> str:
    """Name the access that the person has to open for a call; empty where there is none."""
    asked = {descriptor["access"]} if policy.resolve(descriptor) == "ask" else set[str]()
    for parameter in args:
        if policy.resolve_parameter(descriptor, parameter) == "ask":
            asked.add(descriptor["needs"][parameter])
    return ", ".join(sorted(asked))


def pending(asked: ApprovalRequest, handle: str, left_s: float) -> Reply:
    """Report that the person has not answered yet, and how they do."""
    kernel = asked.link.kernel
    return error_reply(
        RequestError(
            "approval_pending",
            f"{asked.op} waits for the person's approval ({asked.access}); nothing was run yet. "
            "They answer in the notebook's panel, or with "
            f"`repl-pair approve {handle} --kernel {kernel.id}`. It is run by itself, once, "
            "when they approve: read its answer, do not call it again.",
            detail={"handle": handle, "expires_in_s": round(left_s)},
            next_steps=(write_call("read_approval", {"handle": handle}),),
        )
    )


def denied(asked: ApprovalRequest, handle: str, reason: str) -> Reply:
    """Report that the person said no, and why."""
    said = f": {reason}" if reason else ", without a reason."
    return error_reply(
        RequestError(
            "approval_denied",
            f"The person denied {asked.op}{said} Nothing was run.",
            detail={"handle": handle, **({"reason": reason} if reason else {})},
            next_steps=("Ask the person what they would rather have.",),
        )
    )


def expired(asked: ApprovalRequest, handle: str, why: str, told: Reply) -> Reply:
    """Report that nothing will come of it; what a kernel told of its own goes along."""
    return error_reply(
        RequestError(
            "approval_expired",
            f"{asked.op} was asked for and is not any more. {why} Nothing was run.",
            detail={"handle": handle},
            next_steps=("the call itself again, if it is still meant: the person is asked anew",),
        ),
        notifications=told.get("notifications", ()),
    )


def question_lost(told: Reply, asked: ApprovalRequest) -> Reply:
    """Say of a question whose kernel was lost under way that the call itself never went out."""
    if told["error"]["code"] != "outcome_unknown":
        return told
    return error_reply(
        KernelError(
            "kernel_gone",
            f"The kernel ended before the person could be asked for {asked.op}; nothing was run.",
            next_steps=("kernel_status() to see whether the kernel came back",),
        )
    )


def approval_unavailable(what: str, access: str) -> RequestError:
    """Build the refusal of what takes the person's word where they cannot be asked."""
    return RequestError(
        "approval_unavailable",
        f"{what} needs the person's approval ({access}), and there is nowhere to ask them. "
        "Nothing was run.",
        next_steps=(f"Ask the person to restart the server with `--allow {access}`.",),
    )
