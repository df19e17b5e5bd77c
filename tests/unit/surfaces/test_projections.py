import asyncio
import threading
import time
import warnings

import pytest
from bounds import BOUND_S
from waiting import finish, wait_until

import repl_pair as rp
from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.surface import members
from repl_pair.runtime.ops.surface.members import read_member
from repl_pair.runtime.surfaces import computing
from repl_pair.runtime.surfaces.state import STATES, watch
from repl_pair.wire import View

AGENT = View(principal="agent")


def read(member, **args):
    return finish(read_member(Call(view=AGENT), member, **args))


@pytest.fixture(autouse=True)
def reads_wait_as_long_as_they_must(monkeypatch):
    monkeypatch.setattr(members, "COMPUTED_S", BOUND_S)


def newest(last: int = 10) -> int:
    return last


def is_red(loss: float) -> bool:
    """Whether it is too high."""
    return loss > 0.5


@pytest.fixture
def loss(train):
    return train.cell("loss", float, default=0.1)


def test_a_projection_shows_what_it_names_and_nothing_else_of_its_source(train, loss):
    rows, log = train.collection("rows", dict[str, int]), train.stream("log", str)
    rp.function("training.summary", mutates=False)(newest)
    rp.project(
        "agent",
        train,
        loss="loss",
        rows="rows",
        summary="summary",
        red=rp.derive(is_red, "loss"),
        most=rp.derive(lambda rows, loss: [*rows, loss], "rows", "loss"),
        tail=rp.mapped("log", str.upper),
    )
    rows["a"] = 1
    log.push("x")
    assert read("agent/loss")["value"] == 0.1
    assert read("agent/rows", key="a")["value"] == 1
    assert read("agent/red")["value"] is False
    assert read("agent/most")["value"] == ["a", 0.1]
    assert read("agent/tail")["entries"] == ["X"]
    with pytest.raises(RequestError, match="There is no member 'training/loss'"):
        read("training/loss")
    function = rp.registry.find("function", "agent.summary").body
    assert (function.tool, function.exposed, function.mutates) == ("agent__summary", True, False)
    assert not rp.registry.find("function", "training.summary").body.exposed
    assert rp.registry.find("member", "agent/red").body.doc == "Whether it is too high."


def test_what_is_passed_through_is_one_state_and_each_id_is_notified_of_its_changes(train, loss):
    rp.project("agent", train, expose=False, renamed="loss")
    heard = []
    watch(["agent/renamed"], heard.append)
    watch(["training/loss"], heard.append)
    loss.set(0.2)
    assert heard == ["agent/renamed", "training/loss"]
    assert STATES["agent/renamed"] is STATES["training/loss"]
    assert not rp.registry.find("member", "agent/renamed").body.exposed


def test_a_projection_follows_a_new_declaration_and_leaves_with_its_source(train, loss):
    rp.function("training.summary")(lambda: 1)
    rp.project(
        "agent", train, loss="loss", red=rp.derive(is_red, "loss"), summary="summary", other="loss"
    )
    assert read("agent/red")["value"] is False
    undo = rp.registry.checkpoint()
    train.stream("loss", float).push(3.0)
    assert read("agent/loss")["entries"] == [3.0]
    assert rp.registry.find("member", "agent/loss").body.kind == "stream"
    with pytest.raises(RequestError, match="TypeError"):
        read("agent/red")
    rp.function("training.summary", ask=True)(lambda: 2)
    assert rp.registry.find("function", "agent.summary").body.component.resolve()() == 2
    heard = []
    watch(["agent/loss", "agent/red"], heard.append)
    rp.registry.unregister("member", "training/loss")
    rp.registry.unregister("function", "training.summary")
    assert {"agent/loss", "agent/red"} <= set(heard)
    assert not [id for id in STATES if id.startswith("agent/")]
    assert rp.registry.find("function", "agent.summary") is None
    with pytest.raises(RequestError, match="There is no member"):
        read("agent/red")
    undo()
    assert [read(f"agent/{name}")["value"] for name in ("loss", "red", "other")] == [
        0.1,
        False,
        0.1,
    ]
    loss.set(0.9)
    assert read("agent/red")["value"] is True


def test_a_failing_function_is_reported_as_a_change_and_not_run_again_before_the_next(train, loss):
    runs = []

    def fail(value):
        runs.append(value)
        if value > 0.5:
            raise ValueError(f"not {value}")
        return value

    rp.project("agent", train, odd=rp.derive(fail, "loss"))
    began = read("agent/odd")["next"]
    loss.set(0.9)
    for _ in range(3):
        with pytest.raises(RequestError, match=r"agent/odd: ValueError: not 0\.9") as refused:
            read("agent/odd")
        assert refused.value.code == "unreadable"
    assert runs == [0.1, 0.9]
    assert STATES["agent/odd"].revision == began + 1
    with pytest.raises(RequestError, match="ValueError"):
        read("agent/odd", since=began)
    loss.set(0.2)
    assert read("agent/odd")["value"] == 0.2


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, MemoryError])
def test_no_exception_of_a_function_ends_what_computes(train, loss, raised):
    def fail(value):
        if value < 0.5:
            raise raised()
        return value

    rp.project("agent", train, odd=rp.derive(fail, "loss"))
    with pytest.raises(RequestError, match=raised.__name__):
        read("agent/odd")
    loss.set(0.7)
    assert read("agent/odd")["value"] == 0.7


