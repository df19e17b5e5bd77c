"""Notices over time: which are one, who they are for, and when they are seen or expire."""

import sqlite3

import pytest
from hypothesis import given, strategies as st

import repl_pair
from repl_pair.runtime.notices import notices
from repl_pair.runtime.notices.notices import list_notices, mark_seen, read_unseen, report_notice
from repl_pair.runtime.project.schema import STEPS
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import AGENTS, PERSON, View

NAMES = ("ann", "ben", PERSON)
ANN, BEN, YOU = (View(principal=name) for name in NAMES)
DAY = 86_400.0


def new_project():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.executescript(";".join(STEPS))
    return connection


@pytest.fixture
def project():
    connection = new_project()
    yield connection
    connection.close()


def report(project, at=0.0, *, by=PERSON, to=AGENTS, subject="doc:a.md", **slots):
    given = {"kind": "remark", "text": "A remark.", "recipient": to, "by": by, "at": at, **slots}
    report_notice(project, subject=subject, **given)


def states(project, view, at):
    return [one["state"] for one in list_notices(project, view, "all", at=at)]


def see(project, view, at):
    unseen = read_unseen(project, view.principal, at=at)
    mark_seen(project, view.principal, {one.id: one.count for one in unseen})


reports = st.tuples(
    st.just("report"),
    st.sampled_from(NAMES),
    st.sampled_from((AGENTS, *NAMES)),
    st.sampled_from(("doc:a.md", "doc:b.md")),
)
looks = st.tuples(st.just("see"), st.sampled_from(NAMES))
histories = st.lists(st.tuples(st.floats(0.0, 45.0), reports | looks), max_size=25)


def is_for(recipient, name):
    return recipient == name or (recipient == AGENTS and name != PERSON)


@given(histories)
def test_what_others_reported_is_pending_for_each_until_it_is_seen_and_nothing_else_is(history):
    project, at, waiting = new_project(), 1_000.0, {name: set() for name in NAMES}
    for pause, (what, name, *about) in history:
        at += pause
        if what == "see":
            see(project, View(principal=name), at)
            waiting[name].clear()
            continue
        recipient, subject = about
        report(project, at, by=name, to=recipient, subject=subject)
        for other in NAMES:
            if other != name and is_for(recipient, other):
                waiting[other].add((recipient, subject))
    for name in NAMES:
        rows = list_notices(project, View(principal=name), at=at)
        assert {one["subject"] for one in rows} == {subject for _, subject in waiting[name]}
        unseen = read_unseen(project, name, at=at)
        assert [one.id for one in unseen] == [one["id"] for one in rows]
    project.close()


@given(st.lists(st.floats(0.0, 45.0), min_size=1, max_size=20))
def test_reports_within_a_minute_of_the_first_are_one_notice_and_none_is_lost(pauses):
    project, at, firsts = new_project(), 1_000.0, []
    for pause in pauses:
        at += pause
        report(project, at)
        if not firsts or at - firsts[-1] >= notices.TOGETHER_S:
            firsts.append(at)
    rows = list_notices(project, ANN, "all", at=at)
    assert len(rows) == len(firsts)
    assert sum(one["count"] for one in rows) == len(pauses)
    project.close()


def test_other_kinds_subjects_and_recipients_are_notices_of_their_own(project):
    for slots in ({}, {"kind": "verdict"}, {"subject": "doc:b.md"}, {"to": "ann"}, {"to": "ben"}):
        report(project, **slots)
    assert [len(list_notices(project, view, at=0.0)) for view in (ANN, BEN, YOU)] == [4, 4, 0]


def test_a_notice_is_pending_then_seen_then_expired_then_gone(project):
    report(project)
    assert states(project, ANN, 6 * DAY) == ["pending"]
    see(project, ANN, 6 * DAY)
    assert [states(project, view, 6 * DAY) for view in (ANN, BEN)] == [["seen"], ["pending"]]
    assert [states(project, view, 7 * DAY) for view in (ANN, BEN)] == [["expired"]] * 2
    assert read_unseen(project, "ben", at=7 * DAY) == []
    report(project, 29 * DAY, subject="doc:b.md")
    assert states(project, ANN, 29 * DAY) == ["pending", "expired"]
    report(project, 30 * DAY, subject="doc:c.md")
    assert states(project, ANN, 30 * DAY) == ["pending", "pending"]


def test_what_was_seen_and_changes_again_is_pending_with_its_count(project):
    report(project)
    shown = read_unseen(project, "ann", at=1.0)
    report(project, 2.0, text="Another remark.")
    mark_seen(project, "ann", {one.id: one.count for one in shown})
    (notice,) = list_notices(project, ANN, at=3.0)
    assert (notice["count"], notice["text"]) == (2, "Another remark.")
    see(project, ANN, 3.0)
    assert list_notices(project, ANN, at=3.0) == []


def test_who_caused_a_change_needs_no_notice_unless_another_caused_it_too(project):
    report(project, by="ann")
    assert [states(project, view, 0.0) for view in (ANN, BEN)] == [[], ["pending"]]
    report(project, 1.0, by="ben")
    assert [states(project, view, 1.0) for view in (ANN, BEN)] == [["pending"], ["pending"]]
    report(project, 1.0, by="ann", to="ann", subject="doc:own.md")
    assert len(list_notices(project, ANN, at=1.0)) == 1


def test_the_latest_change_comes_first(project):
    for at, name in enumerate("abca"):
        report(project, float(at), subject=f"doc:{name}.md")
    found = [one["subject"] for one in list_notices(project, ANN, at=4.0)]
    assert found == ["doc:a.md", "doc:c.md", "doc:b.md"]


def test_a_notice_of_what_a_view_may_not_see_is_not_there_for_it(project):
    repl_pair.tag("hers", tier="ops")
    report(project, subject="tag:hers")
    report(project, subject="doc:private.md", access="inspect")
    inspector = View(principal="ann", access=frozenset({"read", "inspect"}))
    by_view = {
        "any": ANN,
        "its tier": View(principal="ann", tier="ops"),
        "another": View(principal="ann", tier="user"),
        "inspects": inspector,
    }

    def seen():
        return {
            name: [one["subject"].partition(":")[0] for one in list_notices(project, view, at=0.0)]
            for name, view in by_view.items()
        }

    expected = {"any": ["tag"], "its tier": ["tag"], "another": [], "inspects": ["doc", "tag"]}
    assert seen() == expected
    REGISTRY.unregister("tag", "hers")
    assert seen() == expected
