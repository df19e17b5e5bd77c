"""What the server sends unasked, in both protocol eras: the tools, or a resource, changed.

The only module that uses names which the SDK keeps to itself.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcp import types
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

Context: TypeAlias = ServerRequestContext[Any, Any]
Admit: TypeAlias = Callable[[str], Awaitable[int]]
"""Returns the mark of a URI now, from which on changes count; MCPError where it may not be."""

MAX_URIS = 256
"""How many subscriptions a server takes."""


@dataclass(kw_only=True, eq=False)
class Subscriber:
    """A connection of the 2025 era, or a stream of the 2026 era, and the URIs that it follows.

    `uris` has with each its mark when it was subscribed to. `close` ends a stream;
    `ends_with_uris`: once it has none left to follow.
    """

    send: Callable[[ServerEvent], Awaitable[None]]
    close: Callable[[], None] = lambda: None
    ends_with_uris: bool = False
    uris: dict[str, int] = field(default_factory=dict[str, int])


class NotifyingServer(Server[Any]):
    """A server whose capabilities name what `Notifications` sends, and nothing else."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what a client of the 2025 era is answered when it connects."""
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """Return the capabilities: of the lists, only that of tools is notified of."""
        found = super().get_capabilities(
            notification_options,
            experimental_capabilities,
            extensions,
            protocol_version=protocol_version,
        )
        for part in (found.resources, found.prompts):
            if part is not None:
                part.list_changed = False
        return found


class Notifications:
    """Who is connected and what they follow; sends each of them what they asked for.

    `admit` decides over each URI that somebody wants to follow; `on_change` is called after the
    URIs that are followed may have changed. All on the event loop.
    """

    def __init__(self, *, admit: Admit, on_change: Callable[[], None]) -> None:
        self._admit = admit
        self._on_change = on_change
        self._subscribers: dict[object, Subscriber] = {}

    @property
    def uris(self) -> Mapping[str, int]:
        """The URIs that somebody follows, each with its mark when it was subscribed to last."""
        return {uri: at for each in self._subscribers.values() for uri, at in each.uris.items()}

    async def tools_changed(self) -> None:
        """Report that the list of tools is another one."""
        for each in list(self._subscribers.values()):
            await each.send(ToolsListChanged())

    async def resource_updated(self, uri: str) -> None:
        """Report to all who follow a URI that what stands there changed."""
        for each in list(self._subscribers.values()):
            if uri in each.uris:
                await each.send(ResourceUpdated(uri))

    def drop(self, uris: Collection[str]) -> None:
        """End all that follow these URIs; a stream that has none left ends for its client too."""
        for each in list(self._subscribers.values()):
            left = {uri: at for uri, at in each.uris.items() if uri not in uris}
            if each.ends_with_uris and each.uris and not left:
                each.close()
            each.uris = left
        self._on_change()

    def end_streams(self) -> None:
        """End all streams of the 2026 era; their clients are answered that they ended."""
        for each in list(self._subscribers.values()):
            each.close()

    async def track(self, ctx: Context, call_next: Callable[[Context], Awaitable[Any]]) -> Any:
        """Note each connection of the 2025 era, as middleware of the server."""
        if ctx.method == "notifications/initialized":
            self._connect(ctx.session)
        return await call_next(ctx)

    async def subscribe(
        self, ctx: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Answer `resources/subscribe` of the 2025 era."""
        marks = await self._admitted([str(params.uri)])
        self._connect(ctx.session).uris.update(marks)
        self._on_change()
        return types.EmptyResult()

    async def unsubscribe(
        self, ctx: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Answer `resources/unsubscribe` of the 2025 era; nothing is asked of what is followed."""
        self._connect(ctx.session).uris.pop(str(params.uri), None)
        self._on_change()
        return types.EmptyResult()

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Answer `subscriptions/listen` of the 2026 era: one stream, until either side ends it."""
        asked = params.notifications
        marks = await self._admitted(asked.resource_subscriptions or ())
        honored = types.SubscriptionFilter(
            tools_list_changed=asked.tools_list_changed, resource_subscriptions=list(marks)
        )
        bus = InMemorySubscriptionBus()
        stream = ListenHandler(bus)
        follower = Subscriber(
            send=bus.publish,
            close=stream.close,
            ends_with_uris=not asked.tools_list_changed,
            uris=marks,
        )
        self._subscribers[follower] = follower
        self._on_change()
        try:
            return await stream(ctx, params.model_copy(update={"notifications": honored}))
        finally:
            self._leave(follower)

    def _connect(self, session: ServerSession) -> Subscriber:
        connection = session._connection  # pyright: ignore[reportPrivateUsage]
        if connection not in self._subscribers:
            self._subscribers[connection] = Subscriber(send=_sender(session))
            connection.exit_stack.callback(self._leave, connection)
        return self._subscribers[connection]

    def _leave(self, key: object) -> None:
        if self._subscribers.pop(key).uris:
            self._on_change()

    async def _admitted(self, uris: Iterable[str]) -> dict[str, int]:
        wanted = sorted(set(uris))
        if len(self.uris.keys() | wanted) > MAX_URIS:
            words = f"This server follows {MAX_URIS} resources at most; unsubscribe from some."
            raise MCPError(types.INVALID_PARAMS, words)
        return {uri: await self._admit(uri) for uri in wanted}


def _sender(session: ServerSession) -> Callable[[ServerEvent], Awaitable[None]]:
    async def send(event: ServerEvent) -> None:
        if isinstance(event, ResourceUpdated):
            await session.send_resource_updated(event.uri)
        else:
            await session.send_tool_list_changed()

    return send
