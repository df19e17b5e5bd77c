"""What the op that waits for changes answers, and what it costs the thread that makes them."""

import threading
import time
from dataclasses import replace

import pytest
from bounds import BOUND_S
from waiting import finish, wait_until

import repl_pair
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.surface.awaiting import UNSEEN, await_members, complete_ids
from repl_pair.runtime.stopping.waiting import WaitEvent
from repl_pair.runtime.store import STORE
from repl_pair.runtime.surfaces.state import STATES
from repl_pair.wire import CHANGES_WINDOW_S, View

AGENT = View(principal="agent")
LOSS, HIDDEN = "training/loss", "training/hidden"
STORIES = "repl_pair/registry/story"


@pytest.fixture
def train():
    train = repl_pair.surface("training")
    train.loss = train.cell("loss", float, default=0.0, expose=True)
    train.hidden = train.cell("hidden", float, default=0.0)
    return train


def ask(watched, marks=None, *, view=AGENT, **args):
    return finish(await_members(Call(view=view), watched, marks, **args))


def marks_of(*watched, view=AGENT):
    return ask(list(watched), view=view)["marks"]


def wait_for(watched, change, wait_s=30.0, view=AGENT):
    """Wait for changes on a thread of its own; gives what it answered, and after how long."""
    call, answers = Call(view=view), []
    marks, began = ask(watched, view=view)["marks"], time.monotonic()

    def wait():
        answers.append(finish(await_members(call, watched, marks, wait_s=wait_s)))

    thread = threading.Thread(target=wait)
    thread.start()
    change(call)
    thread.join(60)
    return answers[0], time.monotonic() - began


def test_hidden_and_unknown_members_have_the_same_mark(train):
    names = [HIDDEN, "training/none", "none/none", "nonsense", "repl_pair/registry/story/none"]
    assert set(marks_of(*names)) == {UNSEEN}
    assert marks_of(LOSS) != [UNSEEN]
    assert marks_of(HIDDEN, view=replace(AGENT, expose_all=True)) != [UNSEEN]


def test_a_burst_is_one_answer_after_one_window_with_the_last_mark(train, monkeypatch):
    is_over, windows, wait = threading.Event(), [], WaitEvent.wait

    async def wait_for_the_burst(event, timeout_s):
        if timeout_s == CHANGES_WINDOW_S:
            windows.append(event)
            assert is_over.wait(BOUND_S)
        return await wait(event, timeout_s)

    def change(_call):
        train.loss.set(-1)
        wait_until(lambda: windows, "the begin of the window")
        for value in range(1_000):
            train.loss.set(value)
        is_over.set()

    monkeypatch.setattr(WaitEvent, "wait", wait_for_the_burst)
    answer, took = wait_for([LOSS, STORIES], change)
    assert (answer["changed"], answer["gone"]) == ([0], [])
    assert answer["marks"][0] == STATES[LOSS].revision
    assert (len(windows), took >= CHANGES_WINDOW_S) == (1, True)


def test_what_the_view_does_not_see_ends_no_wait(train):
    view = replace(AGENT, tier="ops")
    untiered = train.cell("loss", float, default=1.0, expose=True)

    def change(_call):
        train.hidden.set(1.0)
        untiered.set(2.0)
        train.cell("another", float, default=1.0)
        repl_pair.story("untiered", component=print)

    watched = [HIDDEN, LOSS, STORIES, f"{STORIES}/none"]
    answer, took = wait_for(watched, change, wait_s=0.5, view=view)
    assert (answer["changed"], answer["gone"]) == ([], [])
    assert took >= 0.5


@pytest.mark.parametrize("end", ["hide", "retire"])
def test_what_is_seen_no_longer_is_gone(train, end):
    def change(_call):
        if end == "hide":
            train.cell("loss", float, default=1.0)
        else:
            repl_pair.registry.unregister("member", LOSS)

    answer, took = wait_for([LOSS, STORIES], change)
    assert (answer["marks"][0], answer["changed"], answer["gone"]) == (UNSEEN, [], [0])
    assert took < 10


def test_what_comes_to_be_seen_has_changed(train):
    answer, _ = wait_for([HIDDEN], lambda _call: train.cell("hidden", float, expose=True))
    assert answer["changed"] == [0]


def test_a_change_between_two_requests_is_found_by_the_second(train):
    marks = marks_of(LOSS, STORIES)
    train.loss.set(1.0)
    repl_pair.story("cart", component=print)
    began = time.monotonic()
    assert ask([LOSS, STORIES], marks, wait_s=30.0)["changed"] == [0, 1]
    assert time.monotonic() - began >= CHANGES_WINDOW_S
    assert ask([LOSS, STORIES], marks_of(LOSS, STORIES))["changed"] == []


def test_an_item_is_followed_by_itself(train):
    rows = train.collection("rows", dict[str, int], expose=True)
    rows.update(a=1, b=2)
    watched = ["training/rows/a", "training/rows/b", "training/rows", "training/rows/none"]
    answer, _ = wait_for(watched, lambda _call: rows.update(b=3))
    assert answer["changed"] == [1, 2]


def test_entries_and_lists_of_the_registries_are_followed(train):
    repl_pair.story("cart", component=print)
    repl_pair.story("shop", component=print)
    watched = [f"{STORIES}/cart", f"{STORIES}/shop", STORIES, "repl_pair/registry/variant"]
    answer, _ = wait_for(watched, lambda _call: repl_pair.story("shop", component=repr))
    assert (answer["changed"], answer["gone"]) == ([1, 2], [])
    answer, _ = wait_for(watched, lambda _call: repl_pair.registry.unregister("story", "shop"))
    assert (answer["changed"], answer["gone"]) == ([2], [1])
    watched = [f"{STORIES}/cart/", f"{STORIES}/car/", "repl_pair/registry/variant/cart/"]
    answer, _ = wait_for(watched, lambda _call: repl_pair.story("cart", component=repr))
    assert (answer["changed"], answer["gone"]) == ([0], [])
    answer, _ = wait_for(watched, lambda _call: repl_pair.variant("cart/Two"))
    assert (answer["changed"], answer["gone"]) == ([2], [])


def test_another_life_answers_at_once_that_all_has_changed(train):
    names = [LOSS, HIDDEN]
    marks = marks_of(*names)
    assert ask(names, marks, boot=BOOT.id)["changed"] == []
    answer = ask(names, marks, boot="another", wait_s=30.0)
    assert (answer["marks"], answer["changed"], answer["gone"]) == (marks, [0, 1], [])


def test_a_cancelled_wait_ends_at_once_and_leaves_nobody_watching(train):
    _, took = wait_for([LOSS, STORIES], lambda call: call.cancel())
    assert took < 10
    assert STATES[LOSS].watchers == ()
    subscribed = len(STORE._subscribers)
    ask([LOSS, STORIES])
    assert len(STORE._subscribers) == subscribed


def complete(kind, prefix="", **args):
    return complete_ids(Call(view=AGENT), kind, prefix, **args)


def test_ids_are_completed_as_the_view_sees_them(train):
    assert complete("surface") == {"values": ["training"], "total": 1}
    assert complete("member", "training/")["values"] == [LOSS]
    assert complete("member", "training/h") == complete("member", "training/none")
    rows = train.collection("rows", dict[str, int], expose=True)
    rows.update({f"k{number:03}": number for number in range(250)})
    found = complete("key", "k1", member="training/rows")
    assert (found["values"][0], len(found["values"]), found["total"]) == ("k100", 100, 100)
    assert complete("key", member="training/rows")["total"] == 250
    assert complete("key", member=HIDDEN) == complete("key", member="training/none")
