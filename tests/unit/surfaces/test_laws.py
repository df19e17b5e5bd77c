"""What holds of live values whatever is done to them, in whatever order."""

import sys
import threading
from contextlib import suppress

import pytest
from bounds import BOUND_S
from hypothesis import given, settings, strategies as st
from waiting import finish

import repl_pair as rp
from repl_pair.errors import RequestError
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.surface.members import read_member
from repl_pair.runtime.store import STORE
from repl_pair.runtime.surfaces.state import STATES
from repl_pair.wire import View

AGENT = View(principal="agent")
KEYS = st.sampled_from(["a", "b", "c", "", "é/%"])
VALUES = st.one_of(st.integers(0, 2), st.sampled_from([1.0, True, float("nan"), "x", None]))
ACTS = st.one_of(
    st.tuples(st.just("set"), KEYS, VALUES),
    st.tuples(st.just("pop"), KEYS),
    st.tuples(st.just("update"), st.dictionaries(KEYS, VALUES, max_size=3)),
    st.tuples(st.just("setdefault"), KEYS, VALUES),
    st.tuples(st.just("clear")),
)


def read(member, **args):
    """Return an answer to an agent, as the op gives it."""
    return finish(read_member(Call(view=AGENT), f"laws/{member}", **args))


def do(mapping, act, *args):
    if act == "set":
        mapping.__setitem__(*args)
    elif act == "pop":
        mapping.pop(*args, None)
    else:
        getattr(mapping, act)(*args)


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTS, max_size=15))
def test_a_collection_is_the_dict_of_what_was_done_and_every_change_is_news(acts):
    rows = rp.surface("laws").collection("rows", dict, expose=True)
    model, reading = {}, read("rows")
    for act in acts:
        before = {key: (type(value), repr(value)) for key, value in model.items()}
        do(rows, *act)
        do(model, *act)
        after = {key: (type(value), repr(value)) for key, value in model.items()}
        assert list(rows) == list(model)
        assert {k: (type(v), repr(v)) for k, v in rows.items()} == after
        assert len(rows) == len(model)
        news = read("rows", since=reading["next"])
        assert ("timed_out" in news) is (before == after)
        if before != after:
            assert news["revision"] > reading["revision"]
            assert [item["key"] for item in news["items"]] == sorted(model)
            reading = news
            for key in after:
                is_new = "timed_out" not in read("rows", key=key, since=news["next"] - 1)
                assert is_new is (before.get(key) != after[key] or act == ("clear",))
            for key in before.keys() - after.keys():
                with pytest.raises(RequestError, match="has no key"):
                    read("rows", key=key, since=news["next"] - 1)
            for key in {"a", "b", "c"} - before.keys() - after.keys():
                assert "timed_out" in read("rows", key=key, since=news["next"] - 1)


def test_a_key_whose_removal_is_no_longer_kept_counts_as_removed(monkeypatch):
    monkeypatch.setattr("repl_pair.runtime.surfaces.state.REMEMBERED", 2)
    rows = rp.surface("laws").collection("rows", dict, expose=True)
    rows.update(dict.fromkeys("abcd", 1))
    since = read("rows")["next"]
    for key in "abc":
        del rows[key]
    for key in "abc":
        with pytest.raises(RequestError, match="has no key"):
            read("rows", key=key, since=since)
    assert "timed_out" in read("rows", key="never", since=read("rows")["next"])


@settings(max_examples=60, deadline=None)
@given(
    keep=st.integers(1, 5),
    pushes=st.lists(st.integers(0, 6), max_size=6),
    limit=st.integers(1, 4),
    declared=st.sets(st.integers(0, 5)),
)
def test_a_reader_of_a_stream_gets_each_entry_once_or_is_notified_of_a_gap(
    keep, pushes, limit, declared
):
    surface = rp.surface("laws")
    log = surface.stream("log", int, keep=keep, expose=True)
    pushed, since, taken = 0, read("log")["next"], []
    for step, count in enumerate(pushes):
        if step in declared:
            log = surface.stream("log", int, keep=keep, expose=True)
        for _ in range(count):
            log.push(pushed)
            pushed += 1
        while True:
            page = read("log", since=since, limit=limit)
            assert page["next"] >= since
            if page.get("timed_out"):
                break
            entries = page["entries"]
            assert (
                entries == list(range(entries[0], entries[0] + len(entries))) if entries else True
            )
            is_whole = not entries or entries[0] == (taken[-1] + 1 if taken else 0)
            assert is_whole or page["gap"]
            if step not in declared:
                assert is_whole is ("gap" not in page)
            taken, since = taken + entries, page["next"]
    assert taken == sorted(set(taken))
    assert taken[-1:] == ([pushed - 1] if pushed else [])


