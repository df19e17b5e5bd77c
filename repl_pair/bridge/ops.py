"""The ops that need no kernel: which there are, which one is meant, how it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol

from repl_pair.bridge.link import KernelInfo, Link
from repl_pair.runtime.ops.table import Table
from repl_pair.wire import View

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


@dataclass(kw_only=True)
class BridgeCall:
    """One call that the bridge answers; `link` is the kernel that it turned out to be about."""

    __op_context__ = True

    switchboard: Switchboard
    link: Link | None = None


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
