"""The one door of the faces: policy, choice of the kernel, and a reply for whatever is asked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repl_pair.bridge import manifest
from repl_pair.bridge.approval_calls import Asking
from repl_pair.bridge.approval_replies import Asked, closed_access, nobody_to_ask
from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.target import choose_only, resolve
from repl_pair.bridge.link.link import GRACE_S, PATIENCE_S, Link, OnProgress
from repl_pair.bridge.mending import mend, say_call
from repl_pair.bridge.ops import (
    BridgeCall,
    Relay,
    describe_op,
    detach_kernel,
    kernel_status,
    list_kernels,
    read_approval,
    run_op,
    use_kernel,
)
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.bridge.reach import (
    glance_here,
    link_here,
    link_to,
    look_at,
    open_glances,
    scan_kernels,
    sight,
)
from repl_pair.errors import ReplPairError, RequestError, did_you_mean
from repl_pair.runtime.values.arguments import check_arguments
from repl_pair.wire import PERSON, Reply, error_reply, ok_reply

if TYPE_CHECKING:
    from repl_pair.bridge.link.glance import Glances, Seen

LinkFactory = Callable[[KernelInfo], Link]

_WAITS = {"wait_s": 1.0, "timeout_s": 1.0, "duration_ms": 0.001}
_HERE: Mapping[str, Callable[..., Awaitable[Any]]] = {
    "list_kernels": list_kernels,
    "use_kernel": use_kernel,
    "kernel_status": kernel_status,
    "detach_kernel": detach_kernel,
    "describe_op": describe_op,
    "read_approval": read_approval,
    "run_op": run_op,
}
_RELAYING = frozenset({"run_op"})


class Session:
    """What one caller may do, and the kernel it does it in.

    Discovers and attaches at the first call that needs a kernel. Without `target`, `use_kernel` or
    a call's own `kernel`, the only living kernel is taken and kept: when it dies, or others come,
    no other is taken in its place. Without `asking` there is nobody to ask: what takes the person's
    approval is refused.
    """

    def __init__(
        self,
        policy: Policy,
        target: str | None = None,
        *,
        principal: str = "agent",
        inject: bool = False,
        link_factory: LinkFactory | None = None,
        asking: Asking | None = None,
    ) -> None:
        self.policy = policy
        self.asking = asking
        self.principal = principal
        self._target = target
        self._factory = link_factory or partial(link_to, principal=principal, inject=inject)
        self._held: Link | None = None
        self._links: dict[str, Link] = {}
        self._glances: Glances | None = None
        self._choosing = asyncio.Lock()
        self._known = {entry["name"]: entry for entry in manifest.load()}

    @classmethod
    def direct(
        cls, policy: Policy, *, principal: str = "agent", asking: Asking | None = None
    ) -> "Session":
        """Make a session whose kernel is this process."""
        link = link_here()
        session = cls(policy, principal=principal, link_factory=lambda _kernel: link, asking=asking)
        session._held = session._keep(link.kernel)
        return session

    def descriptors(self) -> list[Descriptor]:
        """Return the ops that the policy does not deny, sorted by name; needs no kernel."""
        return [d for d in self._known.values() if self.policy.resolve(d) != "deny"]

    async def call(
        self,
        op: str,
        args: Mapping[str, Any] | None = None,
        *,
        on_progress: OnProgress | None = None,
        kernel: str | None = None,
    ) -> Reply:
        """Answer one call; a refusal is an error reply, never raised.

        The reply names under `kernel` who answered, or was chosen to. Cancelling the task cancels
        the op.
        """
        return await self._answer(self.policy, op, args or {}, on_progress, kernel)

    async def relay(
        self,
        op: str,
        args: Mapping[str, Any],
        *,
        on_progress: OnProgress | None = None,
        kernel: str | None = None,
    ) -> Reply:
        """Answer a call that came through another op, with no access but the always open one."""
        shut = self.policy.shut()
        known = self._known.get(op)
        if known and (op in _RELAYING or self.policy.resolve(known) != shut.resolve(known)):
            return error_reply(_not_relayed(op))
        return await self._answer(shut, op, args, on_progress, kernel)

    async def _answer(
        self,
        policy: Policy,
        op: str,
        args: Mapping[str, Any],
        on_progress: OnProgress | None,
        kernel: str | None,
    ) -> Reply:
        here = BridgeCall(switchboard=self, on_progress=on_progress)
        try:
            descriptor = self._permit(policy, op)
            own, word = _split(descriptor, args, kernel)
            _check(policy, descriptor, own)
            closed = closed_access(policy, descriptor, own)
            if closed and self.asking is None:
                raise nobody_to_ask(op, closed)
            if descriptor["name"] in _HERE:
                answer = await _HERE[op](here, **own)
                relayed = isinstance(answer, Relay)
                reply = answer.reply if relayed else ok_reply(answer, next_steps=here.next_steps)
            else:
                here.link = await self.link(word)
                view, timeout_s = policy.view(self.principal), patience(descriptor, own)
                if closed and self.asking is not None:
                    asked = Asked(
                        link=here.link,
                        op=op,
                        args=own,
                        view=view,
                        access=closed,
                        timeout_s=timeout_s,
                    )
                    reply = await self.asking.call(asked, on_progress)
                else:
                    reply = await here.link.request(
                        op, own, view=view, timeout_s=timeout_s, on_progress=on_progress
                    )
        except ReplPairError as error:
            reply = error_reply(error)
        return _stamp(reply, here.link)

    async def command(self, op: str, args: Mapping[str, Any]) -> Reply:
        """Call an op that only the person may; `not_found` for whoever else."""
        link: Link | None = None
        try:
            if self.principal != PERSON:
                raise RequestError("not_found", f"There is no op {op!r}.")
            link = await self.link()
            reply = await link.request(op, args, view=self.policy.view(self.principal))
        except ReplPairError as error:
            reply = error_reply(error)
        return _stamp(reply, link)

    async def read_approval(
        self, handle: str, wait_s: float, on_progress: OnProgress | None
    ) -> tuple[Reply, Link]:
        """Return what came of a call that the person was asked for, and the link it is of."""
        return await (self.asking or Asking()).read(handle, wait_s, on_progress)

    async def kernels(self) -> Sequence[KernelInfo]:
        """Return every kernel that was found, living ones first."""
        if self._held and not self._held.kernel.path:
            return [self._held.kernel]
        return await asyncio.to_thread(scan_kernels)

    async def glance(self) -> "Sequence[Seen]":
        """Return every kernel that was found with how it is; attaches to none."""
        if self._held and not self._held.kernel.path:
            return [await glance_here(self._held)]
        sightings = await asyncio.to_thread(sight)
        self._glances = self._glances or open_glances()
        return await self._glances.look(sightings)

    async def link(self, kernel: str | None = None, *, hold: bool = False) -> Link:
        """Return the link to the named kernel, else the chosen one, else the only living one.

        `hold` chooses it for all later calls. `ambiguous_kernel`, `no_kernel`, `kernel_gone`.
        """
        async with self._choosing:
            word = kernel or (None if self._held else self._target)
            if word is None and self._held:
                return self._held
            link = self._at_hand(word) or self._keep(await self._find(word))
            if hold or kernel is None:
                self._held = link
            return link

    def attached(self, kernel: KernelInfo) -> Link | None:
        """Return the link of this session that is attached to that kernel."""
        link = self._links.get(kernel.path)
        return link if link is not None and link.is_attached else None

    async def close(self) -> None:
        """Close every link; the kernels stay."""
        if self.asking is not None:
            await self.asking.close()
        links, self._links, self._held = list(self._links.values()), {}, None
        await asyncio.gather(*(link.close() for link in links))
        glances, self._glances = self._glances, None
        if glances:
            await glances.close()

    def _permit(self, policy: Policy, op: str) -> Descriptor:
        descriptor = self._known.get(op)
        decision = policy.resolve(descriptor) if descriptor else "deny"
        if descriptor is None or decision == "deny":
            near = did_you_mean(op, [d["name"] for d in self.descriptors()])
            raise RequestError("not_found", f"There is no op {op!r}.{near}")
        return descriptor

    def _at_hand(self, word: str | None) -> Link | None:
        """Return a link that exists already, by exact id or file, without looking around."""
        for link in self._links.values():
            if word in (link.kernel.id, link.kernel.path):
                return link
        return None

    async def _find(self, word: str | None) -> KernelInfo:
        if word is not None and Path(word).expanduser().is_file():
            kernel = await asyncio.to_thread(look_at, word)
            if kernel is not None:
                return resolve(word, [kernel])
        kernels = await self.kernels()
        return choose_only(kernels) if word is None else resolve(word, kernels)

    def _keep(self, kernel: KernelInfo) -> Link:
        if kernel.path not in self._links:
            self._links[kernel.path] = self._factory(kernel)
        return self._links[kernel.path]


def _check(policy: Policy, descriptor: Descriptor, args: Mapping[str, Any]) -> None:
    name = descriptor["name"]
    schema = policy.visible_parameters(descriptor)
    faults = check_arguments(schema, args)
    if faults:
        raise RequestError(
            "bad_arguments",
            f"{name} was not called: {' '.join(faults)}",
            next_steps=[say_call(name, mend(schema, args))],
        )


def patience(descriptor: Descriptor, args: Mapping[str, Any]) -> float:
    """Return the seconds after which the caller is answered: the op's own waits, and grace."""
    properties: Mapping[str, Any] = descriptor["input_schema"]["properties"]
    waits_s = [
        unit_s * (args.get(name, properties[name].get("default")) or 0.0)
        for name, unit_s in _WAITS.items()
        if name in properties
    ]
    return max(PATIENCE_S, sum(waits_s, descriptor.get("deadline_s", 0.0)) + GRACE_S)


def _split(
    descriptor: Descriptor, args: Mapping[str, Any], kernel: str | None
) -> tuple[dict[str, Any], str | None]:
    """Take the `kernel` that every op takes out of the arguments, unless the op has its own."""
    own = dict(args)
    if "kernel" in descriptor["input_schema"]["properties"]:
        return ({"kernel": kernel} | own if kernel else own), None
    word = own.pop("kernel", kernel)
    if word is not None and not isinstance(word, (str, int)):
        raise RequestError(
            "bad_arguments", f"kernel is an id, pid, notebook or file, not {word!r}."
        )
    return own, None if word is None else str(word)


def _not_relayed(op: str) -> RequestError:
    return RequestError(
        "bad_arguments",
        f"run_op reaches ops that read or run; call {op} itself.",
        next_steps=[f"{op}(…)"],
    )


def _stamp(reply: Reply, link: Link | None) -> Reply:
    """Report in a reply which kernel it is of."""
    if link is None:
        return reply
    kernel = {"id": link.kernel.id, "name": link.kernel.name}
    boot = reply.get("boot") or link.boot
    return reply | {"kernel": kernel | ({"boot": boot} if boot else {})}
