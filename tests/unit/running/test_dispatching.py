"""Events and paths: who handles an event, what is recorded of it, and what a path may set."""

import asyncio
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated

import pytest

import repl_pair
from repl_pair import Sensitive, check, step
from repl_pair.errors import RequestError
from repl_pair.runtime.reading.steps import PathMiss
from repl_pair.runtime.registry.steps import public_methods
from repl_pair.runtime.running.dispatching import set_path
from repl_pair.runtime.stopping.loops import PRIVATE


@pytest.fixture(autouse=True)
def private_loop_ends():
    yield
    PRIVATE.close_idle()


class Colour(Enum):
    RED = 1


@dataclass
class Line:
    sku: str
    n: int = 1


@dataclass
class Order:
    lines: list[Line] = field(default_factory=list)
    _paid: bool = False

    def add(self, sku, **more):
        self.lines.append(Line(sku))
        return more

    @property
    def size(self):
        return len(self.lines)


@pytest.fixture
def order():
    repl_pair.story("order", component=Order)


def test_a_handler_goes_before_a_method_of_the_same_name(order):
    @repl_pair.handler("add")
    async def add(live, sku):
        await asyncio.sleep(0)
        live.add(sku.upper())
        return "handled"

    repl_pair.variant(
        "order/A", events=[["add", {"sku": "a"}]], play=[check.path_equals("last", "handled")]
    )
    repl_pair.variant(
        "order/B",
        play=[step.dispatch("add", sku="b"), check.path_equals("result.lines[0].sku", "B")],
    )
    assert repl_pair.run("order/A").result.lines == [Line("A")]
    assert repl_pair.run("order/B").status == "pass"


def test_an_event_is_a_name_or_a_name_with_keywords(order):
    repl_pair.handler("tick")(lambda live: live.add("t"))
    repl_pair.variant("order/A", events=["tick", ["tick"], ["tick", {}]])
    assert repl_pair.run("order/A").events == (["tick", {}],) * 3


def test_what_nothing_handles_cannot_run_and_the_nearest_are_named(order):
    repl_pair.handler("order/add")(lambda live: None)
    repl_pair.variant("order/A", events=["ad"])
    record = repl_pair.run("order/A")
    assert (record.status, record.events) == ("cannot_run", ())
    assert record.reason == (
        "Nothing handles the event 'ad': there is no handler, and Order has no such method. "
        "Nearest: add."
    )


def test_private_names_properties_and_methods_of_mappings_handle_nothing(order):
    repl_pair.story("map", component=lambda: {})
    for story, name in (
        ("order", "__init__"),
        ("order", "size"),
        ("order", "_paid"),
        ("map", "clear"),
    ):
        repl_pair.variant(f"{story}/A", play=[step.dispatch(name)])
        assert repl_pair.run(f"{story}/A").status == "cannot_run", name
    assert public_methods(Order) == ["add"]
    assert public_methods(dict) == []


def test_the_recorded_payload_is_what_was_sent_whatever_its_handler_does():
    @repl_pair.handler("take")
    def take(live, rows):
        rows.append("more")
        live["rows"] = rows

    repl_pair.story("keep", component=lambda: {})
    repl_pair.variant("keep/A", play=[step.dispatch("take", rows=["a"])])
    record = repl_pair.run("keep/A")
    assert record.events == (["take", {"rows": ["a"]}],)
    assert record.state == {"rows": ["a", "more"]}


def test_args_that_are_events_are_dispatched_and_not_passed():
    @repl_pair.handler("login")
    def login(state, user):
        state["name"] = user.title()

    repl_pair.story("page", component=lambda name="nobody": {"name": name})
    repl_pair.variant("page/A", args={"user": "ada"}, args_to_events={"user": "login"})
    record = repl_pair.run("page/A")
    assert (record.result, record.events) == ({"name": "Ada"}, (["login", {"user": "ada"}],))
    assert repl_pair.run("page/A", overrides={"user": "bob"}).result == {"name": "Bob"}


