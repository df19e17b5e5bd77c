"""One caller's session: it checks policy and arguments, chooses the kernel, and replies."""

import math
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repl_pair.bridge import manifest, replies
from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.background.background import Background
from repl_pair.bridge.background.workers import Workers
from repl_pair.bridge.call_checks import (
    check_forwarded,
    permit,
    permitted_ops,
    read_arguments,
    split_kernel,
)
from repl_pair.bridge.kept_texts import FindSecrets, read_searched
from repl_pair.bridge.kernel_info import check_name
from repl_pair.bridge.link.link import DEFAULT_TIMEOUT_S, Link, OnProgress
from repl_pair.bridge.needed_approvals import (
    access_to_ask,
    check_can_ask,
    is_forbidden,
    link_to_ask,
)
from repl_pair.bridge.ops import TABLE
from repl_pair.bridge.ops.table import BridgeCall, answer_here
from repl_pair.bridge.pending_call import ApprovalRequest
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.bridge.session_links import SessionLinks, import_direct_link
from repl_pair.errors import ReplPairError, RequestError
from repl_pair.wire import PERSON, Args, Reply, error_reply

if TYPE_CHECKING:
    from repl_pair.runtime.kernel.lanes import LocalLanes


class Session:
    """What one caller may do, and the kernel it does it in.

    Attaches at the first call that needs a kernel; `SessionLinks` chooses which, and for ops on
    the files of a project no kernel of another one than that at `root`, if one is given. Without
    `approvals` the person cannot be asked: what needs their approval is refused.
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
        root: Path | None = None,
    ) -> None:
        self.policy = policy
        self.approvals = approvals
        self.principal = principal
        self.links = SessionLinks(
            target,
            principal=principal,
            inject=inject,
            here=here,
            within=within,
            shared=shared,
            root=root,
        )
        self.find_secrets: FindSecrets | None = None
        """Finds what a server knows by its form: a text that is read in pages is searched whole."""
        self.background = Background(self, Workers(self.links, principal=principal, inject=inject))

    @classmethod
    def direct(
        cls,
        policy: Policy,
        *,
        principal: str = "agent",
        approvals: ApprovalCalls | None = None,
        lanes: "LocalLanes | None" = None,
    ) -> "Session":
        """Make a session whose kernel is this process; `lanes` are those of its ops."""
        here = import_direct_link()(lanes)
        return cls(policy, principal=principal, here=here, approvals=approvals)

    def descriptors(self) -> Sequence[Descriptor]:
        """Return the ops that the policy does not deny, sorted by name; needs no kernel."""
        return permitted_ops(self.policy)

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
        return await self._answer(
            on_progress, None, op, args or {}, kernel, is_reported=is_reported
        )

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
        return await self._answer(
            on_progress,
            "a call in the background",
            op,
            args,
            kernel,
            is_reported=False,
            may_ask=may_ask,
            ask_wait_s=math.inf,
        )

    async def _answer(
        self,
        on_progress: OnProgress | None,
        via: str | None,
        op: str,
        args: Args,
        kernel: str | None,
        *,
        is_reported: bool = True,
        may_ask: bool = True,
        ask_wait_s: float | None = None,
    ) -> Reply:
        """Answer a call; one that comes `via` another op reaches only ops that read or run.

        Without `may_ask` the person is not asked, `ask_wait_s` is how long it waits for them.
        """
        policy = self.policy if via is None else self.policy.with_gates_closed
        approvals = self.approvals if may_ask else None
        here = BridgeCall(
            policy=self.policy,
            links=self.links,
            approvals=approvals or ApprovalCalls(),
            background=self.background,
            forward=partial(self._answer, on_progress),
            on_progress=on_progress,
            is_reported=is_reported,
        )
        target = None
        try:
            if via is not None:
                check_forwarded(self.policy, via, op, args)
            descriptor = permit(policy, op, self.descriptors(), self.policy.closed_hints())
            own, target = split_kernel(descriptor, args, kernel)
            own = read_arguments(policy, descriptor, own)
            closed = policy.gates_to_ask(descriptor, own)
            check_can_ask(op, closed, approvals)
            view, bridge_op = policy.view(self.principal), TABLE.get(op)
            if bridge_op is None:
                here.link = await self._find_link(descriptor, target)
                request = partial(here.link.request, view=view, is_reported=is_reported)
                make = partial(request, op, own, timeout_s=replies.reply_timeout_s(descriptor, own))
                if op == "read_more" and self.find_secrets is not None:
                    search = partial(request, "search_kept")
                    make = partial(read_searched, self.find_secrets, search, make, own["handle"])
            else:
                make = partial(answer_here, here, bridge_op, own, view=view)
                if closed and bridge_op.check is not None:
                    await bridge_op.check(here, own)
            reply = None if closed else await make(on_progress=on_progress)
            closed = closed or access_to_ask(self.policy, reply)
            check_can_ask(op, closed, approvals)
            if reply is None or closed:
                here.link = await link_to_ask(self.links, here.link, op, closed, own, target)
                show = bridge_op and bridge_op.preview
                pending = ApprovalRequest(
                    link=here.link,
                    op=op,
                    args=own,
                    view=view,
                    access=closed,
                    names_access=bridge_op is not None or is_forbidden(reply),
                    preview=show and show(own, self.principal),
                    make=make,
                )
                reply = await here.approvals.call(pending, on_progress, wait_s=ask_wait_s)
        except ReplPairError as error:
            reply = error_reply(error)
        has_kernel = here.link is None or self.links.is_of_kernel(here.link)
        reply = replies.complete_refusal(reply, op, principal=self.principal, has_kernel=has_kernel)
        if "use_kernel" in self.policy.without:
            reply = replies.name_kernel_in_steps(reply, op, args)
        return replies.with_kernel(reply, here.link, target)

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
        """End what runs in the background, and close every link; other kernels keep running."""
        async with AsyncExitStack() as ending:
            ending.push_async_callback(self.links.close)
            if self.approvals is not None:
                ending.push_async_callback(self.approvals.close)
            ending.push_async_callback(self.background.close)

    async def _request(self, op: str, args: Args, kernel: str | None = None, **how: Any) -> Reply:
        link: Link | None = None
        try:
            target = None if kernel is None else check_name(kernel)
            link = await self._find_link(manifest.find(op), target)
            reply = await link.request(op, args, view=self.policy.view(self.principal), **how)
        except ReplPairError as error:
            reply = error_reply(error)
        return replies.with_kernel(reply, link, None)

    async def _find_link(self, descriptor: Descriptor, target: str | None) -> Link:
        """Return the link that answers an op; without a kernel this process answers some."""
        if descriptor.get("project") and target is None:
            return await self.links.get_project()
        return await self.links.get(target)
