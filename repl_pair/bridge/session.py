"""One caller's session: it checks policy and arguments, chooses the kernel, and replies."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.approval_calls import ApprovalCalls, ApprovalRequest
from repl_pair.bridge.held_links import HeldLinks
from repl_pair.bridge.kernel_info import check_name
from repl_pair.bridge.link.link import DEFAULT_TIMEOUT_S, GRACE_S, Link, OnProgress
from repl_pair.bridge.ops import TABLE
from repl_pair.bridge.ops.calls import FORWARDING
from repl_pair.bridge.ops.table import BridgeCall, ForwardedReply
from repl_pair.bridge.policy import GATED, Descriptor, Policy
from repl_pair.bridge.refusals import complete_refusal
from repl_pair.bridge.suggestions import in_kernel, suggest_call
from repl_pair.errors import (
    KernelError,
    NextStep,
    ReplPairError,
    RequestError,
    did_you_mean,
    next_step,
)
from repl_pair.runtime.ops.table import Op
from repl_pair.runtime.values.arguments import (
    check_arguments,
    read_call_arguments,
    weight_fault,
)
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
        self.links = HeldLinks(
            target, principal=principal, inject=inject, here=here, within=within, shared=shared
        )

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

    async def _forward(
        self, on_progress: OnProgress | None, via: str, op: str, args: Args, kernel: str | None
    ) -> Reply:
        """Answer a call that came `via` read_op or run_op: with access to ops that read or run."""
        known = manifest.by_name().get(op)
        may_run = via == "run_op"
        if known and (op in FORWARDING or not self.policy.is_for_run_op(known)):
            reach = "read or run" if may_run else "read"
            raise RequestError(
                "bad_arguments",
                f"{via} reaches ops that {reach}; call {op} itself.",
                next_steps=[] if op in FORWARDING else [next_step(op, **args)],
            )
        if known and known["access"] == "run" and not may_run:
            raise RequestError(
                "bad_arguments",
                f"read_op reaches ops that read; {op} runs.",
                next_steps=[next_step("run_op", op=op, args=args or None)],
            )
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
    ) -> Reply:
        here = BridgeCall(
            policy=self.policy,
            links=self.links,
            approvals=self.approvals or ApprovalCalls(),
            forward=partial(self._forward, on_progress),
            on_progress=on_progress,
        )
        target = None
        try:
            descriptor = self._permit(policy, op)
            own, target = _split_kernel(descriptor, args, kernel)
            own = _read_arguments(policy, descriptor, own)
            closed = policy.gates_to_ask(descriptor, own)
            self._check_can_ask(op, closed)
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
            self._check_can_ask(op, closed)
            if reply is None or closed:
                here.link = await self._link_to_ask(here.link, op, closed, own, target)
                request = ApprovalRequest(
                    link=here.link,
                    op=op,
                    args=own,
                    view=view,
                    access=closed,
                    names_access=bridge_op is not None or _is_forbidden(reply),
                    make=make,
                )
                reply = await here.approvals.call(request, on_progress)
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

    async def read_internal(self, op: str, args: Args, *, wait_s: float = 0.0) -> Reply:
        """Answer an internal op that only reads, which no caller may call; never raises.

        The kernel is chosen as for a call. Cancelling the task cancels the op.
        """
        timeout_s = wait_s + DEFAULT_TIMEOUT_S
        return await self._request(op, args, timeout_s=timeout_s, is_reported=False)

    async def close(self) -> None:
        """Close every link; the kernels keep running."""
        try:
            if self.approvals is not None:
                await self.approvals.close()
        finally:
            await self.links.close()

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

    def _check_can_ask(self, op: str, closed: str) -> None:
        if closed and self.approvals is None:
            raise _unavailable(op, closed, "there is nowhere to ask them.")

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
            return link or await self.links.get(own.get("kernel", target))
        except KernelError as error:
            why = f"they are asked in a kernel: {error.message}"
            raise _unavailable(op, closed, why, error.next_steps) from error

    def _permit(self, policy: Policy, op: str) -> Descriptor:
        """Return the descriptor of an op; denied and unknown are the same `not_found`."""
        descriptor = manifest.by_name().get(op)
        if descriptor is None or policy.resolve(descriptor) == "deny":
            near = did_you_mean(op, [d["name"] for d in self.descriptors()])
            message = f"There is no op {op!r}.{near}"
            steps, hints = [next_step("describe_op")], policy.closed_hints()
            raise RequestError("not_found", message, next_steps=steps, hints=hints)
        return descriptor


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


def _is_forbidden(reply: Reply | None) -> bool:
    return reply is not None and not reply["ok"] and reply["error"]["code"] == "forbidden"


def _unavailable(op: str, closed: str, why: str, steps: Iterable[NextStep] = ()) -> RequestError:
    is_gate = not set(closed.split(", ")).isdisjoint(GATED)
    return RequestError(
        "approval_unavailable",
        f"{op} needs the person's approval ({closed}), and {why} Nothing was run.",
        next_steps=steps,
        hints=[f"Ask the person to restart the server with `--allow {closed}`."] if is_gate else (),
    )


def _read_arguments(policy: Policy, descriptor: Descriptor, args: Args) -> dict[str, Any]:
    """Return the arguments as the op takes them; `bad_arguments` with the call that is meant."""
    name = descriptor["name"]
    schema = policy.visible_parameters(descriptor)
    if fault := weight_fault(args):
        raise RequestError("bad_arguments", f"{name} was not called: {fault}")
    own = read_call_arguments(schema, args)
    if faults := check_arguments(schema, own):
        steps, hints = suggest_call(name, schema, args)
        message = f"{name} was not called: {' '.join(faults)}"
        raise RequestError("bad_arguments", message, next_steps=steps, hints=hints)
    return own


def reply_timeout_s(descriptor: Descriptor, args: Args) -> float:
    """Return the seconds after which the caller is answered: the op's own waits, and grace."""
    properties: Mapping[str, Any] = descriptor["input_schema"]["properties"]
    waits_s = [
        unit_s * (args.get(name, properties[name].get("default")) or 0.0)
        for name, unit_s in _WAITS.items()
        if name in properties
    ]
    return max(DEFAULT_TIMEOUT_S, sum(waits_s, descriptor.get("deadline_s", 0.0)) + GRACE_S)


def _split_kernel(
    descriptor: Descriptor, args: Args, kernel: str | None
) -> tuple[dict[str, Any], str | None]:
    """Split the `kernel` that every op takes from the arguments, unless the op has its own."""
    own = dict(args)
    given = own.pop("kernel", None)
    target = kernel if given is None else given
    if target is None:
        return own, None
    name = check_name(target)
    if "kernel" in descriptor["input_schema"]["properties"]:
        return own | {"kernel": name}, None
    return own, name


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
