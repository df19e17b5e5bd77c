"""What composes variants, over a link: effects, extended variants, excluded tags, overrides."""

import json

import pytest

from repl_pair.wire import REDACTED, View

pytestmark = pytest.mark.anyio

SECRET = "pk-live-8f3a91c2d4"
SHOP = f"""\
import threading, repl_pair
from typing import Annotated
from repl_pair import check, effect

repl_pair.tag("hidden", default_filter="exclude")
repl_pair.decorator("answered", kind="fx_override", effect="mail/send",
                    responses=[{{"token": "{SECRET}"}}, {{"$raise": "TimeoutError"}}])

@effect.impl("bank/charge")
def charge(key, password):
    return {{"receipt": 7, "said": key}}

@repl_pair.story("shop.pay", agent_overrides=False)
def pay(key: Annotated[str, repl_pair.Sensitive] = "", n: int = 1):
    thread = threading.Thread(target=lambda: effect("bank/charge", key=key, password="hunter22x"))
    thread.start()
    thread.join()
    effect("mail/send", to="a@b.c", text=f"your key is {{key}}")
    try:
        effect("mail/send", to="a@b.c")
    except TimeoutError:
        return n

repl_pair.variant("shop.pay/Root", args={{"key": "{SECRET}"}}, decorators=["answered"],
                  tags=["docs"], play=[check.path_equals("result", 1)])
repl_pair.variant("shop.pay/Heir", extends="shop.pay/Root", args={{"n": 2}},
                  play=[check.path_equals("result", 2)])
repl_pair.variant("shop.pay/Hidden", extends="shop.pay/Root", tags=["hidden"])
"""


def ids(answer):
    return [item["id"] for item in answer["items"]]


async def test_effects_are_answered_and_their_secrets_hidden(link):
    await link.define(SHOP)
    reply = await link.ask("run_variant", variant_id="shop.pay/Heir")
    answer = reply["result"]
    assert answer["status"] == "pass", answer
    assert [(e["id"], e["stubbed"]) for e in answer["effects"]] == [
        ("bank/charge", False),
        ("mail/send", True),
        ("mail/send", True),
    ]
    charged, seen, late = answer["effects"]
    assert charged["payload"] == {"key": REDACTED, "password": REDACTED}
    assert charged["response"] == {"receipt": 7, "said": REDACTED}
    assert seen["payload"] == {"to": "a@b.c", "text": f"your key is {REDACTED}"}
    assert seen["response"] == {"token": REDACTED}
    assert late["response"] == {"$raise": "TimeoutError"}
    assert SECRET not in json.dumps(reply)
    assert "hunter22x" not in json.dumps(reply)


async def test_a_parent_that_is_registered_again_reaches_its_heirs(link):
    await link.define(SHOP)
    heir = {"variant_id": "shop.pay/Heir"}
    before = await link.get("snapshot_identity", **heir)
    assert (await link.get("run_variant", **heir))["status"] == "pass"
    assert ids(await link.get("list_variants", tags=["docs"])) == [
        "shop.pay/Heir",
        "shop.pay/Root",
    ]
    await link.define("repl_pair.variant('shop.pay/Root', decorators=['answered'], tags=['test'])")
    assert (await link.get("read_assertions", **heir))["stale"] is True
    assert (await link.get("snapshot_identity", **heir))["content_hash"] != before["content_hash"]
    assert ids(await link.get("list_variants", tags=["docs"])) == []
    lines = (await link.get("list_variants", tags=["test"]))["items"]
    assert lines == [
        {"id": "shop.pay/Heir", "tags": ["test"], "status": "pass", "stale": True},
        {"id": "shop.pay/Root", "tags": ["test"]},
    ]


async def test_what_carries_an_excluded_tag_is_listed_when_it_is_asked_for(link):
    await link.define(SHOP)
    reply = await link.ask("list_variants")
    assert ids(reply["result"]) == ["shop.pay/Heir", "shop.pay/Root"]
    assert reply["result"]["total"] == 2
    assert (
        "1 more are listed only when their tag is asked for: tags=['hidden']."
        in (reply["notifications"])
    )
    assert ids(await link.get("list_variants", tags=["hidden"])) == ["shop.pay/Hidden"]


async def test_a_story_that_takes_no_overrides_of_agents_takes_those_of_the_person(link):
    await link.define(SHOP)
    asked = {"variant_id": "shop.pay/Heir", "overrides": {"n": 1}}
    answer = await link.run(**asked)
    assert (answer["status"], "agent_overrides=False" in answer["reason"]) == ("cannot_run", True)
    refused = await link.refusal("snapshot_identity", **asked)
    assert (refused["code"], "agent_overrides=False" in refused["message"]) == ("cannot_run", True)
    person = View(principal="person")
    assert (await link.run(**asked, view=person))["status"] == "fail"
