"""The agents that come over HTTP: each has a session, a server and links while it is in use."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.session import Session
from repl_pair.bridge.tokens import Token
from repl_pair.mcp_server.audit import Audit
from repl_pair.mcp_server.notifying import NotifyingServer
from repl_pair.mcp_server.server import build
from repl_pair.mcp_server.web.gate import GatedResponse
from repl_pair.mcp_server.web.refusals import Refusal
from repl_pair.mcp_server.web.requests import Body, read_header, replay

MOST_SESSIONS = 64
MOST_CALLS = 8
IDLE_S = 30 * 60.0
"""How long a session of the 2025 era, or an agent of the 2026 era, is kept without a request."""
ROOM_S = 60.0
"""How long a session is kept without a request where another one needs its place."""
AGAIN_S = 1
"""When an agent with too many calls may call again."""
CLOSING_S = 2.0
MOST_STREAMS = 64
LISTENING = "subscriptions/listen"
"""The request that is no call: its answer is a stream that waits for changes."""
OPENING = frozenset({"initialize", "server/discover"})
WITHOUT = frozenset({"use_kernel"})
"""What chooses a kernel for later calls: it would choose it for other clients too."""

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


@dataclass(kw_only=True, eq=False)
class _Use:
    """How a session is used: how many requests are open, and when the last one ended."""

    open: int = 0
    last: float = field(default_factory=time.monotonic)

    def idle_s(self) -> float:
        """Return how long there was no request; 0 while there is one."""
        return 0.0 if self.open else time.monotonic() - self.last

    @contextmanager
    def held(self) -> Generator[None]:
        """Count a request for a block."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self.last = time.monotonic()


class Principal:
    """One agent: what its token opens, and what its clients have open.

    `serve` runs it; requests are handled while it runs.
    """

    def __init__(self, token: Token, defaults: Defaults) -> None:
        self._session = _open_session(token, defaults)
        self._manager = StreamableHTTPSessionManager(
            defaults.build(self._session, shared=True, audit=defaults.audit),
            session_idle_timeout=IDLE_S,
            max_sessions=MOST_SESSIONS,
        )
        self._ended = anyio.Event()
        self._open = Counter[str]()
        self._sessions: dict[str, _Use] = {}
        self._opening = _Use()
        self._stateless = _Use(last=-math.inf)

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until `end`; then its streams end, and its links close."""
        try:
            async with self._manager.run():
                task_status.started()
                await self._ended.wait()
        except Exception:  # noqa: BLE001  what fails for one agent must not end the others
            _log.exception("an agent is not served any more")
        finally:
            self._ended.set()
            with anyio.move_on_after(CLOSING_S, shield=True):
                await self._session.close()

    def end(self) -> None:
        """End the agent's streams and links, and what it has running."""
        self._ended.set()

    @property
    def is_in_use(self) -> bool:
        """Whether a client has a session or a request open, or may come again without one."""
        uses = (self._stateless, *self._sessions.values())
        is_used = self._opening.open > 0 or any(use.idle_s() < IDLE_S for use in uses)
        return is_used and not self._ended.is_set()

    async def handle(self, scope: Scope, receive: Receive, send: Send, body: Body | None) -> int:
        """Answer one request; returns the status. 429 where the agent has too much open."""
        session = read_header(scope, b"mcp-session-id")
        with self._use_of(session, body).held():
            return await self._handle(session, scope, receive, send, body)

    async def _handle(
        self, session: str | None, scope: Scope, receive: Receive, send: Send, body: Body | None
    ) -> int:
        if body is not None:
            receive = replay(body.raw, receive)
            if session is None and body.method == "initialize":
                await self._make_room(scope)
        release = self._count(body)
        response = GatedResponse(send, release)
        try:
            await self._manager.handle_request(scope, receive, response)
        finally:
            release()
        self._note_session(scope, session, response)
        return response.status

    def _use_of(self, session: str | None, body: Body | None) -> _Use:
        """Return what a request is a use of: its session; without one, of the agent itself.

        What only asks what there is, or opens a session, is no use that outlives it.
        """
        if session is not None:
            return self._sessions.get(session, _Use())
        is_opening = body is None or body.method in OPENING
        return self._opening if is_opening else self._stateless

    def _count(self, body: Body | None) -> Callable[[], None]:
        """Count a call, or a stream, until the undo, which may be called twice; 429 for one too
        many.
        """
        if body is None or body.method in (None, "ping"):
            return lambda: None
        kind, most = ("stream", MOST_STREAMS) if body.method == LISTENING else ("call", MOST_CALLS)
        if self._open[kind] >= most:
            raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, retry_after=str(AGAIN_S))
        self._open[kind] += 1
        counted = [True]

        def release() -> None:
            if counted:
                counted.clear()
                self._open[kind] -= 1

        return release

    def _note_session(self, scope: Scope, session: str | None, response: GatedResponse) -> None:
        if session is None and response.session is not None and response.status == HTTPStatus.OK:
            self._sessions[response.session] = _Use()
        elif session is not None:
            is_over = scope["method"] == "DELETE" and response.status == HTTPStatus.OK
            if is_over or response.status == HTTPStatus.NOT_FOUND:
                self._sessions.pop(session, None)

    async def _make_room(self, scope: Scope) -> None:
        """End the session that was used least recently where a new one needs its place; 429."""
        if len(self._sessions) < MOST_SESSIONS:
            return
        oldest = max(self._sessions, key=lambda session: self._sessions[session].idle_s())
        idle_s = self._sessions[oldest].idle_s()
        if idle_s < ROOM_S:
            wait_s = math.ceil(ROOM_S - idle_s)
            raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, retry_after=str(wait_s))
        del self._sessions[oldest]
        await self._manager.handle_request(_deletion(scope, oldest), _receive_nothing, _drop)


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


def _deletion(scope: Scope, session: str) -> Scope:
    headers = [(b"mcp-session-id", session.encode())]
    return {**scope, "method": "DELETE", "headers": headers}


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _drop(_message: Message) -> None:
    pass


class Principals:
    """The agents that are in use now, by their tokens."""

    def __init__(self, defaults: Defaults, tasks: TaskGroup) -> None:
        self._defaults = defaults
        self._tasks = tasks
        self._serving: dict[Token, Principal] = {}
        self._starting = anyio.Lock()

    async def get(self, token: Token) -> Principal:
        """Return the agent of a token, which is made at its first request."""
        async with self._starting:
            if token not in self._serving:
                principal = Principal(token, self._defaults)
                await self._tasks.start(principal.serve)
                self._serving[token] = principal
            return self._serving[token]

    def end_unused(self, valid: Sequence[Token]) -> None:
        """End the agents whose tokens are not valid any more, or which are not in use."""
        for token, principal in list(self._serving.items()):
            if token not in valid or not principal.is_in_use:
                _log.info("%s is not served any more", token.name)
                del self._serving[token]
                principal.end()

    def end_all(self) -> None:
        """End all agents."""
        self.end_unused(())
