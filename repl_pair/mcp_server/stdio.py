"""The server over stdin and stdout, for one client of either protocol era, until stdin ends."""

import atexit
import json
import logging
import os
import re
import signal
import sys
from contextlib import redirect_stdout
from typing import Any, Protocol

import anyio
from anyio.abc import ObjectReceiveStream, TaskStatus
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp.shared.message import SessionMessage
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from repl_pair.bridge.session import Session
from repl_pair.mcp_server.audit import Audit
from repl_pair.mcp_server.ending import list_ending_signals
from repl_pair.mcp_server.gate.byte_gate import GatedSink
from repl_pair.mcp_server.gate.gated_stderr import gate_stderr, log_details
from repl_pair.mcp_server.server import build

_log = logging.getLogger(__name__)
CLOSING_S = 2.0
_MEMBER = r'"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*'
_ID = r'"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,200}")\s*'
_FIRST = re.compile(rf"\s*\{{\s*(?:{_MEMBER},\s*)*{_ID}[,}}]")
_LAST = re.compile(rf"\}}\s*,\s*(?:{_MEMBER},\s*)*{_ID}(?:,\s*{_MEMBER})*\}}\s*$")
_ENDS = 1_000


def run(session: Session, *, audit: Audit | None = None, debug: bool = False) -> None:
    """Serve until stdin ends or a signal comes; stderr is scrubbed to the end of the process."""
    # Nothing interrupts a read of stdin: Python's own handler would leave the process waiting.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    atexit.register(gate_stderr())
    if debug:
        log_details()
    anyio.run(serve, session, audit)


async def serve(session: Session, audit: Audit | None = None) -> None:
    """Serve the session until stdin ends, then close it; prints go to stderr.

    Takes stdin and stdout. Calls that run at the end of stdin are cancelled. A client that is gone
    is no error.
    """
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_leave_on_signal, session)
            try:
                await _serve_client(build(session, audit=audit))
            except* (BrokenPipeError, ConnectionResetError):
                _log.info("the client went away without its answers")
            tasks.cancel_scope.cancel()
    finally:
        await _close(session)


async def _serve_client(server: Server[Any]) -> None:
    async with stdio_server() as (source, sink):
        gate = GatedSink(sink)
        requests = DiscoverFirst(source, gate, server)
        with redirect_stdout(sys.stderr):
            await server.run(requests, gate, server.create_initialization_options())


async def _close(session: Session) -> None:
    with anyio.move_on_after(CLOSING_S, shield=True):
        await session.close()


async def _leave_on_signal(
    session: Session, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Close the session at the first signal, then end by that signal; not on Windows."""
    if sys.platform == "win32":
        task_status.started()
        return
    with anyio.open_signal_receiver(*list_ending_signals()) as signals:
        task_status.started()
        async for number in signals:
            await _close(session)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


class _FrameSource(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...

    async def aclose(self) -> None: ...


class DiscoverFirst(ObjectReceiveStream[SessionMessage | Exception]):
    """A read stream that answers what is no message, and `server/discover` while it comes first.

    The SDK decides the era by the first request that it gets, and would refuse a client that
    sends `server/discover` and then `initialize`.
    """

    def __init__(self, inner: _FrameSource, sink: GatedSink, server: Server[Any]) -> None:
        self._inner = inner
        self._sink = sink
        self._server = server
        self._is_first = True

    @property
    def last_context(self) -> Any:
        """The context of the sender of the last frame, where the stream has one."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next frame that is not answered here."""
        while True:
            item = await self._inner.receive()
            if isinstance(item, ValidationError):
                if refusal := _refuse_unreadable(item):
                    await self._sink.send(SessionMessage(refusal))
                continue
            request = getattr(item, "message", None)
            if not self._is_first or not isinstance(request, types.JSONRPCRequest):
                return item
            if not _is_discovery(request):
                self._is_first = False
                return item
            await self._sink.send(SessionMessage(_answer_discovery(request, self._server)))

    async def aclose(self) -> None:
        """End the stream."""
        await self._inner.aclose()


def _is_discovery(request: types.JSONRPCRequest) -> bool:
    """Return whether this is a well-formed `server/discover`; the SDK answers a malformed one."""
    if request.method != "server/discover":
        return False
    route = classify_inbound_request({"method": request.method, "params": request.params})
    return isinstance(route, InboundModernRoute)


def _answer_discovery(request: types.JSONRPCRequest, server: Server[Any]) -> types.JSONRPCResponse:
    """Return the answer that the SDK would give."""
    newest = MODERN_PROTOCOL_VERSIONS[-1]
    discovered = types.DiscoverResult(
        supported_versions=list(MODERN_PROTOCOL_VERSIONS),
        capabilities=server.get_capabilities(protocol_version=newest),
        instructions=server.instructions,
    )
    result = discovered.model_dump(by_alias=True, mode="json", exclude_none=True)
    result["_meta"] = {SERVER_INFO_META_KEY: server.server_info_stamp}
    return types.JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)


def _refuse_unreadable(error: ValidationError) -> types.JSONRPCError | None:
    """Build the answer to a line that could not be read; None for a blank one.

    The id of a line that is no JSON is looked for where clients write it: before or after the
    params.
    """
    faults = error.errors()
    if faults[0]["type"] == "json_invalid":
        line = str(faults[0]["input"])
        if line.isspace():
            return None
        code, why = types.PARSE_ERROR, faults[0]["msg"]
        found = _FIRST.match(line[:_ENDS]) or _LAST.search(line[-_ENDS:])
        ids = [json.loads(found[1])] if found else []
    else:
        code, why = types.INVALID_REQUEST, "it is not a message of JSON-RPC 2.0"
        inputs: list[Any] = [fault["input"] for fault in faults]
        ids = [whole.get("id") for whole in inputs if hasattr(whole, "keys")]
    message = (
        f"The message was not read, and nothing was done: {why}. Arguments may be 64 levels deep, "
        "and have 256,000 characters in total."
    )
    known = ids[0] if ids and type(ids[0]) in (int, str) else None
    return types.JSONRPCError(
        jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=message)
    )
