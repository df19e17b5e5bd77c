import pytest
from hypothesis import given, strategies as st

from repl_pair.runtime.store import NOTHING, Cell, Change, Collection, Event, Store


@pytest.fixture
def store():
    store = Store(keep=3)
    store.seq = 0
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


def test_a_removed_key_that_was_not_there_changes_nothing(store):
    assert store.remove("k", "x") is False
    assert store.seq == 0


def test_a_member_takes_only_the_changes_of_its_kind(store):
    with pytest.raises(TypeError, match="k is a Collection, not a Cell"):
        store.set("k", 1)


def test_a_cell_without_a_value_differs_from_one_that_holds_none():
    store = Store()
    store.declare(Cell(name="x"))
    store.declare(Cell(name="y", default=None))
    assert store.get("x") is NOTHING
    assert store.get("y") is None
    store.set("x", None)
    assert store.get("x") is None


def test_a_declaration_owns_its_slot_and_its_kind_may_change(store):
    seen = []
    store.subscribe(seen.append)
    old = store.declare(Cell(name="x"))
    store.set("x", 1)
    new = store.declare(Collection(name="x"))
    with pytest.raises(TypeError, match="x is a Collection, not a Cell"):
        store.get("x")
    assert store.keys("x") == []
    store.put("x", "a", 1)
    old()
    assert store.item("x", "a") == 1
    new()
    with pytest.raises(KeyError):
        store.keys("x")
    assert [(one.change, one.revision) for one in seen] == [
        ("set", 1),
        ("declare", 2),
        ("put", 3),
        ("leave", 4),
    ]
    store.declare(Cell(name="x"))
    assert store.revision("x") == 4


def test_a_change_keeps_the_outlines_of_what_was_there_and_is_there():
    store, seen = Store(), []
    store.declare(Collection(name="k", outline=lambda item: item["who"]))
    store.subscribe(seen.append)
    store.put("k", "a", {"who": "ann"})
    store.put("k", "a", {"who": "bob"})
    store.remove("k", "a")
    assert [(c.before, c.after) for c in seen] == [(None, "ann"), ("ann", "bob"), ("bob", None)]


NAMES, KINDS = st.sampled_from("ab"), st.sampled_from([Cell, Collection, Event])
ACTS = st.lists(st.tuples(NAMES, KINDS | st.integers(0, 9) | st.just("write")), max_size=30)


@given(ACTS)
def test_a_name_holds_what_was_declared_last_and_each_undo_takes_out_its_own_only(acts):
    store, undos, owners, heard = Store(), [], {}, []
    store.seq = 0
    store.subscribe(heard.append)
    revisions = dict.fromkeys("ab", 0)
    for name, what in acts:
        before, count = dict(owners), store.seq
        if isinstance(what, type):
            owners[name] = what, len(undos)
            undos.append((name, store.declare(what(name=name))))
        elif what == "write":
            write(store, name, owners)
        elif what < len(undos):
            name, undo = undos[what]
            if owners.get(name, (None, None))[1] == what:
                del owners[name]
            undo()
        changed = before.get(name) != owners.get(name) and name in before
        changed |= what == "write" and name in owners
        assert store.seq == count + changed == len(heard)
        revisions[name] += changed
        for each, (kind, _) in owners.items():
            assert store.revision(each) == revisions[each]
            assert reads(store, each) is kind
        assert all(reads(store, each) is None for each in "ab" if each not in owners)


def write(store, name, owners):
    kind = owners.get(name, (None, None))[0]
    if kind is Cell:
        store.set(name, 1)
    elif kind is Collection:
        store.put(name, "key", 1)
    elif kind is Event:
        store.emit(name, 1)


def reads(store, name):
    """Return the kind that a name is read as, None where it is not declared."""
    try:
        store.get(name)
    except KeyError:
        return None
    except TypeError as error:
        return Event if "Event" in str(error) else Collection
    return Cell
