"""The ops that only the bridge calls."""

from typing import Any, TypedDict

from repl_pair.runtime.clients.clients import CLIENTS
from repl_pair.runtime.kernel.jobs import STUCK
from repl_pair.runtime.kernel.kernel_lanes import MAIN_LOOP
from repl_pair.runtime.op_base.answers import Ping
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.descriptors import build_descriptors
from repl_pair.runtime.op_base.table import TABLE, op
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.visible import visible_ids
from repl_pair.runtime.secrets.learning import unsearched
from repl_pair.version import VERSION


class Description(TypedDict):
    """Every op of a kernel."""

    ops: list[dict[str, Any]]


@op(access="read", lane="inline", toolset="kernel", internal=True)
def ping(call: Call) -> Ping:
    """Describe what the kernel is doing."""
    cell, blocked_s = CELLS.current, MAIN_LOOP.blocked_s(busy=CELLS.is_busy())
    answer: Ping = {
        "version": VERSION,
        "busy": CELLS.is_busy(),
        "cell": None if cell is None else cell.label,
        "busy_s": None if cell is None else round(cell.seconds, 1),
        "idle_s": CELLS.idle_s(),
        "clients": len(CLIENTS.present()),
        "counts": {name: len(visible_ids(call.view, name)) for name in KINDS},
    }
    if getattr(__loader__, "injected", False):
        answer["injected"] = True
    if blocked_s is not None:
        answer["loop_blocked_s"] = round(blocked_s, 1)
    if left_out := unsearched():
        answer["unsearched_parts"] = left_out
    if stuck := STUCK.report(call.view):
        answer["stuck"] = stuck
    return answer


@op(access="read", lane="inline", toolset="kernel", internal=True)
def describe(call: Call) -> Description:
    """Describe every op of this kernel."""
    ops = build_descriptors(TABLE)
    call.max_items = len(ops)
    return {"ops": ops}