def test_the_text_of_a_failure_is_left_out_where_a_source_is_secret(train):
    train.cell("api_key", str, default="canary-of-a-key-1")
    rp.project("agent", train, odd=rp.derive(lambda key: int(key[:9]), "api_key"))
    with pytest.raises(RequestError) as refused:
        read("agent/odd")
    assert "canary" not in refused.value.message
    assert "ValueError" in refused.value.message


def refuse(_value):
    session_token = "xW3kZ9" + "pL2qR1"
    raise ValueError(f"no {session_token}")


def test_the_text_of_a_failure_holds_no_secret_of_the_function(train, loss):
    log = train.stream("log", str)
    rp.project("agent", train, odd=rp.derive(refuse, "loss"), tail=rp.mapped("log", refuse))
    log.push("x")
    with pytest.raises(RequestError, match=r"no \[redacted\]"):
        read("agent/odd")
    assert read("agent/tail")["entries"] == [{"unreadable": "ValueError: no [redacted]"}]


@pytest.mark.parametrize("error", [ValueError, SystemExit, asyncio.CancelledError])
def test_an_entry_that_cannot_be_mapped_is_marked_in_its_place(train, error):
    def map_text(text):
        if text == "x":
            raise error("no number")
        return int(text)

    log = train.stream("log", str)
    rp.project("agent", train, tail=rp.mapped("log", map_text))
    for text in ("1", "x", "3"):
        log.push(text)
    first, marker, last = read("agent/tail")["entries"]
    assert (first, last) == (1, 3)
    assert marker["unreadable"] == f"{error.__name__}: no number"


def test_who_read_the_state_that_another_takes_the_place_of_is_given_all_of_the_new_one(train):
    rows = {name: train.collection(name, dict[str, int]) for name in ("rows_a", "rows_b")}
    logs = {name: train.stream(name, str) for name in ("log_a", "log_b")}
    rows["rows_a"]["k"], rows["rows_b"]["k"] = 1, 2
    for log, texts in zip(logs.values(), (["a0", "a1"], ["b0", "b1", "b2"]), strict=True):
        for text in texts:
            log.push(text)
    rp.project("watch", train, rows="rows_a", log="log_a")
    row, log = read("watch/rows", key="k"), read("watch/log")
    assert (row["value"], log["entries"]) == (1, ["a0", "a1"])
    rp.project("watch", train, rows="rows_b", log="log_b")
    assert read("watch/rows", key="k", since=row["next"])["value"] == 2
    again = read("watch/log", since=log["next"])
    assert again["gap"] is True


def test_entries_that_went_before_they_were_mapped_are_a_gap(train):
    log = train.stream("log", int, keep=3)
    rp.project("agent", train, tail=rp.mapped("log", str))
    log.push(0)
    since = read("agent/tail")["next"]
    for number in range(1, 6):
        log.push(number)
    page = read("agent/tail", since=since)
    assert (page["entries"], page["gap"]) == (["3", "4", "5"], True)
    assert "gap" not in read("agent/tail", since=page["next"])
    train.stream("log", int)
    anew = read("agent/tail", since=page["next"])
    assert (anew["entries"], anew["gap"]) == ([], True)


def test_a_function_runs_only_for_a_reader_or_a_watcher_and_never_on_the_thread_of_a_change(
    train, loss
):
    threads = []
    rp.project(
        "agent",
        train,
        own=rp.derive(lambda v: threads.append(threading.current_thread()) or v, "loss"),
    )
    for number in range(100):
        loss.set(float(number))
    assert not threads
    assert read("agent/own")["value"] == 99.0
    changed = threading.Event()
    stop = watch(["agent/own"], lambda _id: changed.set())
    loss.set(100.0)
    assert changed.wait(BOUND_S)
    assert STATES["agent/own"].value == 100.0
    for number in range(2_000):
        loss.set(float(number))
    wait_until(lambda: STATES["agent/own"].value == 1999.0)
    stop()
    assert len(threads) < 100
    assert threading.current_thread() not in threads
    assert all(thread.daemon for thread in threads)
    wait_until(lambda: not any(thread.is_alive() for thread in threads))


