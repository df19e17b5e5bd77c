"""The MCP server of one session: lists its ops as tools and calls them."""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from mcp import types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.shared.exceptions import MCPError

from repl_pair.bridge import manifest
from repl_pair.bridge.call_checks import FORWARDING
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import did_you_mean
from repl_pair.mcp_server import results
from repl_pair.mcp_server.audit import Audit
from repl_pair.mcp_server.expose import callable_ops, input_schema, list_tools, unlisted_ops
from repl_pair.mcp_server.function_tools import FunctionTool, FunctionTools
from repl_pair.mcp_server.notifying import Context, NotifyingServer
from repl_pair.mcp_server.pages import page_of
from repl_pair.mcp_server.prompts import Prompts
from repl_pair.mcp_server.pusher import Pusher
from repl_pair.mcp_server.resources import Resources
from repl_pair.version import VERSION
from repl_pair.wire import Args, Reply

NAME = "repl-pair"
INSTRUCTIONS = """\
Work beside a person in their live Python kernel: run what they registered there \
(stories and their variants), look inside, disturb nothing.
Begin: list_kernels, list_stories, list_variants, run_variant; read_failures says why. \
Several kernels alive: pass `kernel`, or choose once with use_kernel.
Run status: pass, fail, error, cannot_run (nothing was judged). \
total 0: nothing was asserted.
A reply is {ok, result or error, kernel, next_steps}; next_steps are calls that work as written.
"[redacted]" is a secret and cannot be had. {"$elided"} is large: read_more(handle). \
{"$overflow"}: over the budget; next_steps has a smaller call.
A run on the main lane waits for the person's running cell; reads answer at once.
describe_op lists more ops; read_op and run_op call them. Cell stuck or slow: read_stacks, \
read_hot_lines.
Closed unless the person opens them, as with --allow inspect: values, the last error, history, \
source; write; eval.
approval_pending: read_approval(handle) has the answer.
"""
CHOOSES = ", or choose once with use_kernel"
"""What the instructions leave out where no kernel can be chosen for later calls."""
LIVE: tuple[CacheableMethod, ...] = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
"""What may be another thing at the next request."""
PROGRESS_BUFFER = 64
PROGRESS_STEP = 0.001
"""Least growth of the progress value, which counts seconds."""

