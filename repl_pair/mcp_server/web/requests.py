"""What is asked of each request before the protocol: its host, origin, token and body."""

import json
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import anyio
from starlette.types import Message, Receive, Scope

from repl_pair.bridge.tokens import PREFIX
from repl_pair.mcp_server.web.refusals import Refusal

BODY_BYTES = 4 * 1024 * 1024
BODY_S = 30.0
"""How long a body may take to arrive."""


class Body(NamedTuple):
    """The body of a POST, and the request that it is of; None where it asks for no answer."""

    raw: bytes
    method: str | None
    params: Mapping[str, Any]


def read_header(scope: Scope, name: bytes) -> str | None:
    """Return a header, None where it is not there; 400 where it is there twice."""
    found = [text for key, text in scope["headers"] if key == name]
    if len(found) > 1:
        raise Refusal(HTTPStatus.BAD_REQUEST)
    return found[0].decode("latin-1") if found else None


def check_site(scope: Scope, hosts: Collection[str], origins: Collection[str]) -> None:
    """Refuse a request that was meant for another host, 421, or that a foreign page made, 403."""
    host = read_header(scope, b"host")
    if host is None or host.lower() not in hosts:
        raise Refusal(HTTPStatus.MISDIRECTED_REQUEST)
    origin = read_header(scope, b"origin")
    if origin is not None and origin.lower() not in origins:
        raise Refusal(HTTPStatus.FORBIDDEN)


def read_token(scope: Scope) -> str:
    """Return the token of a request; 401 where it has none, or one in its URL, which gets about."""
    if PREFIX in unquote(scope["query_string"].decode("latin-1")):
        raise refuse_token()
    scheme, _, token = (read_header(scope, b"authorization") or "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise refuse_token()
    return token


def refuse_token() -> Refusal:
    """Build the refusal of a token; a missing, a wrong and a removed one read alike."""
    return Refusal(HTTPStatus.UNAUTHORIZED, www_authenticate="Bearer")


async def read_body(scope: Scope, receive: Receive) -> Body:
    """Read the body of a POST: 413 over 4 MiB, 408 where it does not come, 400 for no message."""
    length = read_header(scope, b"content-length") or "0"
    if length != "0" and read_header(scope, b"transfer-encoding") is not None:
        raise Refusal(HTTPStatus.BAD_REQUEST)  # a proxy could see another end of it
    if not length.isdigit() or int(length) > BODY_BYTES:
        too_large = length.isdigit()
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE if too_large else HTTPStatus.BAD_REQUEST)
    raw = bytearray()
    with anyio.move_on_after(BODY_S) as waiting:
        is_whole = False
        while not is_whole:
            message = await receive()
            raw += message.get("body", b"")
            if len(raw) > BODY_BYTES:
                raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            is_whole = message["type"] != "http.request" or not message.get("more_body", False)
    if waiting.cancelled_caught:
        raise Refusal(HTTPStatus.REQUEST_TIMEOUT)
    return _read_message(bytes(raw))


def _read_message(raw: bytes) -> Body:
    try:
        message: object = json.loads(raw)
    except (ValueError, RecursionError):
        raise Refusal(HTTPStatus.BAD_REQUEST) from None
    if not isinstance(message, dict):
        raise Refusal(HTTPStatus.BAD_REQUEST)
    slots: Mapping[str, Any] = cast("dict[str, Any]", message)
    method, params = slots.get("method"), slots.get("params")
    is_request = isinstance(method, str) and "id" in slots
    return Body(raw, method if is_request else None, params if isinstance(params, dict) else {})


def replay(raw: bytes, receive: Receive) -> Receive:
    """Return what gives a body once more, and then what `receive` gives."""
    first: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again
