"""The ops that need no kernel: which there are, which one is meant, how it is."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.link import Link, OnProgress
from repl_pair.bridge.mending import mend, say_call
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.errors import KernelError, RequestError, did_you_mean
from repl_pair.runtime.ops.table import Table
from repl_pair.wire import Reply, View, error_reply

if TYPE_CHECKING:
    from repl_pair.bridge.link.glance import Seen

TABLE = Table()
"""The ops that the bridge answers itself."""

PING_S = 3.0
LOOP_S = 0.1
"""What a kernel without a cell may take to come round its event loop."""

WHICH = "Id (or its first 6 characters), pid, notebook or connection file"
Which = Annotated[str, WHICH]


class Switchboard(Protocol):
    """What the ops of the bridge may ask of the session."""

    async def glance(self) -> "Sequence[Seen]":
        """Return every kernel that was found with how it is, living ones first."""
        ...

    async def link(self, kernel: str | None = None, *, hold: bool = False) -> Link:
        """Return the link to the named kernel, or to the chosen one; `hold` chooses it."""
        ...

    def attached(self, kernel: KernelInfo) -> Link | None:
        """Return the link of this session that is attached to that kernel."""
        ...

    @property
    def policy(self) -> Policy:
        """What the caller may list and call."""
        ...

    def descriptors(self) -> Sequence[Descriptor]:
        """Return the ops that the policy does not deny, sorted by name."""
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

    async def read_approval(
        self, handle: str, wait_s: float, on_progress: OnProgress | None
    ) -> tuple[Reply, Link]:
        """Return what came of a call that the person was asked for, and the link it is of."""
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
    """List this machine's kernels: notebook, busy or idle since when, age, last activity.

    Living ones first, then the latest active; what is not known is left out. `runtime`: repl_pair
    is in it; `attached`: by you.
    """
    seen = await call.switchboard.glance()
    items = [_row(each, call.switchboard.attached(each[0])) for each in seen]
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
    """Say how a kernel is: alive, busy with which cell since when, what is stuck, what it holds.

    Over `channel` shell, calls wait for cells; `why` says what for, or why it is silent.
    """
    try:
        call.link = await call.switchboard.link(kernel)
    except KernelError as error:
        if "kernel" not in error.detail:
            raise
        return _silent_status({**error.detail["kernel"], "alive": True}, error_reply(error))
    reply = await _ping(call.link, call.switchboard.policy.view())
    known = call.link.kernel
    if reply["ok"]:
        answer: Mapping[str, Any] = reply["result"]
        named = replace(known, alive=True).to_wire() | {"boot": reply.get("boot")}
        return named | dict(answer) | _path(call.link)
    alive = reply["error"]["code"] not in ("kernel_gone", "outcome_unknown")
    named = replace(known, alive=alive).to_wire() | {"boot": call.link.boot} | _path(call.link)
    return _silent_status(named, reply)


@TABLE.op(access="run", toolset="kernel_extra", lane="inline")
async def detach_kernel(
    call: BridgeCall, kernel: Annotated[str | None, WHICH] = None
) -> dict[str, Any]:
    """Return your attachment to a kernel up; your next call there attaches again.

    Your calls under way there are cancelled. What was put into the kernel goes out with its last
    client, unless the person holds it (`%pair attach`).
    """
    call.link = await call.switchboard.link(kernel)
    return (await call.link.leave()).to_wire()


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def describe_op(
    call: BridgeCall, op: Annotated[str | None, "Its name; none: list the unlisted ops"] = None
) -> dict[str, Any]:
    """Describe ops that are no tools of their own; run_op calls them."""
    policy = call.switchboard.policy
    known = {d["name"]: d for d in call.switchboard.descriptors()}
    if op is None:
        unlisted = [_summary(d) for d in known.values() if not policy.lists(d)]
        harmless = [d["op"] for d in unlisted if d["access"] == "read"]
        call.next_steps += [say_call("describe_op", {"op": op}) for op in harmless[:1]]
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


@TABLE.op(access="read", toolset="approval", lane="inline")
async def read_approval(
    call: BridgeCall,
    handle: Annotated[str, "From approval_pending"],
    wait_s: Annotated[float, "Seconds to wait for the person, at most 50"] = 20.0,
) -> Relay:
    """Read the answer of your call that waited for the person's approval.

    approval_pending: not yet; approval_denied: with their reason; approval_expired: nothing was run
    and nothing will be.
    """
    reply, call.link = await call.switchboard.read_approval(handle, wait_s, call.on_progress)
    return Relay(reply)


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


def _row(seen: "Seen", attached: Link | None) -> dict[str, Any]:
    kernel, glance = seen
    row = kernel.to_wire() | glance.to_wire() | {"attached": attached is not None}
    if kernel.began is not None:
        row["age_s"] = round(time.time() - kernel.began, 1)
    if attached is not None and attached.channel is not None:
        row |= _path(attached)
        # What answers on shell cannot be asked whether it is in, except by the link that it let in.
        row["runtime"] = glance.runtime or attached.channel == "shell"
    return row


def _path(link: Link) -> dict[str, Any]:
    """Say how requests go to an attached kernel, and why they wait for its cells if they do."""
    said = {"channel": link.channel, "why": link.why}
    return {name: value for name, value in said.items() if value is not None}


def _silent_status(named: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """Say of a kernel why it does not answer, as its refusal has it."""
    error = reply["error"]
    detail: Mapping[str, Any] = error.get("detail", {})
    silence = {slot: detail[slot] for slot in ("state", "since_s") if slot in detail}
    return named | silence | {"why": error["message"], "code": error["code"]}


async def _ping(link: Link, view: View) -> Reply:
    """Ask how a kernel is; where no cell runs, again, to see whether its loop comes round."""
    reply = await link.request("ping", {}, view=view, timeout_s=PING_S)
    for pause_s in (0.0, LOOP_S):
        if not reply["ok"] or reply["result"]["busy"]:
            break
        await asyncio.sleep(pause_s)
        reply = await link.request("ping", {}, view=view, timeout_s=PING_S)
        if "loop_blocked_s" not in reply.get("result", {}):
            break
    return reply


def _summary(descriptor: Descriptor) -> dict[str, Any]:
    line = descriptor["doc"].partition("\n")[0]
    return {"op": descriptor["name"], "access": descriptor["access"], "doc": line}
