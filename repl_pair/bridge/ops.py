"""The ops that the bridge answers itself: which kernels there are, and calls of other ops."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NotRequired, TypedDict, cast

from repl_pair.bridge import manifest
from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.held_links import HeldLinks
from repl_pair.bridge.kernel_info import KernelLine, KernelStatus, ProbedKernel, known_only
from repl_pair.bridge.link.link import Detachment, Link, OnProgress
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.bridge.suggestions import suggest_call
from repl_pair.errors import KernelError, NextStep, RequestError, did_you_mean, next_step
from repl_pair.runtime.ops.answers import Items, Ping
from repl_pair.runtime.ops.table import MAX_WAIT_S, Table
from repl_pair.runtime.values.arguments import Bounds
from repl_pair.wire import Reply, error_reply

TABLE = Table()
FORWARDING = ("read_op", "run_op")

PING_S = 3.0
LONG_S = 3.0
"""How long a cell runs before it is suggested to read where it stands."""
LOOP_S = 0.1
"""How long the event loop of an idle kernel may take to run once."""

_WHICH = "Id, pid, notebook or file"
Which = Annotated[str, _WHICH]
WhichOrChosen = Annotated[str | None, _WHICH]


@dataclass(frozen=True)
class ForwardedReply:
    """The reply of another op, returned unchanged."""

    reply: Reply


@dataclass(kw_only=True)
class BridgeCall:
    """One call that the bridge answers, with what its session has for it.

    `forward` answers a call that came through `run_op`. `link` leads to the kernel that the call
    concerns.
    """

    __op_context__ = True

    policy: Policy
    links: HeldLinks
    approvals: ApprovalCalls
    forward: Callable[..., Awaitable[Reply]]
    link: Link | None = None
    on_progress: OnProgress | None = None
    next_steps: list[NextStep] = field(default_factory=list[NextStep])
    hints: list[str] = field(default_factory=list[str])
    notifications: list[str] = field(default_factory=list[str])


class ListedKernel(KernelLine, KernelStatus):
    """A kernel with its status; `channel` and `why` of one that you are attached to."""

    attached: bool
    age_s: NotRequired[float]
    channel: NotRequired[str]
    why: NotRequired[str]


class ListedKernels(Items[ListedKernel]):
    """Kernels, and how many more are dead."""

    dead: NotRequired[int]


class KernelReport(KernelLine, Ping):
    """What a kernel is doing; `code`, `why`, and `state` with `since_s` of a silent one."""

    channel: NotRequired[str]
    why: NotRequired[str]
    boot: NotRequired[str | None]
    code: NotRequired[str]
    state: NotRequired[str]
    since_s: NotRequired[float | None]


class OpLine(TypedDict):
    """An op; `doc` is its first line in a list, and whole otherwise."""

    op: str
    access: str
    doc: str


class OpDescription(OpLine):
    """One op; `answer` outlines what it answers."""

    input_schema: dict[str, Any]
    answer: NotRequired[str]


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def list_kernels(
    call: BridgeCall, dead: Annotated[bool, "Dead ones too"] = False
) -> ListedKernels:
    """List this machine's kernels: notebook, busy or idle since when, age, last activity.

    Latest active first. `runtime`: has repl_pair; `attached`: by you; `dead`: how many.
    """
    probed = await call.links.probe()
    # A stopped one is not alive, and has the status that its process gives it.
    gone = [each for each in probed if not each[0].alive and not each[1]]
    shown = probed if dead else [each for each in probed if each not in gone]
    items = [_list_kernel(each, call.links.attached(each[0])) for each in shown]
    found: ListedKernels = {"items": items, "total": len(items)}
    if living := [each[0].id for each in probed if each[0].alive]:
        choose = next_step("use_kernel", kernel=living[0])
        call.next_steps.append(choose if len(living) > 1 else next_step("list_stories"))
    if gone:
        found["dead"] = len(gone)
    return found


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def use_kernel(call: BridgeCall, kernel: Which) -> KernelLine:
    """Choose the kernel for all later calls."""
    call.link = await call.links.get(kernel, hold=True)
    call.next_steps.append(next_step("list_stories"))
    return call.link.kernel.to_wire()


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def kernel_status(call: BridgeCall, kernel: WhichOrChosen = None) -> KernelReport:
    """Describe a kernel: alive, busy with which cell since when, what is stuck, what it holds.

    On `channel` shell calls wait for cells; `why` says what keeps it.
    """
    try:
        call.link = await call.links.get(kernel)
    except KernelError as error:
        if "kernel" not in error.detail:
            raise
        return _report_silent({**error.detail["kernel"], "alive": True}, error_reply(error))
    reply = await _ping(call, call.link)
    info = call.link.kernel
    if reply["ok"]:
        head = {**replace(info, alive=True).to_wire(), "boot": reply.get("boot")}
        status = reply["result"]
        if "loop_blocked_s" in status or (status.get("busy_s") or 0.0) >= LONG_S:
            call.next_steps.append(next_step("read_stacks"))
        return cast("KernelReport", head | status | _describe_path(call.link))
    alive = reply["error"]["code"] not in ("kernel_gone", "outcome_unknown")
    head = {**replace(info, alive=alive).to_wire(), "boot": call.link.boot}
    return _report_silent(head | _describe_path(call.link), reply)


@TABLE.op(access="run", toolset="kernel_extra", lane="inline")
async def detach_kernel(call: BridgeCall, kernel: WhichOrChosen = None) -> Detachment:
    """End your attachment to a kernel; your next call there attaches again.

    Your running calls there are cancelled. The last client that detaches removes repl_pair from
    the kernel, unless the person holds it (`%pair attach`).
    """
    call.link = await call.links.get(kernel)
    return await call.links.leave(call.link)


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def describe_op(
    call: BridgeCall, op: Annotated[str | None, "None: list the ops that are no tools"] = None
) -> Items[OpLine] | OpDescription:
    """Describe ops that are not tools; read_op and run_op call them."""
    policy = call.policy
    known = {d["name"]: d for d in policy.permitted(manifest.load())}
    if op is None:
        unlisted = [_summarize(d) for d in known.values() if not policy.lists(d)]
        reading = [line["op"] for line in unlisted if line["access"] == "read"]
        call.next_steps += [next_step("describe_op", op=name) for name in reading[:1]]
        return {"items": unlisted, "total": len(unlisted)}
    if op not in known:
        message = f"There is no op {op!r}.{did_you_mean(op, known)}"
        steps, hints = [next_step("describe_op")], policy.closed_hints()
        raise RequestError("not_found", message, next_steps=steps, hints=hints)
    descriptor = known[op]
    by_name = policy.lists(descriptor) or not policy.is_for_run_op(descriptor)
    schema = (policy if by_name else policy.close_gates()).visible_parameters(descriptor)
    call.next_steps, call.hints = suggest_call(op, schema, {})
    whole = {"doc": descriptor["doc"], "input_schema": schema, "answer": descriptor.get("answer")}
    return cast("OpDescription", known_only({**_summarize(descriptor), **whole}))


@TABLE.op(access="read", toolset="approval", lane="inline")
async def read_approval(
    call: BridgeCall,
    handle: Annotated[str, "From approval_pending"],
    wait_s: Annotated[float, Bounds(0, MAX_WAIT_S), "Seconds to wait for the person"] = 20.0,
) -> ForwardedReply:
    """Read the answer of your call that waited for the person's approval.

    approval_pending: not yet; approval_denied: with their reason; approval_expired: nothing was run
    and nothing will be.
    """
    reply, call.link = await call.approvals.read(handle, wait_s, call.on_progress)
    return ForwardedReply(reply)


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def read_op(
    call: BridgeCall, op: str, args: dict[str, Any] | None = None, kernel: WhichOrChosen = None
) -> ForwardedReply:
    """Call an op that is not a tool and only reads.

    Such as read_stacks, tests_passing, read_assertions, snapshot_identity, list_tags,
    explain_variant, changed_variants, get_story_instructions.
    """
    return ForwardedReply(await call.forward("read_op", op, args or {}, kernel))


@TABLE.op(access="run", toolset="kernel", lane="inline")
async def run_op(
    call: BridgeCall, op: str, args: dict[str, Any] | None = None, kernel: WhichOrChosen = None
) -> ForwardedReply:
    """Call an op that is not a tool and only reads or runs.

    Such as preview_variant, watch_variant, detach_kernel, and those of read_op.
    """
    return ForwardedReply(await call.forward("run_op", op, args or {}, kernel))


def _list_kernel(probed: ProbedKernel, attached: Link | None) -> ListedKernel:
    kernel, status = probed
    path = _describe_path(attached) if attached and attached.channel else {}
    line: dict[str, Any] = {**kernel.to_wire(), **status, **path, "attached": attached is not None}
    if kernel.began is not None:
        line["age_s"] = round(time.time() - kernel.began, 1)
    if path:
        # On shell only the link that attached there can find out that repl_pair is in.
        line["runtime"] = status.get("runtime", False) or line.get("channel") == "shell"
    return cast("ListedKernel", line)


def _describe_path(link: Link) -> dict[str, Any]:
    return known_only({"channel": link.channel, "why": link.why})


def _report_silent(head: Mapping[str, Any], reply: Reply) -> KernelReport:
    error = reply["error"]
    detail: Mapping[str, Any] = error.get("detail", {})
    silence = {slot: detail[slot] for slot in ("state", "since_s") if slot in detail}
    return cast("KernelReport", {**head, **silence, "why": error["message"], "code": error["code"]})


async def _ping(call: BridgeCall, link: Link) -> Reply:
    """Read a kernel's status; twice more where it is idle, to see whether its event loop runs."""
    view, notes = call.policy.view(), call.notifications
    reply = await link.request("ping", {}, view=view, timeout_s=PING_S)
    notes += reply.get("notifications", ())
    for pause_s in (0.0, LOOP_S):
        if not reply["ok"] or reply["result"]["busy"]:
            break
        await asyncio.sleep(pause_s)
        reply = await link.request("ping", {}, view=view, timeout_s=PING_S)
        notes += reply.get("notifications", ())
        if "loop_blocked_s" not in reply.get("result", {}):
            break
    return reply


def _summarize(descriptor: Descriptor) -> OpLine:
    line = descriptor["doc"].partition("\n")[0]
    return {"op": descriptor["name"], "access": descriptor["access"], "doc": line}
