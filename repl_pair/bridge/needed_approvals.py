"""Whether a call needs the person's approval, and in which kernel they are asked for it."""

from collections.abc import Iterable

from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.link.link import Link
from repl_pair.bridge.policy import GATED, Policy
from repl_pair.bridge.session_links import SessionLinks
from repl_pair.errors import KernelError, NextStep, RequestError
from repl_pair.wire import Args, Reply


def access_to_ask(policy: Policy, reply: Reply | None) -> str:
    """Name what the person has to approve before the kernel takes a call; empty where it did.

    What is forbidden for want of access is asked for where the policy has it asked, else refused.
    """
    if reply is None or reply["ok"]:
        return ""
    access: list[str] = reply["error"].get("detail", {}).get("access", [])
    asks = reply["error"]["code"] == "approval_required" or (
        is_forbidden(reply) and access and policy.asks_for(access)
    )
    return ", ".join(access) if asks else ""


def is_forbidden(reply: Reply | None) -> bool:
    """Return whether the kernel refused a call for want of access."""
    return reply is not None and not reply["ok"] and reply["error"]["code"] == "forbidden"


def check_can_ask(op: str, closed: str, approvals: ApprovalCalls | None) -> None:
    """Refuse a call that needs an approval where nobody can be asked for it."""
    if closed and approvals is None:
        raise build_unavailable(op, closed, "there is nowhere to ask them.")


def build_unavailable(
    op: str, closed: str, why: str, steps: Iterable[NextStep] = ()
) -> RequestError:
    """Build the refusal of a call that needs an approval, with why there is none."""
    is_gate = not set(closed.split(", ")).isdisjoint(GATED)
    return RequestError(
        "approval_unavailable",
        f"{op} needs the person's approval ({closed}), and {why} Nothing was run.",
        next_steps=steps,
        hints=[f"Ask the person to restart the server with `--allow {closed}`."] if is_gate else (),
    )


async def link_to_ask(
    links: SessionLinks, link: Link | None, op: str, closed: str, own: Args, target: str | None
) -> Link:
    """Return the link to the kernel in which the person is asked for a call; refuse where none is.

    `link` is the one that the call went to, if any.
    """
    if link is not None and not links.is_of_kernel(link):
        raise build_unavailable(op, closed, "they are asked in a kernel, and none runs.")
    try:
        link = link or await links.get(own.get("kernel", target))
    except KernelError as error:
        why = f"they are asked in a kernel: {error.message}"
        raise build_unavailable(op, closed, why, error.next_steps) from error
    if links.kernels.is_own(link):
        raise build_unavailable(
            op, closed, "they see no question in the kernel of your own worker."
        )
    return link
