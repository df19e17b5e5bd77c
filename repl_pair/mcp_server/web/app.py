"""The application: checks each request, finds the agent that its token names, and hands it on."""

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus

from starlette.types import Message, Receive, Scope, Send

from repl_pair.bridge.tokens import Tokens
from repl_pair.mcp_server.web.principals import Principals
from repl_pair.mcp_server.web.refusals import Refusal, send_refusal
from repl_pair.mcp_server.web.requests import check_site, read_body, read_token, refuse_token

PATH = "/mcp"

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class App:
    """An ASGI application; `hosts` and `origins` are the headers that are answered, whole."""

    hosts: Collection[str]
    origins: Collection[str]
    tokens: Tokens
    principals: Principals
    is_ending: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; what is refused is answered by its status alone."""
        if scope["type"] != "http":  # a websocket: uvicorn refuses what is not accepted
            return
        began, has_begun = time.monotonic(), False

        async def note_begin(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            status = await self._answer(scope, receive, note_begin)
        except Refusal as refusal:
            await send_refusal(refusal, send)
            status = refusal.status.value
        except Exception:
            # As a token is removed its agent's session ends, and with it a call that waits there.
            is_removed = self.tokens.find(read_token(scope)) is None
            if not is_removed:
                _log.exception("a request failed")
            if has_begun:
                raise
            failed = Refusal(HTTPStatus.INTERNAL_SERVER_ERROR)
            refusal = refuse_token() if is_removed else failed
            await send_refusal(refusal, send)
            status = refusal.status.value
        ms = 1000 * (time.monotonic() - began)
        _log.debug("%s: %d after %.1f ms", scope["method"], status, ms)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> int:
        check_site(scope, self.hosts, self.origins)
        if scope["path"] != PATH:
            raise Refusal(HTTPStatus.NOT_FOUND)
        token = self.tokens.find(read_token(scope))
        if token is None:
            raise refuse_token()
        if self.is_ending:
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, retry_after="5")
        body = await read_body(scope, receive) if scope["method"] == "POST" else None
        if self.tokens.find(read_token(scope)) is None:  # it was removed while the body came
            raise refuse_token()
        return await self.principals.get(token).handle(scope, receive, send, body)
