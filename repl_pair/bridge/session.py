"""One caller's session: it checks policy and arguments, chooses the kernel, and replies."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import lru_cache, partial
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.approval_calls import ApprovalCalls, ApprovalRequest
from repl_pair.bridge.background.background import Background
from repl_pair.bridge.background.workers import Workers
from repl_pair.bridge.call_checks import check_forwarded, permit, read_arguments, split_kernel
from repl_pair.bridge.held_links import HeldLinks
from repl_pair.bridge.kernel_info import check_name
from repl_pair.bridge.link.link import DEFAULT_TIMEOUT_S, GRACE_S, Link, OnProgress
from repl_pair.bridge.ops import TABLE
from repl_pair.bridge.ops.table import BridgeCall, ForwardedReply
from repl_pair.bridge.policy import GATED, Descriptor, Policy
from repl_pair.bridge.refusals import complete_refusal
from repl_pair.bridge.suggestions import in_kernel
from repl_pair.errors import (
    KernelError,
    NextStep,
    ReplPairError,
    RequestError,
    next_step,
)
from repl_pair.runtime.ops.table import Op, Preview
from repl_pair.wire import PERSON, Args, Reply, View, error_reply, ok_reply

_WAITS = {"wait_s": 1.0, "timeout_s": 1.0, "duration_ms": 0.001}
"""Parameters that say how long an op may take, with what turns them into seconds."""


class Session:
    """What one caller may do, and the kernel it does it in.

    Attaches at the first call that needs a kernel; `HeldLinks` chooses which. Without `approvals`
    the person cannot be asked: what needs their approval is refused.
    """

    def __init__(
        self,
        policy: Policy,
        target: str | Sequence[str] | None = None,
        *,
        principal: str = "agent",
        inject: bool = False,
        here: Link | None = None,
        approvals: ApprovalCalls | None = None,
        within: Sequence[str] = (),
        shared: bool = False,
    ) -> None:
        self.policy = policy
        self.approvals = approvals
        self.principal = principal
        self.background = Background(self)
        self.links = HeldLinks(
            target, principal=principal, inject=inject, here=here, within=within, shared=shared
        )
        self.workers = Workers(self.links, principal=principal, inject=inject)

    @classmethod
    def direct(
        cls, policy: Policy, *, principal: str = "agent", approvals: ApprovalCalls | None = None
    ) -> "Session":
        """Make a session whose kernel is this process."""
        # The ops and what runs them: a server beside a kernel needs neither.
        from repl_pair.bridge.link.direct_link import DirectLink

        return cls(policy, principal=principal, here=DirectLink(), approvals=approvals)

    def descriptors(self) -> Sequence[Descriptor]:
        """Return the ops that the policy does not deny, sorted by name; needs no kernel."""
        return _permitted(self.policy)

    async def call(
        self,
        op: str,
        args: Args | None = None,
        *,
        on_progress: OnProgress | None = None,
        kernel: str | None = None,
        is_reported: bool = True,
    ) -> Reply:
        """Answer one call; a refusal is an error reply, never raised.

        The reply names under `kernel` who answered, or was chosen to. Cancelling the task cancels
        the op. `is_reported` is false where the caller gets the result alone.
        """
        policy, args = self.policy, args or {}
        return await self._answer(policy, op, args, on_progress, kernel, is_reported=is_reported)

    async def call_unattended(
        self,
        op: str,
        args: Args,
        *,
        kernel: str | None,
        on_progress: OnProgress,
        may_ask: bool,
    ) -> Reply:
        """Answer a call that no caller waits for, as run_op does, and with the same reach.

        It waits for the person's approval until that expires; without `may_ask` what needs one is
        refused. It reports no restart and shows no notices: its reply may never be read.
        """
        try:
            check_forwarded(self.policy, "a call in the background", op, args)
        except RequestError as error:
            return error_reply(error)
        return await self._answer(
            self.policy.close_gates(),
            op,
            args,
            on_progress,
            kernel,
            is_reported=False,
            may_ask=may_ask,
            ask_wait_s=math.inf,
        )

    async def _forward(
        self, on_progress: OnProgress | None, via: str, op: str, args: Args, kernel: str | None
    ) -> Reply:
        """Answer a call that came `via` read_op or run_op: with access to ops that read or run."""
        check_forwarded(self.policy, via, op, args)
        return await self._answer(self.policy.close_gates(), op, args, on_progress, kernel)

    async def _answer(
        self,
        policy: Policy,
        op: str,
        args: Args,
        on_progress: OnProgress | None,
        kernel: str | None,
        *,
        is_reported: bool = True,
        may_ask: bool = True,
        ask_wait_s: float | None = None,
    ) -> Reply:
        approvals = self.approvals if may_ask else None
        here = BridgeCall(
            policy=self.policy,
            links=self.links,
            approvals=approvals or ApprovalCalls(),
            background=self.background,
            workers=self.workers,
            forward=partial(self._forward, on_progress),
            on_progress=on_progress,
            is_reported=is_reported,
        )
        target = None
        try:
            descriptor = permit(policy, op, self.descriptors())
            own, target = split_kernel(descriptor, args, kernel)
            own = read_arguments(policy, descriptor, own)
            closed = policy.gates_to_ask(descriptor, own)
            _check_can_ask(op, closed, approvals)
            view, bridge_op = policy.view(self.principal), TABLE.get(op)
            if bridge_op is None:
                here.link = await self._find_link(descriptor, target)
                timeout_s = reply_timeout_s(descriptor, own)
                how: dict[str, Any] = {"timeout_s": timeout_s, "is_reported": is_reported}
                make = partial(here.link.request, op, own, view=view, **how)
            else:
                make = partial(_answer_here, here, bridge_op, own, view=view)
            reply = None if closed else await make(on_progress=on_progress)
            closed = closed or _access_to_ask(self.policy, reply)
            _check_can_ask(op, closed, approvals)
            if reply is None or closed:
                here.link = await self._link_to_ask(here.link, op, closed, own, target)
                request = ApprovalRequest(
                    link=here.link,
                    op=op,
                    args=own,
                    view=view,
                    access=closed,
                    names_access=bridge_op is not None or _is_forbidden(reply),
                    preview=_preview(bridge_op, own, self.principal),
                    make=make,
                )
                reply = await here.approvals.call(request, on_progress, wait_s=ask_wait_s)
        except ReplPairError as error:
            reply = error_reply(error)
        if manifest.by_name().get(op, {}).get("project"):
            has_kernel = here.link is None or self.links.is_of_kernel(here.link)
            reply = complete_refusal(reply, op, principal=self.principal, has_kernel=has_kernel)
        if "use_kernel" in self.policy.without:
            reply = _name_kernel_in_steps(reply)
        return _with_kernel(reply, here.link, target)

    async def command(self, op: str, args: Args, kernel: str | None = None) -> Reply:
        """Call an op that only the person may call; `not_found` for any other principal."""
        if self.principal != PERSON:
            return error_reply(RequestError("not_found", f"There is no op {op!r}."))
        return await self._request(op, args, kernel)

    async def read_internal(
        self, op: str, args: Args, *, wait_s: float = 0.0, kernel: str | None = None
    ) -> Reply:
        """Answer an internal op that only reads, which no caller may call; never raises.

        The kernel is chosen as for a call. Cancelling the task cancels the op.
        """
        timeout_s = wait_s + DEFAULT_TIMEOUT_S
        return await self._request(op, args, kernel, timeout_s=timeout_s, is_reported=False)

    async def close(self) -> None:
        """End what runs in the background and the workers, and close every link.

        Kernels keep running, but for those of workers.
        """
        async with AsyncExitStack() as ending:
            ending.push_async_callback(self.links.close)
            ending.push_async_callback(self.workers.close)
            if self.approvals is not None:
                ending.push_async_callback(self.approvals.close)
            ending.push_async_callback(self.background.close)

    async def _request(self, op: str, args: Args, kernel: str | None = None, **how: Any) -> Reply:
        link: Link | None = None
        try:
            descriptor = manifest.by_name().get(op, {})
            target = None if kernel is None else check_name(kernel)
            link = await self._find_link(descriptor, target)
            view = self.policy.view(self.principal)
            reply = await link.request(op, args, view=view, **how)
        except ReplPairError as error:
            reply = error_reply(error)
        return _with_kernel(reply, link, None)

    async def _find_link(self, descriptor: Descriptor, target: str | None) -> Link:
        """Return the link that answers an op; without a kernel this process answers some."""
        if descriptor.get("project") and target is None:
            return await self.links.get_project()
        return await self.links.get(target)

    async def _link_to_ask(
        self, link: Link | None, op: str, closed: str, own: Args, target: str | None
    ) -> Link:
        """Return the link to the kernel in which the person is asked for a call."""
        if link is not None and not self.links.is_of_kernel(link):
            raise _unavailable(op, closed, "they are asked in a kernel, and none runs.")
        try:
            link = link or await self.links.get(own.get("kernel", target))
        except KernelError as error:
            why = f"they are asked in a kernel: {error.message}"
            raise _unavailable(op, closed, why, error.next_steps) from error
        if self.links.is_own(link):
            raise _unavailable(op, closed, "they see no question in the kernel of your own worker.")
        return link


@lru_cache(maxsize=64)
def _permitted(policy: Policy) -> Sequence[Descriptor]:
    return tuple(policy.permitted(manifest.load()))


async def _answer_here(
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


def _access_to_ask(policy: Policy, reply: Reply | None) -> str:
    """Name what the person has to approve before the kernel takes a call; empty where it did.

    What is forbidden for want of access is asked for where the policy has it asked, else refused.
    """
    if reply is None or reply["ok"]:
        return ""
    access: list[str] = reply["error"].get("detail", {}).get("access", [])
    asks = reply["error"]["code"] == "approval_required" or (
        _is_forbidden(reply) and access and policy.asks_for(access)
    )
    return ", ".join(access) if asks else ""


def _preview(op: Op | None, args: Args, principal: str) -> Preview | None:
    return op.preview(args, principal) if op is not None and op.preview is not None else None


def _is_forbidden(reply: Reply | None) -> bool:
    return reply is not None and not reply["ok"] and reply["error"]["code"] == "forbidden"


def _check_can_ask(op: str, closed: str, approvals: ApprovalCalls | None) -> None:
    if closed and approvals is None:
        raise _unavailable(op, closed, "there is nowhere to ask them.")


def _unavailable(op: str, closed: str, why: str, steps: Iterable[NextStep] = ()) -> RequestError:
    is_gate = not set(closed.split(", ")).isdisjoint(GATED)
    return RequestError(
        "approval_unavailable",
        f"{op} needs the person's approval ({closed}), and {why} Nothing was run.",
        next_steps=steps,
        hints=[f"Ask the person to restart the server with `--allow {closed}`."] if is_gate else (),
    )


def reply_timeout_s(descriptor: Descriptor, args: Args) -> float:
    """Return the seconds after which the caller is answered: the op's own waits, and grace."""
    properties: Mapping[str, Any] = descriptor["input_schema"]["properties"]
    waits_s = [
        unit_s * (args.get(name, properties[name].get("default")) or 0.0)
        for name, unit_s in _WAITS.items()
        if name in properties
    ]
    return max(DEFAULT_TIMEOUT_S, sum(waits_s, descriptor.get("deadline_s", 0.0)) + GRACE_S)


def _name_kernel_in_steps(reply: Reply) -> Reply:
    """Return a reply whose steps name a kernel where they would choose it for all later calls."""
    steps: list[NextStep] = reply.get("next_steps", [])
    named = [
        next_step("list_stories", **step["args"]) if step["op"] == "use_kernel" else step
        for step in steps
    ]
    return reply | {"next_steps": named} if steps else reply


def _with_kernel(reply: Reply, link: Link | None, target: str | None) -> Reply:
    """Return a reply with the kernel that gave it; its steps lead there too where it was named."""
    if link is None:
        return reply
    if target is not None and (steps := reply.get("next_steps")):
        reply = reply | {"next_steps": [in_kernel(step, target) for step in steps]}
    kernel = {"id": link.kernel.id, "name": link.kernel.name}
    boot = reply.get("boot") or link.boot
    return reply | {"kernel": kernel | ({"boot": boot} if boot else {})}
