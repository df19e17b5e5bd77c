"""The ops about other ops: what they are, calls of them, and the person's approvals of calls."""

from typing import Annotated, Any, NotRequired, TypedDict, cast

from repl_pair.bridge.call_checks import parameters_by_name, permit, permitted_ops
from repl_pair.bridge.kernel_info import known_only
from repl_pair.bridge.ops.table import TABLE, BridgeCall, ForwardedReply, WhichOrChosen
from repl_pair.bridge.policy import Descriptor
from repl_pair.bridge.suggestions import required_args
from repl_pair.errors import next_step
from repl_pair.runtime.op_base.answers import Items
from repl_pair.runtime.op_base.table import MAX_WAIT_S
from repl_pair.runtime.signatures.arguments import Bounds
from repl_pair.runtime.signatures.corrections import suggest_call


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
async def describe_op(
    call: BridgeCall, op: Annotated[str | None, "None: list the ops that are not tools"] = None
) -> Items[OpLine] | OpDescription:
    """Describe ops that are not tools; read_op and run_op call them."""
    policy = call.policy
    if op is None:
        return _describe_others(call)
    descriptor = permit(policy, op, permitted_ops(policy), policy.closed_hints())
    schema = policy.visible_parameters(descriptor)
    call.next_steps, call.hints = suggest_call(op, required_args(schema))
    if own := [] if policy.lists(descriptor) else parameters_by_name(policy, descriptor):
        call.hints.append(f"{', '.join(own)}: call {op} itself; read_op and run_op do not take it.")
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


def _describe_others(call: BridgeCall) -> Items[OpLine]:
    """Describe the ops that are no tools."""
    known = permitted_ops(call.policy)
    unlisted = [_summarize(d) for d in known if not call.policy.lists(d)]
    reading = [line["op"] for line in unlisted if line["access"] == "read"]
    call.next_steps += [next_step("describe_op", op=name) for name in reading[:1]]
    return {"items": unlisted, "total": len(unlisted)}


def _summarize(descriptor: Descriptor) -> OpLine:
    line = descriptor["doc"].partition("\n")[0]
    return {"op": descriptor["name"], "access": descriptor["access"], "doc": line}
