"""Pages of the lists: one order, one size, cursors that hold for one list."""

import asyncio

import pytest
from hypothesis import given, strategies as st
from mcp import Client, MCPError, types

import repl_pair
from repl_pair.bridge import manifest
from repl_pair.bridge.policy import GATED, Policy
from repl_pair.bridge.session import Session
from repl_pair.mcp_server import pages
from repl_pair.mcp_server.pages import page_of
from repl_pair.mcp_server.server import build
from repl_pair.runtime.registry.registry import REGISTRY

LISTS = {
    "tools": lambda client, cursor: client.list_tools(cursor=cursor),
    "prompts": lambda client, cursor: client.list_prompts(cursor=cursor),
    "resources": lambda client, cursor: client.list_resources(cursor=cursor),
    "resource_templates": lambda client, cursor: client.list_resource_templates(cursor=cursor),
}
NAMES = st.lists(st.text(), unique=True, max_size=12)


def at(cursor):
    return types.PaginatedRequestParams(cursor=cursor)


def walk(names):
    """Return the pages of a list of names, and the cursors that led to them."""
    found, cursors, cursor = [], [], None
    while cursor is not None or not found:
        page, cursor = page_of(at(cursor), names, str)
        found.append(page)
        cursors += [cursor] if cursor else []
    return found, cursors


@given(NAMES, st.integers(1, 5))
def test_the_pages_hold_each_item_once_in_one_order(names, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "PAGE", size)
        found, _ = walk(names)
        assert [name for page in found for name in page] == sorted(names)
        assert all(len(page) == size for page in found[:-1])
        assert walk(names[::-1]) == walk(names)


@given(NAMES, st.text(), st.integers(1, 5))
def test_a_cursor_of_another_list_is_refused(names, other, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "PAGE", size)
        changed = set(names) ^ {other}
        for cursor in (*walk(names)[1], other, ""):
            with pytest.raises(MCPError, match="list anew"):
                page_of(at(cursor), changed, str)


@pytest.fixture
def registries():
    undo = REGISTRY.checkpoint()
    yield
    undo()


def with_client(body, policy):
    async def main():
        session = Session.direct(policy)
        try:
            async with Client(build(session), mode="legacy") as client:
                return await body(client)
        finally:
            await session.close()

    return asyncio.run(main())


@pytest.mark.parametrize("name", LISTS)
def test_every_list_of_a_server_has_pages(name, monkeypatch, registries):
    repl_pair.function("act.now", expose=True)(lambda: 1)

    async def body(client):
        def names_of(found):
            return [each.name for each in getattr(found, name)]

        whole = await LISTS[name](client, None)
        assert whole.next_cursor is None
        monkeypatch.setattr(pages, "PAGE", 3)
        found, cursor = [], None
        while cursor is not None or not found:
            page = await LISTS[name](client, cursor)
            assert len(names_of(page)) <= 3
            found, cursor = found + names_of(page), page.next_cursor
        assert found == names_of(whole)
        assert len(found) > 3
        for wrong in ("nonsense", "", "0" * 16):
            with pytest.raises(MCPError) as caught:
                await LISTS[name](client, wrong)
            assert caught.value.error.code == types.INVALID_PARAMS

    with_client(body, Policy())


def test_a_list_that_changed_is_listed_anew(monkeypatch, registries):
    monkeypatch.setattr(pages, "PAGE", 3)

    async def body(client):
        await client.call_tool("list_stories", {})
        cursor = (await client.list_tools()).next_cursor
        assert (await client.list_tools(cursor=cursor)).tools
        repl_pair.function("act.now", expose=True)(lambda: 1)
        with pytest.raises(MCPError, match="list anew"):
            await client.list_tools(cursor=cursor)

    with_client(body, Policy())


def test_a_client_that_reads_one_page_has_every_tool_that_a_server_can_list(registries):
    """Many clients read one page only: all toolsets and the functions fit in it."""
    for number in range(20):
        repl_pair.function(f"act.f{number}", expose=True)(lambda: 1)
    every = frozenset(each["toolset"] for each in manifest.load())

    async def body(client):
        return await client.list_tools()

    found = with_client(body, Policy(allow=frozenset(GATED), toolsets=every))
    assert found.next_cursor is None
    assert len(found.tools) > 70
