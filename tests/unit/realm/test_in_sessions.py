"""What a work session and the replies of any op know of the realm of their project."""

import asyncio

import pytest
from bounds import BOUND_S

from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.runtime.kernel import notice_sources
from repl_pair.runtime.project import database
from repl_pair.wire import View


@pytest.fixture
def web(ground, monkeypatch):
    """This process has the project `web`, and looks at its realm with each call."""
    web = database.Database(ground.root("web"))
    monkeypatch.setattr(database, "_open", [web])
    monkeypatch.setattr(notice_sources, "LOOK_S", 0.0)
    yield web
    web.close()


async def work(ground):
    link = DirectLink()

    async def ask(op, **args):
        return await link.request(op, args, view=View(principal="ann"), timeout_s=BOUND_S)

    try:
        opened = (await ask("session_start"))["result"]
        assert (await ask("realm_status"))["result"]["session"] == opened["id"]
        ground.save("api", "1.1.0")
        async with asyncio.timeout(BOUND_S):
            while "notices" not in await ask("list_tags"):
                await asyncio.sleep(0.01)
        listed = await ask("notifications_list", state="all")
        stopped = (await ask("session_stop"))["result"]
        assert (await ask("realm_status"))["result"]["session"] is None
        return listed, stopped
    finally:
        await link.close()


def test_a_session_counts_the_contracts_that_changed_and_any_reply_has_the_notice(ground, web):
    listed, stopped = asyncio.run(work(ground))
    (notice,) = listed["result"]["items"]
    assert (notice["kind"], notice["subject"]) == ("contract", "pricing/quote")
    assert listed["next_steps"] == [{"op": "realm_check", "args": {}}]
    assert stopped["contracts"] == 1
