import linecache
import threading
from functools import partial

import pytest
from bounds import BOUND_S
from waiting import wait_until

import repl_pair
from repl_pair.runtime.clients import clients
from repl_pair.runtime.clients.own_calls import OWN_CALLS, PERSON, OwnCalls
from repl_pair.runtime.kernel.own_host import serve_own_calls
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.results.drift import DriftCheck, baseline_of
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.sweeps.watching import WATCHES, Watch, Watches
from repl_pair.wire import View


def drift_since(variant_id, watched):
    """Look at one variant, behind all others that a check may have seen."""
    check = DriftCheck()
    text = {
        id: check.describe(id, last_result(id), watched) for id in repl_pair.registry.ids("variant")
    }
    assert DriftCheck().describe(variant_id, last_result(variant_id), watched) == text[variant_id]
    return text[variant_id]


@pytest.fixture
def define():
    """Defines `price` anew in a module of that name, from the source of its body."""
    import sys
    import types

    module = sys.modules["prices"] = types.ModuleType("prices")
    names = []

    def write(body, doc="A price."):
        name = f"<prices {len(names)}>"
        names.append(name)
        source = f'def price(n: int = 1):\n    """{doc}"""\n    {body}\n'
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), module.__dict__)
        return module.price

    yield write
    del sys.modules["prices"]
    for name in names:
        linecache.cache.pop(name)


@pytest.fixture
def prices(define):
    repl_pair.story("price", component=define("return n"))
    repl_pair.variant("price/A", args={"n": 1})
    repl_pair.variant("price/B", args={"n": 2})
    return define


@pytest.fixture
def watch():
    """Watches as the person; every watch ends with the test."""
    undos = []

    def begin(*args):
        undos.append(repl_pair.watch(*args))
        return undos[-1]

    yield begin
    for undo in undos:
        undo()
    assert not OWN_CALLS.has_handler
    assert WATCHES.baselines().get("price/A") is None


# --- what drifted


def test_a_variant_that_is_as_it_ran_did_not_drift(prices):
    assert drift_since("price/A", None) is None
    repl_pair.run("price/A")
    repl_pair.variant("price/A", args={"n": 1}, doc="another doc")
    repl_pair.variant("price/New")
    assert drift_since("price/A", None) is None


def test_drift_names_the_hashes_and_what_was_registered_again(prices):
    for name in ("price/A", "price/B"):
        repl_pair.run(name)
    repl_pair.variant("price/A", args={"n": 5})
    assert drift_since("price/A", None) == {
        "id": "price/A",
        "drifted": ["content_hash"],
        "registered_again": ["variant price/A"],
    }
    assert drift_since("price/B", None) is None
    prices("return n + 1")
    assert drift_since("price/B", None) == {"id": "price/B", "drifted": ["code_hash"]}
    assert drift_since("price/A", None)["drifted"] == ["content_hash", "code_hash"]


def test_a_cosmetic_edit_is_no_drift(prices):
    repl_pair.run("price/A")
    prices("return n  # as it was", doc="Another doc.")
    assert drift_since("price/A", None) is None
    prices("return (n)")
    assert drift_since("price/A", None) is None


def test_a_run_in_a_mode_is_compared_in_that_mode(prices):
    repl_pair.mode("double", args={"n": 2})
    repl_pair.variant("price/C")
    repl_pair.run("price/C", modes=["double"])
    assert drift_since("price/C", None) is None
    repl_pair.mode("double", args={"n": 3})
    assert drift_since("price/C", None)["registered_again"] == ["mode double"]


def test_a_run_with_overrides_did_not_drift_while_nothing_is_registered_again(prices):
    repl_pair.run("price/A", overrides={"n": 50})
    assert drift_since("price/A", None) is None
    prices("return n + 1")
    assert drift_since("price/A", None)["drifted"] == ["code_hash"]


def test_what_can_no_longer_be_planned_drifted(prices):
    repl_pair.run("price/A")
    repl_pair.registry.unregister("story", "price")
    text = drift_since("price/A", None)
    assert text["drifted"] == ["content_hash", "code_hash"]
    assert text["registered_again"] == ["story price"]


# --- what runs again


def test_a_watched_variant_runs_again_when_it_drifts_and_not_before(prices, watch):
    heard = []
    watch("price/A", heard.append)
    assert last_result("price/A") is None
    repl_pair.variant("price/A", args={"n": 1}, doc="cosmetic")
    repl_pair.variant("price/B", args={"n": 7})
    repl_pair.variant("price/A", args={"n": 3})
    wait_until(lambda: heard, "a run of price/A")
    assert [(r.variant_id, dict(r.effective_args), r.status) for r in heard] == [
        ("price/A", {"n": 3}, "pass")
    ]
    assert (last_result("price/A"), last_result("price/B")) == (heard[0], None)


