"""What drifted, what runs again by itself, and live objects, over every link."""

import asyncio
import time

import pytest
from bounds import BOUND_S

from repl_pair.errors import next_step
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

PRICE = """
import repl_pair
from repl_pair import check
def price(n: int = 1):
    "A price."
    return n
repl_pair.story("price", component=price)
repl_pair.variant("price/A", args={"n": 1}, play=[check.path_equals("result", 1)])
repl_pair.variant("price/B", args={"n": 2})
"""
CHANGED = """
def price(n: int = 1):
    "Another doc."
    return n + 1
"""
COSMETIC = """
def price(n: int = 1):
    "Another doc."  # and a comment
    return (n)
"""
CART = """
import repl_pair
closed = []
class Cart:
    def __init__(self): self.items = []
    def add(self, sku): self.items.append(sku)
@repl_pair.loader
def shelf():
    yield 1
    closed.append("shelf")
repl_pair.story("cart", component=Cart, state=lambda cart: list(cart.items))
repl_pair.variant("cart/Empty", loaders=["shelf"], events=[["add", {"sku": "first"}]])
live = repl_pair.live("cart/Empty")
live.dispatch("add", sku="second")
"""


async def results_since(link, since, wanted):
    """Return the ids of the results that came since, once there are as many as wanted."""
    until, found = time.monotonic() + BOUND_S, []
    while len(found) < wanted and time.monotonic() < until:
        changes = await link.get("read_changes", since=since, wait_s=1.0)
        since = changes["next"]
        found += [i["id"] for i in changes["items"] if i["member"] == "results"]
    return found


async def test_changed_variants_names_what_drifted_since_it_ran(link):
    await link.define(PRICE)
    assert await link.get("changed_variants", story_id="price") == {
        "items": [],
        "total": 0,
        "examined": 2,
        "not_run": 2,
    }
    for variant_id in ("price/A", "price/B"):
        await link.run(variant_id)
    await link.define(COSMETIC)
    assert (await link.get("changed_variants"))["items"] == []
    await link.define(CHANGED + "repl_pair.variant('price/B', args={'n': 3})")
    reply = await link.ask("changed_variants", limit=1)
    assert reply["result"]["items"] == [{"id": "price/A", "drifted": ["code_hash"]}]
    assert reply["next_steps"][0] == next_step("run_variant", variant_id="price/A")
    rest = await link.get("changed_variants", limit=1, cursor=reply["result"]["cursor"])
    assert rest["items"] == [
        {
            "id": "price/B",
            "drifted": ["content_hash", "code_hash"],
            "registered_again": ["variant price/B"],
        }
    ]


async def test_a_watched_variant_runs_again_behind_what_changed_it(link):
    await link.define(PRICE)
    begun = await link.ask("watch_variant", variant_id="price/A")
    assert begun["result"] == {"on": True, "watched": "price/A", "items": ["price/A"], "total": 1}
    since = begun["seq"]
    assert begun["next_steps"][0] == next_step("read_changes", since=since, wait_s=50)
    await link.define(CHANGED)
    await link.define("repl_pair.variant('price/A', args={'n': 5})")
    assert set(await results_since(link, since, 1)) == {"price/A"}
    await until_result(link, "price/A", {"n": 5})
    assert await link.get("watch_variant", on=False) == {"on": False, "ended": ["price/A"]}


async def until_result(link, variant_id, args):
    until = time.monotonic() + BOUND_S
    while time.monotonic() < until:
        found = await link.get("changed_variants", story_id=variant_id.partition("/")[0])
        if variant_id not in [item["id"] for item in found["items"]]:
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"{variant_id} did not run with {args}")


async def test_a_watch_is_of_one_variant_or_of_tags(link):
    await link.define(PRICE)
    both = {"variant_id": "price/A", "tags": ["test"]}
    await link.get("watch_variant", variant_id="price/A")
    for args in ({}, both, {"on": False, **both}, {"on": False, "tags": []}):
        assert (await link.refusal("watch_variant", **args))["code"] == "bad_arguments"
    for args in ({"variant_id": "price/C"}, {"tags": ["nope"]}):
        assert (await link.refusal("watch_variant", **args))["code"] == "not_found"
    assert await link.get("watch_variant", on=False) == {"on": False, "ended": ["price/A"]}
    assert (await link.get("watch_variant", tags=["test"]))["total"] == 0
    hidden = View(principal="agent", tier="ops")
    refused = await link.refusal("watch_variant", view=hidden, variant_id="price/A")
    assert refused["message"] == "There is no variant 'price/A'."
    assert await link.get("watch_variant", on=False, tags=["test"]) == {
        "on": False,
        "ended": ["tags test"],
    }


async def test_a_reset_closes_live_objects_and_runs_the_variant_anew(link):
    await link.define(CART)
    answer = await link.get("reset_variant", variant_id="cart/Empty")
    assert (answer["status"], answer["state"], answer["closed"]) == ("pass", ["first"], 1)
    await link.define("assert (closed, live.is_open) == (['shelf', 'shelf'], False), closed")
    again = await link.get("reset_variant", variant_id="cart/Empty")
    assert (again["status"], "closed" in again) == ("pass", False)


@pytest.mark.parametrize(
    "args", [{"modes": ["nope"]}, {"overrides": {"nope": 1}}, {"lane": "worker"}]
)
async def test_a_refused_reset_closes_nothing(link, args):
    await link.define(CART)
    reply = await link.ask("reset_variant", variant_id="cart/Empty", **args)
    assert not reply["ok"] or reply["result"]["status"] == "cannot_run"
    await link.define("assert (closed, live.is_open) == ([], True), closed; live.close()")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"duration_ms": 30_001}, "bad_arguments"),
        ({"duration_ms": -1}, "bad_arguments"),
        ({"new_variant_id": "no id"}, "bad_id"),
        ({"variant_id": "cart/Nope"}, "not_found"),
        ({"write_back": True}, "bad_arguments"),
        ({"extends": "cart/Nope"}, "not_found"),
        ({"new_variant_id": "cart/Empty", "extends": "cart/Empty"}, "bad_arguments"),
    ],
)
async def test_a_recording_is_refused_before_it_begins(link, args, code):
    await link.define(CART + "live.close()")
    asked = {"variant_id": "cart/Empty", "new_variant_id": "cart/New", "duration_ms": 0}
    assert (await link.refusal("record_as_variant", **(asked | args)))["code"] == code


async def test_a_recording_of_nothing_is_text_that_reports_it(link):
    await link.define(CART + "live.close()")
    reply = await link.ask(
        "record_as_variant", variant_id="cart/Empty", new_variant_id="cart/New", duration_ms=0
    )
    assert reply["result"] == {
        "source": "import repl_pair\n\n"
        'repl_pair.variant("cart/New", extends="cart/Empty", play=[])\n',
        "count": 0,
        "redacted": 0,
        "live_objects": 0,
    }
    assert "Nothing was dispatched" in reply["notifications"][0]


async def test_a_recording_extends_the_variant_that_is_named_or_none(link):
    await link.define(CART + "live.close()\nrepl_pair.variant('cart/Root')")
    asked = {"variant_id": "cart/Empty", "new_variant_id": "cart/New", "duration_ms": 0}
    for extends, part in (("cart/Root", ' extends="cart/Root",'), ("", "")):
        answer = await link.get("record_as_variant", **asked, extends=extends)
        text = f'import repl_pair\n\nrepl_pair.variant("cart/New",{part} play=[])\n'
        assert answer["source"] == text
