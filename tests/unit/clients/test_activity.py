"""What agents called, noted for the person; and the pause that keeps agents out."""

import asyncio

from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.errors import ReplPairError
from repl_pair.runtime.clients import clients
from repl_pair.runtime.clients.activity import (
    ACTIVITY,
    ARGS_CHARS,
    CODE_CHARS,
    CODES_CHARS,
    KEPT,
    LOG,
    ActivityLog,
    args_text,
)
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.store import PERSON_STORE, STORE, Store
from repl_pair.wire import Request, View

AGENT = View(principal="agent")


def make_log():
    store = Store()
    store.declare(ACTIVITY)
    return ActivityLog(store), store


def request(op="list_stories", view=AGENT, **args):
    return Request(op=op, args=args, call="c", view=view, client="ann")


def ask(*calls, view=AGENT):
    """Ask over a link to this process; gives the replies."""

    async def talk():
        link = DirectLink()
        try:
            return [await link.request(op, args, view=view) for op, args in calls]
        finally:
            await link.close()

    return asyncio.run(talk())


def test_a_call_is_noted_when_it_is_taken_up_and_when_it_is_answered():
    log, replies = make_log()[0], []
    answer = log.follow(request(limit=3), replies.append)
    (running,) = log.latest()
    assert (running.op, running.args, running.state) == ("list_stories", "limit=3", "running")
    assert (running.principal, running.client, running.n) == ("agent", "ann", 1)
    reply = {"ok": True, "result": {"status": "pass"}, "redacted": 2, "elided": 1}
    answer(reply)
    assert replies == [reply]
    (done,) = log.latest()
    assert (done.state, done.verdict, done.redacted, done.elided) == ("ok", "pass", 2, 1)
    assert done.elapsed_ms >= 0
    assert done.at == running.at


def test_a_refusal_is_noted_with_its_code_and_reason():
    log, _store = make_log()
    log.refuse(request("get_value", path="x"), ReplPairError("not_found", "There is no op."))
    log.follow(request(), lambda _reply: None)(
        {"ok": False, "error": {"code": "cancelled", "message": "The caller did."}}
    )
    assert [(a.state, a.reason) for a in log.latest()] == [
        ("cancelled", "The caller did."),
        ("not_found", "There is no op."),
    ]


def test_the_latest_thousand_are_kept_in_their_order():
    log, store = make_log()
    for n in range(KEPT + 50):
        log.follow(request(limit=n), lambda _reply: None)
    assert len(store.keys(ACTIVITY.name)) == KEPT
    assert [a.n for a in log.latest(3)] == [KEPT + 50, KEPT + 49, KEPT + 48]
    assert log.latest(10_000)[-1].n == 51


def test_arguments_are_reported_shortly_whatever_they_are():
    text = args_text({"a": "x" * 10_000, "b": {"c": [1] * 10_000}, "d": None, "é": "ü"})
    assert len(text) <= ARGS_CHARS
    assert text.startswith('a="xxx')
    assert args_text({"n": 1, "é": "ü"}) == 'n=1, é="ü"'


def test_what_the_person_does_and_what_is_between_us_is_not_noted():
    # A client of another test may leave meanwhile, which is noted.
    last = max((one.n for one in LOG.latest()), default=0)
    ask(("list_stories", {}), view=View())
    ask(("ping", {}), ("describe", {}))
    noted = {one.op for one in LOG.latest() if one.n > last}
    assert noted.isdisjoint({"list_stories", "ping", "describe"})


def test_every_call_of_an_agents_is_noted_also_the_refused_and_the_unknown():
    ask(
        ("list_stories", {}),
        ("get_story", {"story_id": "no.such"}),
        ("get_value", {"path": "x"}),
        ("list_stories", {"limt": 3}),
    )
    assert [(a.op, a.state) for a in reversed(LOG.latest())] == [
        ("list_stories", "ok"),
        ("get_story", "not_found"),
        ("get_value", "not_found"),
        ("list_stories", "bad_arguments"),
    ]


def test_noting_is_no_change_that_agents_follow():
    seq = STORE.seq
    (reply,) = ask(("list_stories", {}))
    assert len(LOG.latest()) == 1
    assert STORE.seq == seq
    assert reply.get("seq", 0) == seq


# --- pause


def test_while_paused_agents_read_nothing_and_the_person_goes_on():
    clients.pause()
    for reply in ask(("list_stories", {}), ("no_such_op", {}), ("ping", {})):
        assert reply["error"]["code"] == "paused"
        assert "The person paused" in reply["error"]["message"]
        assert "%pair resume" in reply["hints"][0]
    assert ask(("list_stories", {}), view=View())[0]["ok"]
    assert [a.state for a in LOG.latest()] == ["paused", "paused"]
    clients.resume()
    assert ask(("list_stories", {}))[0]["ok"]


def test_pausing_twice_keeps_when_it_began_and_resuming_twice_is_nothing():
    changes = []
    undo = PERSON_STORE.subscribe(changes.append)
    clients.pause()
    since = clients.paused_since()
    clients.pause()
    assert clients.paused_since() == since
    clients.resume()
    clients.resume()
    undo()
    assert clients.paused_since() is None
    assert [change.member for change in changes] == ["paused", "paused"]


# --- the code that was sent


def sent(code):
    assert TABLE.get("eval_code"), "its module names the parameter that is code"
    return request("eval_code", code=code)


def test_the_whole_code_of_a_call_can_be_read_while_it_runs_later_and_where_it_was_refused():
    log, _store = make_log()
    code = "x = 1\n" * 200
    answer = log.follow(sent(code), lambda _reply: None)
    assert log.code_of(1) == code
    names = {"added": ["x", "y"], "changed": ["z"]}
    answer({"ok": True, "result": {"status": "ok", "names": names}})
    log.refuse(sent("x = 2"), ReplPairError("approval_denied", "No."))
    log.follow(request("list_stories", code="x = 3"), lambda _reply: None)
    noted = [(a.has_code, log.code_of(a.n), a.names) for a in reversed(log.latest())]
    assert noted == [(True, code, "added x, y; changed z"), (True, "x = 2", ""), (False, None, "")]
    assert len(log.latest()[-1].args) <= ARGS_CHARS


def test_code_is_kept_as_long_as_its_call_and_the_earliest_goes_where_all_are_too_large():
    log, _store = make_log()
    for _ in range(KEPT + 10):
        log.follow(sent("1"), lambda _reply: None)
    assert (log.code_of(10), log.code_of(11)) == (None, "1")
    many = CODES_CHARS // CODE_CHARS
    for _ in range(many + 1):
        log.follow(sent("x" * (CODE_CHARS + 9)), lambda _reply: None)
    kept = [code for a in log.latest(KEPT) if (code := log.code_of(a.n))]
    assert {len(code) for code in kept} == {CODE_CHARS}
    assert len(kept) == many
