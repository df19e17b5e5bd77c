"""What is checked of a call before it is made: whether it may be, its kernel, its arguments."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.kernel_info import check_name
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.bridge.suggestions import in_kernel
from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.runtime.signatures.arguments import check_arguments, read_call_arguments
from repl_pair.runtime.signatures.corrections import correct_arguments, suggest_call
from repl_pair.wire import Args

FORWARDING = ("read_op", "run_op")
"""The ops that call other ops."""


# Asked at every call.
@lru_cache(maxsize=64)
def permitted_ops(policy: Policy) -> Sequence[Descriptor]:
    """Return the built-in ops that the policy does not deny, sorted by name."""
    return tuple(policy.permitted(manifest.load()))


def is_there(policy: Policy, op: str) -> bool:
    """Return whether there is an op for the caller; of what is denied there is none."""
    return policy.resolve(manifest.find(op)) != "deny"


def permit(
    policy: Policy, op: str, known: Iterable[Descriptor], hints: Sequence[str]
) -> Descriptor:
    """Return the descriptor of an op; denied and unknown are the same `not_found`.

    The nearest ones are among the ops `known` to the caller, whose closed gates `hints` name: its
    policy may open more than `policy` does.
    """
    if not is_there(policy, op):
        message = f"There is no op {op!r}.{did_you_mean(op, [d['name'] for d in known])}"
        steps = [next_step("describe_op")]
        raise RequestError("not_found", message, next_steps=steps, hints=hints)
    return manifest.by_name()[op]


def parameters_by_name(policy: Policy, descriptor: Descriptor) -> list[str]:
    """Name the parameters behind a gate of the policy's, which only a call by the own name takes.

    So the use of a gate stands as its own tool.
    """
    if not policy.is_for_run_op(descriptor):
        return []
    beyond = policy.with_gates_closed.visible_parameters(descriptor)["properties"]
    return [
        name for name in policy.visible_parameters(descriptor)["properties"] if name not in beyond
    ]


def check_forwarded(policy: Policy, via: str, op: str, args: Args) -> None:
    """Refuse a call `via` what reaches ops that read or run, and with read_op those that read.

    RequestError `bad_arguments`, with the call that works.
    """
    if not is_there(policy, op):
        return  # the call itself refuses it as unknown
    known = manifest.by_name()[op]
    may_run = via != "read_op"
    if op in FORWARDING or not policy.is_for_run_op(known):
        reach = "read or run" if may_run else "read"
        raise refuse_through(f"{via} reaches ops that {reach}; call {op} itself.", op, args)
    if own := [name for name in parameters_by_name(policy, known) if name in args]:
        raise refuse_through(f"{via} does not take {', '.join(own)}; call {op} itself.", op, args)
    if known["access"] == "run" and not may_run:
        raise refuse_through(f"read_op reaches ops that read; {op} runs.", op, args, via="run_op")


def refuse_through(message: str, op: str, args: Args, *, via: str = "") -> RequestError:
    """Build the refusal of an op that is reached by its own name only, or `via` another op.

    Its step calls it so.
    """
    known = manifest.by_name()[op]
    own, target = split_kernel(known, args, None)
    steps, hints = suggest_call(op, correct_arguments(known["input_schema"], own))
    if op in FORWARDING or not steps:
        steps = [next_step("describe_op", op=None if op in FORWARDING else op)]
    elif via:
        steps = [next_step(via, op=op, args=steps[0]["args"] or None)]
    if target is not None:
        steps = [in_kernel(step, target) for step in steps]
    return RequestError("bad_arguments", message, next_steps=steps, hints=hints)


def split_kernel(
    descriptor: Descriptor, args: Args, kernel: str | None
) -> tuple[dict[str, Any], str | None]:
    """Split the `kernel` that every op takes from the arguments, unless the op has its own."""
    own = dict(args)
    given = own.pop("kernel", None)
    target = kernel if given is None else given
    if target is None:
        return own, None
    name = check_name(target)
    if "kernel" in descriptor["input_schema"]["properties"]:
        return own | {"kernel": name}, None
    return own, name


def read_arguments(policy: Policy, descriptor: Descriptor, args: Args) -> dict[str, Any]:
    """Return the arguments as the op takes them; `bad_arguments` with the call that is meant."""
    name = descriptor["name"]
    schema = policy.visible_parameters(descriptor)
    own = read_call_arguments(f"{name} was not called", schema, args)
    if faults := check_arguments(schema, own):
        corrected = correct_arguments(schema, args)
        if descriptor["access"] in ("read", "inspect"):  # without it no more is done than was meant
            corrected = {n: v for n, v in corrected.items() if n in schema["properties"]}
        steps, hints = suggest_call(name, corrected)
        steps = steps or [next_step("describe_op", op=name)]
        message = f"{name} was not called: {' '.join(faults)}"
        raise RequestError("bad_arguments", message, next_steps=steps, hints=hints)
    return own
