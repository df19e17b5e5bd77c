"""Copies of states: what of a value is kept, what is cut, and that nothing is shared."""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import numpy
import pytest

from repl_pair import Sensitive
from repl_pair.runtime.reading.bounded import MORE
from repl_pair.runtime.running.copies import (
    BOUNDS,
    JUDGED,
    copy_containers,
    copy_judged,
    copy_live,
    copy_state,
)
from repl_pair.runtime.values.frozen import Secret


class Colour(Enum):
    RED = 1


@dataclass
class Login:
    user: str
    pin: Annotated[str, Sensitive]
    _seen: int = 0
    tags: list[str] = field(default_factory=list)


class Slotted:
    __slots__ = ("_b", "a")

    def __init__(self):
        self.a, self._b = 1, 2


class Bare:
    pass


@pytest.mark.parametrize(
    ("value", "copied"),
    [
        ({"a": [1, (2, 3)], "b": {4}}, {"a": [1, [2, 3]], "b": [4]}),
        ({1: Colour.RED, Colour.RED: 2}, {"1": "RED", "RED": 2}),
        ([Decimal("1.0"), date(2026, 1, 2), Path("x"), None], None),
        (Slotted(), {"a": 1}),
        (Bare(), "<Bare>"),
        ([[], {}, set()], [[], {}, []]),
        (print, "<builtin_function_or_method>"),
        ("x" * (BOUNDS.text + 3), "x" * BOUNDS.text + f"{MORE} 3"),
        (b"x" * (BOUNDS.text + 1), f"<bytes of {BOUNDS.text + 1}>"),
        (list(range(BOUNDS.width + 2)), [*range(BOUNDS.width), f"{MORE} 2"]),
        ({"b", "a", "c"}, ["a", "b", "c"]),
    ],
)
def test_plain_data_is_copied_and_the_rest_named(value, copied):
    assert copy_state(value) == (value if copied is None else copied)


def test_a_field_that_is_declared_sensitive_stays_marked():
    copied = copy_state({"login": Login(user="ada", pin="1234")})
    assert copied == {"login": {"user": "ada", "pin": Secret("1234"), "tags": []}}


def test_a_copy_shares_nothing_that_changes():
    login = Login(user="ada", pin="1")
    copied = copy_state(login)
    login.tags.append("x")
    assert copied["tags"] == []


def test_what_is_deep_is_cut_with_a_mark():
    value: Any = 1
    for _ in range(BOUNDS.depth + 1):
        value = {"in": value}
    found = copy_state(value)
    for _ in range(BOUNDS.depth):
        found = found["in"]
    assert found == f"{MORE} <dict>"


def test_a_web_of_objects_that_hold_each_other_is_bounded():
    nodes = [Bare() for _ in range(BOUNDS.width)]
    for node in nodes:
        node.others = nodes

    def count(copied):
        parts = copied.values() if isinstance(copied, dict) else copied
        return 1 + (sum(map(count, parts)) if isinstance(copied, (dict, list)) else 0)

    assert count(copy_state(nodes)) <= 2 * BOUNDS.nodes


def test_no_property_and_no_attribute_that_is_made_up_is_read():
    class Trap:
        def __init__(self):
            self.own = 1

        @property
        def made(self):
            raise AssertionError

        def __getattr__(self, name):
            raise AssertionError(name)

        def __repr__(self):
            raise AssertionError

    assert copy_state({"trap": Trap()}) == {"trap": {"own": 1}}


def test_containers_are_copied_at_every_level_and_what_is_in_them_shared():
    login = Login(user="ada", pin="1")
    value: Any = {"rows": [[1], (login, [2])], "names": {"a"}}
    value["self"] = value
    copied = copy_containers(value)
    assert copied["self"] is copied
    assert copied["rows"] == value["rows"]
    assert copied["rows"][1][0] is login
    copied["rows"][0].append(5)
    copied["rows"][1][1].append(5)
    copied["names"].add("b")
    assert (value["rows"], value["names"]) == ([[1], (login, [2])], {"a"})


