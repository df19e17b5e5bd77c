"""What an agent reads first, as `pair://context`: its kernel, and what it may do there."""

from pathlib import PurePath
from typing import Any

from repl_pair.bridge.policy import NAMED, OPEN
from repl_pair.bridge.session import Session
from repl_pair.bridge.suggestions import through_op
from repl_pair.errors import next_step
from repl_pair.mcp_server.tool_list import unlisted_ops
from repl_pair.wire import Reply

COUNTED = ("story", "variant", "function")
_KERNEL = ("id", "name", "alive", "busy", "busy_s", "idle_s", "state", "since_s", "code", "why")


async def read_context(session: Session) -> dict[str, Any]:
    """Return the session's name, what is open, the kernel, and how much the view sees in it.

    Without a kernel `kernel` has the code, and why. `access` has `allow`, `ask` or `deny` of each.
    """
    policy = session.policy
    reply = await session.call("kernel_status", is_reported=False)
    unlisted = unlisted_ops(session.descriptors(), policy)
    steps = reply.get("next_steps") or [next_step("list_stories")]
    return {
        "principal": session.principal,
        "access": {access: policy.decide(access) for access in (*sorted(OPEN), *NAMED)},
        "toolsets": sorted(policy.listed_toolsets),
        **_describe_kernel(reply),
        "next_steps": [through_op(step, unlisted) for step in steps],
    }


def _describe_kernel(reply: Reply) -> dict[str, Any]:
    if not reply["ok"]:
        error = reply["error"]
        return {"kernel": {"code": error["code"], "why": error["message"]}}
    report: dict[str, Any] = reply["result"]
    kernel = {slot: report[slot] for slot in _KERNEL if report.get(slot) is not None}
    if notebook := report.get("notebook"):
        kernel["notebook"] = PurePath(notebook).name
    counts = report.get("counts", {})
    return {"kernel": kernel, "counts": {kind: counts[kind] for kind in COUNTED if kind in counts}}