P = TypeVar("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


def build(session: Session, *, shared: bool = False, audit: Audit | None = None) -> NotifyingServer:
    """Build the server of a session; it does not close the session.

    `shared`: by several clients. Each reply names its kernel, and no call chooses one for others.
    """

    async def on_list_tools(
        _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = [*face.ops.read().tools, *await functions.tools()]
        page, cursor = page_of(params, tools, lambda tool: tool.name)
        return types.ListToolsResult(tools=page, next_cursor=cursor)

    async def on_completion(
        _ctx: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        if isinstance(params.ref, types.PromptReference):
            return await prompts.complete(params.ref, params)
        return await resources.complete(params.ref, params)

    async def on_call_tool(
        ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            return await _call_tool(face, ctx, params.name, params.arguments or {})
        except MCPError:
            raise
        except Exception:  # noqa: BLE001  the SDK would send the exception's own text
            return results.refuse(report_incident(params.name))
        finally:
            functions.follow()

    resources, prompts, pusher = Resources(session), Prompts(session), Pusher(session)
    notifications = pusher.notifications
    functions = FunctionTools(session, notifications.tools_changed, shared=shared)
    known_kernel = None if shared else KnownKernel(session)
    face = Face(
        session=session, functions=functions, known_kernel=known_kernel, ops=KnownOps(session)
    )
    calls, reads, gets = on_call_tool, _guarded(resources.read), _guarded(prompts.get)
    if audit is not None:
        calls = audit.watch(session.principal, calls, lambda of: (of.name, of.arguments or {}))
        reads = audit.watch(session.principal, reads, lambda of: ("read", {"uri": str(of.uri)}))
        gets = audit.watch(session.principal, gets, lambda of: (of.name, of.arguments or {}))
    server = NotifyingServer(
        NAME,
        version=VERSION,
        title="repl_pair",
        instructions=INSTRUCTIONS.replace(CHOOSES, "") if shared else INSTRUCTIONS,
        cache_hints=dict.fromkeys(LIVE, CacheHint(ttl_ms=0, scope="private")),
        lifespan=pusher.serve,
        # No schema has arguments in headers; without this, the SDK lists all tools at each call.
        get_tool_input_schema=lambda _name: None,
        on_list_tools=_guarded(on_list_tools),
        on_call_tool=calls,
        on_list_resources=_guarded(resources.list_resources),
        on_list_resource_templates=_guarded(resources.list_templates),
        on_read_resource=reads,
        on_list_prompts=_guarded(prompts.list_prompts),
        on_get_prompt=gets,
        on_completion=_guarded(on_completion),
        on_subscribe_resource=_guarded(notifications.subscribe),
        on_unsubscribe_resource=_guarded(notifications.unsubscribe),
        on_subscriptions_listen=_guarded(notifications.listen),
    )
    server.middleware.append(notifications.track)
    return server


def _guarded(handler: Callable[[Context, P], Awaitable[T]]) -> Callable[[Context, P], Awaitable[T]]:
    """Return a handler that answers a defect by an incident, not by the exception's own text."""

    async def handle(ctx: Context, params: P) -> T:
        try:
            return await handler(ctx, params)
        except MCPError:
            raise
        except Exception:  # noqa: BLE001  the SDK would send the exception's own text
            raise MCPError(types.INTERNAL_ERROR, report_incident(ctx.method)) from None

    return handle


def report_incident(what: str) -> str:
    """Log the current exception under a random id; return a fixed text with that id."""
    incident = secrets.token_hex(4)
    _log.exception("incident %s in %s", incident, what)
    return (
        f"internal: repl_pair failed (incident {incident}); what the call did is not known. "
        "The person finds the traceback under that id in this server's stderr."
    )


class KnownKernel:
    """The kernel that the agent knows its replies to come from: the one that the last reply named.

    A reply names its kernel where the call did, where the session has several, and where it is
    another kernel, or another life of it, than the last reply named.
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
class Face:
    """What the calls of one server share."""

    session: Session
    functions: FunctionTools
    known_kernel: KnownKernel | None
    ops: KnownOps


async def _call_tool(face: Face, ctx: Context, name: str, args: Args) -> types.CallToolResult:
    session = face.session
    ops = face.ops.read()
    if name not in ops.callable:
        function = await face.functions.find(name)
        if function is None:
            raise _unknown_tool(name, [*ops.callable, *face.functions.names], session.policy)
        reply = await _call_function(face, ctx, function, args)
        if not reply["ok"] and reply["error"]["code"] == "not_found":
            face.functions.read_soon()
            raise _unknown_tool(name, ops.callable, session.policy)
        descriptor, args = ops.known["run_function"], {"args": args}
    else:
        descriptor = ops.callable[name]
        reply = await _call(session, ctx, name, args)
    if face.known_kernel is not None:
        reply = face.known_kernel.leave_out(reply, args)
    name, args = _answered_call(session, ops.known, descriptor["name"], args)
    schema = input_schema(ops.known[name], session.policy)
    return results.render(reply, name=name, args=args, schema=schema, unlisted=ops.unlisted)


def _answered_call(
    session: Session, known: Mapping[str, Descriptor], name: str, args: Args
) -> tuple[str, Args]:
    """Return the call that a reply answers: of read_op, run_op and read_run it is another one."""
    if name in FORWARDING and (op := str(args.get("op"))) in known:
        beside = {name: args[name] for name in ("kernel",) if name in args}
        name, args = op, {**cast("Args", args.get("args") or {}), **beside}
    run = session.background.runs.find_call(args.get("run")) if name == "read_run" else None
    return (name, args) if run is None else (run.op, run.args)


def _unknown_tool(name: str, known: Iterable[str], policy: Policy) -> MCPError:
    near = did_you_mean(name, sorted(known))
    words = " ".join([f"Unknown tool: {name[:64]}.{near}", *policy.closed_hints()])
    return MCPError(types.INVALID_PARAMS, words)


async def _call_function(face: Face, ctx: Context, function: FunctionTool, args: Args) -> Reply:
    """Call a function in the kernel that it was read from, which decides whether it may be."""
    time = {} if function.timeout_s is None else {"timeout_s": function.timeout_s}
    call = {"function": function.id, "args": args, **time}
    return await _call(face.session, ctx, "run_function", call, kernel=function.kernel)


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