def test_nothing_runs_again_once_the_watch_is_over(prices, watch):
    heard = []
    undo = watch("price/A", heard.append)
    undo()
    undo()
    repl_pair.variant("price/A", args={"n": 3})
    end = watch("price/B", heard.append)
    repl_pair.variant("price/B", args={"n": 4})
    wait_until(lambda: heard, "a run of price/B")
    end()
    assert [record.variant_id for record in heard] == ["price/B"]


def test_a_callback_that_raises_warns_and_stops_nothing(prices, watch, recwarn):
    heard = []

    def fail(_record):
        raise KeyError("mine")

    watch("price/A", fail)
    watch("price/A", heard.append)
    repl_pair.variant("price/A", args={"n": 3})
    wait_until(lambda: heard, "the second callback")
    assert ["raised KeyError: 'mine'" in str(w.message) for w in recwarn] == [True]


def test_what_changes_in_a_cell_is_looked_at_behind_it_and_runs_once(prices, watch, monkeypatch):
    heard = []
    watch("price/A", heard.append)
    monkeypatch.setattr(CELLS, "_current", object())
    for n in range(5):
        repl_pair.variant("price/A", args={"n": 10 + n})
    prices("return n * 2")
    join_looks()
    assert (heard, OWN_CALLS.has_handler) == ([], False)
    monkeypatch.setattr(CELLS, "_current", None)
    WATCHES.check()
    wait_until(lambda: heard, "a run of price/A")
    seen = baseline_of(last_result("price/A"))
    assert [dict(record.effective_args) for record in heard] == [{"n": 14}]
    assert WATCHES.baselines().get("price/A") == seen


def test_what_is_looked_at_during_its_run_is_not_run_for_the_same_change_twice(watch):
    heard, ran, go = [], [], threading.Event()

    def slow(n: int = 1):
        ran.append(n)
        assert go.wait(BOUND_S)

    repl_pair.story("slow", component=slow)
    repl_pair.variant("slow/A")
    watch("slow/A", heard.append)
    repl_pair.variant("slow/A", args={"n": 2})
    wait_until(lambda: ran, "the run")
    WATCHES.check()
    join_looks()
    go.set()
    wait_until(lambda: heard and not (WATCHES._due or WATCHES._running), "the end of all runs")
    assert ran == [2]


def join_looks():
    for thread in threading.enumerate():
        if thread.name == "repl_pair worker drift":
            thread.join()


def test_a_watch_of_an_unknown_variant_is_refused(prices):
    with pytest.raises(repl_pair.ReplPairError, match="price/A"):
        repl_pair.watch("price/Aa")
    assert not OWN_CALLS.has_handler


# --- whose they are


class Nobody:
    """Accepts requests and does nothing."""

    def submit(self, content, reply, progress):
        self.content = content


def test_what_agents_began_ends_with_the_last_host_and_with_its_client():
    own_calls, ended = OwnCalls(), []
    undo = own_calls.serve(Nobody().submit)
    for owner in ("agent", "other", PERSON):
        own_calls.hold(owner, lambda owner=owner: ended.append(owner))
    own_calls.keep_only({"other"})
    assert ended == ["agent"]
    ended.clear()
    undo()
    assert ended == ["agent", "other"]
    ended.clear()
    own_calls.end()
    assert ended == ["agent", "other", PERSON]


def test_a_host_that_ends_twice_takes_no_later_one_with_it():
    own_calls, host = OwnCalls(), Nobody()
    undo = own_calls.serve(host.submit)
    own_calls.serve(host.submit)
    undo()
    undo()
    assert own_calls.has_handler


def test_a_watch_that_begins_while_the_last_one_ends_still_follows_changes(monkeypatch):
    watches, undos, checked = Watches(), [], []

    def begin():
        undos.append(watches.add(Watch(owner=PERSON, what="x", choose=list, view=View())))

    follow = CELLS.at_end

    def at_end(fn):
        unfollow = follow(fn)
        return lambda: (unfollow(), begin() if len(undos) == 1 else None)

    monkeypatch.setattr(CELLS, "at_end", at_end)
    monkeypatch.setattr(watches, "check", lambda: checked.append(1))
    begin()
    undos[0]()
    repl_pair.tag("late")
    undos[1]()
    assert checked


def test_all_runs_of_a_watch_are_taken_by_the_host_that_the_first_one_made(prices):
    served, ran = [], []

    def serve():
        served.append(1)
        return serve_own_calls()

    undo = WATCHES.add(
        Watch(
            owner=PERSON,
            what="price/A",
            choose=lambda: ["price/A"],
            view=View(),
            on_run=ran.append,
            serve=serve,
        )
    )
    try:
        for n in (3, 4, 5):
            repl_pair.variant("price/A", args={"n": n})
            wait_until(lambda n=n: [r.effective_args["n"] for r in ran][-1:] == [n], "its run")
    finally:
        undo()
    assert served == [1]
    assert not OWN_CALLS.has_handler


