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


async def with_agent(talk):
    """Answer what `talk` does with a function that asks an op as an agent."""
    link = DirectLink()

    async def ask(op, **args):
        return await link.request(op, args, view=View(principal="ann"), timeout_s=BOUND_S)

    try:
        return await talk(ask)
    finally:
        await link.close()


def ask_once(op, **args):
    return asyncio.run(with_agent(lambda ask: ask(op, **args)))


def test_a_session_counts_the_contracts_that_changed_and_any_reply_has_the_notice(ground, web):
    async def work(ask):
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

    listed, stopped = asyncio.run(with_agent(work))
    (notice,) = listed["result"]["items"]
    assert (notice["kind"], notice["subject"]) == ("contract", "pricing/quote")
    assert listed["next_steps"] == [{"op": "realm_check", "args": {}}]
    assert stopped["contracts"] == 1


TEXT = {"type": "string", "default": "tulip7"}
HASHES = {
    "what is answered": ({"host": TEXT}, None, True),
    "a secret default": ({"password": TEXT}, None, False),
    "what its owner took out of the file": (
        {"note": TEXT},
        lambda data: data["schema"]["properties"]["note"].pop("default"),
        False,
    ),
}


@pytest.mark.parametrize("case", HASHES)
def test_the_hash_of_a_schema_is_answered_only_where_it_confirms_no_guess(ground, web, case):
    properties, edit, is_answered = HASHES[case]
    saved = ground.save("api", "1.0.0", contract="key", schema={"properties": properties})
    if edit is not None:
        ground.edit("domains/pricing/contracts/key.json", edit)
    found = ask_once("contract_get", domain="pricing", contract="key")["result"]
    assert ("tulip7" in str(found["schema"])) == is_answered
    assert found.get("schema_hash") == (saved["schema_hash"] if is_answered else None)


def test_several_notices_of_contracts_suggest_the_check_once(ground, web):
    async def work(ask):
        await ask("session_start")
        await ask("realm_status")
        ground.save("api", "1.0.0", contract="price", schema={})
        ground.save("api", "1.1.0")
        await ask("realm_status")
        return await ask("notifications_list", state="all")

    listed = asyncio.run(with_agent(work))
    assert len(listed["result"]["items"]) == 2
    assert listed["next_steps"] == [{"op": "realm_check", "args": {}}]
