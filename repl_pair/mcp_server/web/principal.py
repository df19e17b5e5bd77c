"""One agent that comes over HTTP: it has a session, a server and links while it is in use."""

import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus

import anyio
from mcp.server.context import CallNext, HandlerResult
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Receive, Scope, Send

from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.ops.workers import OF_WORKERS
from repl_pair.bridge.session import Session
from repl_pair.bridge.tokens import Token
from repl_pair.mcp_server.audit import Audit, describe_call
from repl_pair.mcp_server.notifying import Context, NotifyingServer
from repl_pair.mcp_server.server import build
from repl_pair.mcp_server.web.gate import GatedResponse
from repl_pair.mcp_server.web.refusals import Refusal
from repl_pair.mcp_server.web.requests import Body, read_header, replay
from repl_pair.mcp_server.web.use import Place, Use

MAX_SESSIONS = 64
MAX_CALLS = 8
IDLE_S = 30 * 60.0
"""How long a session of the 2025 era, or an agent of the 2026 era, is kept without a request."""
ROOM_S = 60.0
"""How long a session is kept without a request where another one needs its place."""
AGAIN_S = 1
"""When an agent with too many calls may call again."""
CLOSING_S = 2.0
MAX_STREAMS = 64
PLACE = "repl_pair.place"
"""In the scope of a request, the `Place` that it takes."""
LISTENING = "subscriptions/listen"
"""The request that is no call: its answer is a stream that waits for changes."""
VERSION = MCP_PROTOCOL_VERSION_HEADER.encode()
OPENING = frozenset({"initialize", "server/discover"})
WITHOUT = frozenset({"use_kernel", *OF_WORKERS})
"""What chooses a kernel for later calls, also those of other clients, and what starts processes."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """What holds for all agents of one server, whatever their tokens say.

    `without` are ops that there are not, in addition to those that choose a kernel.
    """

    without: frozenset[str] = frozenset()
    kernels: Sequence[str] = ()
    inject: bool = False
    ask_wait_s: float | None = None
    ask_expires_s: float | None = None
    audit: Audit | None = None
    build: Callable[..., NotifyingServer] = build
    """Builds the server of an agent's session."""


