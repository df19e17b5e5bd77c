"""What of a run's events, effects, steps and state crosses the wire, over every link."""

import pytest
from bounds import DEADLINES_S

pytestmark = pytest.mark.anyio

CART = """\
import asyncio, repl_pair
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from repl_pair import Sensitive, check, effect, step

class Size(Enum):
    SMALL = 1

@dataclass
class Line:
    sku: str
    size: Size = Size.SMALL

class Cart:
    pin: Annotated[str, Sensitive]
    def __init__(self, limit: int = 2, pin: Annotated[str, Sensitive] = "7-19-4"):
        self.limit, self.pin, self.lines = limit, pin, []
    def add(self, line):
        if len(self.lines) == self.limit:
            raise OverflowError(f"no room for {line.sku}")
        self.lines.append(line)
        return len(self.lines)
    async def pay(self):
        await asyncio.sleep(0)
        return effect("bank/charge", amount=len(self.lines))

@effect.impl("bank/charge")
def charge(amount):
    return {"paid": amount}

repl_pair.handler("log")(lambda live, word: None)
repl_pair.story("cart", component=Cart, thread_safe=True)
add = step.dispatch("add", line=Line("b"))
repl_pair.variant("cart/Paid", events=[["add", {"line": Line("a")}]], play=[
    add, step.wait(1), step.call("pay"), check.path_equals("result.lines[1].sku", "b")])
repl_pair.variant("cart/Full", plays={"fill": [add, add], "spill": [add, add, add]})
repl_pair.variant("cart/Cold", args={"limit": 9}, play=[step.set("limit", 1), add, add])
repl_pair.variant("cart/Wrong", play=[check.path_equals("result.limit", 9)])
"""
ADDED = ["add", {"line": {"sku": "b", "size": "SMALL"}}]
LINES = [{"sku": "a", "size": "SMALL"}, {"sku": "b", "size": "SMALL"}]


async def test_events_effects_steps_and_state_of_a_run_are_answered(link):
    await link.define(CART)
    answer = await link.run("cart/Paid")
    assert answer["status"] == "pass", answer
    assert answer["events"] == [["add", {"line": LINES[0]}], ADDED]
    charge = {"id": "bank/charge", "payload": {"amount": 2}, "stubbed": False}
    assert answer["effects"] == [charge | {"response": {"paid": 2}}]
    assert answer["last"] == {"paid": 2}
    state = {"limit": 2, "pin": "[redacted]", "lines": LINES}
    assert answer["state"] == state
    assert [(s["step"], s["line"], s["state"]) for s in answer["steps"]] == [
        (0, ["dispatch", ADDED], state),
        (1, ["wait", 1], state),
        (2, ["call", "pay"], state),
    ]
    assert "plays" not in answer
    assert "registered" not in answer


async def test_a_run_beside_the_cells_waits_and_acts_as_one_between_them(link):
    await link.define(CART)
    answer = await link.run("cart/Paid", lane="worker")
    assert (answer["status"], len(answer["steps"]), answer["last"]) == ("pass", 3, {"paid": 2})


async def test_plays_are_run_by_name_and_a_failing_step_is_placed(link):
    await link.define(CART)
    answer = await link.run("cart/Full")
    assert (answer["status"], answer["plays"], len(answer["steps"])) == ("pass", ["fill"], 2)
    answer = await link.run("cart/Full", plays=["spill"])
    assert answer["status"] == "error"
    assert answer["reason"] == ("play 'spill', step 2, event 'add': OverflowError: no room for b")
    error = next(p["error"] for p in answer["phases"] if p["phase"] == "play")
    line = CART.splitlines().index('            raise OverflowError(f"no room for {line.sku}")') + 1
    assert error.pop("file")
    assert error == {
        "type": "OverflowError",
        "message": "no room for b",
        "play": "spill",
        "step": 2,
        "event": "add",
        "line": line,
        "code": 'raise OverflowError(f"no room for {line.sku}")',
    }
    reply = await link.ask("run_variant", variant_id="cart/Full", plays=["spil"])
    assert reply["error"]["code"] == "bad_arguments"
    assert "Nearest: spill" in reply["error"]["message"]


async def test_a_failing_run_states_where_its_variant_was_registered(link):
    await link.define(CART)
    answer = await link.run("cart/Wrong")
    assert answer["status"] == "fail"
    found = next(i for i, line in enumerate(CART.splitlines()) if "cart/Wrong" in line)
    assert answer["registered"]["line"] == found + 1
    assert answer["registered"]["where"]
    (failure,) = (await link.get("read_failures"))["items"]
    assert failure["registered"] == answer["registered"]


async def test_a_substrate_that_is_asked_for_is_part_of_the_identity(link):
    await link.define(CART)
    text = (await link.run("cart/Paid"))["identity"]
    html = (await link.run("cart/Paid", substrate="html"))["identity"]
    assert (text["substrate"], html["substrate"]) == ("text", "html")
    assert text["content_hash"] != html["content_hash"]


@pytest.mark.usefixtures("patient")
async def test_a_deadline_ends_a_play_that_waits_and_a_generator_without_end(link):
    await link.define("""\
import asyncio, itertools, time, repl_pair
from repl_pair import step
seen = []
@repl_pair.loader("held")
def held():
    yield 1
    seen.append("closed")
def endless(held=0):
    while True:
        time.sleep(0.01)
        yield 1
async def endless_later(held=0):
    while True:
        await asyncio.sleep(0.01)
        yield 1
for name, component, play in (
    ("waits", lambda held=0: 1, [step.wait(30_000)]), ("endless", endless, []),
    ("later", endless_later, []),
):
    repl_pair.story(name, component=component)
    repl_pair.variant(f"{name}/A", args={"held": repl_pair.ref("held")}, play=play)
def told(n=0):
    return list(seen)
repl_pair.story("told", component=told)
repl_pair.variant("told/A")
""")
    for count, name in enumerate(("waits", "endless", "later"), start=1):
        for limit_s in DEADLINES_S:
            answer = await link.run(f"{name}/A", timeout_s=limit_s)
            assert answer["status"] == "error", answer
            assert "still_running" not in answer
            if (closed := (await link.run("told/A"))["result"]) == ["closed"] * count:
                break
    assert closed == ["closed"] * 3
