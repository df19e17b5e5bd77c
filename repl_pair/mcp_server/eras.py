"""Both protocol eras on one pipe: a client may send `server/discover` before `initialize`."""

from typing import Any, Protocol

from anyio.abc import ObjectReceiveStream
from mcp.server.lowlevel import Server
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp.shared.message import SessionMessage
from mcp.types import DiscoverResult, JSONRPCRequest, JSONRPCResponse
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from repl_pair.mcp_server.byte_gate import FrameSink


class FrameSource(Protocol):
    """A stream that frames are read from."""

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next frame; anyio.EndOfStream after the last."""
        ...

    async def aclose(self) -> None:
        """End the stream."""
        ...


class DiscoverFirst(ObjectReceiveStream[SessionMessage | Exception]):
    """A read stream that answers `server/discover` itself until another request comes.

    The SDK decides the era by the first request that it gets, and would refuse a client that
    sends `server/discover` and then `initialize`.
    """

    def __init__(self, inner: FrameSource, sink: FrameSink, server: Server[Any]) -> None:
        self._inner = inner
        self._sink = sink
        self._server = server
        self._is_first = True

    @property
    def last_context(self) -> Any:
        """The context of the sender of the last frame, where the stream has one."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next frame that is not a `server/discover` at the beginning."""
        while True:
            item = await self._inner.receive()
            request = getattr(item, "message", None)
            if not self._is_first or not isinstance(request, JSONRPCRequest):
                return item
            if not is_discovery(request):
                self._is_first = False
                return item
            await self._sink.send(SessionMessage(answer_discovery(request, self._server)))

    async def aclose(self) -> None:
        """End the stream."""
        await self._inner.aclose()


def is_discovery(request: JSONRPCRequest) -> bool:
    """Return whether this is a well-formed `server/discover`; the SDK answers a malformed one."""
    if request.method != "server/discover":
        return False
    route = classify_inbound_request({"method": request.method, "params": request.params})
    return isinstance(route, InboundModernRoute)


def answer_discovery(request: JSONRPCRequest, server: Server[Any]) -> JSONRPCResponse:
    """Return the answer that the SDK would give."""
    newest = MODERN_PROTOCOL_VERSIONS[-1]
    discovered = DiscoverResult(
        supported_versions=list(MODERN_PROTOCOL_VERSIONS),
        capabilities=server.get_capabilities(protocol_version=newest),
        instructions=server.instructions,
    )
    result = discovered.model_dump(by_alias=True, mode="json", exclude_none=True)
    result["_meta"] = {SERVER_INFO_META_KEY: server.server_info_stamp}
    return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)
