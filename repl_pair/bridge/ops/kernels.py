"""The ops about kernels: which there are, what they do, and which one is chosen."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NotRequired, cast

from repl_pair.bridge.kernel_info import KernelLine, KernelStatus, ProbedKernel, known_only
from repl_pair.bridge.kernels.processes import WORKER
from repl_pair.bridge.link.link import Detachment, Link
from repl_pair.bridge.ops.table import TABLE, BridgeCall, Which, WhichOrChosen
from repl_pair.errors import KernelError, next_step
from repl_pair.runtime.op_base.answers import Items, Ping
from repl_pair.wire import Reply, error_reply

PING_S = 3.0
LONG_S = 3.0
"""How long a cell runs before it is suggested to read where it stands."""
LOOP_S = 0.1
"""How long the event loop of an idle kernel may take to run once."""


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


@TABLE.op(access="read", toolset="kernel", lane="inline")
async def list_kernels(
    call: BridgeCall, dead: Annotated[bool, "Dead ones too"] = False
) -> ListedKernels:
    """List this machine's kernels: notebook, busy or idle since when, age, last activity.

    Latest active first. `runtime`: has repl_pair; `attached`: by you; `dead`: how many.
    """
    probed = await call.links.kernels.probe()
    # A stopped one is not alive, and has the status that its process gives it.
    gone = [each for each in probed if not each[0].alive and not each[1]]
    shown = probed if dead else [each for each in probed if each not in gone]
    items = [_list_kernel(each, call.links.attached(each[0])) for each in shown]
    found: ListedKernels = {"items": items, "total": len(items)}
    living = [kernel.id for kernel, _ in probed if kernel.alive and kernel.front_end != WORKER]
    if living:
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
    notes = call.notifications
    view = call.policy.view()
    how: dict[str, Any] = {"view": view, "timeout_s": PING_S, "is_reported": call.is_reported}
    reply = await link.request("ping", {}, **how)
    notes += reply.get("notifications", ())
    for pause_s in (0.0, LOOP_S):
        if not reply["ok"] or reply["result"]["busy"]:
            break
        await asyncio.sleep(pause_s)
        reply = await link.request("ping", {}, **how)
        notes += reply.get("notifications", ())
        if "loop_blocked_s" not in reply.get("result", {}):
            break
    return reply