def test_what_an_agent_may_not_run_delays_no_watch_of_the_persons(prices, watch):
    ran, heard = [], []
    watch("price/B", ran.append)
    undo = WATCHES.add(
        Watch(
            owner="agent",
            what="both",
            choose=lambda: ["price/A", "price/B"],
            view=View(principal="agent"),
            on_run=heard.append,
        )
    )
    clients.pause()
    try:
        prices("return n + 1")
        WATCHES.check()
        wait_until(lambda: ran and heard, "the run of the person's watch")
    finally:
        clients.resume()
        undo()
    assert [run.variant_id for run in (*ran, *heard)] == ["price/B"] * 2


def test_what_is_due_for_a_watch_that_ends_runs_only_for_another_one(registries):
    begun, heard, go = [], [], threading.Event()

    def slow(n: int = 1):
        begun.append(n)
        assert go.wait(BOUND_S)

    repl_pair.story("slow", component=slow)
    for n, name in enumerate("ABC"):
        repl_pair.variant(f"slow/{name}", args={"n": n})
    both = partial(Watch, owner=PERSON, view=View(), serve=serve_own_calls)
    end = WATCHES.add(both(what="A and B", choose=lambda: ["slow/A", "slow/B"]))
    end_other = WATCHES.add(
        both(what="A and C", choose=lambda: ["slow/A", "slow/C"], on_run=heard.append)
    )
    for n, name in enumerate("ABC"):
        repl_pair.variant(f"slow/{name}", args={"n": 10 + n})
    wait_until(lambda: begun, "the first run")
    join_looks()
    end()
    go.set()
    wait_until(lambda: len(heard) == 2, "the runs of the other watch")
    wait_until(lambda: not (WATCHES._due or WATCHES._running), "the end of all runs")
    end_other()
    assert begun == [10, 12]


def test_a_watch_that_begins_while_others_end_runs_nothing_that_did_not_change(prices, monkeypatch):
    ran, undos = [], []
    add = partial(Watch, owner=PERSON, choose=lambda: ["price/A"], view=View(), on_run=ran.append,
                  serve=serve_own_calls)  # fmt: skip
    undos.append(WATCHES.add(add(what="first")))
    monkeypatch.setattr(OWN_CALLS, "hold", lambda *_args: lambda: None)
    chosen = WATCHES._chosen

    def end_meanwhile():
        found = chosen()
        if undos:
            undos.pop()()
        return found

    monkeypatch.setattr(WATCHES, "_chosen", end_meanwhile)
    undo = WATCHES.add(add(what="second"))
    try:
        WATCHES.check()
        join_looks()
        assert "price/A" in WATCHES.baselines()
        assert (WATCHES._running, ran) == (False, [])
    finally:
        undo()


def test_a_finalizer_may_register_something_while_a_check_is_started(prices, watch, monkeypatch):
    watch("price/A")
    start = WATCHES._checks.start
    registers = iter([lambda: repl_pair.tag("late")])
    monkeypatch.setattr(
        WATCHES._checks, "start", lambda: (next(registers, lambda: None)(), start())
    )
    checking = threading.Thread(target=WATCHES.check, daemon=True)
    checking.start()
    checking.join(BOUND_S)
    assert not checking.is_alive()


def test_a_watch_that_ends_while_its_host_is_made_leaves_no_host(prices):
    ended, undos = [], []

    def serve():
        undo = serve_own_calls()
        undos.pop()()
        return lambda: ended.append(undo())

    def begin(serve):
        watch = Watch(
            owner=PERSON, what="x", choose=lambda: ["price/A"], view=View(), on_run=ran.append,
            serve=serve,
        )  # fmt: skip
        undos.append(WATCHES.add(watch))

    ran = []
    begin(serve)
    repl_pair.variant("price/A", args={"n": 3})
    wait_until(lambda: ended, "the end of the host")
    assert (OWN_CALLS.has_handler, ran) == (False, [])
    begin(serve_own_calls)
    repl_pair.variant("price/A", args={"n": 4})
    wait_until(lambda: ran, "the run of the next watch")
    undos.pop()()


def test_an_own_call_is_run_by_the_latest_host_with_the_view_of_its_caller():
    own_calls, first, last = OwnCalls(), Nobody(), Nobody()
    own_calls.serve(first.submit)
    own_calls.serve(last.submit)
    view = View(principal="agent", tier="ops")
    own_calls.run("ping", {"a": 1}, view=view, done=print)
    assert not hasattr(first, "content")
    assert {n: last.content[n] for n in ("op", "args", "view")} == {
        "op": "ping",
        "args": {"a": 1},
        "view": view.to_wire(),
    }
