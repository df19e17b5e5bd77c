"""What begins a look at what other repos changed."""

from unittest.mock import Mock

import pytest

from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.kernel import notice_sources
from repl_pair.wire import PERSON, Request, View


@pytest.fixture
def looks(monkeypatch, own_project):
    """Calls `look(at, principal)` at a moment of the clock; gives how many looks began."""
    own_project.file.parent.mkdir()
    now, begun, served = [0.0], [], notice_sources.NoticeSources()
    monkeypatch.setattr(notice_sources, "monotonic", lambda: now[0])
    monkeypatch.setattr(notice_sources, "start_thread", lambda *args, **how: begun.append(args))

    def look(at, principal="ann"):
        now[0] = at
        served.serve(Request(op="ping", call="1", client="c1", view=View(principal=principal)))
        return len(begun)

    yield look
    own_project.file.parent.rmdir()
    OWN_CALLS.end(lambda owner: owner == "c1")


def test_calls_of_agents_begin_one_look_in_two_seconds_and_calls_of_the_person_none(looks):
    assert [looks(at) for at in (100.0, 101.9, 102.0, 102.1)] == [1, 1, 2, 2]
    assert looks(200.0, PERSON) == 2


def test_a_call_goes_on_where_no_thread_can_be_started(looks, monkeypatch):
    monkeypatch.setattr(notice_sources, "start_thread", Mock(side_effect=RuntimeError))
    assert looks(100.0) == 0


def test_no_look_begins_where_the_project_keeps_nothing(looks, own_project):
    own_project.file.parent.rmdir()
    assert looks(100.0) == 0
    own_project.file.parent.mkdir()
    assert looks(102.0) == 1
