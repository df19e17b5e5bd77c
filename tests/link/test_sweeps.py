"""Sweeps asked over a link: what they answer, tell meanwhile, and how they are ended."""

import asyncio
import time

import pytest
from bounds import BOUND_S, DEADLINES_S

from repl_pair.errors import next_step
from repl_pair.runtime.ops.sweeps import PROGRESS_S
from tests.link.swept_shop import SHOP, lines

pytestmark = pytest.mark.anyio

MANY = (
    SHOP
    + """
for number in range(260):
    repl_pair.variant(f"shop.price/N{number:03}", play=[check.path_equals("result", 1.0)])
"""
)
ENDLESS = """
import asyncio, pathlib, time
import repl_pair

begun = pathlib.Path({folder!r}, "begun")

@repl_pair.story("endless", thread_safe=True)
def endless(how: str = ""):
    if how:
        begun.touch()
    while how == "naps": time.sleep(0.01)

for name, how in (("A", ""), ("B", "naps"), ("C", "")):
    repl_pair.variant(f"endless/{{name}}", args={{"how": how}})
"""


async def sweep(link, **args):
    return await link.get("run_variants", **args)


async def begins(tmp_path):
    async with asyncio.timeout(BOUND_S):
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.01)


async def test_a_sweep_answers_counts_and_what_failed_first(link):
    await link.define(SHOP)
    reply = await link.ask("run_variants", ids=["shop.price/Two", "shop.price/One"])
    answer = reply["result"]
    assert {name: answer[name] for name in ("status", "total", "counts")} == {
        "status": "fail",
        "total": 6,
        "counts": {"pass": 2, "fail": 4, "error": 0, "cannot_run": 0, "not_run": 0},
    }
    assert lines(answer) == [
        ("shop.price/One", ["eur"], "fail"),
        ("shop.price/One", ["usd"], "fail"),
        ("shop.price/Two", [], "fail"),
        ("shop.price/Two", ["usd"], "fail"),
        ("shop.price/One", [], "pass"),
        ("shop.price/Two", ["eur"], "pass"),
    ]
    first = answer["items"][0]
    assert first == {
        "variant_id": "shop.price/One",
        "modes": ["eur"],
        "status": "fail",
        "reason": "path_equals: result: expected 1.0, got 2.0",
        "total": 1,
        "elapsed_ms": first["elapsed_ms"],
        "content_hash": first["content_hash"],
    }
    assert reply["next_steps"] == [
        next_step("run_variant", variant_id="shop.price/One", modes=["eur"]),
        next_step("read_failures"),
    ]


@pytest.mark.parametrize("lane", ["main", "worker"])
async def test_progress_reports_runs_a_few_times_a_second_and_of_the_last(link, lane):
    await link.define(
        "import repl_pair, time\n"
        "repl_pair.story('naps', component=lambda n: time.sleep(0.02), thread_safe=True)\n"
        "for n in range(30): repl_pair.variant(f'naps/N{n:02}', args={'n': n})\n"
    )
    begun = time.monotonic()
    assert (await sweep(link, story_id="naps", lane=lane))["status"] == "pass"
    took = time.monotonic() - begun
    messages = [seen["message"] for seen in link.progress if " runs: " in seen["message"]]
    assert 2 <= len(messages) <= took / PROGRESS_S + 2
    assert messages[-1] == "30 of 30 runs: naps/N29 pass"
    assert messages == sorted(messages, key=lambda message: int(message.split()[0]))


async def test_the_runs_without_modes_are_the_last_results(link):
    await link.define(SHOP)
    assert (await sweep(link, tags=["slow"], matrix="each"))["total"] == 3
    read = await link.get("read_failures")
    assert [item["variant_id"] for item in read["items"]] == ["shop.price/Two"]
    passing = await link.get("tests_passing", story_id="shop.price")
    assert (passing["failed"], passing["not_run_or_stale"]) == (
        ["shop.price/Two"],
        ["shop.price/One"],
    )
    again = await sweep(link, changed=True, modes=[])
    assert lines(again) == [("shop.price/One", [], "pass")]


async def test_many_rows_are_read_on(link):
    await link.define(MANY)
    reply = await link.ask("run_variants", story_id="shop.price", modes=[], limit=3)
    answer = reply["result"]
    assert answer["counts"]["pass"] == 261
    assert lines(answer)[0] == ("shop.price/Two", [], "fail")
    assert len(answer["items"]) == 3
    handle = answer["more"]["handle"]
    assert answer["more"] == {"rows": 259, "kept": 259, "handle": handle}
    assert next_step("read_more", handle=handle, limit=200) in reply["next_steps"]
    page = await link.get("read_more", handle=handle, offset=200, limit=200)
    assert page["total"] == 259
    assert lines(page)[-1] == ("shop.price/One", [], "pass")


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("lane", ["main", "worker"])
async def test_the_time_of_a_sweep_ends_the_run_under_way_and_no_other_begins(link, tmp_path, lane):
    await link.define(ENDLESS.format(folder=str(tmp_path)))
    for limit_s in DEADLINES_S:
        answer = await sweep(link, story_id="endless", timeout_s=limit_s, lane=lane)
        if (tmp_path / "begun").exists():
            break
    reason = f"not done within {limit_s:g} s"
    assert lines(answer) == [
        ("endless/B", [], "error"),
        ("endless/C", [], "cannot_run"),
        ("endless/A", [], "pass"),
    ]
    assert answer["items"][1]["reason"] == f"not begun: {reason}"
    assert (answer["status"], answer["counts"]["not_run"]) == ("error", 1)
    assert answer["items"][0]["reason"] == answer["reason"] == reason
    read = await link.get("read_assertions", variant_id="endless/B")
    assert (read["status"], read["reason"]) == ("error", reason)
    unrun = await link.refusal("read_assertions", variant_id="endless/C")
    assert "has not been run yet" in unrun["message"]


@pytest.mark.parametrize("lane", ["main", "worker"])
async def test_a_cancelled_sweep_ends_and_begins_no_other_run(link, tmp_path, lane):
    await link.define(ENDLESS.format(folder=str(tmp_path)))
    task = asyncio.create_task(sweep(link, story_id="endless", lane=lane))
    await begins(tmp_path)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await sweep(link, ids=["endless/A"], lane=lane))["status"] == "pass"
    waiting = (await link.get("tests_passing"))["not_run_or_stale"]
    assert waiting == ["endless/B", "endless/C"]


async def test_no_component_can_end_more_than_its_own_row(link):
    await link.define(
        SHOP
        + """
import asyncio
ENDS = {e.__name__: e for e in (KeyboardInterrupt, asyncio.CancelledError, SystemExit)}
@repl_pair.story("ends")
def ends(how: str):
    raise ENDS[how]("from inside")
for how in ENDS:
    repl_pair.variant(f"ends/{how}", args={"how": how})
"""
    )
    answer = await sweep(link, changed=True, modes=[])
    assert answer["counts"]["not_run"] == 0
    assert answer["total"] == 5
    assert [item["status"] for item in answer["items"]].count("pass") == 1