class Principal:
    """One agent: what its token opens, and what its clients have open.

    `serve` runs it; requests are handled while it runs.
    """

    def __init__(self, token: Token, defaults: Defaults) -> None:
        self._session = _open_session(token, defaults)
        server = defaults.build(self._session, shared=True, audit=defaults.audit)
        server.middleware.append(_hold_place)
        self._manager = StreamableHTTPSessionManager(
            server,
            session_idle_timeout=IDLE_S,
            max_sessions=MAX_SESSIONS,
        )
        self._audit, self._who = defaults.audit, token.name
        self._began, self._ended = anyio.Event(), anyio.Event()
        self._open = Counter[str]()
        self._sessions: dict[str, Use] = {}
        self._opening = Use()
        self._stateless = Use(last=-math.inf)

    async def serve(self) -> None:
        """Serve until `end`; then its streams end, and its links close. Raises nothing."""
        try:
            await self._serve()
        except Exception:  # noqa: BLE001  what fails for one agent must not end the others
            _log.exception("%s is not served any more", self._who)

    async def _serve(self) -> None:
        try:
            async with self._manager.run():
                self._began.set()
                await self._ended.wait()
        finally:
            self._began.set()
            self._ended.set()
            with anyio.move_on_after(CLOSING_S, shield=True):
                await self._session.close()

    def end(self) -> None:
        """End the agent's streams and links, and what it has running."""
        self._ended.set()

    @property
    def has_ended(self) -> bool:
        """Whether it serves no more, because it was ended or failed."""
        return self._ended.is_set()

    @property
    def has_clients(self) -> bool:
        """Whether a client has a session or a request open, or may come again without one."""
        uses = (self._stateless, *self._sessions.values())
        return self._opening.open > 0 or any(use.idle_s() < IDLE_S for use in uses)

    @property
    def is_in_use(self) -> bool:
        """Whether it has clients, or runs that they may come again for."""
        is_used = self.has_clients or self._session.background.runs.are_kept()
        return is_used and not self.has_ended

    def end_triggers(self) -> None:
        """End what is made again and again, as no client is there any more."""
        self._session.background.triggers.end_all()

    async def handle(self, scope: Scope, receive: Receive, send: Send, body: Body | None) -> int:
        """Answer one request; returns the status. 429 where the agent has too much open."""
        session = read_header(scope, b"mcp-session-id")
        with self._use_of(scope, session, body).held():
            await self._began.wait()
            return await self._handle(session, scope, receive, send, body)

    async def _handle(
        self, session: str | None, scope: Scope, receive: Receive, send: Send, body: Body | None
    ) -> int:
        if body is not None:
            receive = replay(body.raw, receive)
            if session is None and body.method == "initialize":
                await self._make_room(scope)
        try:
            release = self._count(scope, body)
        except Refusal:
            self._note_refused(body)
            raise
        # Before the client knows of it: what it sends next is a use of the session.
        response = GatedResponse(send, release, partial(self._note_session, scope, session))
        try:
            await self._manager.handle_request(scope, receive, response)
        finally:
            release()
        return response.status

    def _use_of(self, scope: Scope, session: str | None, body: Body | None) -> Use:
        """Return what a request is a use of: its session, or in the 2026 era the agent itself.

        What only asks what there is, opens a session or names one that is over is no use that
        outlives it.
        """
        if session is not None and session in self._sessions:
            return self._sessions[session]
        of_session = read_header(scope, VERSION) in (None, *HANDSHAKE_PROTOCOL_VERSIONS)
        is_opening = of_session or body is None or body.method in OPENING
        return self._opening if is_opening else self._stateless

    def _count(self, scope: Scope, body: Body | None) -> Callable[[], None]:
        """Count a call, or a stream, until the undo, which may be called twice; 429 for one too
        many.
        """
        if body is None or body.method in (None, "ping"):
            return lambda: None
        kind, most = ("stream", MAX_STREAMS) if body.method == LISTENING else ("call", MAX_CALLS)
        if self._open[kind] >= most:
            raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, retry_after=str(AGAIN_S))
        place = scope[PLACE] = Place(self._open, kind)
        return place.hold()

    def _note_refused(self, body: Body | None) -> None:
        call = None if body is None else describe_call(body.method, body.params)
        if self._audit is not None and call is not None:
            op, args = call
            self._audit.write(who=self._who, op=op, verdict="too_many", args=args, ms=0.0)

    def _note_session(
        self, scope: Scope, session: str | None, status: int, opened: str | None
    ) -> None:
        if session is None and opened is not None and status == HTTPStatus.OK:
            self._sessions[opened] = Use()
        elif session is not None:
            is_over = scope["method"] == "DELETE" and status == HTTPStatus.OK
            if is_over or status == HTTPStatus.NOT_FOUND:
                self._sessions.pop(session, None)

    async def _make_room(self, scope: Scope) -> None:
        """End the session that was used least recently where a new one needs its place; 429."""
        if len(self._sessions) < MAX_SESSIONS:
            return
        oldest = max(self._sessions, key=lambda session: self._sessions[session].idle_s())
        idle_s = self._sessions[oldest].idle_s()
        if idle_s < ROOM_S:
            wait_s = math.ceil(ROOM_S - idle_s)
            raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, retry_after=str(wait_s))
        del self._sessions[oldest]
        headers = [(b"mcp-session-id", oldest.encode())]
        deletion = {**scope, "method": "DELETE", "headers": headers}
        await self._manager.handle_request(deletion, _receive_nothing, _drop)


async def _hold_place(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Hold the place of a call until it has ended, also where its client has left."""
    place: Place | None = None if ctx.request is None else ctx.request.scope.get(PLACE)
    release = None if place is None else place.hold()
    try:
        return await call_next(ctx)
    finally:
        if release is not None:
            release()


def _open_session(token: Token, defaults: Defaults) -> Session:
    waits = {"wait_s": defaults.ask_wait_s, "expires_s": defaults.ask_expires_s}
    return Session(
        replace(token.policy(), without=WITHOUT | defaults.without),
        token.kernels,
        within=defaults.kernels,
        principal=token.name,
        inject=defaults.inject,
        approvals=ApprovalCalls(**waits),
        shared=True,
    )


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _drop(_message: Message) -> None:
    pass
