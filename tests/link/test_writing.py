"""Writing ops over every link: what a view may write, and what the person sees of it."""

import pytest

from repl_pair.errors import next_step
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

WRITER = View(principal="ann", access=frozenset({"read", "run", "write"}))
SHOP = """
import repl_pair
@repl_pair.story("shop.total")
def total(count: int = 2) -> int:
    return count
repl_pair.variant("shop.total/Two", play=[repl_pair.check.path_equals("result", 3)])
"""


async def test_an_agent_registers_runs_and_takes_out_a_corrected_variant(link):
    await link.define(SHOP)
    failed = await link.ask("run_variant", view=WRITER, variant_id="shop.total/Two")
    assert failed["next_steps"][0] == next_step(
        "register_variant",
        variant_id="shop.total/Two_2",
        body={"extends": "shop.total/Two", "play": [["path_equals", "result", 3]]},
    )
    body = {"extends": "shop.total/Two", "play": [["path_equals", "result", 2]]}
    made = await link.ask("register_variant", view=WRITER, variant_id="shop.total/Ann", body=body)
    assert made["result"]["origin"] == "agent ann"
    assert made["next_steps"][0] == next_step("run_variant", variant_id="shop.total/Ann")
    passed = await link.ask("run_variant", view=WRITER, variant_id="shop.total/Ann")
    assert (passed["result"]["status"], passed["result"]["total"]) == ("pass", 1)
    await link.define("assert repl_pair.run('shop.total/Ann').status == 'pass'")
    gone = await link.get("unregister", view=WRITER, kind="variant", id="shop.total/Ann")
    assert gone["unregistered"] is True
    await link.define(
        "assert list(repl_pair.registry.ids('variant', 'shop.total/')) == ['shop.total/Two']"
    )


async def test_a_view_without_the_access_cannot_distinguish_writing_ops_from_none(link):
    await link.define(SHOP)
    args = {"variant_id": "shop.total/Ann", "body": {}}
    refused = await link.refusal("register_variant", **args)
    assert refused["code"] == "not_found"
    assert refused["message"].startswith("There is no op 'register_variant'.")
    failed = await link.ask("run_variant", variant_id="shop.total/Two")
    assert not any("register" in step["op"] for step in failed["next_steps"])
    await link.define("assert repl_pair.registry.find('variant', 'shop.total/Ann') is None")
    await link.define("assert repl_pair.undo_agent() == []")
