"""What a request is answered that is refused before the protocol: a status, and no detail."""

import json
from http import HTTPStatus
from typing import Any

from mcp import types
from starlette.types import Send


class Refusal(Exception):
    """A request that is not served; `headers` stand beside the status."""

    def __init__(self, status: HTTPStatus, **headers: str) -> None:
        super().__init__(status.phrase)
        self.status = status
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}


def write_body(status: int, code: int = types.INVALID_REQUEST) -> bytes:
    """Return the body of a refusal: an error of JSON-RPC whose message is that of the status."""
    error: dict[str, Any] = {"code": code, "message": HTTPStatus(status).phrase}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()


async def send_refusal(refusal: Refusal, send: Send) -> None:
    """Answer a request with a refusal; the connection ends, as the body may not have been read."""
    body = write_body(refusal.status)
    headers = {"content-type": "application/json", "connection": "close", **refusal.headers}
    headers["content-length"] = str(len(body))
    raw = [(name.encode(), text.encode()) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status.value, "headers": raw})
    await send({"type": "http.response.body", "body": body})
