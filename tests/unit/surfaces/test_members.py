import asyncio
import copy
import dataclasses
import threading
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, NotRequired, Protocol, TypedDict

import attrs
import numpy as np
import pydantic
import pytest

import repl_pair as rp
from repl_pair.errors import AuthoringError
from repl_pair.runtime.registry.registry import RegistrationWarning
from repl_pair.runtime.surfaces.members import SurfaceWarning
from repl_pair.runtime.surfaces.state import STATES, watch


@dataclasses.dataclass
class Row:
    n: int
    name: str = ""


class Point(NamedTuple):
    x: int
    y: int


@attrs.frozen
class Box:
    _size: int
    kind: str = ""


class Order(TypedDict):
    sku: str
    count: NotRequired[int]


class Model(pydantic.BaseModel):
    n: int = 0


class Sized(Protocol):
    size: int


def heard_by(*ids):
    """Return the list to which each notification adds the id that changed."""
    heard = []
    watch(ids, heard.append)
    return heard


# --- what a handle publishes


def test_a_cell_has_its_default_until_it_is_set_and_none_without_one(train):
    loss, best = train.cell("loss", float, default=0.5), train.cell("best", float)
    assert (loss.get(), best.get()) == (0.5, None)
    best.set(None if best.get() else 1.0)
    assert best.get() == 1.0


def test_the_class_of_a_cell_is_not_compared_by_code_of_its_metaclass(train):
    odd = type("Meta", (type,), {"__eq__": None, "__hash__": None})("Odd", (), {})
    for name, hint, value in (("one", odd, odd()), ("several", list[odd], [odd()])):
        cell = train.cell(name, hint)
        cell.set(value)
        assert cell.get() is value


@pytest.mark.parametrize(
    ("old", "new", "is_published"),
    [
        (1, 1, False),
        (1, True, True),
        (1, 1.0, True),
        (float("nan"), -float("nan"), False),
        (float("nan"), 1.0, True),
        ("a", "".join(["", "a"]), False),
        (b"a", b"b", True),
        (None, None, False),
        ([1], [1], True),
        (Row(1), Row(1), True),
        (np.array([1, 2]), np.array([1, 2]), True),
    ],
    ids=repr,
)
def test_equality_is_asked_of_plain_values_only_and_tells_types_apart(
    train, old, new, is_published
):
    cell = train.cell("any", default=old)
    heard = heard_by("training/any")
    cell.set(old)
    assert heard == []
    cell.set(new)
    assert bool(heard) is is_published
    assert STATES["training/any"].revision == int(is_published)


def test_what_equals_finds_equal_is_not_published_and_equals_runs_without_the_lock(train):
    free = []

    def equals(old, new):
        other = threading.Thread(target=lambda: free.append(train.cell("other", default=1)))
        other.start()
        other.join(30)
        return abs(old - new) < 0.1

    loss = train.cell("loss", float, default=1.0, equals=equals)
    rows = train.collection("rows", dict[str, float], equals=equals)
    loss.set(1.05)
    rows["a"] = 1.0
    rows["a"] = 1.05
    rows.update(a=1.01, b=2.0)
    assert (loss.get(), dict(rows)) == (1.0, {"a": 1.0, "b": 2.0})
    loss.set(2.0)
    assert loss.get() == 2.0
    assert len(free) == 4


def test_an_equals_that_fails_counts_as_a_change_and_warns_the_person(train):
    loss = train.cell("loss", float, default=1.0, equals=lambda old, new: 1 / 0)
    with pytest.warns(SurfaceWarning, match="ZeroDivisionError") as warned:
        loss.set(1.0)
    assert warned[0].filename == __file__
    assert STATES["training/loss"].revision == 1