def test_other_threads_publish_while_code_of_the_person_checks_a_default():
    class Checked(type):
        def __instancecheck__(cls, value):
            other = threading.Thread(target=lambda: rows.pop("none", None))
            other.start()
            other.join(BOUND_S)
            seen.append(other.is_alive())
            return True

    class Row(metaclass=Checked):
        pass

    seen, surface = [], rp.surface("laws")
    rows = surface.collection("checked", dict[str, Row])
    rows.setdefault("a", object())
    assert seen
    assert not any(seen)


def test_an_item_is_popped_once_whoever_pops():
    rows = rp.surface("laws").collection("rows", dict[str, int])
    popped, faults = [], []

    def pop():
        try:
            popped.extend(filter(None, (rows.pop(str(n % 3), None) for n in range(3_000))))
        except KeyError as error:
            faults.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=pop) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(1, 2_000):
            rows[str(number % 3)] = number
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert not faults
    assert len(popped) == len(set(popped))
    with pytest.raises(KeyError):
        rows.pop("none")
    rows.clear()
    assert (rows.setdefault("a", 1), rows.setdefault("a", 2)) == (1, 1)
    assert rows.popitem() == ("a", 1)
    with pytest.raises(KeyError):
        rows.popitem()


@pytest.mark.parametrize(
    ("change", "is_stale"),
    [
        (lambda rows: rows.update(a=5), False),
        (lambda rows: rows.update(ab=1), True),
        (lambda rows: rows.pop("c"), True),
        (lambda rows: rows.clear(), True),
    ],
)
def test_a_cursor_is_stale_once_a_key_came_or_went(change, is_stale):
    rows = rp.surface("laws").collection("rows", dict[str, int], expose=True)
    rows.update(a=1, b=2, c=3)
    cursor = read("rows", limit=1)["cursor"]
    change(rows)
    if is_stale:
        with pytest.raises(RequestError, match="changed since that page"):
            read("rows", limit=1, cursor=cursor)
    else:
        assert read("rows", limit=1, cursor=cursor)["items"] == [{"key": "b", "value": 2}]


def test_a_reader_that_comes_before_a_new_declaration_is_announced_reads_on(monkeypatch):
    surface = rp.surface("laws")
    surface.cell("busy", int, default=0, expose=True).set(1)
    last, seen = read("busy")["next"], []

    def read_early(change):
        if change.member == "registry/member":
            seen.append(read("busy")["next"])

    with monkeypatch.context() as patch:
        patch.setattr(STORE, "_subscribers", {object(): read_early, **STORE._subscribers})
        surface.cell("busy", int, default=2, expose=True)
    assert min(seen) > last


def test_revisions_only_grow_while_members_are_declared_and_written_and_read():
    surface = rp.surface("laws")
    surface.cell("busy", int, default=0, expose=True)
    over, faults = threading.Event(), []

    def write():
        for number in range(400):
            if number % 40 == 0:
                cell = surface.cell("busy", int, default=0, expose=True)
            cell.set(number)
        over.set()

    def check():
        last = 0
        while not over.is_set():
            reading = read("busy", since=last)
            if reading["next"] < last or reading["revision"] < reading["next"]:
                faults.append((last, reading))
            last = reading["next"]

    threads = [threading.Thread(target=check), threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults
    assert STATES["laws/busy"].revision >= 400


def test_reading_a_collection_does_not_race_with_its_writers():
    rows = rp.surface("laws").collection("rows", dict[str, dict], expose=True)
    live, over, read_pages = {"n": 0}, threading.Event(), []
    rows["live"] = live

    def write():
        number = 0
        while not over.is_set():
            rows[str(number % 60)] = {"n": number}
            rows.pop(str((number * 7) % 60), None)
            live[str(number % 500)] = number
            live.pop(str((number * 3) % 500), None)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(150):
            page = read("rows", limit=200)
            read_pages.append(page)
            assert [item["key"] for item in page["items"]] == sorted(
                item["key"] for item in page["items"]
            )
            with suppress(RequestError):  # a key came or went since the first page
                cursor = read("rows", limit=1).get("cursor")
                assert cursor is None or read("rows", limit=1, cursor=cursor)["items"]
    finally:
        over.set()
        writer.join(60)
    assert len(read_pages) == 150
