"""The rules of the op `run_variants`, asked in this process."""

import pytest

from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.errors import next_step
from repl_pair.wire import View
from tests.link.swept_shop import SHOP, lines

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")


class Ends:
    """What asks and answers, and a namespace to define things in."""

    def __init__(self):
        self.link = DirectLink()
        self.space = {"__name__": "swept_cells"}

    async def define(self, source):
        exec(source, self.space)

    async def ask(self, op, *, view=AGENT, **args):
        return await self.link.request(op, args, view=view, timeout_s=100.0)

    async def get(self, op, **args):
        reply = await self.ask(op, **args)
        assert reply["ok"], str(reply)
        return reply["result"]

    async def refusal(self, op, **args):
        return (await self.ask(op, **args))["error"]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def link():
    ends = Ends()
    yield ends
    await ends.link.close()


async def test_nothing_chosen_is_no_pass(link):
    await link.define(SHOP)
    reply = await link.ask("run_variants", tags=["internal"])
    assert (reply["result"]["status"], reply["result"]["total"]) == ("cannot_run", 0)
    assert reply["result"]["reason"] == "no variant is chosen, so nothing is shown to pass"
    assert next_step("list_variants") in reply["next_steps"]


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (
            {"ids": ["shop.price/One"], "changed": True},
            "bad_arguments",
            "Choose the variants in one way",
        ),
        ({"ids": ["shop.price/One"], "changed": True}, "bad_arguments", "Given: ids and changed."),
        ({"ids": ["shop.price/One", "shop.price/Tow"]}, "not_found", "Nearest: shop.price/Two"),
        ({"ids": ["shop.price/One"], "tags": []}, "bad_arguments", "also what is empty"),
        ({"tags": []}, "bad_arguments", "tags is empty: name one, or leave tags out."),
        ({"story_id": "shop.prize"}, "not_found", "Nearest: shop.price"),
        ({"tags": ["slwo"]}, "not_found", "Nearest: slow"),
        ({"changed": True, "modes": ["eru"]}, "not_found", "Nearest: eur"),
        ({"changed": True, "modes": ["eur", "usd"]}, "bad_arguments", "share the axis"),
        ({"changed": True, "modes": [], "matrix": "all"}, "bad_arguments", "not both"),
        ({"changed": True, "modes": "all"}, "bad_arguments", "modes: expected array"),
        ({"changed": True, "limit": 0}, "bad_arguments", "limit: expected 1 to 200, got 0"),
    ],
)
async def test_what_is_not_all_there_is_refused_and_nothing_runs(link, args, code, text):
    await link.define(SHOP)
    refusal = await link.refusal("run_variants", **args)
    assert refusal["code"] == code
    assert text in refusal["message"]
    assert (await link.get("read_failures"))["total"] == 0
    assert len((await link.get("tests_passing"))["not_run_or_stale"]) == 2


CHOOSING = [
    *("run_variants", "list_variants", "list_stories", "read_failures"),
    *("changed_variants", "tests_passing", "watch_variant"),
]


@pytest.mark.parametrize("op", CHOOSING)
async def test_no_op_takes_an_empty_choice_for_all(link, op):
    await link.define(SHOP)
    assert (await link.refusal(op, tags=[]))["code"] == "bad_arguments"
    assert len((await link.get("tests_passing"))["not_run_or_stale"]) == 2


async def test_a_run_without_its_plays_does_not_pass(link):
    await link.define(SHOP)
    refusal = await link.refusal("run_variant", variant_id="shop.price/Two", plays=[])
    assert refusal["message"] == "plays is empty: name one, or leave plays out."


async def test_a_view_with_a_tier_sweeps_what_it_sees(link):
    await link.define(
        SHOP
        + "repl_pair.story('ops.price', component=price, modes=['eur'], tier='ops')\n"
        + "repl_pair.variant('ops.price/A', tier='ops')\n"
    )
    ops = View(principal="agent", tier="ops")
    answer = await link.get("run_variants", view=ops, changed=True, detail="full")
    assert lines(answer) == [("ops.price/A", [], "pass")]
    refusal = await link.refusal("run_variants", view=ops, ids=["shop.price/One"])
    assert refusal["message"] == (
        "There is no variant 'shop.price/One'. Nearest: ops.price/A. Nothing was run."
    )
    refusal = await link.refusal("run_variants", view=ops, changed=True, modes=["eur"])
    assert refusal["message"] == "There is no mode 'eur'. Nothing was run."


async def test_a_sweep_on_a_worker_runs_only_stories_that_allow_it(link):
    await link.define(
        SHOP + "repl_pair.story('endless', component=lambda: 1, thread_safe=True)\n"
        "repl_pair.variant('endless/A')\n"
    )
    ids = ["endless/A", "shop.price/One"]
    answer = await link.get("run_variants", ids=ids, modes=[], lane="worker", detail="full")
    assert lines(answer) == [("shop.price/One", [], "cannot_run"), ("endless/A", [], "pass")]
    assert answer["status"] == "cannot_run"


async def test_the_first_failure_ends_a_sweep_that_is_to_fail_fast(link):
    await link.define(SHOP)
    answer = await link.get("run_variants", story_id="shop.price", fail_fast=True)
    failed, *not_started = lines(answer)
    assert failed == ("shop.price/One", ["eur"], "fail")
    assert {status for _, _, status in not_started} == {"cannot_run"}
    assert len(not_started) == 4
    assert answer["counts"]["not_run"] == 4
    assert answer["reason"] == "stopped after the first run that did not pass"


async def test_a_reason_is_redacted_before_it_is_cut_on_every_page(link, monkeypatch):
    secret = "zq7-kw2-mm4-xv9-" * 3
    monkeypatch.setenv("SWEPT_TOKEN", secret)
    await link.define(
        SHOP
        + """
import os
@repl_pair.story("vault")
def leak(n: int):
    raise ValueError("x" * (240 + n) + os.environ["SWEPT_TOKEN"])
for n in range(30):
    repl_pair.variant(f"vault/N{n:02}", args={"n": n})
"""
    )
    reply = await link.ask("run_variants", story_id="vault", limit=1)
    rest = await link.get("read_more", handle=reply["result"]["more"]["handle"])
    assert reply["result"]["counts"]["error"] == 30
    assert len(rest["items"]) == 29
    assert "zq7" not in f"{reply}{rest}"
    assert f"{reply}{rest}".count("[redacted]") == 30


async def test_a_sweep_of_thousands_answers_a_page_and_states_what_it_left_out(link):
    await link.define(
        "import repl_pair\n"
        "repl_pair.story('wide', component=lambda n: n)\n"
        "for n in range(2_100): repl_pair.variant(f'wide/N{n:04}', args={'n': n})\n"
    )
    answer = await link.get("run_variants", story_id="wide", detail="full", timeout_s=100.0)
    assert answer["counts"]["pass"] == 2_100
    assert len(answer["items"]) == 25
    assert (answer["more"]["rows"], answer["more"]["kept"]) == (2_075, 2_000)