@pytest.mark.parametrize(
    ("hint", "legal", "illegal"),
    [
        (float, [0.5, 1, np.float32(2)], ["1", True, None, 1j]),
        (int, [1, np.int64(2)], [1.0, True, "1"]),
        (bool, [True], [1]),
        (None, [None], [0]),
        (int | None, [1, None], ["1"]),
        (Annotated[str, "words"], ["a"], [b"a"]),
        (Literal["red", 1], ["red", 1], ["blue", True, 2]),
        (list[int], [[], [1, 2]], [(1,), ["a"], [1, "a"]]),
        (dict[str, list[float]], [{"a": [1.0, 2]}], [{"a": [True]}, {1: []}, {"a": 1}]),
        (Mapping[str, Row], [{"a": Row(1)}], [{"a": {"n": 1}}]),
        (tuple[int, str], [(1, "a")], [(1,), ("a", 1), [1, "a"]]),
        (tuple[int, ...], [(), (1, 2)], [(1, "a")]),
        (set[str], [{"a"}], [{1}, ["a"]]),
        (Order, [{"sku": "a"}, {"sku": "a", "count": 1}], [{}, {"sku": 1}, {"sku": "a", "x": 1}]),
        (Row, [Row(1)], [{"n": 1}, Point(1, 2)]),
        (list[Row | None], [[Row(1), None]], [[1]]),
        (Sized, [1, "a"], []),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_its_type_is_refused_and_changes_nothing(
    train, hint, legal, illegal
):
    cell, log = train.cell("cell", hint), train.stream("log", hint)
    done, rows = train.event("done", hint), train.collection("rows", dict[str, hint])
    for value in legal:
        cell.set(value)
        log.push(value)
        done.emit(value)
        rows["a"] = value
        assert cell.get() is value
        train.cell("other", hint, default=value)
    ids = ("training/cell", "training/log", "training/done", "training/rows")
    before = [(STATES[id].revision, STATES[id].value, dict(STATES[id].items)) for id in ids]
    for value in illegal:
        for publish in (cell.set, log.push, done.emit, lambda v: rows.update(b=v)):
            with pytest.raises(AuthoringError, match="takes") as refused:
                publish(value)
            assert refused.value.code == "bad_body"
        with pytest.raises(AuthoringError):
            train.cell("default", hint, default=value)
    assert before == [(STATES[i].revision, STATES[i].value, dict(STATES[i].items)) for i in ids]
    assert "training/default" not in STATES


def test_of_several_items_none_is_published_where_one_does_not_fit(train):
    rows = train.collection("rows", dict[str, int])
    with pytest.raises(AuthoringError, match=r"training/rows\['b'\] takes int, not str"):
        rows.update(a=1, b="2")
    with pytest.raises(AuthoringError, match="text, not int"):
        rows[1] = 1
    assert dict(rows) == {}


@pytest.mark.parametrize(
    ("value", "changes", "patched"),
    [
        ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
        (Row(1), {"name": "x"}, Row(1, "x")),
        (Point(1, 2), {"y": 5}, Point(1, 5)),
        (Model(), {"n": 4}, Model(n=4)),
        (Box(1), {"size": 4}, Box(4)),
    ],
    ids=str,
)
def test_a_patch_publishes_a_copy_with_other_fields(train, value, changes, patched):
    before = copy.copy(value)
    cell = train.cell("cell", default=value)
    cell.patch(changes)
    assert cell.get() == patched
    assert value == before
    revision = STATES["training/cell"].revision
    cell.patch(**changes)
    assert STATES["training/cell"].revision == revision == 1


@pytest.mark.parametrize(
    ("value", "field", "message"),
    [
        (Row(1), "nn", "no field 'nn'"),
        (1, "nn", "patch takes fields"),
        (Point(1, 2), "nn", "no field"),
        (Row(1), "name", "cell.name takes str, not list"),
        (Point(1, 2), "y", "cell.y takes int, not list"),
        (Model(), "n", "cell.n takes int, not list"),
        (Box(1), "nn", "no field 'nn'"),
        (Box(1), "size", "cell.size takes int, not list"),
    ],
)
def test_a_patch_of_what_has_no_such_field_or_does_not_fit_it_is_refused(
    train, value, field, message
):
    cell = train.cell("cell", default=value)
    with pytest.raises(AuthoringError, match=message):
        cell.patch({field: [2]})
    assert cell.get() is value


def test_no_patch_of_several_threads_is_lost(train):
    cell = train.cell("seen", dict[str, int])

    def count(name):
        for number in range(200):
            cell.patch({f"{name}{number}": number})

    threads = [threading.Thread(target=count, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(cell.get()) == 600


def test_members_are_changed_from_coroutines_and_threads_alike(train):
    log = train.stream("log", str)

    async def work():
        log.push("loop")
        await asyncio.to_thread(log.push, "thread")

    asyncio.run(work())
    assert [value for _, value in STATES["training/log"].entries] == ["loop", "thread"]


def test_a_stream_keeps_its_last_entries_and_an_event_a_hundred(train):
    log, done = train.stream("log", int, keep=3), train.event("done")
    for number in range(250):
        log.push(number)
        done.emit(number)
    assert [v for _, v in STATES["training/log"].entries] == [247, 248, 249]
    assert [v for _, v in STATES["training/done"].entries] == list(range(150, 250))
    assert STATES["training/log"].lost == 247
    for keep in (0, -1, 10**9, "3", True):
        with pytest.raises(AuthoringError, match="keep is from 1 to"):
            train.stream("log", int, keep=keep)


# --- who hears of it


def test_many_changes_are_one_notification_until_it_is_taken(train):
    rows, changed, heard = train.collection("rows", dict[str, int]), threading.Event(), []
    watch(["training/rows"], lambda _id: changed.set())
    watch(["training/rows"], heard.append)
    for number in range(50):
        rows["a"] = number
    rows.update({str(number): number for number in range(50)})
    assert changed.is_set()
    changed.clear()
    assert len(heard) == 51
    rows.clear()
    assert changed.is_set()


def test_after_its_undo_a_watcher_is_not_called(train):
    loss, heard = train.cell("loss", float), []
    stop = watch(["training/loss", "training/later"], heard.append)
    loss.set(1.0)
    train.cell("later", int)
    stop()
    loss.set(2.0)
    train.cell("later", str)
    assert heard == ["training/loss", "training/later"]


# --- declarations


def test_a_declaration_owns_its_slot_and_revisions_count_on(train):
    first = train.cell("loss", float, default=1.0)
    for number in range(5):
        first.set(float(number + 2))
    heard = heard_by("training/loss")
    second = train.stream("loss", str)
    assert heard == ["training/loss"]
    state = STATES["training/loss"]
    assert (state.kind, state.revision, state.lost) == ("stream", 6, 6)
    with pytest.warns(SurfaceWarning, match="publishes nothing"):
        first.set(9.0)
    first.set(8.0)  # it warns once: a second warning would be an error here
    assert first.get() == 8.0
    second.push("a")
    assert (heard, state.revision) == (["training/loss"] * 2, 7)
    rp.registry.unregister("member", "training/loss")
    assert "training/loss" not in STATES
    assert len(heard) == 3
    train.cell("loss", float)
    assert STATES["training/loss"].revision == 8


def test_a_checkpoint_restores_entry_and_state_together(train):
    loss = train.cell("loss", float, default=1.0)
    undo = rp.registry.checkpoint()
    loss.set(2.0)
    train.cell("loss", str, default="other")
    gone = train.cell("gone", int, default=1)
    undo()
    state = STATES["training/loss"]
    assert state is rp.registry.find("member", "training/loss").body.state
    assert (state.value, "training/gone" in STATES) == (2.0, False)
    assert state.revision == state.began == 3
    loss.set(4.0)
    assert STATES["training/loss"].value == 4.0
    with pytest.warns(SurfaceWarning):
        gone.set(2)


def test_members_leave_with_the_run_of_the_module_that_left_them_out(module, train):
    from importlib.machinery import ModuleSpec

    source = "import repl_pair as rp\ns = rp.surface('mod')\n"
    made = module("live_mod", "")
    for text in (source + "a = s.cell('a', int)\nb = s.cell('b', int)", source + "a = s.cell('a')"):
        made.__spec__ = ModuleSpec("live_mod", None, origin="live_mod.py")
        exec(compile(text, "live_mod.py", "exec"), made.__dict__)
    assert list(rp.registry.ids("member", "mod/")) == ["mod/a"]
    assert {"mod/a"} == {id for id in STATES if id.startswith("mod/")}


def test_what_is_declared_at_once_and_restored_at_once_ends_as_the_registry_has_it(train):
    undo = rp.registry.checkpoint()

    def declare(kind):
        for _ in range(60):
            getattr(train, kind)("busy")
            undo()

    threads = [threading.Thread(target=declare, args=(k,)) for k in ("cell", "stream", "event")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    entry = rp.registry.find("member", "training/busy")
    assert STATES.get("training/busy") is (None if entry is None else entry.body.state)


# --- what agents see


def exposed(*ids):
    return [rp.registry.find(*id).body.exposed for id in ids]


def test_the_latest_list_of_a_surface_is_the_whole_list(train):
    for name in ("loss", "best"):
        train.cell(name, float)
    train.cell("always", float, expose=True)
    train.expose("loss", "best")
    members = [("member", f"training/{name}") for name in ("loss", "best", "always")]
    assert exposed(*members) == [True, True, True]
    heard = heard_by("training/loss", "training/best")
    hidden = r"training.expose takes the whole list, .* leaves out training/loss: hidden"
    with pytest.warns(SurfaceWarning, match=hidden) as warned:
        train.expose("best")
    assert warned[0].filename == __file__
    assert exposed(*members) == [False, True, True]
    assert "training/loss" in heard
    train.expose("best")  # warns of nothing: no name is hidden by it
    train.cell("best", int)
    assert exposed(*members) == [False, True, True]
    train.expose()
    assert exposed(*members) == [False, False, True]
    with pytest.warns(RegistrationWarning):
        again = rp.surface("training")
    again.cell("best", int)
    assert exposed(*members) == [False, False, True]


def test_a_surface_that_is_declared_anew_hides_what_its_list_had_exposed_and_gives_its_tier(train):
    for name, is_exposed in (("loss", False), ("best", False), ("always", True)):
        train.cell(name, float, expose=is_exposed)
    rp.function("training.own", tier="mine")(lambda: 1)
    train.expose("loss", "best")
    with pytest.warns(RegistrationWarning):
        again = rp.surface("training", tier="ops")
    members = [("member", f"training/{name}") for name in ("loss", "best", "always")]
    assert exposed(*members) == [False, False, True]
    assert {rp.registry.find(*one).tier for one in members} == {"ops"}
    assert rp.registry.find("function", "training.own").tier == "mine"
    again.expose("loss")
    assert exposed(*members) == [True, False, True]


def test_exposing_keeps_value_revision_and_place(train):
    loss = train.cell("loss", float, default=1.0)
    before = rp.registry.find("member", "training/loss")
    train.expose("loss")
    after = rp.registry.find("member", "training/loss")
    assert (after.origin, after.body.state) == (before.origin, before.body.state)
    assert STATES["training/loss"].revision == 0
    loss.set(2.0)
    assert STATES["training/loss"].value == 2.0


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["los"], ["no 'los'", "Nearest: loss", "best, loss, summary"]),
        (["loss", "loss"], ["'loss' twice"]),
        ([["loss", "best"]], ["named as text", "not by list"]),
        (["loss", "both"], ["a member and a function 'both'"]),
    ],
)
def test_a_list_that_is_not_legal_is_refused_with_what_is_and_exposes_nothing(train, names, words):
    train.cell("loss", float)
    train.cell("best", float)
    rp.function("training.summary")(lambda: 1)
    if "both" in names:
        train.cell("both")
        rp.function("training.both")(lambda: 1)
    with pytest.raises(AuthoringError) as refused:
        train.expose(*names)
    for word in words:
        assert word in str(refused.value)
    assert exposed(("member", "training/loss")) == [False]


@pytest.mark.parametrize(
    "hint", [list[int], dict[int, str], int, dict[Annotated[str, rp.Sensitive], int]]
)
def test_a_collection_is_of_a_mapping_from_plain_text(train, hint):
    with pytest.raises(AuthoringError, match="the type of a collection is dict"):
        train.collection("rows", hint)


@pytest.mark.parametrize("name", ["a/b", "a.b", "", "1a", "a b"])
def test_a_name_that_is_none_is_refused(train, name):
    with pytest.raises(AuthoringError) as refused:
        train.cell(name)
    assert refused.value.code == "bad_id"
    assert not [id for id in STATES if id.startswith("training/")]
