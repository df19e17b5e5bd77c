"""Sweeps as an agent makes them over MCP: the tool, its progress, its end, and what comes next."""

import re
import threading

from bounds import BOUND_S

from repl_pair.errors import next_step

SETUP = """
import time
import repl_pair
from repl_pair import check

repl_pair.mode("eur", args={"rate": 2.0}, axis="currency")

@repl_pair.story("shop.price", modes=["eur"], tags=["test"])
def price(rate: float = 1.0):
    return rate
for number in range(40):
    repl_pair.variant(f"shop.price/N{number:02}", play=[check.path_equals("result", 1.0)])

@repl_pair.story("shop.slow")
def slow(n: int = 0):
    time.sleep(0.02)
    while n >= 150:
        time.sleep(0.02)
for n in range(200):
    repl_pair.variant(f"shop.slow/N{n:03}", args={"n": n})
"""


def test_run_variants_is_a_tool_and_goes_through_run_op_too(agent):
    [tool] = [tool for tool in agent.tools() if tool.name == "run_variants"]
    assert tool.annotations.read_only_hint is False
    reply = agent.ask("run_op", op="run_variants", args={"ids": ["shop.price/N00"]})
    assert reply["result"]["total"] == 2


def test_a_sweep_is_answered_in_little_with_the_failing_rows_first(agent):
    answered = agent.call("run_variants", story_id="shop.price")
    reply = answered.structured_content
    counts = {"pass": 40, "fail": 40, "error": 0, "cannot_run": 0, "not_run": 0}
    assert reply["result"]["counts"] == counts
    assert {item["status"] for item in reply["result"]["items"]} == {"fail"}
    assert set(reply["result"]["items"][0]) == {"variant_id", "modes", "status", "reason", "total"}
    assert len(reply["result"]["items"]) == 25
    assert len(answered.content[0].text) < 16_000
    first = reply["result"]["items"][0]
    assert reply["next_steps"][0] == next_step(
        "run_variant", variant_id="shop.price/N00", modes=["eur"]
    )
    again = agent.ask("run_variant", variant_id=first["variant_id"], modes=first["modes"])
    assert again["result"]["reason"] == first["reason"]
    rest = agent.ask("read_more", handle=reply["result"]["more"]["handle"], limit=200)
    assert len(rest["result"]["items"]) + 25 == 40


def test_the_verdicts_are_those_of_the_sweeps_also_in_the_modes_that_a_story_declares(agent):
    assert agent.ask("run_variants", tags=["test"], modes=[])["result"]["status"] == "pass"
    passing = agent.ask("tests_passing", tags=["test"])["result"]
    assert (passing["status"], len(passing["failed"])) == ("fail", 40)
    failures = agent.ask("read_failures", variant_id="shop.price/N00")["result"]["items"]
    assert [item["active_modes"] for item in failures] == [["eur"]]
    changed = agent.ask("run_variants", changed=True, story_id="shop.price")
    assert (changed["result"]["total"], changed["result"]["status"]) == (0, "cannot_run")


def test_progress_comes_while_it_runs_and_a_cancel_ends_it(agent):
    heard, several = [], threading.Event()

    def hear(progress):
        if " of 200 runs" in progress[2]:
            heard.append(progress[2])
        if len(heard) == 3:
            several.set()

    sweep = agent.start("run_variants", hear, story_id="shop.slow")
    assert several.wait(BOUND_S)
    sweep.cancel()
    done = [int(message.split()[0]) for message in heard]
    assert done == sorted(done)
    assert done[-1] < 200
    assert re.fullmatch(r"\d+ of 200 runs: shop.slow/N\d+ pass", heard[-1])
    passing = agent.ask("tests_passing", story_id="shop.slow")["result"]
    assert 0 < passing["passed"] < 200
    assert agent.ask("run_variants", ids=["shop.slow/N149"])["result"]["status"] == "pass"


def test_one_unknown_id_refuses_all_and_names_what_is_near(agent):
    reply = agent.ask("run_variants", ids=["shop.slow/N198", "shop.slow/N98"])
    assert reply["error"]["code"] == "not_found"
    assert "shop.slow/N098" in reply["error"]["message"]
    assert reply["next_steps"] == [next_step("list_variants")]
