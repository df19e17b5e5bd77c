"""The ops that only the bridge calls."""

from typing import Any, Literal, NotRequired, TypedDict, cast

from repl_pair.runtime.clients.clients import CLIENTS
from repl_pair.runtime.kernel.deadlines import STUCK
from repl_pair.runtime.kernel.kernel_lanes import MAIN_LOOP
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import TABLE, op
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.version import VERSION


class Ping(TypedDict):
    """What the kernel is doing; times in seconds, of a cell only while one runs."""

    version: str
    injected: NotRequired[Literal[True]]
    busy: bool
    cell: str | None
    busy_s: float | None
    idle_s: float | None
    clients: int
    counts: dict[str, int]
    loop_blocked_s: NotRequired[float]
    stuck: NotRequired[dict[str, Any]]


class Description(TypedDict):
    """Every op of a kernel."""

    revision: int
    ops: list[dict[str, Any]]


@op(access="read", lane="inline", toolset="kernel", internal=True)
def ping(call: Call) -> Ping:
    """Describe what the kernel is doing."""
    cell, blocked_s = CELLS.current, MAIN_LOOP.blocked_s(busy=CELLS.is_busy())
    loop = {} if blocked_s is None else {"loop_blocked_s": round(blocked_s, 1)}
    stuck = STUCK.report(call.view)
    troubles = loop | ({"stuck": stuck} if stuck else {})
    injected = {"injected": True} if getattr(__loader__, "injected", False) else {}
    return cast(
        "Ping",
        troubles
        | {
            "version": VERSION,
            **injected,
            "busy": CELLS.is_busy(),
            "cell": None if cell is None else cell.label,
            "busy_s": None if cell is None else round(cell.seconds, 1),
            "idle_s": CELLS.idle_s(),
            "clients": len(CLIENTS.present()),
            "counts": {name: len(REGISTRY.ids(name)) for name in KINDS},
        },
    )


@op(access="read", lane="inline", toolset="kernel", internal=True)
def describe(call: Call) -> Description:
    """Describe every op of this kernel."""
    ops = TABLE.describe()
    call.max_items = len(ops)
    return {"revision": TABLE.revision, "ops": ops}
