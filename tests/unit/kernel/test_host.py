"""Events of a busy moment travel together, all of them and in order."""

import threading

import pytest

from repl_pair.runtime.kernel.host import EVENTS_PER_MESSAGE, Outbox


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
