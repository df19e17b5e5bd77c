"""What is called in the background: checked when it is made, with the reach of run_op."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from repl_pair.bridge import manifest
from repl_pair.bridge.call_checks import (
    FORWARDING,
    check_forwarded,
    permit,
    permitted_ops,
    read_arguments,
    refuse_through,
    split_kernel,
)
from repl_pair.bridge.link.link import OnProgress
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.bridge.session_links import SessionLinks
from repl_pair.bridge.suggestions import in_kernel
from repl_pair.errors import NextStep, ReplPairError, RequestError, next_step
from repl_pair.wire import Args, Reply, raise_for_error

FUNCTION_OP = "run_function"


class Caller(Protocol):
    """What makes the calls: a session, with its policy and its kernels."""

    policy: Policy
    links: SessionLinks

    async def call_unattended(
        self,
        op: str,
        args: Args,
        *,
        kernel: str | None,
        on_progress: OnProgress,
        may_ask: bool,
    ) -> Reply:
        """Answer a call that no caller waits for; never raises for a refusal."""
        ...

    async def read_internal(
        self, op: str, args: Args, *, wait_s: float = 0.0, kernel: str | None = None
    ) -> Reply:
        """Answer an internal op that only reads; never raises for a refusal."""
        ...


@dataclass(frozen=True, kw_only=True)
class PlannedCall:
    """A call that was checked: as its caller wrote it, and the `op` and `args` that are called.

    `kernel` is the one that it was made for; None where it needs none. `asks`: the person is asked.
    """

    call: str
    given: Args
    op: str
    args: Args
    kernel: str | None = None
    asks: bool = False


async def plan_call(caller: Caller, asked: NextStep) -> PlannedCall:
    """Check a call of an op that reads or runs, or of a function, as its caller's view sees them.

    `asked` is the call of the op that makes it, with `call`, `args` and `kernel`. An op is checked
    without its kernel, which need only be there. `not_found`: unknown and hidden alike;
    `bad_arguments` for what is called by itself only. The steps of a refusal go on as `asked`.
    """
    given = asked["args"]
    call, args, kernel = given["call"], given.get("args", {}), given.get("kernel")
    is_function = "." in call  # as in the id of each function, and in the name of no op
    permitted = None if is_function else _permit(caller.policy, asked)
    try:
        if permitted is None:
            function = {"function": call, "args": dict(args)}
            target = await _choose_kernel(caller, kernel)
            return await _plan_function(caller, function, target, call=call, given=args)
        return await _plan_op(caller, permitted, args, kernel)
    except ReplPairError as error:
        error.next_steps = tuple(_ask_again(asked, step) for step in error.next_steps)
        raise


def ops_to_call(policy: Policy) -> dict[str, Descriptor]:
    """Return the ops that may be called in the background, by name."""
    permitted = permitted_ops(policy)
    return {each["name"]: each for each in permitted if _is_callable(policy, each)}


def _permit(policy: Policy, asked: NextStep) -> Descriptor:
    """Return the descriptor of an op that may be called in the background."""
    via, call, args = asked["op"], asked["args"]["call"], asked["args"].get("args", {})
    reached = ops_to_call(policy)
    permitted = permit(policy, call, reached.values(), policy.closed_hints())
    if call in reached:
        return permitted
    if call in FORWARDING and (op := str(args.get("op"))) in reached:
        inner: Args | None = args["args"] if isinstance(args.get("args"), dict) else None
        meant: Args = {**asked["args"], "call": op, "args": inner}
        message = f"{via} takes {op} itself as its call, not {call}."
        raise RequestError("bad_arguments", message, next_steps=[next_step(via, **meant)])
    check_forwarded(policy, via, call, args)
    raise refuse_through(f"{via} reaches no op of its own kind; call {call}.", call, args)


async def _plan_op(
    caller: Caller, permitted: Descriptor, args: Args, kernel: str | None
) -> PlannedCall:
    call = permitted["name"]
    own, target = split_kernel(permitted, args, kernel)
    own = read_arguments(caller.policy.with_gates_closed, permitted, own)
    if _needs_kernel(permitted):
        target = await _choose_kernel(caller, target)
    if call == FUNCTION_OP:
        return await _plan_function(caller, own, target, call=call, given=args)
    return PlannedCall(call=call, given=args, op=call, args=own, kernel=target)


def _ask_again(asked: NextStep, step: NextStep) -> NextStep:
    """Return a step that calls what `asked` calls as `asked` does; another one in its kernel."""
    call, args = asked["args"]["call"], asked["args"].get("args", {})
    kernel = asked["args"].get("kernel", args.get("kernel"))
    is_function = "." in call
    if step["op"] == (FUNCTION_OP if is_function else call):
        mended = step["args"].get("args") if is_function else step["args"]
        return next_step(asked["op"], **{**asked["args"], "args": mended, "kernel": kernel})
    return step if kernel is None else in_kernel(step, str(kernel))


def _is_callable(policy: Policy, descriptor: Mapping[str, Any]) -> bool:
    """Return whether an op may be called here: run_op may, and it is no op about calls or runs."""
    is_forwarding = descriptor["name"] in FORWARDING
    is_own = descriptor["toolset"] == manifest.MANAGE
    return policy.is_for_run_op(descriptor) and not (is_forwarding or is_own)


def _needs_kernel(descriptor: Mapping[str, Any]) -> bool:
    is_of_bridge = not manifest.takes_kernel(descriptor["name"])
    own = "kernel" in descriptor["input_schema"]["properties"]
    return not (is_of_bridge or own or descriptor.get("project"))


async def _choose_kernel(caller: Caller, kernel: str | None) -> str:
    """Return the id of the kernel that a call is for: later calls may choose another one."""
    return (await caller.links.get(kernel)).kernel.id


async def _plan_function(
    caller: Caller, args: Args, kernel: str | None, *, call: str, given: Args
) -> PlannedCall:
    """Check a call of a function in its kernel, and plan it with the time that it may take."""
    checked = {name: args[name] for name in ("function", "args") if name in args}
    terms = raise_for_error(await caller.read_internal("check_function", checked, kernel=kernel))
    longer = {name: terms[name] for name in ("timeout_s",) if name in terms}
    return PlannedCall(
        call=call,
        given=given,
        op=FUNCTION_OP,
        args={**longer, **args},
        kernel=kernel,
        asks=terms["asks"],
    )
