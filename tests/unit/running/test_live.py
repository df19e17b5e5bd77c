import asyncio
import contextvars
import gc
import json
import threading
import warnings
import weakref
from collections import OrderedDict, defaultdict, namedtuple
from contextlib import contextmanager
from typing import NamedTuple

import pytest

import repl_pair
from repl_pair.errors import RequestError
from repl_pair.runtime.running.openings import LiveObjectClosed, openings_of
from repl_pair.runtime.stopping.loops import PRIVATE
from repl_pair.runtime.values.frozen import NotData

MARK = contextvars.ContextVar("mark", default="nobody's")


@pytest.fixture(autouse=True)
def nothing_stays_open():
    yield
    PRIVATE.close_idle()
    assert threading.active_count() < 20


class Cart:
    def __init__(self, first: str = "a"):
        self.items = [first]

    def add(self, sku: str):
        print("adding", sku)
        self.items.append(sku)
        return len(self.items)

    async def add_later(self, sku: str):
        await asyncio.sleep(0)
        return self.add(sku)

    def drop(self):
        raise ValueError("nothing to drop")

    def encode(self):
        return json.dumps(self.items), MARK.get()


@pytest.fixture
def cart():
    repl_pair.story("cart", component=Cart, state=lambda cart: {"items": list(cart.items)})
    repl_pair.variant("cart/A", args={"first": "x"}, events=[["add", {"sku": "y"}]])


def test_a_live_object_takes_events_until_it_is_closed(cart, capsys):
    with repl_pair.live("cart/A") as live:
        assert (type(live.result), live.state) == (Cart, {"items": ["x", "y"]})
        assert (live.dispatch("add", sku="z"), live.stdout) == (3, "adding z\n")
        assert live.dispatch("add_later", sku="w") == 4
        assert live.state == {"items": ["x", "y", "z", "w"]}
    assert repr(live) == "<live cart/A, closed>"
    with pytest.raises(RequestError, match="is closed"):
        live.dispatch("add", sku="q")
    assert capsys.readouterr().out == ""
    live.close()


class Size(NamedTuple):
    width: int = 0
    height: int = 0


Pair = namedtuple("Pair", "a b")


@pytest.fixture
def taking(cart):
    repl_pair.handler("take")(lambda _cart, given: given)
    with repl_pair.live("cart/A") as live:
        yield lambda given: live.dispatch("take", given=given)


def test_a_handler_gets_what_was_passed(taking):
    passed = [Size(3, 4), Pair(1, 2), defaultdict(list), OrderedDict(a=1), frozenset({1}), {2}]
    assert [(type(one), one) for one in taking(passed)] == [(type(one), one) for one in passed]
    repl_pair.loader("made")(lambda n: n + 1)
    ref = repl_pair.ref("made", n=1)
    assert [taking(given) for given in (ref, [ref], {"a": (0, ref)})] == [2, [2], {"a": (0, 2)}]
    beside = threading.Lock()
    assert taking([beside, ref]) == [beside, 2]
    repl_pair.loader("fresh")(lambda: [])
    fresh = repl_pair.ref("fresh")
    one, other = taking([fresh, fresh])
    assert one is not other


def test_a_handler_gets_a_list_that_holds_itself_also_while_events_are_recorded(taking):
    passed = []
    passed.append(passed)
    with repl_pair.record("cart/A") as recording:
        taken = taking(passed)
    assert taken[0] is taken
    assert [type(event.payload["given"]) for event in recording.events] == [NotData]


def test_what_a_handler_raises_is_the_callers_and_the_object_stays_open(cart):
    with repl_pair.live("cart/A") as live:
        with pytest.raises(ValueError, match="nothing to drop"):
            live.dispatch("drop")
        with pytest.raises(RequestError, match="Nothing handles the event 'ad'"):
            live.dispatch("ad", sku="z")
        assert live.dispatch("add", sku="z") == 3


def test_it_opens_with_modes_and_overrides_and_each_call_makes_another(cart):
    repl_pair.mode("gift", args={"first": "card"})
    with repl_pair.live("cart/A", modes=["gift"]) as one, repl_pair.live("cart/A") as other:
        assert one.state["items"][0] == "x"
        other.dispatch("add", sku="mine")
        assert (len(one.state["items"]), len(other.state["items"])) == (2, 3)
    with repl_pair.live("cart/A", overrides={"first": "o"}) as live:
        assert live.state["items"][0] == "o"


def test_no_play_runs_and_events_leave_the_result_of_a_function_as_it_was():
    repl_pair.story("f", component=lambda n=1: {"n": n})
    repl_pair.handler("f/more")(lambda live, by: live.update(n=live["n"] + by))
    repl_pair.variant("f/A", play=[repl_pair.step.dispatch("f/more", by=5)])
    with repl_pair.live("f/A") as live:
        assert live.state == {"n": 1}
        live.dispatch("f/more", by=2)
        assert (live.state, live.result) == ({"n": 3}, {"n": 1})


@pytest.fixture
def stubbed(cart):
    @repl_pair.decorator("marked")
    def marked():
        token = MARK.set("the live object's")
        yield
        MARK.reset(token)

    repl_pair.decorator("no-json", kind="fx_override", effect="json.dumps", response="stubbed")
    repl_pair.variant("cart/Stubbed", decorators=["marked", "no-json"])


