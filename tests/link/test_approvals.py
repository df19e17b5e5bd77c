"""The kernel's side of an approval: it opens one exact call, and only the person gives it."""

import pytest

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

PERSON = View()
BODY = {"doc": "takes its time"}
ASKED = {"tag_id": "t_slow", "body": BODY}


async def ask(link, op, **args):
    """Ask for a call as the bridge does; gives the result, or the error."""
    view = View(principal="agent", access=frozenset({"read", "run"}))
    reply = await link.link.request("ask_approval", {"op": op, "args": args}, view=view)
    return reply["result"] if reply["ok"] else reply["error"]


async def write(link, handle, args=ASKED):
    """Make the call as the bridge does, with an approval; gives the code, or ok."""
    view = View(principal="agent", access=frozenset({"read", "run"}))
    reply = await link.link.request("register_tag", args, view=view, approval=handle)
    return "ok" if reply["ok"] else reply["error"]["code"]


async def test_an_approval_opens_the_call_that_was_asked_for_and_no_other(link):
    assert (await link.refusal("register_tag", **ASKED))["code"] == "not_found"
    asked = await ask(link, "register_tag", **ASKED)
    handle = asked["handle"]
    assert (asked["state"], asked["expires_in_s"] > 590) == ("pending", True)
    assert await write(link, handle) == "approval_pending"
    [listed] = (await link.get("list_approvals", view=PERSON))["items"]
    assert (listed["handle"], listed["kind"], listed["access"]) == (handle, "diff", ["write"])
    assert '+  "doc": "takes its time"' in listed["text"].splitlines()
    await link.get("answer_approval", view=PERSON, handle=handle, answer="once")
    assert (await link.get("await_approval", handle=handle, wait_s=5))["state"] == "approved"
    assert await write(link, handle, ASKED | {"tag_id": "t_slower"}) == "not_found"
    assert await write(link, "nosuchone") == "not_found"
    assert await write(link, handle) == "ok"
    assert await write(link, handle) == "approval_expired"
    assert (await link.get("list_approvals", view=PERSON))["total"] == 0


async def test_what_only_the_person_may_call_does_not_exist_for_an_agent(link):
    asked = await ask(link, "register_tag", **ASKED)
    answer = {"handle": asked["handle"], "answer": "once"}
    for op, args in (("answer_approval", answer), ("list_approvals", {}), ("pause_agents", {})):
        refused = await link.refusal(op, **args)
        assert refused["code"] == "not_found"
        assert op not in refused["message"].partition("Nearest")[2]
        nested = await ask(link, op, **args)
        assert nested["code"] == "not_found"
    for op in ("ping", "describe", "await_approval"):
        assert (await ask(link, op, handle=asked["handle"]))["code"] == "not_found"
    assert await write(link, asked["handle"]) == "approval_pending"
    await link.get("withdraw_approval", handle=asked["handle"])
    assert await write(link, asked["handle"]) == "approval_expired"


async def test_only_what_is_closed_and_legal_is_asked_for(link):
    refused = await ask(link, "list_stories")
    assert refused["code"] == "bad_arguments"
    refused = await ask(link, "register_tag", tag="x")
    assert refused["code"] == "bad_arguments"
    refused = await ask(link, "no_such_op")
    assert refused["code"] == "not_found"


async def test_a_pause_keeps_agents_out_and_not_the_person(link):
    await link.get("pause_agents", view=PERSON, on=True)
    try:
        assert (await link.refusal("list_stories"))["code"] == "paused"
        assert (await link.refusal("run_variant", variant_id="x.y/Z"))["code"] == "paused"
        assert (await link.get("list_approvals", view=PERSON))["paused_s"] >= 0
    finally:
        await link.get("pause_agents", view=PERSON, on=False)
    assert await link.get("list_stories")
