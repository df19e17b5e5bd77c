"""The ops that only the bridge calls."""

from typing import cast

from repl_pair.runtime.clients.clients import CLIENTS
from repl_pair.runtime.kernel.deadlines import STUCK
from repl_pair.runtime.kernel.kernel_lanes import MAIN_LOOP
from repl_pair.runtime.ops.answers import Description, Ping
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import TABLE, op
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.version import VERSION


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
