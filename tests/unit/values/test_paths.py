"""Paths: their text, the author's walk, and the agent's."""

import builtins
import os
import sys
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import ClassVar
from unittest.mock import Mock

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.session import Session
from pydantic import BaseModel, SecretStr

from repl_pair.errors import RequestError
from repl_pair.runtime.reading import stored_fields
from repl_pair.runtime.reading.closed_values import is_closed
from repl_pair.runtime.reading.steps import PathMiss, follow, read_member
from repl_pair.runtime.reading.stored_fields import read_field
from repl_pair.runtime.reading.table_parts import read_facet
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.paths import format_path, parse_cuts, parse_path

# Text.


class Color(Enum):
    RED = 1


@given(st.lists(st.text() | st.integers(), min_size=1))
def test_every_path_reads_back_from_its_text(steps):
    assert parse_path(format_path(steps)) == tuple(steps)


@given(st.lists(st.text() | st.integers(), min_size=1))
def test_a_list_of_keys_is_taken_as_it_is(steps):
    assert parse_path(steps) == tuple(steps)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("result", ("result",)),
        ("result.lines[0].sku", ("result", "lines", 0, "sku")),
        ("lines[-1]", ("lines", -1)),
        ('lines["a b"].c', ("lines", "a b", "c")),
        ("lines['a.b']", ("lines", "a.b")),
        (r"lines['it\'s']", ("lines", "it's")),
        (r'lines["\u00e4\n"]', ("lines", "ä\n")),
        ('a["x\ty"]', ("a", "x\ty")),
        ("größe.a-b", ("größe", "a-b")),
        ("lines.0", ("lines", "0")),
        ("[0][1]", (0, 1)),
    ],
)
def test_text_is_read(text, steps):
    assert parse_path(text) == steps


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "it is empty"),
        ([], "it is empty"),
        ("a" + ".a" * 1_000, "it has over 1000 steps"),
        (["a"] * 1_001, "it has over 1000 steps"),
        ("a..b", "at position 1"),
        (".a", "at position 0"),
        ("a.", "at position 1"),
        ("a b", "at position 1"),
        ("a[x]", "at position 1"),
        ("a[1", "at position 1"),
        ('a["b]', "at position 1"),
        ("a[0]b", "at position 4"),
        ("a[1.5]", "at position 1"),
        (r'a["\x"]', "no valid escape in the key at position 1"),
        (["a", 1.5], "item 1 is not a text or whole number"),
        (["a", True], "item 1 is not a text or whole number"),
    ],
)
def test_what_is_no_path_is_refused_with_its_position_and_a_legal_form(path, words):
    with pytest.raises(RequestError) as caught:
        parse_path(path)
    assert caught.value.code == "bad_arguments"
    assert words in caught.value.message
    assert "result.lines[0].sku" in caught.value.message
    assert ("a list" in caught.value.message) == isinstance(path, list)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (("a", date(2024, 1, 1)), '["a", "2024-01-01"]'),
        ((Decimal("1.5"), np.int64(3)), '["1.5", "3"]'),
        ((b"x", (1, Color.RED)), '["b\'x\'", [1, "RED"]]'),
        ((None, True, 1.5, slice(1, 2)), "[null, true, 1.5, 1:2]"),
    ],
)
def test_a_key_that_is_a_tuple_is_written_whatever_its_parts_are(key, text):
    assert format_path(["d", key]) == f"d{text}"


@pytest.mark.parametrize(
    "cut",
    [
        "[x]",
        "[1.5:]",
        f"[{'-' * 3_000}1:]",
        pytest.param("[1if 1else 2]", id="what Python warns of"),
        pytest.param('["\\d", 1]', id="an escape that Python warns of"),
    ],
)
@pytest.mark.filterwarnings("always")
def test_what_is_no_cut_is_refused_with_its_position_and_without_a_warning(cut, recwarn):
    with pytest.raises(RequestError) as caught:
        parse_cuts(f"a{cut}")
    assert caught.value.code == "bad_arguments"
    assert "no whole numbers or quoted labels" in caught.value.message
    assert "at position 1" in caught.value.message
    assert not recwarn.list


# The author's walk.


class Basket:
    kind = "basket"

    def __init__(self):
        self.items = {"a": 1}
        self._hidden = 1

    @property
    def total(self):
        return Decimal(13)

    @property
    def broken(self):
        raise ValueError

    def compute(self):
        raise AssertionError("called")

    @classmethod
    def make(cls):
        raise AssertionError("called")


@dataclass
class Line:
    sku: str
    extra: dict = field(default_factory=dict)


