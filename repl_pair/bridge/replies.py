"""Replies of a session: how long its caller waits for one, its kernel, and what to do next."""

import json
from collections.abc import Mapping
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.kernels.target import HOW_TO_START
from repl_pair.bridge.link.link import DEFAULT_TIMEOUT_S, GRACE_S, Link
from repl_pair.bridge.ops import TABLE
from repl_pair.bridge.policy import OPEN, Descriptor
from repl_pair.bridge.suggestions import in_kernel
from repl_pair.errors import STEP_CHARS, NextStep, next_step
from repl_pair.wire import PERSON, Args, Reply

_HERE = "In a terminal, `--here` executes the story files of the project instead."
_WAITS = {"wait_s": 1.0, "timeout_s": 1.0, "duration_ms": 0.001}
"""Parameters that say how long an op may take, with what turns them into seconds."""


def reply_timeout_s(descriptor: Descriptor, args: Args) -> float:
    """Return the seconds after which the caller is answered: the op's own waits, and grace."""
    properties: Mapping[str, Any] = descriptor["input_schema"]["properties"]
    waits_s = [
        unit_s * (args.get(name, properties[name].get("default")) or 0.0)
        for name, unit_s in _WAITS.items()
        if name in properties
    ]
    return max(DEFAULT_TIMEOUT_S, sum(waits_s, descriptor.get("deadline_s", 0.0)) + GRACE_S)


def name_kernel_in_steps(reply: Reply, op: str, args: Args) -> Reply:
    """Return the reply to a call, whose steps choose no kernel for all later calls.

    In place of that they make the same call in that kernel: a short one that only reads or runs.
    """
    steps: list[NextStep] = reply.get("next_steps", [])
    is_short = len(json.dumps(args, default=str)) <= STEP_CHARS
    is_open = manifest.find(op).get("access") in OPEN
    is_repeated = manifest.takes_kernel(op) and is_open and is_short
    call = next_step(op, **args) if is_repeated else next_step("list_stories")
    named = [
        next_step(call["op"], **call["args"] | step["args"]) if step["op"] == "use_kernel" else step
        for step in steps
    ]
    return reply | {"next_steps": named} if steps else reply


def with_kernel(reply: Reply, link: Link | None, target: str | None) -> Reply:
    """Return a reply with the kernel that gave it; its steps lead there too where it was named."""
    if link is None:
        return reply
    if target is not None and (steps := reply.get("next_steps")):
        reply = reply | {"next_steps": [in_kernel(step, target) for step in steps]}
    kernel = {"id": link.kernel.id, "name": link.kernel.name}
    boot = reply.get("boot") or link.boot
    return reply | {"kernel": kernel | ({"boot": boot} if boot else {})}


def complete_refusal(reply: Reply, op: str, *, principal: str, has_kernel: bool) -> Reply:
    """Return a refusal of an op on the project with next steps; any other reply as it is.

    Without a kernel a step that takes one gives way to what starts one. An agent that has no step
    left reads how the op is called.
    """
    if reply["ok"] or not _is_of_project(op):
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
    return TABLE.get(op) is not None or _is_of_project(op)


def _is_of_project(op: str) -> bool:
    return bool(manifest.find(op).get("project"))
