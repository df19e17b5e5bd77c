"""One call that needs the person's approval: what it asks for, and the replies to its caller."""

from collections.abc import Callable, Coroutine, Mapping
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
    """One exact call, which `make` makes; `access` are the gates that the person has to open."""

    link: Link
    op: str
    args: Mapping[str, Any]
    view: View
    access: str
    make: Callable[..., Coroutine[Any, Any, Reply]]


def closed_access(policy: Policy, descriptor: Descriptor, args: Mapping[str, Any]) -> str:
    """Name the gates that the person has to open for a call; empty where there are none."""
    gates = {descriptor["access"]} if policy.resolve(descriptor) == "ask" else set[str]()
    for parameter in args:
        if policy.resolve_parameter(descriptor, parameter) == "ask":
            gates.add(descriptor["needs"][parameter])
    return ", ".join(sorted(gates))


def pending(request: ApprovalRequest, handle: str, left_s: float) -> Reply:
    """Return the refusal while the person has not answered; it names how they do."""
    kernel = request.link.kernel
    return error_reply(
        RequestError(
            "approval_pending",
            f"{request.op} waits for the person's approval ({request.access}); nothing was run "
            "yet. They answer in the notebook's panel, or with "
            f"`repl-pair approve {handle} --kernel {kernel.id}`. It is run by itself, once, "
            "when they approve: read its answer, do not call it again.",
            detail={"handle": handle, "expires_in_s": round(left_s)},
            next_steps=(write_call("read_approval", {"handle": handle}),),
        )
    )


def denied(request: ApprovalRequest, handle: str, reason: str) -> Reply:
    """Return the refusal of a call that the person denied, with their reason."""
    why = f": {reason}" if reason else ", without a reason."
    return error_reply(
        RequestError(
            "approval_denied",
            f"The person denied {request.op}{why} Nothing was run.",
            detail={"handle": handle, **({"reason": reason} if reason else {})},
            next_steps=("Ask the person what they would rather have.",),
        )
    )


def expired(request: ApprovalRequest, handle: str, why: str, reply: Reply) -> Reply:
    """Return the refusal of a call that will not be made; keeps the notifications of `reply`."""
    return error_reply(
        RequestError(
            "approval_expired",
            f"{request.op} was asked for and is not any more. {why} Nothing was run.",
            detail={"handle": handle},
            next_steps=("the call itself again, if it is still meant: the person is asked anew",),
        ),
        notifications=reply.get("notifications", ()),
    )


def question_lost(reply: Reply, request: ApprovalRequest) -> Reply:
    """Return the refusal of `ask_approval`; where its kernel ended, the call itself never ran."""
    if reply["error"]["code"] != "outcome_unknown":
        return reply
    return error_reply(
        KernelError(
            "kernel_gone",
            f"The kernel ended before the person could be asked for {request.op}; nothing was run.",
            next_steps=("kernel_status() to see whether the kernel came back",),
        )
    )


def approval_unavailable(what: str, access: str) -> RequestError:
    """Build the refusal of a call that needs approval where the person cannot be asked."""
    return RequestError(
        "approval_unavailable",
        f"{what} needs the person's approval ({access}), and there is nowhere to ask them. "
        "Nothing was run.",
        next_steps=(f"Ask the person to restart the server with `--allow {access}`.",),
    )