def test_a_function_does_not_run_for_a_projection_of_it_that_nobody_reads(train, loss):
    seen = []
    first = rp.project(
        "first", train, own=rp.derive(lambda v: seen.append(v) or v, "loss"), expose=False
    )
    rp.project("last", first, twice=rp.derive(lambda own: 2 * own, "own"))
    for number in range(20):
        loss.set(float(number))
    assert (seen, STATES["first/own"].computed._is_asked) == ([], False)
    assert read("last/twice")["value"] == 38.0
    stop = watch(["last/twice"], lambda _id: None)
    loss.set(20.0)
    wait_until(lambda: STATES["last/twice"].value == 40.0)
    stop()
    before = len(seen)
    loss.set(21.0)
    assert (len(seen), STATES["first/own"].computed._is_asked) == (before, False)


def test_a_function_that_hangs_keeps_neither_the_app_nor_a_reader_nor_another_function(
    train, loss, monkeypatch
):
    go, began_with = threading.Event(), []

    def hang(value):
        began_with.append(value)
        return go.wait(BOUND_S)

    rp.project("stuck", train, odd=rp.derive(hang, "loss"), red=rp.derive(is_red, "loss"))
    rp.project("fine", train, red=rp.derive(is_red, "loss"))
    try:
        with monkeypatch.context() as patched:
            patched.setattr(members, "COMPUTED_S", 0.1)
            with pytest.raises(RequestError, match="still being computed"):
                read("stuck/odd")
        began = time.perf_counter()
        loss.set(0.9)
        assert time.perf_counter() - began < BOUND_S / 2
        assert read("fine/red")["value"] is True
        assert read("stuck/red")["value"] is True
        stop = watch(["stuck/odd", "stuck/red"], lambda _id: None)
        loss.set(0.2)
        wait_until(lambda: STATES["stuck/red"].value is False)
        stop()
        assert STATES["stuck/odd"].computed._waiting == []  # readers that gave up leave nothing
        assert began_with == [0.1]  # it runs once at a time
    finally:
        go.set()
    wait_until(lambda: (STATES["stuck/odd"].value, began_with) == (True, [0.1, 0.2]))


@pytest.mark.parametrize("wait", [{}, {"wait_s": 0.0}, {"wait_s": 0.3}])
def test_a_value_of_what_the_sources_held_before_is_not_answered(train, loss, monkeypatch, wait):
    go = threading.Event()
    rp.project(
        "agent", train, odd=rp.derive(lambda v: v if v < 0.5 else go.wait(BOUND_S) and v, "loss")
    )
    since = read("agent/odd")["next"]
    since = {"since": since} if wait else {}
    with monkeypatch.context() as patched:
        patched.setattr(members, "COMPUTED_S", 0.1)
        for value in (0.8, 0.9):
            loss.set(value)
            with pytest.raises(RequestError, match="agent/odd is still being computed") as refused:
                read("agent/odd", **since, **wait)
            assert refused.value.code == "unreadable"
    go.set()
    assert read("agent/odd", **since, wait_s=BOUND_S)["value"] == 0.9


def test_a_reader_who_waits_gets_what_takes_longer_than_a_read_once_it_is_computed(
    train, loss, monkeypatch
):
    go, asked, is_late = threading.Event(), [], members._is_late

    def look(state):
        asked.append(state)
        if len(asked) > 2:
            go.set()
        return is_late(state)

    rp.project("agent", train, odd=rp.derive(lambda v: v if v < 0.5 else go.wait(BOUND_S), "loss"))
    since = read("agent/odd")["next"]
    monkeypatch.setattr(members, "COMPUTED_S", 0.01)
    monkeypatch.setattr(members, "_is_late", look)
    loss.set(0.9)
    assert read("agent/odd", since=since, wait_s=BOUND_S)["value"] is True


def test_a_read_does_not_wait_for_the_pause_between_computations_for_those_who_watch(
    train, loss, monkeypatch
):
    monkeypatch.setattr(computing, "PAUSE_S", 2 * BOUND_S)
    rp.project("agent", train, same=rp.derive(float, "loss"), red=rp.derive(is_red, "loss"))
    stop = watch(["agent/same"], lambda _id: None)
    wait_until(lambda: STATES["agent/same"].value == 0.1)
    stop()
    loss.set(0.9)
    assert (read("agent/same")["value"], read("agent/red")["value"]) == (0.9, True)


def test_who_reads_a_member_all_the_time_does_not_keep_another_from_those_who_watch(
    train, loss, monkeypatch
):
    monkeypatch.setattr(computing, "PAUSE_S", 2 * BOUND_S)
    rp.project("agent", train, same=rp.derive(float, "loss"), red=rp.derive(is_red, "loss"))
    assert read("agent/same")["value"] == 0.1
    stop = watch(["agent/red"], lambda _id: None)
    wait_until(lambda: STATES["agent/red"].value is False)
    stop()


