"""Which sessions count as left, and how they read where nothing can be written."""

import json
import time
from contextlib import contextmanager

import pytest

from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.errors import RequestError
from repl_pair.runtime.clients.clients import this_process
from repl_pair.runtime.sessions.counting import no_counts
from repl_pair.runtime.sessions.sessions import UNSEEN_S, Start, find_dead, keep_started
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

ANN = View(principal="ann")
HERE = this_process()
ENDED = {**HERE, "pid": 2**22 + 1}
ELSEWHERE = {**HERE, "place": "another machine"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def link():
    link = DirectLink()
    yield link
    await link.close()


@pytest.fixture
def keep(own_project):
    """Keeps an open session of a process: `keep(process, silent_s)`."""

    def make(process, silent_s=0.0):
        counted_at = time.time() - silent_s
        with own_project.writing() as connection:
            keep_started(connection, "s1", Start(principal="ann", at=counted_at), no_counts())
            connection.execute(
                "UPDATE sessions SET process = ?, counted_at = ?", (json.dumps(process), counted_at)
            )

    return make


@pytest.mark.parametrize(
    ("process", "silent_s", "is_dead"),
    [
        (HERE, UNSEEN_S + 60, False),
        (ENDED, 0.0, True),
        (ELSEWHERE, UNSEEN_S - 60, False),
        (ELSEWHERE, UNSEEN_S + 60, True),
    ],
)
def test_a_session_is_left_whose_process_ended_or_was_silent_for_a_week_elsewhere(
    own_project, keep, process, silent_s, is_dead
):
    keep(process, silent_s)
    with own_project.reading() as connection:
        assert find_dead(connection) == ["s1"] * is_dead


async def test_where_nothing_can_be_written_sessions_and_notices_are_read(
    own_project, keep, link, monkeypatch
):
    keep(ENDED)

    @contextmanager
    def refuse():
        raise RequestError("cannot_run", "The disk is full.")
        yield

    monkeypatch.setattr(own_project, "writing", refuse)
    listed = await link.request("list_sessions", {}, view=ANN)
    read = await link.request("get_session", {"session_id": "s1"}, view=ANN)
    assert listed["result"]["items"] == [read["result"]]
    assert read["result"]["status"] == "abandoned"
    assert read["result"]["ended_at"] == read["result"]["started_at"]
    assert (await link.request("notifications_list", {}, view=ANN))["ok"]
    assert (await link.request("session_start", {}, view=ANN))["error"]["code"] == "cannot_run"
