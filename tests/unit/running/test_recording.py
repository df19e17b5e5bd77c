import datetime
import enum
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st

import repl_pair
from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.running.copies import copy_state
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.python_text import Writer

TOKEN = "Kz8wQm3TpR6vYx1N"


class Size(enum.Enum):
    SMALL = 1


@dataclass
class Line:
    sku: str
    size: Size = Size.SMALL


class Cart:
    def __init__(self, first: str = "a"):
        self.items = [first]

    def add(self, sku=None, **more):
        self.items.append([sku, more] if more else sku)

    def clear(self):
        self.items.clear()

    def drop(self):
        raise ValueError("nothing to drop")

    def login(self, user: str, code: Annotated[str, repl_pair.Sensitive]):
        self.items.append(user)


@pytest.fixture(autouse=True)
def cart():
    repl_pair.story("cart", component=Cart, state=lambda cart: list(cart.items))
    repl_pair.variant("cart/A", args={"first": "x"})


def ran_again(source):
    """Run the text as a cell would be; gives the record of the variant that it registers."""
    exec(compile(source, "<recorded>", "exec"), {"Line": Line, "Size": Size})
    return repl_pair.run("cart/New")


def test_a_recording_reads_as_a_person_would_write_it():
    with repl_pair.live("cart/A") as live, repl_pair.record(live) as recording:
        live.dispatch("add", sku="a", qty=2)
        live.dispatch("clear")
    assert recording.to_source("cart/New", doc="Emptied") == (
        "import repl_pair\n"
        "from repl_pair import step\n"
        "\n"
        "repl_pair.variant(\n"
        '    "cart/New",\n'
        '    extends="cart/A",\n'
        '    doc="Emptied",\n'
        "    play=[\n"
        '        step.dispatch("add", sku="a", qty=2),\n'
        '        step.dispatch("clear"),\n'
        "    ],\n"
        ")\n"
    )


def test_the_text_registers_a_variant_that_dispatches_the_same():
    line = Line("b")
    sent = [
        ("add", {"sku": 'it\'s "quoted"\n', "at": datetime.date(2024, 2, 29)}),
        ("add", {"sku": Decimal("1.50"), "id": UUID(int=5), "set": {3, 1}, "pair": (1,)}),
        ("add", {"sku": line, "size": Size.SMALL, "event": "a", "class": None}),
        ("add", {"sku": {"deep": [1.5, -0.0, math.inf, {"k": b"raw"}], 4: True}}),
    ]
    with repl_pair.live("cart/A") as live, repl_pair.record(live) as recording:
        for name, payload in sent:
            live.dispatch(name, **payload)
        left = copy_state(live.state)
        line.sku = "changed afterwards"
    record = ran_again(recording.to_source("cart/New"))
    assert (record.status, record.state) == ("pass", left)
    again = [[name, payload] for name, payload in record.events]
    assert again == [["add", {**p, "sku": Line("b")} if p["sku"] is line else p] for _, p in sent]


def test_what_a_handler_raised_is_expected_where_it_is_dispatched_again():
    with repl_pair.live("cart/A") as live, repl_pair.record("cart/A") as recording:
        with pytest.raises(ValueError, match="nothing"):
            live.dispatch("drop")
        live.dispatch("add", sku="b")
        with pytest.raises(RequestError):
            live.dispatch("no such event")
    assert [event.name for event in recording.events] == ["drop", "add"]
    record = ran_again(recording.to_source("cart/New"))
    assert (record.status, record.total, record.state) == ("pass", 1, ["x", "b"])


def test_args_that_the_object_was_opened_with_are_reported_too():
    opened = repl_pair.live("cart/A", overrides={"first": "o"})
    with opened as live, repl_pair.record(live) as recording:
        live.dispatch("clear")
        live.dispatch("add", sku="b")
    assert 'args={"first": "o"}' in recording.to_source("cart/New")
    assert ran_again(recording.to_source("cart/New")).effective_args == {"first": "o"}
    assert "extends" not in recording.to_source("cart/New", extends="")
    assert ran_again(recording.to_source("cart/New", extends="")).state == ["b"]


def recorded():
    with repl_pair.live("cart/A") as live, repl_pair.record(live) as recording:
        live.dispatch("add", sku="b")
    return recording


def test_a_recording_extends_the_variant_that_is_named():
    repl_pair.variant("cart/Root", args={"first": "r"}, events=[["add", {"sku": "e"}]])
    source = recorded().to_source("cart/New", extends="cart/Root")
    assert 'extends="cart/Root"' in source
    assert 'args={"first": "x"}' in source
    assert ran_again(source).state == ["x", "e", "b"]
    assert recorded().to_body("cart/New", extends="cart/Root").slots == {
        "play": [["dispatch", ["add", {"sku": "b"}]]],
        "extends": "cart/Root",
        "args": {"first": "x"},
    }


