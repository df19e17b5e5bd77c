"""Refusals of ops over a project's files: each has a step that its caller can take."""

from repl_pair.bridge import manifest
from repl_pair.bridge.kernels.target import HOW_TO_START
from repl_pair.bridge.ops import TABLE
from repl_pair.errors import next_step
from repl_pair.wire import PERSON, Reply

_HERE = "In a terminal, `--here` executes the story files of the project instead."


def complete_refusal(reply: Reply, op: str, *, principal: str, has_kernel: bool) -> Reply:
    """Return a refusal with next steps; an ok reply as it is.

    Without a kernel a step that takes one gives way to what starts one. An agent that has no step
    left reads how the op is called.
    """
    if reply["ok"]:
        return reply
    given, hints = reply.get("next_steps", ()), [*reply.get("hints", ())]
    steps = [step for step in given if has_kernel or _is_answered_here(step["op"])]
    if len(steps) < len(given):
        steps.append(next_step("list_kernels"))
        hints += (*HOW_TO_START, _HERE) if principal == PERSON else HOW_TO_START
    if not steps and principal != PERSON:
        steps.append(next_step("describe_op", op=op))
    slots = {"next_steps": steps, "hints": hints}
    return {**reply, **{name: slot for name, slot in slots.items() if slot}}


def _is_answered_here(op: str) -> bool:
    return TABLE.get(op) is not None or bool(manifest.by_name().get(op, {}).get("project"))