@attrs.define
class Parcel:
    sku: str


Pair = namedtuple("Pair", "left right")


@dataclass(slots=True)
class Slotted:
    x: int = 1


class Model(BaseModel):
    name: str = "ann"
    key: SecretStr = SecretStr("s")


FRAME = pd.DataFrame({"sku": ["a", "b"], "n": [1, 2]})
TABLE = np.array([(1, 2.5)], dtype=[("n", "i4"), ("price", "f8")])


@pytest.mark.parametrize("step", [read_member, read_field])
@pytest.mark.parametrize(
    ("root", "path", "value"),
    [
        ({"a": [{"b": 1}]}, "a[0].b", 1),
        ({"a.b": 1}, '["a.b"]', 1),
        ({1: "x"}, "[1]", "x"),
        ({"items": 1}, "items", 1),
        ({Color.RED: 1}, "RED", 1),
        ([1, 2], "[-1]", 2),
        ([1, 2], "1", 2),
        ((1, 2), "[1]", 2),
        (deque([1, 2]), "[1]", 2),
        (range(0, 10**12, 3), "[5]", 15),
        (OrderedDict(a=1), "a", 1),
        (Counter("aa"), "a", 2),
        (types.MappingProxyType({"a": 1}), "a", 1),
        (types.SimpleNamespace(a=1), "a", 1),
        (Line("s"), "sku", "s"),
        (Slotted(), "x", 1),
        (Pair(1, 2), "right", 2),
        (Pair(1, 2), "[0]", 1),
        (Model(), "name", "ann"),
        (Basket(), "items.a", 1),
        (FRAME, "sku[1]", "b"),
        (FRAME, "[1].n", 2),
        (FRAME["n"], "[0]", 1),
        (pd.Series({"a": 5}), "a", 5),
        (np.arange(4).reshape(2, 2), "[1][0]", 2),
        (TABLE, "price[0]", 2.5),
        (TABLE, "[0].n", 1),
    ],
)
def test_a_path_leads_to_keys_columns_fields_and_items(step, root, path, value):
    assert follow(root, parse_path(path), step=step) == value


def test_a_mapping_key_wins_over_a_method_of_its_name():
    assert read_member({"items": 1}, "items") == 1


def test_a_column_wins_over_an_attribute():
    assert read_member(pd.DataFrame({"shape": [1]}), "shape").tolist() == [1]


def test_a_default_dict_is_not_filled_by_looking():
    for step in (read_member, read_field):
        seen = defaultdict(list)
        with pytest.raises(PathMiss):
            step(seen, "a")
        assert not seen


def test_properties_are_read_for_the_author():
    assert read_member(Basket(), "total") == 13


def test_a_property_that_raises_is_a_miss_that_reports_it():
    with pytest.raises(PathMiss, match="reading it raised ValueError"):
        read_member(Basket(), "broken")


@pytest.mark.parametrize("name", ["compute", "make", "__class__", "__dict__"])
def test_methods_and_dunders_are_misses(name):
    with pytest.raises(PathMiss):
        read_member(Basket(), name)


@pytest.mark.parametrize("step", [read_member, read_field])
@pytest.mark.parametrize(
    ("root", "path", "near"),
    [
        ({"lines": [{"sku": 1, "price": 2}]}, "lines[0].skuu", ["sku"]),
        ({"lines": [Line("a")]}, "lines[0].skuu", ["sku"]),
        ({"lines": [Parcel("a")]}, "lines[0].skuu", ["sku"]),
        ({"lines": [FRAME]}, "lines[0].skuu", ["sku"]),
        ({"lines": [{"a": 1, "b": 2}]}, "lines[0].zzzz", ["a", "b"]),
    ],
)
def test_a_miss_reports_the_step_how_far_it_came_and_what_is_near(step, root, path, near):
    with pytest.raises(PathMiss) as caught:
        follow(root, parse_path(path), step=step)
    miss = caught.value
    assert (miss.step, miss.reached, miss.near) == (parse_path(path)[-1], "lines[0]", near)
    assert str(miss).startswith(f"there is no {miss.step!r} in lines[0].")


LEVELS = pd.DataFrame({"a": ["x"], "b": [1], "c": [2]}).set_index(["a", "b"])


@pytest.mark.parametrize(
    ("table", "key", "reason"),
    [
        (read_facet(LEVELS, "loc"), "x", True),
        (read_facet(LEVELS, "loc"), ("x", 1), True),
        (LEVELS.T, "x", True),
        (LEVELS["c"], "x", True),
        (LEVELS, "x", False),
        (read_facet(LEVELS, "iloc"), 1, False),
        (read_facet(FRAME, "loc"), "x", False),
    ],
)
def test_a_label_of_several_levels_is_refused_with_what_reads_it(table, key, reason):
    with pytest.raises(PathMiss) as caught:
        read_field(table, key)
    assert ("several levels are read by position, with iloc" in str(caught.value)) == reason


