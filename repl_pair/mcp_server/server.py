"""The MCP server of one session: what it declares, and what handles each request."""

import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcp import types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.shared.exceptions import MCPError

from repl_pair.bridge.session import Session
from repl_pair.mcp_server import results
from repl_pair.mcp_server.audit import Audit
from repl_pair.mcp_server.function_tools import FunctionTools
from repl_pair.mcp_server.gate.byte_gate import find_rounds
from repl_pair.mcp_server.notifying import Context, NotifyingServer
from repl_pair.mcp_server.pages import page_of
from repl_pair.mcp_server.prompts import Prompts
from repl_pair.mcp_server.pusher import Pusher
from repl_pair.mcp_server.resources import Resources
from repl_pair.mcp_server.tool_calls import KnownKernel, KnownOps, ServerState, call_tool
from repl_pair.version import VERSION

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
        tools = [*state.ops.read().tools, *await functions.tools()]
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
            return await call_tool(state, ctx, params.name, params.arguments or {})
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
    state = ServerState(
        session=session, functions=functions, known_kernel=known_kernel, ops=KnownOps(session)
    )
    calls, reads, gets = on_call_tool, _guarded(resources.read), _guarded(prompts.get)
    session.find_secrets = find_rounds
    if audit is not None:
        calls = audit.watch(session.principal, calls)
        reads = audit.watch(session.principal, reads)
        gets = audit.watch(session.principal, gets)
        session.background.runs.record = audit.watch_runs(session.principal)
        if session.approvals is not None:
            session.approvals.record = audit.watch_approved(session.principal)
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
