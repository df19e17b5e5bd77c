"""What-if runs are no verdicts; agents read their own, and the person all."""

import pytest

from repl_pair.wire import AGENT as NAME, PERSON, View

PRICE = """
import repl_pair
from repl_pair import check
@repl_pair.story("price")
def price(n: int = 1) -> int:
    return n
repl_pair.variant("price/One", play=[check.path_equals("result", 1)])
"""
AGENT, ANN, BEN, YOU = (View(principal=name) for name in (NAME, "ann", "ben", PERSON))


async def seen(link, view):
    """Return what each op that reads results answers of the variant, in one word."""
    stories, one = {"story_id": "price"}, {"variant_id": "price/One"}
    listed = await link.get("list_variants", view=view, **stories)
    text = await link.get("get_docs_markdown", view=view, **stories)
    return {
        "read_assertions": (await link.get("read_assertions", view=view, **one))["status"],
        "read_failures": (await link.get("read_failures", view=view))["total"],
        "get_variant": (await link.get("get_variant", view=view, **one)).get("status"),
        "list_variants": listed["items"][0].get("status"),
        "tests_passing": (await link.get("tests_passing", view=view, **stories))["status"],
        "get_docs_markdown": "pass, 1 of 1" in text["markdown"],
    }


PASSED = {
    "read_assertions": "pass",
    "read_failures": 0,
    "get_variant": "pass",
    "list_variants": "pass",
    "tests_passing": "pass",
    "get_docs_markdown": True,
}
NOT_RUN = {
    "read_assertions": "pass",
    "read_failures": 0,
    "get_variant": None,
    "list_variants": None,
    "tests_passing": "cannot_run",
    "get_docs_markdown": False,
}
TRIED = {"read_assertions": "fail"}


async def test_a_what_if_result_is_for_the_agent_that_asked_and_the_person(link):
    await link.define(PRICE)
    await link.run("price/One", view=BEN)
    await link.run("price/One", view=ANN, overrides={"n": 5})
    assert [await seen(link, view) for view in (ANN, BEN, YOU)] == [
        PASSED | TRIED,
        PASSED,
        PASSED | TRIED,
    ]
    one = {"variant_id": "price/One"}
    found = [await link.get("read_assertions", view=view, **one) for view in (ANN, BEN, YOU)]
    assert [answer.get("asked_by") for answer in found] == ["ann", None, "ann"]
    assert [answer.get("what_if") for answer in found] == [["overrides"], None, ["overrides"]]
    assert (await link.get("run_variants", view=BEN, changed=True))["total"] == 0
    await link.get("reset_variant", view=BEN, variant_id="price/One", overrides={"n": 1})
    assert await seen(link, ANN) == NOT_RUN | TRIED
    assert await seen(link, BEN) == NOT_RUN
    await link.run("price/One", view=BEN)
    assert [await seen(link, view) for view in (ANN, BEN, YOU)] == [PASSED] * 3


async def test_what_the_person_tries_is_for_all(link):
    await link.define(PRICE)
    await link.run("price/One", view=ANN, overrides={"n": 4})
    await link.run("price/One", view=YOU, overrides={"n": 5})
    assert [await seen(link, view) for view in (ANN, BEN, YOU)] == [NOT_RUN | TRIED] * 3


NO_VERDICTS = {
    "overrides": {"overrides": {"n": 5}},
    "modes": {"modes": ["other"]},
    "plays": {"plays": ["small"]},
    "substrate": {"substrate": "html"},
}


@pytest.mark.parametrize("what", NO_VERDICTS)
async def test_a_run_of_another_than_the_registered_variant_is_no_verdict(link, what):
    await link.define(
        PRICE
        + """
repl_pair.mode("other", args={"n": 5})
repl_pair.mode("own", args={"n": 6})
repl_pair.story("price", component=price, modes=["own"])
repl_pair.variant("price/One", plays={
    "one": [check.path_equals("result", 1)],
    "small": [check.path_equals("result", 5)],
})
"""
    )
    verdicts = ("read_failures", "get_variant", "list_variants", "tests_passing")
    for first in ({}, NO_VERDICTS[what]):
        answer = await link.run("price/One", **first)
        assert answer.get("what_if") == ([what] if first else None)
        found = await seen(link, AGENT)
        assert {name: found[name] for name in verdicts} == {name: PASSED[name] for name in verdicts}
    await link.run("price/One", modes=["own"])
    line = (await link.get("list_variants"))["items"][0]
    assert (line["status"], line["active_modes"]) == ("fail", ["own"])
    await link.run("price/One", **NO_VERDICTS[what])
    assert (await link.get("read_failures"))["items"][0]["active_modes"] == ["own"]


async def test_a_variant_counts_as_watched_only_for_who_watches_it(link):
    await link.define(PRICE)
    # A watch ends with the last client of its owner, and this client is the agent.
    await link.get("watch_variant", view=AGENT, variant_id="price/One")
    found = [await link.get("changed_variants", view=view) for view in (AGENT, BEN, YOU)]
    assert [answer["not_run"] for answer in found] == [0, 1, 0]
    ended = [await link.get("watch_variant", view=view, on=False) for view in (BEN, AGENT)]
    assert [answer["ended"] for answer in ended] == [[], ["price/One"]]
