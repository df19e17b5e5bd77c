"""Each request is answered; events of a busy moment travel together, all and in order."""

import json
import sys
import threading
from queue import SimpleQueue
from uuid import uuid4

import pytest
from bounds import BOUND_S

import repl_pair
from repl_pair.runtime.kernel.host import EVENTS_PER_MESSAGE, Host, Outbox, _requests
from repl_pair.runtime.kernel.lanes import LocalLanes
from repl_pair.wire import Request, View


class Thread:
    """Stands for the sending thread: it does what was scheduled when it is let."""

    def __init__(self):
        self.todo, self.sent = [], []

    def work(self):
        while self.todo:
            self.todo.pop(0)()


@pytest.fixture
def thread():
    return Thread()


@pytest.fixture
def outbox(thread):
    return Outbox(schedule=thread.todo.append, send=thread.sent.append)


def test_a_single_event_goes_out_by_itself_each_time(thread, outbox):
    for n in range(3):
        outbox.put({"seq": n})
        thread.work()
    assert thread.sent == [{"events": [{"seq": n}]} for n in range(3)]


def test_a_burst_is_scheduled_once_and_leaves_in_messages_of_bounded_size(thread, outbox):
    events = [{"seq": n} for n in range(2 * EVENTS_PER_MESSAGE + 1)]
    for event in events:
        outbox.put(event)
    assert len(thread.todo) == 1
    thread.work()
    assert [len(message["events"]) for message in thread.sent] == [
        EVENTS_PER_MESSAGE,
        EVENTS_PER_MESSAGE,
        1,
    ]
    assert [event for message in thread.sent for event in message["events"]] == events


def test_events_put_by_many_threads_all_arrive_in_each_threads_order(thread, outbox):
    def put(name):
        for n in range(500):
            outbox.put({"from": name, "seq": n})

    putting = [threading.Thread(target=put, args=(name,)) for name in range(4)]
    for one in putting:
        one.start()
    while any(one.is_alive() for one in putting) or thread.todo:
        thread.work()
    seen = [event for message in thread.sent for event in message["events"]]
    for name in range(4):
        assert [e["seq"] for e in seen if e["from"] == name] == list(range(500))


@pytest.fixture
def send():
    """Sends an agent's request with other slots; gives the reply."""
    host = Host(lanes=LocalLanes(), publish=lambda _event: None)

    def submit(op="list_stories", args=None, wire=None):
        got: SimpleQueue = SimpleQueue()
        view = View(principal="agent", access=frozenset({"read", "run"}))
        sent = Request(op=op, args=args or {}, call=uuid4().hex, view=view, client="ann").to_wire()
        host.submit(sent | (wire or {}), got.put, lambda _progress: None)
        return got.get(timeout=BOUND_S)

    yield submit
    host.close()


@pytest.mark.parametrize(
    "wire",
    [{"args": [1]}, {"op": ["a"]}, {"call": 3}, {"op": "no_op", "args": [1]}, {"view": 1}],
    ids=str,
)
def test_what_is_no_request_is_refused_as_that(send, wire):
    assert send(wire=wire)["error"]["code"] == "bad_arguments"


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("repl_pair.runtime.kernel.requests.open_job", "internal"),
        ("repl_pair.runtime.kernel.lanes.Lanes.worker", "internal"),
        ("repl_pair.runtime.kernel.host.hold_modules", "internal"),
        ("repl_pair.runtime.notices.in_replies.ReplyNotices._unseen", None),
        ("repl_pair.runtime.sessions.open_sessions.OpenSessions._count", None),
    ],
)
def test_a_request_is_answered_whatever_fails_before_it_and_after_it(
    send, monkeypatch, place, code
):
    def fail(*_args, **_named):
        raise OSError("no such device")

    monkeypatch.setattr(place, fail)
    reply = send("list_variables")
    assert reply.get("error", {}).get("code") == code


def test_the_files_of_a_package_that_were_replaced_are_the_reason_of_a_refusal(send, monkeypatch):
    _requests.cache_clear()
    for name in ("requests", "packaging"):
        monkeypatch.setitem(sys.modules, f"repl_pair.runtime.kernel.{name}", None)
        monkeypatch.delattr(f"repl_pair.runtime.kernel.{name}", raising=False)
    assert send()["error"]["code"] == "version_mismatch"
    _requests.cache_clear()


def test_half_a_character_in_a_docstring_is_replaced_in_the_reply(send):
    def half():
        """Return half of a \ud83d."""

    surface = repl_pair.surface("shop")
    surface.function(half, expose=True, mutates=False)
    json.dumps(send("list_function_tools"), ensure_ascii=False).encode()


def test_a_refusal_before_the_call_reads_the_same_for_a_right_guess(send, monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "secret_key", "hunter-of-2-ducks", raising=False)

    def slow(word: str) -> str:
        return word

    repl_pair.surface("jobs").function(slow, expose=True, mutates=False, timeout_s=60)
    right, wrong = (
        send("run_function", {"function": "jobs.slow", "args": {"word": guess}})
        for guess in ("hunter-of-2-ducks", "hunter-of-3-ducks")
    )
    assert str(right).replace("2-ducks", "3-ducks") == str(wrong)
