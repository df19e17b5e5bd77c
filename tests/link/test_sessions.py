"""Work sessions and notices over every kind of link."""

import asyncio
import json
import time
from unittest.mock import ANY

import pytest
from bounds import BOUND_S

from repl_pair.wire import PERSON, View

SHOP = """
import repl_pair
from repl_pair import check
@repl_pair.story("shop")
def shop(n: int = 1) -> int:
    return n
repl_pair.variant("shop/One", play=[check.path_equals("result", 1)])
repl_pair.variant("shop/Two", play=[check.path_equals("result", 2)])
"""
DELETE = """
import shutil
from repl_pair.runtime.project.database import project
shutil.rmtree(project().file.parent)
"""
"""What `git clean -fdx` does."""
WRITER = View(principal="ann", access=frozenset({"read", "run", "write", "eval"}))
AGENT, ANN, BEN, YOU = (View(principal=name) for name in ("agent", "ann", "ben", PERSON))


async def ask(link, op, view, **args):
    """Return a reply, and take no step: each call may make notices seen."""
    return await link.link.request(op, args, view=view, timeout_s=BOUND_S)


async def until_noticed(link, view):
    """Return the first reply that shows notices."""
    until = time.monotonic() + BOUND_S
    while "notices" not in (reply := await ask(link, "list_tags", view)):
        assert time.monotonic() < until
        await asyncio.sleep(0.01)
    return reply


async def test_a_session_counts_what_its_client_did(link):
    await link.define(SHOP)
    opened = await link.get("session_start", view=WRITER, goal="Mend the shop.", rfc="shop")
    await link.run("shop/One", view=WRITER)
    await link.get("run_variants", view=WRITER)
    await link.refusal("run_variant", view=WRITER, variant_id="shop/None")
    await link.get("register_tag", view=WRITER, tag_id="mine", body={})
    await link.refusal("register_tag", view=WRITER, tag_id="no id", body={})
    await link.get("eval_code", view=WRITER, code="1 / 0")
    again = await link.get("session_start", view=WRITER, goal="Another one.")
    assert (again["id"], again["goal"], again["already_open"]) == (
        opened["id"],
        "Mend the shop.",
        True,
    )
    done = await link.get("session_stop", view=WRITER)
    assert done.pop("seconds") > 0
    assert done == {
        "runs": {"pass": 2, "fail": 1},
        "registered": 1,
        "evals": 1,
        "approvals": 0,
        "annotations": 0,
        "contracts": 0,
    }
    kept = await link.get("get_session", view=WRITER, session_id=opened["id"])
    assert (kept["status"], kept["rfc"], kept["runs"]) == ("stopped", "shop", done["runs"])
    refused = await link.refusal("session_stop", view=WRITER)
    assert refused["code"] == "not_found"


async def test_a_verdict_that_flips_is_noticed_by_all_agents_but_who_caused_it(link):
    await link.get("session_start", view=BEN)  # a project in which nothing is kept has no notices
    await link.define(SHOP)
    await link.run("shop/One", view=ANN)
    await link.define(SHOP.replace("return n", "return n + 1"))
    caused = await ask(link, "run_variant", ANN, variant_id="shop/One")
    assert "notices" not in caused
    assert "notices" not in await ask(link, "list_tags", YOU)
    shown = await until_noticed(link, BEN)
    assert shown["notices"] == {"ids": [ANY], "more": 0}
    assert len(json.dumps(shown["notices"])) <= 300
    listed = (await ask(link, "notifications_list", BEN, state="all"))["result"]["items"]
    assert [{**one, "created_at": "", "updated_at": ""} for one in listed] == [
        {
            "id": shown["notices"]["ids"][0],
            "kind": "verdict",
            "subject": "variant:shop/One",
            "text": "shop/One is fail now; before it was pass.",
            "count": 1,
            "by": "ann",
            "state": "pending",
            "created_at": "",
            "updated_at": "",
        }
    ]
    assert "notices" not in await ask(link, "list_tags", BEN)
    await link.define(SHOP + "repl_pair.run('shop/One')")
    for view in (ANN, BEN):  # it is pending again for who saw it, and new for who caused the first
        assert (await until_noticed(link, view))["notices"] == shown["notices"]
    (notice,) = (await ask(link, "notifications_list", ANN, state="all"))["result"]["items"]
    assert (notice["count"], notice["by"], notice["state"]) == (2, PERSON, "pending")