def test_what_was_judged_is_reported_as_it_was_then():
    login = Login(user="ada", pin="1", tags=["x"])
    parts = {1: (2.0, None), "set": {3, Login}, "login": login, "rows": [[1]], "print": print}
    judged = copy_judged(parts)
    login.tags.append("y")
    parts["rows"][0].append(2)
    parts["set"].add(4)
    seen = {"user": "ada", "pin": Secret("1"), "tags": ["x"]}
    assert judged == {
        1: (2.0, None),
        "set": {3, Login},
        "login": seen,
        "rows": [[1]],
        "print": print,
    }


def test_of_what_cannot_be_copied_whole_only_that_is_shared():
    cart, lock = Login(user="ada", pin="1"), threading.Lock()
    value: Any = {"lock": lock, "cart": cart, "again": [cart], "all": (Holder(lock, cart), {1})}
    value["self"] = value
    copied = copy_live(value)
    assert copied["self"] is copied
    assert (copied["lock"], copied["all"][0]) == (lock, value["all"][0])
    assert copied["cart"] is copied["again"][0] is not cart
    assert copied["cart"] == cart
    assert copied["all"][1] is not value["all"][1]


def test_of_a_class_that_cannot_be_copied_one_alone_is_tried():
    tried: list[Any] = []

    class Session:
        def __deepcopy__(self, _known):
            tried.append(self)
            raise TypeError

    sessions = [Session() for _ in range(9)]
    assert copy_live(sessions) == sessions
    assert tried == [sessions[0]] * 2  # with the list, and by itself


@pytest.mark.parametrize(
    "make",
    [
        deque,
        lambda items: numpy.array(items, dtype=object),
        lambda items: SimpleNamespace(items=items),
    ],
)
def test_of_a_class_whose_copies_depend_on_what_it_holds_later_ones_are_copied(make):
    lock = threading.Lock()
    value = [make([lock]), [make([lock])], make([1, 2])]
    copied = copy_live(value)
    assert copied[0] is value[0]
    assert copied[2] is not value[2]


def test_what_cannot_be_copied_is_tried_once_however_many_hold_it():
    tried: list[Any] = []

    class Session:
        def __getstate__(self):
            tried.append(self)
            return self.__dict__

    session, orders = Session(), [Bare() for _ in range(9)]
    session.parts = [threading.Lock()]
    for order in orders:
        order.session = session
    copied = copy_live({"orders": orders, "again": [session]})
    assert copied["orders"] == orders
    assert len(tried) == 2  # with the whole, and by itself


class Holder:
    def __init__(self, *held):
        self.held = held[::-1]


def test_what_is_too_deep_to_be_copied_is_shared_from_there_on():
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    copied = copy_live({"deep": deep})["deep"]
    assert copied is not deep
    while copied is not deep:
        (copied,), (deep,) = copied, deep
    assert len(copied) == 1


class Made(Mapping):
    """What it holds is made where it is read."""

    def __init__(self, n):
        self.n = n

    def __getitem__(self, _key):
        return [self.n, self.n * 10]

    def __iter__(self):
        return iter(["k"])

    def __len__(self):
        return 1


def test_what_was_judged_is_reported_also_where_it_is_made_as_it_is_read():
    judged = copy_judged([Made(1), Made(2), Made(3)])
    assert judged == [{"k": [1, 10]}, {"k": [2, 20]}, {"k": [3, 30]}]


def test_of_what_was_judged_no_more_is_kept_than_can_be_reported():
    many = copy_judged(list(range(JUDGED.nodes + 5)))
    assert (len(many), many[-1]) == (JUDGED.nodes + 1, f"{MORE} 5")
    deep = value = []
    for _ in range(JUDGED.depth + 1):
        value.append(value := [])
    value.append(1)
    assert f"{MORE} <list>" in str(copy_judged(deep))
    cyclic: Any = {}
    cyclic["self"] = [cyclic]
    assert (copied := copy_judged(cyclic))["self"][0] is copied
    table = numpy.zeros((3, 3))
    assert copy_judged(table) is not table
    assert copy_judged(numpy.zeros((1000, 300))) == "<ndarray of 1000x300>"
