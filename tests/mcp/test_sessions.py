"""Work sessions and notices as agents have them over the real server."""

import json

import pytest

from repl_pair.bridge import manifest

SETUP = """
import repl_pair
from repl_pair import check
from repl_pair.runtime.clients.approvals import QUEUE

@repl_pair.story("shop", tags=["test"])
def shop(n: int = 1) -> int:
    return n
repl_pair.variant("shop/One", play=[check.path_equals("result", 1)])
repl_pair.run("shop/One")

def answer(word):
    [one] = QUEUE.pending()
    QUEUE.answer(one.handle, word)
def flip():
    global n
    n += 1
    repl_pair.story("shop", component=lambda n=n: n)
    return repl_pair.run("shop/One").status
n = 1
"""
SESSION = [entry["name"] for entry in manifest.load() if entry["toolset"] == "session"]


@pytest.fixture(scope="module")
def ann(kernel, connect):
    options = ("--as", "ann", "--toolsets", "session", "--ask", "eval")
    with connect("--kernel", kernel.path, *options) as agent:
        yield agent


@pytest.fixture(scope="module")
def ben(kernel, connect):
    """An agent that lists no tool of sessions."""
    with connect("--kernel", kernel.path, "--as", "ben") as agent:
        yield agent


def until_noticed(agent, until):
    """Return the first reply with notices; no step of it is taken."""

    def look():
        reply = agent.call("list_stories").structured_content
        return reply if "notices" in reply else None

    return until(look, "a reply with notices")


def test_the_toolset_lists_the_tools_and_each_step_can_be_called_as_written(ann):
    assert {tool.name for tool in ann.tools()} > {*SESSION}
    taken, waiting = set(), [("notifications_list", {}), ("list_sessions", {})]
    while waiting:
        op, args = waiting.pop()
        if (op, str(args)) in taken:
            continue
        taken.add((op, str(args)))
        reply = ann.call(op, **args).structured_content
        assert reply["ok"], (op, args, reply)
        if op in SESSION:
            assert 0 < len(reply["next_steps"]) <= 3, (op, reply)
            waiting += [(step["op"], step["args"]) for step in reply["next_steps"]]
    assert {op for op, _ in taken} >= {*SESSION}


def test_an_answered_approval_is_counted_and_noticed_by_who_asked(ann, ben, kernel, until):
    ann.call("session_start", goal="Mend the shop.")
    asked = ann.start("eval_code", code="1 + 1")
    until(lambda: kernel.cell("print(len(QUEUE.pending()))").strip() == "1", "the question")
    kernel.cell("answer('once')")
    assert asked.result().structured_content["result"]["value"] == 2
    until(lambda: ann.ask("notifications_list", state="all")["result"]["total"], "the notice")
    (notice,) = ann.ask("notifications_list", state="all")["result"]["items"]
    shown = {slot: notice[slot] for slot in ("kind", "subject", "text", "by")}
    assert shown == {
        "kind": "approval",
        "subject": "op:eval_code",
        "text": "The person approved eval_code.",
        "by": "person",
    }
    assert (
        ben.ask("read_op", op="notifications_list", args={"state": "all"})["result"]["total"] == 0
    )
    done = ann.ask("session_stop")["result"]
    assert (done["approvals"], done["evals"], done["registered"]) == (1, 1, 0)


def test_a_notice_stays_pending_until_its_agent_has_read_a_whole_reply(ann, ben, kernel, until):
    assert "notices" not in ben.ask("list_stories")
    kernel.cell("flip()")
    notices = until_noticed(ben, until)["notices"]
    uri = "surface://repl_pair/failures"
    (content,) = ann.portal.call(ann.client.read_resource, uri).contents
    assert "notices" not in json.loads(content.text)
    refused = ann.call("get_variant", variant_id="shop/Own")
    assert refused.structured_content["notices"] == notices
    assert json.dumps(notices, separators=(",", ":")) in refused.content[0].text
    again = ben.call("get_variant", variant_id="shop/One").structured_content
    assert "notices" not in again
    listed = ben.ask("read_op", op="notifications_list", args={"state": "seen"})
    assert [one["id"] for one in listed["result"]["items"]] == notices["ids"]


def test_a_session_is_had_without_its_toolset(ben):
    started = ben.ask("run_op", op="session_start", args={"goal": "Look around."})
    assert {step["op"] for step in started["next_steps"]} == {"read_op", "run_op"}
    read = ben.ask("read_op", op="get_session", args={"session_id": started["result"]["id"]})
    assert (read["result"]["goal"], read["result"]["status"]) == ("Look around.", "open")
    assert ben.ask("run_op", op="session_stop")["result"]["runs"] == {}
