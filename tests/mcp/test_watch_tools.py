"""Following and recording variants as an agent's host sees it: over the server, with a person."""

import json

import pytest
from bounds import BOUND_S
from recordings import BEFORE, END, MOST_MS

from repl_pair.errors import next_step

CELL = """
import repl_pair
from repl_pair import check
class Cart:
    def __init__(self): self.items = []
    def add(self, sku): self.items.append(sku)
repl_pair.story("cart", component=Cart, state=lambda cart: list(cart.items))
repl_pair.variant("cart/Empty", doc="nothing yet")
def total(prices: list[float]) -> float: return sum(prices)
repl_pair.story("total", component=total)
repl_pair.variant("total/Two", args={"prices": [4, 9]}, play=[check.path_equals("result", 13)])
live = repl_pair.live("cart/Empty")
"""
SECRET = "Vw6nTq2ZkR9sXb4J"
RECORDED = f"""{BEFORE}
api_token = {SECRET!r}
repl_pair.variant("cart/Keyed")
keyed = repl_pair.live("cart/Keyed")
"""
REDEFINED = "def total(prices: list[float]) -> float: return sum(prices) + 1"


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(CELL)


@pytest.fixture(scope="module")
def agent(kernel, connect):
    with connect("--kernel", kernel.path, "--toolsets", "story", "--allow", "write") as agent:
        yield agent


def test_the_tools_are_listed_with_the_story_toolset(agent):
    tools = {tool.name: tool for tool in agent.tools()}
    names = ("changed_variants", "record_as_variant", "reset_variant", "watch_variant")
    hints = {name: tools[name].annotations.read_only_hint for name in names}
    assert hints == {name: name == "changed_variants" for name in names}


def test_a_watched_variant_runs_again_behind_the_persons_cell(kernel, agent):
    agent.ask("run_variant", variant_id="total/Two")
    begun = agent.ask("watch_variant", variant_id="total/Two")
    assert begun["result"]["items"] == ["total/Two"]
    assert agent.ask("changed_variants", story_id="total")["result"]["items"] == []
    kernel.cell(REDEFINED)
    since, changes = begun["seq"], []
    while ("results", "total/Two") not in changes:
        found = agent.ask("read_changes", since=since, wait_s=20)["result"]
        assert found["items"], changes
        since, changes = found["next"], [(item["member"], item["id"]) for item in found["items"]]
        # Who waits may find it outdated before it has run again.
        changes = [change for change in changes if change != ("outdated", "total/Two")]
        assert changes in ([], [("results", "total/Two")])
    failed = agent.ask("read_failures")["result"]["items"]
    assert [(f["variant_id"], f["status"], f["stale"]) for f in failed] == [
        ("total/Two", "fail", False)
    ]
    assert agent.ask("watch_variant", on=False)["result"]["ended"] == ["total/Two"]


def test_changed_variants_reports_what_is_not_as_it_ran(kernel, agent):
    agent.ask("run_variant", variant_id="cart/Empty")
    kernel.cell("repl_pair.variant('cart/Empty', events=[['add', {'sku': 'x'}]])")
    reply = agent.ask("changed_variants", story_id="cart")
    assert reply["result"]["items"] == [
        {
            "id": "cart/Empty",
            "drifted": ["content_hash"],
            "registered_again": ["variant cart/Empty"],
        }
    ]
    assert reply["next_steps"] == [next_step("run_variant", variant_id="cart/Empty")]
    kernel.cell("repl_pair.variant('cart/Empty', doc='nothing yet')")
    assert agent.ask("changed_variants", story_id="cart")["result"]["items"] == []


@pytest.fixture(scope="module")
def recorded(kernel, agent, until):
    """What two recordings at the same time answer; the person dispatches to both meanwhile."""
    kernel.cell(RECORDED)
    calls = []
    for old, new in (("cart/Empty", "cart/Two"), ("cart/Keyed", "cart/Three")):
        started = []
        asked = {"variant_id": old, "new_variant_id": new, "duration_ms": MOST_MS}
        call = agent.start("record_as_variant", started.append, **asked, write_back=True)
        until(lambda started=started: started, f"the begin of recording {new}")
        calls.append(call)
    kernel.cell(
        "live.dispatch('add', sku='a')\nlive.dispatch('add', sku='b')\n"
        "keyed.dispatch('add', sku='plain')\nkeyed.dispatch('add', sku=api_token)" + END
    )
    return [call.result(timeout=BOUND_S).structured_content["result"] for call in calls]


def test_what_the_person_dispatches_becomes_a_variant(agent, recorded):
    text, _ = recorded
    assert (text["count"], text["redacted"], text["written_back"]) == (2, 0, True)
    assert text["source"].splitlines()[-7:] == [
        '    "cart/Two",',
        '    extends="cart/Empty",',
        "    play=[",
        '        step.dispatch("add", sku="a"),',
        '        step.dispatch("add", sku="b"),',
        "    ],",
        ")",
    ]
    ran = agent.ask("run_variant", variant_id="cart/Two")["result"]
    assert (ran["status"], ran["state"]) == ("pass", ["a", "b"])


def test_a_secret_that_is_dispatched_is_in_no_frame(agent, recorded):
    _, text = recorded
    assert (text["count"], text["redacted"], text["written_back"]) == (2, 1, False)
    assert 'step.dispatch("[redacted]")' in text["source"]
    assert "secret" in text["reason"]
    assert SECRET not in json.dumps(agent.record.frames)


def test_a_reset_closes_the_live_object_and_runs_anew(kernel, agent):
    text = agent.ask("reset_variant", variant_id="cart/Empty")["result"]
    assert (text["status"], text["closed"]) == ("pass", 1)
    assert kernel.cell("print(live.is_open)").strip() == "False"


def test_without_the_write_gate_there_is_no_writing_back(kernel, connect):
    asked = {"variant_id": "cart/Empty", "new_variant_id": "cart/Four", "duration_ms": 0}
    with connect("--kernel", kernel.path, "--toolsets", "write") as agent:
        tools = {tool.name: tool for tool in agent.tools()}
        assert "write_back" not in tools["record_as_variant"].input_schema["properties"]
        refused = agent.call("record_as_variant", **asked, write_back=True)
        assert refused.is_error
        assert agent.ask("record_as_variant", **asked)["result"]["count"] == 0