async def test_a_watch_runs_for_the_person_so_who_watches_is_noticed_of_a_flip(link):
    await link.get("session_start", view=AGENT)
    await link.define(SHOP)
    await link.run("shop/One")
    await link.get("watch_variant", variant_id="shop/One")
    await link.define(SHOP.replace("return n", "return n + 1"))
    shown = await until_noticed(link, AGENT)
    listed = (await ask(link, "notifications_list", AGENT, state="all"))["result"]["items"]
    assert [(one["id"], one["by"]) for one in listed] == [(shown["notices"]["ids"][0], PERSON)]


WAITS = """
import time
from pathlib import Path
import repl_pair
begun = Path({file!r})
@repl_pair.story("waits", thread_safe=True)
def waits():
    begun.touch()
    while True: time.sleep(0.01)
repl_pair.variant("waits/It")
"""


async def test_a_notice_in_the_late_reply_to_a_cancelled_call_is_shown_with_the_next(
    link, tmp_path
):
    begun = tmp_path / "begun"
    await link.define(WAITS.format(file=str(begun)))
    id = (await link.get("session_start", view=BEN))["id"]
    args = {"variant_id": "waits/It"}
    run = asyncio.create_task(link.link.request("run_variant", args, view=BEN))
    target = {"target": "variant:waits/It"}
    async with asyncio.timeout(BOUND_S):
        while not begun.exists():
            await asyncio.sleep(0.01)
        await link.get("create_annotation", view=YOU, **target, content="Stop, and do this.")
        await link.get("submit_review", view=YOU, **target)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        while not (await link.get("get_session", view=YOU, session_id=id))["runs"]:
            await asyncio.sleep(0.01)
    assert (await until_noticed(link, BEN))["notices"]["ids"]


async def test_an_open_session_goes_on_whose_database_was_deleted(link):
    opened = await link.get("session_start", view=ANN, goal="Mend the shop.")
    await link.define(DELETE)
    again = await link.get("session_start", view=ANN)
    assert (again["id"], again["goal"], again["already_open"]) == (
        opened["id"],
        "Mend the shop.",
        True,
    )
    await link.define(DELETE)
    assert (await link.get("session_stop", view=ANN))["seconds"] > 0
    (kept,) = (await link.get("list_sessions", view=ANN))["items"]
    assert (kept["id"], kept["status"]) == (opened["id"], "stopped")


async def test_sessions_are_their_agents_and_the_persons_and_are_paged(link):
    ids = []
    for _ in range(3):
        ids.insert(0, (await link.get("session_start", view=ANN))["id"])
        await link.get("session_stop", view=ANN)
    for view, own in ((ANN, ids), (YOU, ids), (BEN, [])):
        first = await link.get("list_sessions", view=view, limit=2)
        assert ([one["id"] for one in first["items"]], first["total"]) == (own[:2], len(own))
        if own:
            rest = await link.get("list_sessions", view=view, limit=2, cursor=first["cursor"])
            assert [one["id"] for one in rest["items"]] == own[2:]
    refused = await link.refusal("get_session", view=BEN, session_id=ids[0])
    assert refused["code"] == "not_found"
    assert "Nearest" not in refused["message"]
    near = await link.refusal("get_session", view=ANN, session_id=ids[0][:-1] + "x")
    assert ids[0] in near["message"]
    for op in ("session_start", "session_stop"):
        assert (await link.refusal(op, view=YOU))["code"] == "bad_arguments"
    long = await link.refusal("session_start", view=ANN, goal="x" * 501)
    assert long["code"] == "bad_arguments"
