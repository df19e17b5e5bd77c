"""What-if runs: their results are the last ones for the agent that asked, and for the person."""

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
    """Return what each op that reads last results answers of the variant, in one word."""
    stories, one = {"story_id": "price"}, {"variant_id": "price/One"}
    listed = await link.get("list_variants", view=view, **stories)
    text = await link.get("get_docs_markdown", view=view, **stories)
    return {
        "read_assertions": (await link.get("read_assertions", view=view, **one))["status"],
        "read_failures": (await link.get("read_failures", view=view))["total"],
        "get_variant": (await link.get("get_variant", view=view, **one))["status"],
        "list_variants": listed["items"][0]["status"],
        "tests_passing": (await link.get("tests_passing", view=view, **stories))["status"],
        "get_docs_markdown": "with other args" in text["markdown"],
    }


PLAIN = {
    "read_assertions": "pass",
    "read_failures": 0,
    "get_variant": "pass",
    "list_variants": "pass",
    "tests_passing": "pass",
    "get_docs_markdown": False,
}
TRIED = {
    "read_assertions": "fail",
    "read_failures": 1,
    "get_variant": "fail",
    "list_variants": "fail",
    "tests_passing": "cannot_run",
    "get_docs_markdown": True,
}


async def test_a_what_if_result_is_for_the_agent_that_asked_and_the_person(link):
    await link.define(PRICE)
    await link.run("price/One", view=BEN)
    await link.run("price/One", view=ANN, overrides={"n": 5})
    assert [await seen(link, view) for view in (ANN, BEN, YOU)] == [TRIED, PLAIN, TRIED]
    for op, args in (("read_assertions", {"variant_id": "price/One"}), ("list_variants", {})):
        found = [await link.get(op, view=view, **args) for view in (ANN, BEN, YOU)]
        lines = [answer.get("items", [answer])[0] for answer in found]
        assert [line.get("asked_by") for line in lines] == ["ann", None, "ann"]
    assert (await link.get("run_variants", view=BEN, changed=True))["total"] == 0
    await link.get("reset_variant", view=BEN, variant_id="price/One", overrides={"n": 1})
    assert await seen(link, ANN) == TRIED
    own = {"tests_passing": "cannot_run", "get_docs_markdown": True}
    assert await seen(link, BEN) == PLAIN | own
    await link.run("price/One", view=BEN)
    assert [await seen(link, view) for view in (ANN, BEN, YOU)] == [PLAIN] * 3


async def test_what_the_person_tries_is_for_all(link):
    await link.define(PRICE)
    await link.run("price/One", view=ANN, overrides={"n": 4})
    await link.run("price/One", view=YOU, overrides={"n": 5})
    assert [await seen(link, view) for view in (ANN, BEN, YOU)] == [TRIED] * 3


async def test_a_variant_counts_as_watched_only_for_who_watches_it(link):
    await link.define(PRICE)
    # A watch ends with the last client of its owner, and this client is the agent.
    await link.get("watch_variant", view=AGENT, variant_id="price/One")
    found = [await link.get("changed_variants", view=view) for view in (AGENT, BEN, YOU)]
    assert [answer["not_run"] for answer in found] == [0, 1, 0]
    ended = [await link.get("watch_variant", view=view, on=False) for view in (BEN, AGENT)]
    assert [answer["ended"] for answer in ended] == [[], ["price/One"]]