def test_a_secret_that_goes_out_as_an_event_is_named_as_sensitive():
    repl_pair.handler("login")(lambda state, pin: None)

    def page(pin: Annotated[str, Sensitive] = ""):
        return 1

    repl_pair.story("page", component=page)
    repl_pair.variant("page/A", args={"pin": "1234"}, args_to_events={"pin": "login"})
    record = repl_pair.run("page/A")
    assert record.events == (["login", {"pin": "1234"}],)
    assert ("events", "0", "1", "pin") in record.sensitive


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("a", 2, {"a": 2, "row": [1], "c": {Colour.RED: 1}}),
        ("new", 2, {"a": 1, "row": [1], "c": {Colour.RED: 1}, "new": 2}),
        ("row[0]", 5, {"a": 1, "row": [5], "c": {Colour.RED: 1}}),
        ("row.0", 5, {"a": 1, "row": [5], "c": {Colour.RED: 1}}),
        (["row", -1], 5, {"a": 1, "row": [5], "c": {Colour.RED: 1}}),
        ("c.RED", 5, {"a": 1, "row": [1], "c": {Colour.RED: 5}}),
    ],
)
def test_a_path_sets_keys_and_indexes(path, value, found):
    live = {"a": 1, "row": [1], "c": {Colour.RED: 1}}
    set_path(live, path, value)
    assert live == found


def test_a_path_sets_fields_that_are_there_and_no_other():
    order = Order([Line("a")])
    set_path(order, "lines[0].n", 3)
    assert order.lines == [Line("a", 3)]
    with pytest.raises(PathMiss, match="there is no 'line'"):
        set_path(order, "line", [])
    with pytest.raises(RequestError, match="_paid is not public"):
        set_path(order, "_paid", True)
    with pytest.raises(PathMiss):
        set_path(order, "lines[1]", Line("b"))
    with pytest.raises(PathMiss):
        set_path(order, "add", 1)


def test_a_field_of_an_object_that_has_items_too_is_set_as_a_field():
    class Both(list):
        name = "x"

    both = Both([1])
    set_path(both, "name", "y")
    set_path(both, "[0]", 2)
    assert (both.name, both) == ("y", [2])


def test_columns_and_rows_of_tables_are_set():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2]})
    set_path(frame, "a", 7)
    assert frame.to_dict("list") == {"a": [7, 7]}
    set_path(frame, [1], 9)
    assert frame.to_dict("list") == {"a": [7, 9]}
    series = pandas.Series([1, 2], index=["x", "y"])
    set_path(series, "y", 5)
    set_path(series, [0], 4)
    assert list(series) == [4, 5]


class Door:
    def __init__(self, pin: Annotated[str, Sensitive] = "0000"):
        self.pin = pin

    def unlock(self, code: Annotated[str, Sensitive], times: int = 1):
        """Open."""

    def note(self, **text):
        """Hear."""


def secret_slots(record):
    return set(record.sensitive) - {("effective_args", "pin")}


def test_what_a_method_or_handler_declares_secret_is_secret_in_events_and_steps():
    repl_pair.story("door", component=Door)
    repl_pair.handler("knock")(handle_knock)
    repl_pair.variant(
        "door/It",
        events=[["unlock", {"code": "6623", "times": 2}], ["knock", {"rhythm": ["6624"]}]],
        play=[
            step.dispatch("unlock", code="6625"),
            step.call("unlock", code="6626"),
            ["set", "pin", "w3-r"],
            step.call("note", text="6628"),
        ],
    )
    record = repl_pair.run("door/It", check=True)
    assert record.events[0] == ["unlock", {"code": "6623", "times": 2}]
    assert secret_slots(record) == {
        ("events", "0", "1", "code"),
        ("events", "1", "1", "rhythm", "0"),
        ("events", "2", "1", "code"),
        ("steps", "0", "line", "1", "1", "code"),
        ("steps", "1", "line", "2", "code"),
        ("steps", "2", "line", "2"),
    }


def handle_knock(state, rhythm: list[Annotated[str, Sensitive]]):
    """Let in."""


def test_a_step_on_what_a_function_gave_is_secret_by_the_class_of_that():
    repl_pair.story("door", component=lambda: Door())
    repl_pair.variant("door/It", play=[step.call("unlock", code="6626")])
    record = repl_pair.run("door/It", check=True)
    assert secret_slots(record) == {("steps", "0", "line", "2", "code")}


@pytest.mark.parametrize("play", [[["path_equals", "args.pin", "1"]], []], ids=["judged", "not"])
def test_a_patch_of_a_secret_arg_is_secret_in_the_effective_args(play):
    repl_pair.story("login", component=log_in)
    repl_pair.decorator("pin", kind="frame_setup", patch={"pin": "x2-q"})
    repl_pair.variant("login/It", decorators=["pin"], play=play)
    record = repl_pair.run("login/It")
    assert record.effective_args == {"pin": "x2-q"}
    assert ("effective_args", "pin") in record.sensitive
    assert [("assertions", "0", "actual") in record.sensitive] == [bool(play)]


def log_in(pin: Annotated[str, Sensitive] = "", user="ann"):
    return user
