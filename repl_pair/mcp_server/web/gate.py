"""The byte gate over a response: every body and every event of a stream is parsed and scrubbed."""

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeAlias, cast

from starlette.types import Message, Send

from repl_pair.mcp_server.gate.byte_gate import scrub_message
from repl_pair.mcp_server.web.refusals import write_body

Header: TypeAlias = tuple[bytes, bytes]

STREAM = b"text/event-stream"
_STREAM_HEADERS: tuple[Header, ...] = (
    (b"content-type", STREAM),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_OF_BODY = (b"content-type", b"content-length")


class GatedResponse:
    """Sends one response of the SDK, scrubbed; `on_answer` is called before what answers it.

    `on_begin` is called with its status, and the session of the 2025 era that it names, before
    anything of it is sent.

    What answers a request is an event of a stream, never a body of JSON. A body that refuses says
    what its status says; one that names a request keeps its error, whose status the protocol gives.
    """

    def __init__(
        self,
        send: Send,
        on_answer: Callable[[], None],
        on_begin: Callable[[int, str | None], None],
    ) -> None:
        self._send = send
        self._on_answer = on_answer
        self._on_begin = on_begin
        self._held = b""
        self._start: Message = {}
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Take one message of the application."""
        if message["type"] == "http.response.start":
            self._begin(message)
            if self._is_stream:
                await self._send(message)
        elif self._is_stream:
            scrubbed = self._scrub_events(message)
            if scrubbed["body"] or not message.get("more_body", False):
                await self._send(scrubbed)
        else:
            self._held += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_whole()

    @property
    def _is_stream(self) -> bool:
        return self._headers.get(b"content-type", b"").startswith(STREAM)

    def _begin(self, message: Message) -> None:
        if message["status"] == HTTPStatus.SERVICE_UNAVAILABLE:  # too many sessions open at once
            headers = [*message["headers"], (b"retry-after", b"60")]
            message = {**message, "status": HTTPStatus.TOO_MANY_REQUESTS.value, "headers": headers}
        self._start, self.status = message, message["status"]
        self._headers = {name.lower(): text for name, text in message["headers"]}
        session = self._headers.get(b"mcp-session-id")
        self._on_begin(self.status, session.decode("latin-1") if session else None)

    def _scrub_events(self, message: Message) -> Message:
        """Return the events that are complete, scrubbed; the rest waits for its end."""
        is_last = not message.get("more_body", False)
        whole, mark, rest = (self._held + message.get("body", b"")).rpartition(b"\r\n\r\n")
        self._held = b"" if is_last else rest
        events = [self._scrub_event(each) for each in whole.split(b"\r\n\r\n")] if mark else []
        body = b"".join(event + mark for event in events if event)
        if is_last:
            self._on_answer()
        return {**message, "body": body}

    def _scrub_event(self, event: bytes) -> bytes:
        lines: list[bytes] = []
        for line in event.split(b"\r\n"):
            name, _, text = line.partition(b":")
            if name == b"data" and text.strip():
                line = b"data: " + self._scrub_frame(json.loads(text))
            elif name not in (b"", b"event", b"id", b"retry", b"data"):
                return b""
            lines.append(line)
        return b"\r\n".join(lines)

    def _scrub_frame(self, frame: Any) -> bytes:
        if "result" in frame or "error" in frame:
            self._on_answer()
        return _write(scrub_message(frame))

    async def _send_whole(self) -> None:
        body, kept = self._scrub_body(), [h for h in self._start["headers"] if h[0] not in _OF_BODY]
        if self.status == 200 and body:
            body, beside = b"event: message\r\ndata: " + body + b"\r\n\r\n", _STREAM_HEADERS
        else:
            beside = ((b"content-type", b"application/json"),) if body else ()
        length = (b"content-length", str(len(body)).encode())
        self._on_answer()
        await self._send({**self._start, "headers": [*kept, *beside, length]})
        await self._send({"type": "http.response.body", "body": body})

    def _scrub_body(self) -> bytes:
        if not self._held and self.status < 400:
            return b""
        try:
            frame = cast("dict[str, Any]", json.loads(self._held))
            if self.status < 400 or frame["id"] is not None:
                return _write(scrub_message(frame))
            return write_body(self.status, frame["error"]["code"])
        except (ValueError, KeyError, TypeError):
            return write_body(max(self.status, 400))


def _write(frame: Any) -> bytes:
    # Escaped: no character that ends a line for some readers of a stream stands in it.
    return json.dumps(frame, separators=(",", ":")).encode()
