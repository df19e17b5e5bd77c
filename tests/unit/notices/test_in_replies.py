"""Which notices a reply shows, to whom, and when they are seen by it."""

import json
import time

import pytest
from bounds import BOUND_S

from repl_pair.errors import next_step
from repl_pair.runtime.notices import in_replies
from repl_pair.runtime.notices.deferred_writes import LATER
from repl_pair.runtime.notices.in_replies import ReplyNotices
from repl_pair.runtime.notices.notices import list_notices, report_notice
from repl_pair.runtime.project.database import Database
from repl_pair.wire import AGENTS, PERSON, Request, View

ANN = View(principal="ann")


@pytest.fixture
def notices():
    found = ReplyNotices()
    yield found
    found.forget()


@pytest.fixture
def report(own_project):
    """Reports so many notices to agents: `report(2)`."""

    def make(count=1, *, by=PERSON, **slots):
        with own_project.writing() as connection:
            for _ in range(count):
                subject = f"doc:{time.monotonic_ns()}.md"
                given = {"kind": "remark", "text": "A remark.", "recipient": AGENTS, **slots}
                report_notice(connection, subject=subject, by=by, **given)

    return make


def call(notices, *, op="list_tags", client="one", view=ANN, reply=None, is_awaited=True, **slots):
    """Make a call that is answered at once; gives its reply."""
    request = Request(op=op, call="", client=client, view=view, **slots)
    answered = []
    notices.follow(request, answered.append, lambda: is_awaited)(reply or {"ok": True})
    return answered[0]


def shown(notices, **slots):
    return call(notices, **slots).get("notices")


def test_a_reply_shows_the_newest_three_and_how_many_more_in_few_bytes(
    notices, report, own_project
):
    report(200)
    with own_project.reading() as connection:
        newest = [one["id"] for one in list_notices(connection, ANN)]
    found = shown(notices)
    assert found == {"ids": newest[:3], "more": 197}
    assert len(json.dumps(found)) <= 300


def test_what_a_client_was_shown_is_seen_when_that_client_calls_again(notices, report, own_project):
    report(4)
    first = shown(notices)
    assert shown(notices, client="two") == first  # it stays pending for a client that may die
    second = shown(notices)
    assert (len(second["ids"]), second["more"]) == (1, 0)
    assert {*first["ids"]}.isdisjoint(second["ids"])
    LATER.flush()
    with own_project.reading() as connection:
        states = {one["id"]: one["state"] for one in list_notices(connection, ANN, "all")}
    assert [states[id] for id in first["ids"]] == ["seen"] * 3
    assert [states[id] for id in second["ids"]] == ["pending"]
    assert shown(notices) is None
    report()
    assert shown(notices)["more"] == 0


def test_what_a_reply_named_is_pending_in_the_list_that_is_called_next(
    notices, report, own_project
):
    def pending():
        LATER.flush()
        with own_project.reading() as connection:
            return [one["id"] for one in list_notices(connection, ANN)]

    report()
    ids = shown(notices)["ids"]
    call(notices, op="notifications_list")
    assert pending() == ids
    call(notices)
    assert pending() == []


def test_calls_at_once_see_nothing_that_was_not_answered_before_them(notices, report):
    report()
    request = Request(op="list_tags", call="", client="one", view=ANN)
    answered = []
    both = [notices.follow(request, answered.append, lambda: True) for _ in range(2)]
    for answer in both:
        answer({"ok": True})
    assert answered[0] == answered[1]
    assert "notices" not in call(notices)


NOT_SHOWN = {
    "the person": {"view": View()},
    "who caused it": {"view": View(principal="ben")},
    "a call that no client made": {"client": None},
    "a caller that gets the result alone": {"is_reported": False},
}


@pytest.mark.parametrize("slots", NOT_SHOWN.values(), ids=NOT_SHOWN)
def test_no_notice_is_shown_to(notices, report, slots):
    report(by="ben")
    before = shown(notices)
    assert shown(notices, **slots) is None
    assert shown(notices, client="two") == before


def test_a_reply_without_next_steps_names_the_list_and_another_keeps_its_own(notices, report):
    report()
    own = [next_step("list_stories")]
    assert call(notices)["next_steps"] == [next_step("notifications_list")]
    report()
    assert call(notices, reply={"ok": True, "next_steps": own})["next_steps"] == own
    assert "next_steps" not in call(notices)


def test_what_another_process_reports_is_shown_soon(notices, report, own_project):
    report()
    assert shown(notices)
    assert shown(notices) is None
    other, end = Database(own_project.root), time.monotonic() + BOUND_S
    with other.writing() as connection:
        given = {"kind": "remark", "subject": "doc:b.md", "text": "", "recipient": AGENTS}
        report_notice(connection, by=PERSON, **given)
    other.close()
    while shown(notices) is None:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_expired_notices_leave_the_replies_though_nothing_changes(notices, report, monkeypatch):
    report()
    assert shown(notices)["more"] == 0
    monkeypatch.setattr(in_replies, "FRESH_S", 0.0)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7 * 86_400)
    assert shown(notices, client="two") is None