def test_stubs_and_contexts_hold_in_a_dispatch_and_nobody_meets_them_between_two(stubbed):
    original = json.dumps
    with repl_pair.live("cart/Stubbed") as live:
        assert live.dispatch("encode") == ("stubbed", "the live object's")
        assert (json.dumps([1]), MARK.get()) == ("[1]", "nobody's")
        with repl_pair.live("cart/A") as other:
            assert other.dispatch("encode") == ('["x", "y"]', "nobody's")
            assert live.dispatch("encode") == ("stubbed", "the live object's")
        assert contextvars.Context().run(lambda: json.dumps([2])) == "[2]"
    assert json.dumps is original


def test_what_opening_raises_comes_when_all_is_out_again(cart):
    done = []

    @repl_pair.loader("cleaned")
    def cleaned():
        yield 1
        done.append("cleaned")

    repl_pair.variant("cart/Broken", loaders=["cleaned"], events=[["drop", {}]])
    with pytest.raises(ValueError, match="nothing to drop"):
        repl_pair.live("cart/Broken")
    assert (done, openings_of("cart/Broken")) == (["cleaned"], [])


@pytest.fixture
def cleaned(cart):
    done = []

    @repl_pair.loader("cleaned")
    def cleaned():
        yield 1
        done.append("cleaned")

    repl_pair.variant("cart/Loaded", loaders=["cleaned"])
    return done


def test_closing_tears_down_once(cleaned):
    live = repl_pair.live("cart/Loaded")
    assert cleaned == []
    live.close()
    live.close()
    assert cleaned == ["cleaned"]


def test_one_that_nothing_refers_to_is_closed_with_a_warning(cleaned):
    held = [repl_pair.live("cart/Loaded")]
    held[0].dispatch("add", sku="z")
    with pytest.warns(LiveObjectClosed, match="cart/Loaded was closed: nothing refers to it"):
        held.clear()
    assert (cleaned, openings_of("cart/Loaded")) == (["cleaned"], [])


def test_one_whose_variant_is_retired_is_closed_with_a_warning(cleaned):
    live = repl_pair.live("cart/Loaded")
    with pytest.warns(LiveObjectClosed, match="no longer registered"):
        repl_pair.registry.unregister("variant", "cart/Loaded")
    assert (cleaned, live.is_open) == (["cleaned"], False)


def test_a_failing_teardown_is_reported_in_the_warning(cart):
    @repl_pair.loader("bad-end")
    def bad_end():
        yield 1
        raise OSError("still locked")

    repl_pair.variant("cart/Loaded", loaders=["bad-end"])
    live = repl_pair.live("cart/Loaded")
    with pytest.warns(LiveObjectClosed, match="its teardown raised OSError: still locked"):
        repl_pair.registry.unregister("variant", "cart/Loaded")
    assert not live.is_open


def test_a_warning_of_a_live_object_is_none_of_a_run(cleaned):
    held = [repl_pair.live("cart/Loaded")]
    repl_pair.story("letgo", component=lambda: held.clear())
    repl_pair.variant("letgo/A", play=[repl_pair.check.no_warnings()])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert repl_pair.run("letgo/A").status == "pass"
    assert [w.category for w in seen] == [LiveObjectClosed]


def test_an_event_inside_a_dispatch_of_the_same_object_is_refused(cart):
    repl_pair.handler("again")(lambda _cart: box[0].dispatch("add", sku="z"))
    box = [repl_pair.live("cart/A")]
    with pytest.raises(RequestError, match="is in a dispatch"):
        box[0].dispatch("again")
    box[0].close()


@pytest.fixture
def contended(cart):
    """A live object whose lock another dispatch holds right before and right after each."""
    with repl_pair.live("cart/A") as live:
        lock = live._opening.lock

        @contextmanager
        def taken_between():
            live._opening.lock = lock
            live.dispatch("add", sku="another's")
            try:
                with lock:
                    yield
            finally:
                live.dispatch("add", sku="another's")

        live._opening.lock = taken_between()
        yield live


def test_a_dispatch_gives_its_own_answer_whatever_other_threads_dispatch(contended):
    assert contended.dispatch("add", sku="z") == 4


def test_what_nothing_handles_is_not_recorded_whatever_other_threads_dispatch(contended):
    with repl_pair.record(contended) as recording, pytest.raises(RequestError, match="Nothing"):
        contended.dispatch("no such event")
    assert [event.name for event in recording.events] == ["add", "add"]


def test_a_live_object_keeps_nothing_of_the_events_that_it_took(cart):
    repl_pair.effect.impl("note")(lambda text: None)
    repl_pair.handler("take")(lambda _cart, given: repl_pair.effect("note", text=given))
    with repl_pair.live("cart/A") as live:
        live.dispatch("take", given=(given := Cart()))
        held = weakref.ref(given)
        del given
        gc.collect()
        assert held() is None


def test_threads_take_turns(cart):
    with repl_pair.live("cart/A") as live:
        threads = [
            threading.Thread(target=live.dispatch, args=("add",), kwargs={"sku": str(n)})
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(live.state["items"]) == sorted([*"01234567", "x", "y"])