def test_what_is_named_must_be_there_and_not_extend_the_new_one():
    with pytest.raises(AuthoringError, match=r"no variant 'cart/Nope'.*Nearest"):
        recorded().to_source("cart/New", extends="cart/Nope")
    repl_pair.variant("cart/B", extends="cart/A")
    with pytest.raises(AuthoringError, match="cart/A -> cart/B -> cart/A"):
        recorded().to_body("cart/A", extends="cart/B")


def test_the_recorded_variant_is_extended_only_where_it_fits():
    recording = recorded()
    repl_pair.story("other", component=lambda first: first)
    assert recording.base_of("cart/New") == "cart/A"
    assert recording.base_of("cart/A") == ""
    assert recording.base_of("other/New") == ""
    assert 'args={"first": "x"}' in recording.to_source("cart/A")
    repl_pair.registry.unregister("variant", "cart/A")
    assert "extends" not in recording.to_source("cart/New")


def test_an_empty_recording_is_a_variant_that_dispatches_nothing():
    with repl_pair.record("cart/A") as recording:
        pass
    source = recording.to_source("cart/New")
    assert source == (
        'import repl_pair\n\nrepl_pair.variant("cart/New", extends="cart/A", play=[])\n'
    )
    assert (ran_again(source).events, recording.events) == ((), [])


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("login", {"user": "ann", "code": "1234"}),
        ("add", {"sku": f"Bearer {TOKEN}"}),
        ("add", {"sku": {"nested": [("deep", TOKEN)]}}),
        ("add", {"sku": {"password": "short"}}),
        ("add", {"sku": Line(TOKEN)}),
    ],
)
def test_an_event_that_holds_a_secret_stays_in_its_place_as_redacted(name, payload):
    NEEDLES.add(TOKEN)
    with repl_pair.live("cart/A") as live, repl_pair.record(live) as recording:
        live.dispatch("clear")
        live.dispatch(name, **payload)
        live.dispatch("add", sku="b")
    source = recording.to_source("cart/New")
    steps = [line.strip() for line in source.splitlines() if "dispatch" in line]
    assert steps == [
        'step.dispatch("clear"),',
        'step.dispatch("[redacted]"),',
        'step.dispatch("add", sku="b"),',
    ]
    assert recording.redacted == 1
    body = repr(recording.to_body("cart/New"))
    assert not any(word in body for word in (TOKEN, "1234", "short", "ann"))
    record = ran_again(source)
    assert record.status == "cannot_run"
    assert "Nothing handles the event '[redacted]'" in record.reason


@pytest.mark.parametrize(
    "value",
    [object(), pd.DataFrame({"type": [1, 2]}), pd.Series({"type": "text"})],
    ids=lambda value: type(value).__name__,
)
def test_what_no_text_states_stands_as_a_name_to_be_filled_in(value):
    name = type(value).__name__
    with repl_pair.live("cart/A") as live, repl_pair.record(live) as recording:
        live.dispatch("add", sku=value, qty=1)
    source = recording.to_source("cart/New")
    assert f'step.dispatch("add", sku=fill_in_{name}, qty=1)' in source
    assert recording.to_body("cart/New").odd == (f"add.sku: {name}",)
    with pytest.raises(NameError, match=f"fill_in_{name}"):
        ran_again(source)


def test_a_recording_receives_one_object_or_all_of_a_variant_between_start_and_stop():
    with repl_pair.live("cart/A") as one, repl_pair.live("cart/A") as other:
        of_one, of_all = repl_pair.record(one), repl_pair.record("cart/A")
        one.dispatch("add", sku="too early")
        of_one.start()
        of_all.start()
        one.dispatch("add", sku=1)
        other.dispatch("add", sku=2)
        of_one.stop()
        of_one.stop()
        one.dispatch("add", sku=3)
        of_all.stop()
        one.dispatch("add", sku="too late")
    assert [e.payload["sku"] for e in of_one.events] == [1]
    assert [e.payload["sku"] for e in of_all.events] == [1, 2, 3]
    assert (of_one.openings, of_all.openings) == (1, 2)


LEAVES = (
    (st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary())
    | st.complex_numbers()
    | st.decimals(allow_nan=False)
    | st.datetimes()
    | st.uuids()
    | st.timedeltas()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@example(complex("nan"))
@example(complex(-0.0, 1))
@example(complex(0, -1))
@given(VALUES)
def test_text_of_data_is_that_data(value):
    writer = Writer()
    text = writer.value(freeze(value), "it")
    space = {}
    exec("\n".join(writer.imports), space)
    assert repr(eval(text, space)) == repr(value)
    assert writer.odd == []