def test_a_projection_of_a_projection_follows_the_first_source(train, loss):
    first = rp.project("first", train, expose=False, red=rp.derive(is_red, "loss"), same="loss")
    rp.project("last", first, green=rp.derive(lambda red: not red, "red"), loss="same")
    assert read("last/green")["value"] is True
    changed = threading.Event()
    watch(["last/green"], lambda _id: changed.set())
    loss.set(0.9)
    assert changed.wait(BOUND_S)
    wait_until(lambda: STATES["last/green"].value is False)
    assert read("last/loss")["value"] == 0.9
    rp.registry.unregister("member", "training/loss")
    assert not [id for id in STATES if id.startswith(("first/", "last/"))]


def test_what_is_computed_from_a_failure_fails_too_and_names_no_source(train, loss):
    first = rp.project("first", train, expose=False, odd=rp.derive(lambda v: 1 / 0, "loss"))
    rp.project("last", first, green=rp.derive(is_red, "odd"))
    with pytest.raises(RequestError, match="could not be computed") as refused:
        read("last/green")
    assert "first" not in refused.value.message
    assert "Zero" not in refused.value.message


def test_a_value_derived_of_what_has_none_yet_has_none_either(train):
    best = train.cell("best", float)
    rp.project("agent", train, red=rp.derive(is_red, "best"))
    with pytest.raises(RequestError, match="has no value yet"):
        read("agent/red")
    best.set(0.6)
    assert read("agent/red")["value"] is True


async def later(value):
    return value


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (lambda: {"x": "los"}, ["training has no 'los'", "Nearest: loss", "loss, any, summary"]),
        (lambda: {"x": rp.derive(is_red, "los")}, ["no 'los'"]),
        (lambda: {"x": rp.derive(is_red, "summary")}, ["derive takes a cell", "is a function"]),
        (lambda: {"x": rp.mapped("loss", str)}, ["mapped takes a stream or event", "is a cell"]),
        (lambda: {}, ["at least one"]),
        (lambda: {"x": rp.derive(is_red)}, ["at least one member"]),
        (lambda: {"x": rp.derive(later, "loss")}, ["not async"]),
        (lambda: {"x": rp.mapped("log", 3)}, ["not a function"]),
        (lambda: {"x": rp.surface("other").cell("loss")}, ["named as text", "not by Cell"]),
        (lambda: {"source": "training"}, ["what repl_pair.surface returned, not str"]),
        (lambda: {"x": "loss", "summary": "any"}, ["agent.summary", "an agent gives"]),
        (lambda: {"x": "loss", "a b": "loss"}, ["agent/a b"]),
        (lambda: {"x": "loss", "a" * 60: "summary"}, ["characters", "at most 40"]),
    ],
)
def test_a_projection_that_is_not_legal_is_refused_with_what_is_and_registers_nothing(
    train, loss, members, words
):
    rp.function("training.summary")(lambda: 1)
    rp.function("training.any")(lambda *args: args)
    with pytest.raises(AuthoringError) as refused:
        rp.project("agent", **{"source": train} | members())
    for word in words:
        assert word in str(refused.value)
    assert rp.registry.find("surface", "agent") is None
    assert not list(rp.registry.ids("member", "agent/"))


def test_a_projection_that_would_follow_itself_is_refused_and_its_source_stays(train, loss):
    agent = rp.project("agent", train, twice=rp.derive(lambda value: value * 2, "loss"))
    for id, source, follows in (("training", train, "loss"), ("training", agent, "twice")):
        with pytest.raises(AuthoringError, match="training/loss would follow itself"):
            rp.project(id, source, loss=rp.derive(abs, follows))
    loss.set(3.0)
    assert read("agent/twice")["value"] == 6.0


def test_a_change_costs_its_thread_little_while_its_projection_is_watched(train, loss):
    is_over = threading.Event()
    rp.project("agent", train, slow=rp.derive(lambda v: is_over.wait(BOUND_S) and v, "loss"))
    stop = watch(["agent/slow"], lambda _id: None)
    with warnings.catch_warnings():
        began = time.thread_time()
        for number in range(5_000):
            loss.set(float(number))
        taken = time.thread_time() - began
    is_over.set()
    stop()
    assert taken < 2.5  # half a millisecond each, on a machine that is busy


def test_a_member_changes_also_where_no_thread_can_compute_what_is_made_of_it(
    train, loss, monkeypatch
):
    rp.project("agent", train, red=rp.derive(is_red, "loss"))
    end_watch = watch(["agent/red"], lambda _id: None)
    with monkeypatch.context() as patched:
        patched.setattr(computing.ServiceThread, "start", _refuse)
        loss.set(0.7)
    loss.set(0.9)
    wait_until(lambda: STATES["agent/red"].value is True, "the next change to be computed")
    end_watch()


def _refuse(*_args):
    raise RuntimeError("can't start new thread")
