"""Calls of tools: which op or function a name stands for, its progress, and its reply."""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mcp import types
from mcp.shared.exceptions import MCPError

from repl_pair.bridge import manifest
from repl_pair.bridge.call_checks import FORWARDING
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import did_you_mean
from repl_pair.mcp_server import results
from repl_pair.mcp_server.function_tools import FunctionTool, FunctionTools
from repl_pair.mcp_server.notifying import Context
from repl_pair.mcp_server.tool_list import callable_ops, list_tools, unlisted_ops
from repl_pair.wire import Args, Reply

PROGRESS_BUFFER = 64
PROGRESS_STEP = 0.001
"""Least growth of the progress value, which counts seconds."""


class KnownKernel:
    """The kernel that the agent knows its replies to come from: the one that the last reply named.

    A reply names its kernel where the call did, where the session has several, and where it is
    another kernel, or another process of it, than the last reply named.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kernel: Any = None

    def leave_out(self, reply: Reply, args: Args) -> Reply:
        """Return a reply without the kernel that the agent knows."""
        kernel = reply.get("kernel")
        if kernel is None:
            return reply
        is_news = kernel != self._kernel or "kernel" in args or self._session.links.are_several
        self._kernel = kernel
        left_out = () if is_news else ("kernel", "boot")
        return {slot: value for slot, value in reply.items() if slot not in left_out}


@dataclass(frozen=True, kw_only=True)
class Ops:
    """The ops under one policy: `unlisted` has the access of those that are no tools.

    `callable` are also built-in ops that are not listed.
    """

    made_of: tuple[Policy, Sequence[Descriptor]]
    known: Mapping[str, Descriptor]
    callable: Mapping[str, Descriptor]
    unlisted: Mapping[str, str]
    tools: Sequence[types.Tool]


class KnownOps:
    """The ops of a session, read anew when its policy or its descriptors are others."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._found: Ops | None = None

    def read(self) -> Ops:
        """Return the ops as they are now."""
        policy, descriptors = self._session.policy, self._session.descriptors()
        found = self._found
        if found is None or found.made_of[0] is not policy or found.made_of[1] is not descriptors:
            known = {each["name"]: each for each in (*manifest.load(), *descriptors)}
            found = self._found = Ops(
                made_of=(policy, descriptors),
                known=known,
                callable=callable_ops(known.values(), policy),
                unlisted=unlisted_ops(known.values(), policy),
                tools=list_tools(descriptors, policy),
            )
        return found


@dataclass(frozen=True, kw_only=True)
class ServerState:
    """What the calls of one server share."""

    session: Session
    functions: FunctionTools
    known_kernel: KnownKernel | None
    ops: KnownOps


async def call_tool(
    server: ServerState, ctx: Context, name: str, args: Args
) -> types.CallToolResult:
    """Call an op, or a function that is a tool; MCPError for a name that is neither."""
    session = server.session
    ops = server.ops.read()
    if name not in ops.callable:
        function = await server.functions.find(name)
        if function is None:
            known = [*ops.callable, *server.functions.names]
            more = server.functions.more if "__" in name and "run_function" in ops.callable else ""
            raise _unknown_tool(name, known, session.policy, more)
        reply = await _call_function(server, ctx, function, args)
        if not reply["ok"] and reply["error"]["code"] == "not_found":
            server.functions.read_soon()
            raise _unknown_tool(name, ops.callable, session.policy)
        descriptor, args = ops.known["run_function"], {"args": args}
    else:
        descriptor = ops.callable[name]
        reply = await _call(session, ctx, name, args)
    if server.known_kernel is not None:
        reply = server.known_kernel.leave_out(reply, args)
    name, args = _answered_call(session, ops.known, descriptor["name"], args)
    schema = session.policy.visible_parameters(ops.known[name])
    return results.render(reply, name=name, args=args, schema=schema, unlisted=ops.unlisted)


def _answered_call(
    session: Session, known: Mapping[str, Descriptor], name: str, args: Args
) -> tuple[str, Args]:
    """Return the call that a reply answers: of read_op, run_op and read_run it is another one."""
    if name in FORWARDING and (op := str(args.get("op"))) in known:
        beside = {name: args[name] for name in ("kernel",) if name in args}
        given: object = args.get("args")  # anything, where the call was refused for it
        name, args = op, {**(cast("Args", given) if isinstance(given, dict) else {}), **beside}
    run = session.background.runs.find_call(args.get("run")) if name == "read_run" else None
    return (name, args) if run is None else (run.op, run.args)


def _unknown_tool(name: str, known: Iterable[str], policy: Policy, more: str = "") -> MCPError:
    near = did_you_mean(name, sorted(known))
    hints = [more] if more else policy.closed_hints()  # no gate opens a function
    words = " ".join([f"Unknown tool: {name[:64]}.{near}", *hints])
    return MCPError(types.INVALID_PARAMS, words)


async def _call_function(
    server: ServerState, ctx: Context, function: FunctionTool, args: Args
) -> Reply:
    """Call a function in the kernel that it was read from, which decides whether it may be."""
    time = {} if function.timeout_s is None else {"timeout_s": function.timeout_s}
    call = {"function": function.id, "args": args, **time}
    return await _call(server.session, ctx, "run_function", call, kernel=function.kernel)


async def _call(
    session: Session, ctx: Context, name: str, args: Args, *, kernel: str | None = None
) -> Reply:
    """Call the op and send its progress; the SDK drops progress that the client did not ask for."""
    # At most so many wait for a client that does not read; older progress may be dropped.
    waiting = deque[Mapping[str, Any]](maxlen=PROGRESS_BUFFER)
    sending: list[asyncio.Task[None]] = []
    value = 0.0

    async def send_waiting() -> None:
        nonlocal value
        while waiting:
            progress = waiting.popleft()
            value = max(float(progress.get("elapsed_s") or 0.0), value + PROGRESS_STEP)
            await ctx.session.report_progress(value, message=progress.get("message"))

    def on_progress(progress: Mapping[str, Any]) -> None:
        waiting.append(progress)
        if not sending or sending[-1].done():
            sending[:] = [asyncio.create_task(send_waiting())]

    try:
        return await session.call(name, args, on_progress=on_progress, kernel=kernel)
    finally:
        for task in sending:
            await task