@pytest.mark.parametrize("step", [read_member, read_field])
@pytest.mark.parametrize("key", [7, "9" * 5000], ids=["7", "more digits than Python reads"])
@pytest.mark.parametrize(
    "root", [[1], (1,), range(1), Pair(1, 2), {"a": 1}, "text", 5, None, FRAME, FRAME["n"], {1}]
)
def test_an_index_out_of_range_is_a_miss(step, root, key):
    with pytest.raises(PathMiss, match=r"^(?!.*reading it raised)"):
        step(root, key)


# The agent's walk: whatever is closed reads as what is not there.


class Spy:
    """Notes each piece of the person's code that runs."""

    ran: ClassVar[list[str]] = []


def note(name):
    Spy.ran.append(name)
    return types.SimpleNamespace(key=name)


class LoudMeta(type):
    def __getattribute__(cls, name):
        note(f"meta {name}")
        return super().__getattribute__(name)

    def __eq__(cls, other):
        note("meta __eq__")
        return True

    def __hash__(cls):
        note("meta __hash__")
        return 1

    def __instancecheck__(cls, instance):
        note("meta __instancecheck__")
        return True


class Loud:
    shared = "class attribute"

    def __init__(self):
        object.__setattr__(self, "plain", {"a": 1})

    @property
    def key(self):
        return note("property")

    def __getattribute__(self, name):
        note(f"__getattribute__ {name}")
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        return note(f"__getattr__ {name}")

    def __repr__(self):
        note("__repr__")
        return "Loud()"

    def __eq__(self, other):
        note("__eq__")
        return True

    def __hash__(self):
        note("__hash__")
        return 1

    def __len__(self):
        note("__len__")
        return 9

    def __bool__(self):
        note("__bool__")
        return True

    def __iter__(self):
        note("__iter__")
        return iter(())

    def __getitem__(self, item):
        return note("__getitem__")

    @property
    def __class__(self):
        note("__class__")
        return dict


class LoudDict(dict):
    def __getitem__(self, name):
        return note("dict __getitem__")

    def __missing__(self, name):
        return note("dict __missing__")

    def __contains__(self, name):
        note("dict __contains__")
        return True

    def get(self, name, default=None):
        return note("dict get")

    def __iter__(self):
        note("dict __iter__")
        return iter(())


class MissingDict(dict):
    def __missing__(self, name):
        return note("dict __missing__")


class LoudList(list):
    def __getitem__(self, index):
        return note("list __getitem__")

    def __len__(self):
        note("list __len__")
        return 9


class DictProperty:
    @property
    def __dict__(self):
        return note("__dict__") and {"key": 1}


class Basketlike:
    def __init__(self):
        self.__dict__ = LoudDict(key=1)


class BorrowedDict:
    __slots__ = ()
    __dict__ = Basket.__dict__["__dict__"]


class LoudClassed(metaclass=LoudMeta):
    def __init__(self):
        pass


class Lying:
    @property
    def __class__(self):
        note("__class__")
        return dict


class Descriptor:
    def __get__(self, instance, owner):
        return note("descriptor")


class Described:
    key = Descriptor()


def outer():
    cell = "closure"

    def inner():
        return cell

    return inner


def frame_of():
    return sys._getframe()


