"""The ops that need no kernel: which there are, which one is meant, how it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol

from repl_pair.bridge.link import KernelInfo, Link, OnProgress
from repl_pair.bridge.mending import mend, say_call
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.ops.table import Table
from repl_pair.wire import Reply, View

TABLE = Table()
"""The ops that the bridge answers itself."""

PING_S = 3.0

WHICH = "Id (or its first 6 characters), pid, notebook or connection file"
Which = Annotated[str, WHICH]


class Switchboard(Protocol):
    """What the ops of the bridge may ask of the session."""

    async def kernels(self) -> Sequence[KernelInfo]:
        """Give every kernel that was found."""
        ...

    async def link(self, kernel: str | None = None, *, hold: bool = False) -> Link:
        """Give the link to the named kernel, or to the chosen one; `hold` chooses it."""
        ...

    def attached(self, kernel: KernelInfo) -> bool:
        """Say whether this session has a link to it that answered."""
        ...

    @property
    def policy(self) -> Policy:
        """What the caller may list and call."""
        ...

    def descriptors(self) -> Sequence[Descriptor]:
        """Give the ops that the policy does not deny, sorted by name."""
        ...

    async def relay(
        self,
        op: str,
        args: Mapping[str, Any],
        *,
        on_progress: OnProgress | None = None,
        kernel: str | None = None,
    ) -> Reply:
        """Answer a call that came through another op, with no access but the always open one."""
        ...


@dataclass(frozen=True)
class Relay:
    """The reply of another op, passed on as it stands."""

    reply: Reply


@dataclass(kw_only=True)
class BridgeCall:
    """One call that the bridge answers; `link` is the kernel that it turned out to be about."""

    __op_context__ = True

    switchboard: Switchboard
    link: Link | None = None
    on_progress: OnProgress | None = None
    next_steps: list[str] = field(default_factory=list[str])


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def list_kernels(call: BridgeCall) -> dict[str, Any]:
    """List the kernels of this machine: id, name, pid, notebook, alive, attached."""
    found = await call.switchboard.kernels()
    items = [kernel.to_wire() | {"attached": call.switchboard.attached(kernel)} for kernel in found]
    return {"items": items, "total": len(items)}


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def use_kernel(call: BridgeCall, kernel: Which) -> dict[str, Any]:
    """Choose the kernel for all later calls."""
    call.link = await call.switchboard.link(kernel, hold=True)
    return call.link.kernel.to_wire()


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def kernel_status(
    call: BridgeCall, kernel: Annotated[str | None, WHICH] = None
) -> dict[str, Any]:
    """Say how a kernel is: alive, its boot, busy with which cell since when, counts of entries.

    A kernel that does not answer is told by `why`.
    """
    call.link = await call.switchboard.link(kernel)
    reply = await call.link.request("ping", {}, view=View(), timeout_s=PING_S)
    known = call.link.kernel
    if reply["ok"]:
        answer: Mapping[str, Any] = reply["result"]
        return replace(known, alive=True).to_wire() | {"boot": reply.get("boot")} | dict(answer)
    error = reply["error"]
    alive = error["code"] not in ("kernel_gone", "outcome_unknown")
    return replace(known, alive=alive).to_wire() | {
        "boot": call.link.boot,
        "why": error["message"],
        "code": error["code"],
    }


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def describe_op(
    call: BridgeCall, op: Annotated[str | None, "Its name; none: list the unlisted ops"] = None
) -> dict[str, Any]:
    """Describe ops that are no tools of their own; run_op calls them."""
    policy = call.switchboard.policy
    known = {d["name"]: d for d in call.switchboard.descriptors()}
    if op is None:
        unlisted = [_summary(d) for d in known.values() if not policy.lists(d)]
        call.next_steps += [say_call("describe_op", {"op": d["op"]}) for d in unlisted[:1]]
        return {"items": unlisted, "total": len(unlisted)}
    if op not in known:
        raise RequestError("not_found", f"There is no op {op!r}.{did_you_mean(op, known)}")
    found = known[op]
    listed = policy.lists(found)
    schema = (policy if listed else policy.shut()).visible_parameters(found)
    args = mend(schema, {})
    call.next_steps.append(
        say_call(op, args) if listed else say_call("run_op", {"op": op, "args": args})
    )
    return {**_summary(found), "doc": found["doc"], "input_schema": schema}


@TABLE.op(access="run", toolset="kernel", lane="inline")
async def run_op(
    call: BridgeCall,
    op: Annotated[str, "From describe_op"],
    args: Annotated[dict[str, Any] | None, "Its arguments"] = None,
    kernel: Annotated[str | None, WHICH] = None,
) -> Relay:
    """Call an op that is no tool of its own; only ops that read or run."""
    relay = call.switchboard.relay
    return Relay(await relay(op, args or {}, on_progress=call.on_progress, kernel=kernel))


def _summary(descriptor: Descriptor) -> dict[str, Any]:
    line = descriptor["doc"].partition("\n")[0]
    return {"op": descriptor["name"], "access": descriptor["access"], "doc": line}
