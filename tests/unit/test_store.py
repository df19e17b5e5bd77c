import threading

import pytest
from bounds import BOUND_S

from repl_pair.runtime.store import Cell, Change, Collection, Event, Store


@pytest.fixture
def store():
    store = Store(keep=3)
    for member in (Cell(name="c"), Collection(name="k"), Event(name="e")):
        store.declare(member)
    return store


def test_every_change_counts_a_revision_and_reaches_each_subscriber(store):
    seen = []
    undo = store.subscribe(seen.append)
    store.set("c", 1)
    store.put("k", "b", 2)
    store.put("k", "a", 3)
    store.remove("k", "b")
    store.emit("e", "hi")
    undo()
    store.set("c", 2)
    assert seen == [
        Change(1, "c", "set", None, 1),
        Change(2, "k", "put", "b", 1),
        Change(3, "k", "put", "a", 2),
        Change(4, "k", "remove", "b", 3),
        Change(5, "e", "emit", None, 1, "hi"),
    ]


def test_a_snapshot_is_not_reached_by_later_changes(store):
    store.put("k", "a", 1)
    snapshot = store.snapshot("k")
    store.put("k", "b", 2)
    assert dict(snapshot) == {"a": 1}
    assert dict(store.snapshot("k")) == {"a": 1, "b": 2}
    with pytest.raises(TypeError):
        snapshot["x"] = 1


def test_keys_stay_sorted_and_can_be_cut_by_prefix(store):
    for key in ("b/2", "a/1", "b/1", "bb/1", "b"):
        store.put("k", key, None)
    store.put("k", "b", "again")
    assert store.keys("k") == ["a/1", "b", "b/1", "b/2", "bb/1"]
    assert store.keys("k", "b/") == ["b/1", "b/2"]


def test_changes_since_a_point_come_with_a_gap_when_some_are_no_longer_kept(store):
    for value in range(5):
        store.set("c", value)
    assert [c.seq for c in store.changes(3)[0]] == [4, 5]
    assert store.changes(3)[1] is False
    assert store.changes(2)[1] is False
    assert store.changes(1)[1] is True
    assert store.changes(5) == ([], False)
    assert store.changes(99) == ([], True)


def test_waiting_ends_with_the_next_change(store):
    done = []
    thread = threading.Thread(target=lambda: done.append(store.wait(0, BOUND_S)))
    thread.start()
    assert store.wait(0, 0.01) is False
    store.set("c", 1)
    thread.join(BOUND_S)
    assert done == [True]


def test_a_removed_key_that_was_not_there_changes_nothing(store):
    assert store.remove("k", "x") is False
    assert store.seq == 0


def test_a_member_takes_only_the_changes_of_its_kind(store):
    with pytest.raises(TypeError, match="k is a Collection, not a Cell"):
        store.set("k", 1)


def test_forgetting_a_member_takes_its_value_out():
    store = Store()
    undo = store.declare(Cell(name="x"))
    store.set("x", 1)
    undo()
    with pytest.raises(KeyError):
        store.get("x")


def test_the_undo_of_a_declaration_leaves_what_others_declared():
    store = Store()
    undo = store.declare(Cell(name="x"))
    store.set("x", 1)
    store.declare(Cell(name="x"))()
    assert store.get("x") == 1
    undo()
    store.declare(Cell(name="x"))
    store.set("x", 2)
    undo()
    assert store.get("x") == 2
