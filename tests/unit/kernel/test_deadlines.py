"""How long a call may hold the main thread where it names no time."""

import asyncio
import inspect
from dataclasses import replace

import pytest

import repl_pair
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")


def ops_of_agents():
    return [op for op in TABLE.ops() if op.lane == "main" and not op.persons]


def test_a_call_of_an_agent_has_ten_seconds_on_the_main_lane_unless_it_asks_for_more():
    assert ops_of_agents()
    for op in ops_of_agents():
        usual = inspect.signature(op.fn).parameters["timeout_s"].default
        most = 20.0 if op.name in ("eval_code", "run_function") else 10.0
        assert (op.name, usual, op.deadline({})) == (op.name, most, most)
        assert op.deadline({"timeout_s": 60.0}) == 60.0


@pytest.mark.unbound("runtime.kernel.deadlines.GRACE_S")
@pytest.mark.parametrize("more", [{}, {"timeout_s": 0.1}])
@pytest.mark.parametrize("op", ["run_variant", "run_variants"])
async def test_what_ends_at_the_usual_time_states_how_to_ask_for_more(monkeypatch, op, more):
    repl_pair.story("shop.slow")(lambda: asyncio.sleep(20))
    repl_pair.variant("shop.slow/It")
    monkeypatch.setitem(TABLE._ops, op, replace(TABLE.get(op), deadline=lambda _args: 0.1))
    one = {"ids": ["shop.slow/It"]} if op == "run_variants" else {"variant_id": "shop.slow/It"}
    link = DirectLink()
    try:
        found = await link.request(op, one | more, view=AGENT, timeout_s=20.0)
    finally:
        await link.close()
    seen = "not done within 0.1 s" + ("" if more else "; with timeout_s it may take longer")
    assert (found["result"]["status"], found["result"]["reason"]) == ("error", seen)
