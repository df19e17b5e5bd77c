"""The step debugger: over the record of a run, forth and back, without a second run."""

from typing import ClassVar

import pytest

import repl_pair
from repl_pair import check, step
from repl_pair.errors import RequestError
from repl_pair.runtime.reading.bounded import MISSING, Change, changes_between


class Cart:
    ran: ClassVar[list[str]] = []

    def __init__(self):
        self.items: list[str] = []
        self.note = ""

    def add(self, sku: str):
        self.ran.append(sku)
        self.items.append(sku)


@pytest.fixture
def cart():
    Cart.ran = []
    repl_pair.story("cart", component=Cart)
    repl_pair.variant(
        "cart/A",
        plays={
            "fill": [
                step.dispatch("add", sku="a"),
                check.length("state.items", 2),
                step.set("note", "gift"),
            ],
            "check": {"steps": [check.path_equals("result.note", "gift")], "auto_run": True},
            "more": {"steps": [step.call("add", sku="b"), step.wait(0)], "auto_run": True},
        },
    )
    repl_pair.run("cart/A")


def places(moments):
    return [(m.index, m.play, m.step, m.name) for m in moments]


def test_the_lines_of_all_plays_are_walked_in_order_with_the_state_after_each(cart):
    debugger = repl_pair.debug("cart/A")
    assert (debugger.position, debugger.moment) == (-1, None)
    assert debugger.state == {"items": [], "note": ""}
    walked = []
    while debugger.step():
        walked.append((debugger.moment.name, debugger.state, debugger.moment.changes))
    one, gift, two = (
        {"items": items, "note": note} for items, note in (("a", ""), ("a", "gift"), ("ab", "gift"))
    )
    for state in (one, gift, two):
        state["items"] = list(state["items"])
    assert walked == [
        ("dispatch", one, (Change(path="items[0]", before=MISSING, after="a"),)),
        ("length", one, ()),
        ("set", gift, (Change(path="note", before="", after="gift"),)),
        ("path_equals", gift, ()),
        ("call", two, (Change(path="items[1]", before=MISSING, after="b"),)),
        ("wait", two, ()),
    ]
    assert Cart.ran == ["a", "b"]


def test_it_goes_back_and_to_the_start_again(cart):
    debugger = repl_pair.debug(repl_pair.run("cart/A"))
    debugger.step()
    debugger.step()
    assert debugger.step_back().name == "dispatch"
    assert debugger.step_back() is None
    assert debugger.step_back() is None
    assert debugger.position == -1
    assert debugger.resume() is None
    assert (debugger.position, debugger.step()) == (5, None)
    debugger.rewind()
    assert repr(debugger) == "<Debugger of cart/A: 6 lines, before the first>"
    debugger.step()
    assert repr(debugger).endswith("at 0: ['dispatch', ['add', {'sku': 'a'}]]>")


def test_it_stops_at_breakpoints_by_place_by_name_and_at_failures(cart):
    def stops(debugger):
        debugger.rewind()
        found = []
        while (moment := debugger.resume()) is not None:
            found.append(moment)
        return places(found)

    debugger = repl_pair.debug("cart/A")
    debugger.break_at(2, play="fill")
    assert stops(debugger) == [(2, "fill", 2, "set")]
    debugger.break_at("call")
    assert stops(debugger) == [(2, "fill", 2, "set"), (4, "more", 0, "call")]
    debugger.clear_breakpoints()
    debugger.break_on_failure()
    assert stops(debugger) == [(1, "fill", 1, "length")]
    debugger.clear_breakpoints()
    assert stops(debugger) == []
    with pytest.raises(RequestError, match=r"No line was done at 'cal'\. Nearest: call"):
        debugger.break_at("cal")
    with pytest.raises(RequestError, match="No line of play 'check' was done at 7"):
        debugger.break_at(7, play="check")


def test_a_step_that_raised_is_a_failure():
    repl_pair.story("none", component=lambda: {})
    repl_pair.variant("none/A", play=[step.call("clear"), check.raises(ValueError)])
    debugger = repl_pair.debug(repl_pair.run("none/A"))
    debugger.break_on_failure()
    assert debugger.resume().error.startswith("RequestError: dict has no public method 'clear'")


def test_a_run_that_only_checks_shows_its_state_throughout():
    repl_pair.story("cart", component=Cart)
    repl_pair.variant("cart/A", play=[check.path_equals("result.note", "")])
    debugger = repl_pair.debug(repl_pair.run("cart/A"))
    assert debugger.state == debugger.step().state == {"items": [], "note": ""}


def test_what_was_not_run_yet_is_refused(cart):
    repl_pair.variant("cart/B")
    with pytest.raises(
        RequestError, match=r"cart/B has not been run yet: repl_pair\.run\('cart/B'\)"
    ):
        repl_pair.debug("cart/B")


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": [1, 2]}, {"a": [1]}, [("a[1]", 2, MISSING)]),
        ({"a": 1}, {"a b": 1}, [("a", 1, MISSING), ('["a b"]', MISSING, 1)]),
        (None, {"a": 1}, [("", None, {"a": 1})]),
    ],
)
def test_the_differences_of_two_states_are_reported_by_path(before, after, changes):
    assert [(c.path, c.before, c.after) for c in changes_between(before, after)] == changes
