"""What a server sends unasked, to clients of both eras, over the SDK's own names."""

import asyncio
from types import SimpleNamespace

import pytest
from bounds import BOUND_S
from mcp import Client, MCPError, types
from mcp.server.subscriptions import ToolsListChanged
from waiting import eventually

from repl_pair.mcp_server.notifying import Notifications, NotifyingServer

LEGACY = "legacy"
ERAS = [LEGACY, "auto"]


class Desk:
    """A server that sends notifications, and a client that keeps what arrives."""

    def __init__(self, known):
        self.known, self.followed, self.arrived = known, [], []
        self.sent = Notifications(admit=self.admit, on_change=self.note)

        async def on_list_tools(_ctx, _params):
            return types.ListToolsResult(tools=[])

        async def on_list_resources(_ctx, _params):
            return types.ListResourcesResult(resources=[])

        self.server = NotifyingServer(
            "desk",
            on_list_tools=on_list_tools,
            on_list_resources=on_list_resources,
            on_subscribe_resource=self.sent.subscribe,
            on_unsubscribe_resource=self.sent.unsubscribe,
            on_subscriptions_listen=self.sent.listen,
        )
        self.server.middleware.append(self.sent.track)

    async def admit(self, uri):
        if uri not in self.known:
            raise MCPError(types.INVALID_PARAMS, "No.", data={"uri": uri})
        return 0

    def note(self):
        self.followed.append(sorted(self.sent.uris))

    async def keep(self, message):
        self.arrived.append(message)


def talk(mode, body, known=("surface://training/loss",)):
    async def main():
        desk = Desk(known)
        async with asyncio.timeout(BOUND_S):
            async with Client(desk.server, mode=mode, message_handler=desk.keep) as client:
                await body(desk, client)

    asyncio.run(main())


@pytest.mark.parametrize("mode", ERAS)
def test_a_change_of_the_tools_reaches_a_client_that_asked(mode):
    async def body(desk, client):
        if mode == LEGACY:
            await client.list_tools()
            await desk.sent.tools_changed()
            await eventually(lambda: desk.arrived)
            assert isinstance(desk.arrived[0], types.ToolListChangedNotification)
        else:
            async with client.listen(tools_list_changed=True) as stream:
                await desk.sent.tools_changed()
                assert await anext(aiter(stream)) == ToolsListChanged()

    talk(mode, body)


@pytest.mark.parametrize("mode", ERAS)
def test_the_capabilities_name_what_is_sent_and_nothing_else(mode):
    async def body(_desk, client):
        found = client.server_capabilities
        assert (found.tools.list_changed, found.resources.subscribe) == (True, True)
        assert not found.resources.list_changed

    talk(mode, body)


def test_the_names_that_the_sdk_keeps_to_itself_are_as_they_were():
    from mcp.server.connection import Connection
    from mcp.server.session import ServerSession

    connection = Connection.from_envelope("2026-07-28", None, None)
    session = ServerSession(SimpleNamespace(), connection)
    assert session._connection is connection
    assert hash(connection)
    assert hasattr(connection.exit_stack, "callback")