CLOSED = {
    "a property": (Loud(), "key"),
    "a class attribute": (Loud(), "shared"),
    "a dunder": (Loud(), "__dict__"),
    "an underscore name": (Basket(), "_hidden"),
    "a computed property": (Basket(), "total"),
    "a method": (Basket(), "compute"),
    "an attribute made up": (Loud(), "made_up"),
    "an item made up": (Loud(), 0),
    "a dict with its own lookup": (LoudDict(key=1), "key"),
    "a dict that makes up what misses": (MissingDict(), "key"),
    "a list with its own lookup": (LoudList([1]), 0),
    "a dict property": (DictProperty(), "key"),
    "a borrowed dict": (BorrowedDict(), "key"),
    "a dict of another class": (Basketlike(), "key"),
    "a class that speaks": (LoudClassed(), "key"),
    "a lie about the class": (Lying(), "key"),
    "a member of a C type": (OSError(5, "x"), "errno"),
    "a descriptor": (Described(), "key"),
    "the environment": (os.environ, "PATH"),
    "the environment's store": (os.environ, "_data"),
    "the modules": (sys.modules, "os"),
    "a module": (os, "environ"),
    "a module in a list": ([os], 0),
    "a function": (outer(), "__globals__"),
    "a function in a dict": ({"f": outer()}, "f"),
    "a builtin in a dict": ({"f": len}, "f"),
    "a bound method in a dict": ({"f": Basket().compute}, "f"),
    "a class": (Basket, "kind"),
    "a class in a list": ([Basket], 0),
    "a frame": (frame_of(), "f_globals"),
    "a frame in a list": ([frame_of()], 0),
    "a generator": ((i for i in ()), "gi_frame"),
    "a property object": ([Basket.__dict__["total"]], 0),
    "a namespace": (vars(builtins), "print"),
    "globals": (globals(), "CANARY"),
    "a view of a namespace": (types.MappingProxyType(globals()), "CANARY"),
    "the shell": ({"ip": InteractiveShell}, "ip"),
    "a session": ([Session(key=b"k")], 0),
    "a session's field": (Session(key=b"k"), "key"),
    "a thread's own data": ([threading.local()], 0),
    "our own objects": ([Secret("s")], 0),
    "our own object's field": (Secret("s"), "value"),
    "a pydantic secret's store": (SecretStr("s"), "_secret_value"),
    "a weird key": (Basket(), "items."),
}
CANARY = "canary"


@pytest.mark.parametrize(("root", "key"), CLOSED.values(), ids=CLOSED)
def test_what_is_closed_reads_as_what_is_not_there_and_no_code_runs(root, key):
    Spy.ran.clear()
    with pytest.raises(PathMiss) as caught:
        follow(root, [key], step=read_field)
    assert Spy.ran == []
    assert str(key) not in caught.value.near
    assert str(caught.value).startswith(f"there is no {key!r} in the value.")
    assert caught.value.reason == ""
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "path",
    [
        "ip.__self__.kernel.session.key",
        "f.__globals__",
        "f.__closure__[0].cell_contents",
        "obj.__class__.__mro__[1].__subclasses__",
        "obj.__init__.__globals__.CANARY",
        "error.__traceback__.tb_frame.f_globals",
    ],
)
def test_the_ways_out_of_an_object_lead_nowhere(path):
    root = {
        "ip": InteractiveShell.instance,
        "f": outer(),
        "obj": Basket(),
        "error": ValueError("x"),
    }
    with pytest.raises(PathMiss):
        follow(root, parse_path(path), step=read_field)


def test_stored_fields_are_read_past_a_loud_class_without_running_it():
    Spy.ran.clear()
    assert follow(Loud(), ["plain", "a"], step=read_field) == 1
    assert Spy.ran == []


def test_a_plain_dict_subclass_is_read():
    class Config(dict):
        pass

    assert read_field(Config(a=1), "a") == 1


@pytest.mark.parametrize("value", [os, os.environ, sys.modules, globals(), outer(), Basket, len])
def test_what_is_closed_is_known_before_any_step(value):
    assert is_closed(value)


@pytest.mark.parametrize("value", [1, "a", {}, [], Basket(), FRAME, None, Color.RED, ValueError()])
def test_data_is_open(value):
    assert not is_closed(value)


def test_a_miss_names_the_texts_among_the_members_whatever_else_stands_there():
    odd = types.SimpleNamespace(a=1)
    vars(odd)[5] = 2
    for value in (odd, Mock(a=1)):
        with pytest.raises(PathMiss) as caught:
            read_member(value, 0)
        assert "a" in caught.value.known


def test_a_miss_in_a_large_dict_looks_at_its_keys_a_bounded_number_of_times(monkeypatch):
    looked, find = [], stored_fields._find
    monkeypatch.setattr(stored_fields, "_find", lambda *given: looked.append(1) or find(*given))
    with pytest.raises(PathMiss) as caught:
        read_field({f"k{at}": at for at in range(2000)}, "nope")
    assert len(caught.value.known) == 1000
    assert len(looked) < 100


def test_a_class_or_dict_that_other_threads_change_is_read():
    odd, items, done = type("Odd", (), {}), {f"k{at}": at for at in range(900)}, threading.Event()

    def change():
        while not done.is_set():
            for at in range(50):
                setattr(odd, f"a{at}", at)
                items[f"n{at}"] = at
            for at in range(50):
                delattr(odd, f"a{at}")
                del items[f"n{at}"]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            for value in (odd(), items):
                with pytest.raises(PathMiss):
                    read_field(value, "nope")
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)
