"""What a callable takes is read once, and again when anything that it depends on has changed."""

import functools
import gc
import inspect
import weakref
from collections.abc import Sized
from dataclasses import dataclass, make_dataclass
from typing import Any

import pytest

import repl_pair
from repl_pair.runtime.values import takes
from repl_pair.runtime.values.takes import takes_of


@pytest.fixture
def reads(monkeypatch):
    """What was read, not taken from what is known."""
    found, read = [], takes._read_callable
    monkeypatch.setattr(takes, "_read_callable", lambda fn: (found.append(fn), read(fn))[1])
    return found


def plain(a: int, b: int = 1, *, c: int = 2) -> int:
    return a


def other(x: str, y: str = "", *, z: str = "") -> str:
    return x


class Base:
    def __init__(self, a: int = 1):
        self.a = a


class Heir(Base):
    pass


class OfAbstract(Sized):
    def __init__(self, *, a: int = 1):
        self.a = a

    def __len__(self):
        return self.a


class New:
    def __new__(cls, a: int = 1):
        return super().__new__(cls)


@dataclass
class Row:
    a: int = 1


@functools.wraps(plain)
def wrapped(*args, **more):
    return plain(*args, **more)


@functools.wraps(Base)
def wrapping_a_class(*args, **more):
    return Base(*args, **more)


CACHED = [plain, Base, Heir, OfAbstract, New, Row, wrapped, wrapping_a_class]


@pytest.mark.parametrize("fn", CACHED, ids=lambda fn: fn.__qualname__)
def test_what_a_function_or_class_takes_is_read_once(fn, reads):
    takes_of(fn)
    reads.clear()
    assert takes_of(fn) is takes_of(fn)
    assert reads == []


def copied():
    """Return a function, a function that wraps it, and classes, all of their own."""

    def inner(a: int, b: int = 1, *, c: int = 2) -> int:
        return a

    @functools.wraps(inner)
    def outer(*args, **more):
        return inner(*args, **more)

    class Root:
        def __init__(self, a: int, b: int = 1, *, c: int = 2):
            pass

    class Child(Root):
        pass

    return {"inner": inner, "outer": outer, "Root": Root, "Child": Child}


def set_defaults(fn):
    fn.__defaults__ = (5, 6)


def set_keyword_defaults(fn):
    fn.__kwdefaults__ = {"c": 7}


def change_keyword_defaults(fn):
    fn.__kwdefaults__["c"] = 7


def drop_keyword_defaults(fn):
    fn.__kwdefaults__ = None


def set_annotations(fn):
    fn.__annotations__ = {"a": str}


def change_annotations(fn):
    fn.__annotations__["a"] = str


def drop_an_annotation(fn):
    del fn.__annotations__["b"]


def set_code(fn):
    fn.__code__ = (lambda a, b, d=1: a).__code__


def set_signature(fn):
    fn.__signature__ = inspect.signature(other)


def set_wrapped(fn):
    fn.__wrapped__ = other


def refuse_hints(fn):
    fn.__no_type_check__ = True


CHANGES = [
    set_defaults,
    set_keyword_defaults,
    change_keyword_defaults,
    drop_keyword_defaults,
    set_annotations,
    change_annotations,
    drop_an_annotation,
    set_code,
    set_signature,
    set_wrapped,
    refuse_hints,
]


@pytest.mark.parametrize("taken", ["inner", "outer", "Root", "Child"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_to_the_function_is_seen_by_all_that_rest_on_it(change, taken):
    every = copied()
    before = takes_of(every[taken])
    change(every["inner"] if taken in ("inner", "outer") else every["Root"].__init__)
    assert_fresh(every[taken], before)


def assert_fresh(fn: Any, before: Any = None):
    found, (read, _) = takes_of(fn), takes._read_callable(fn)
    assert (found.parameters, found.hints, found.returns) == (
        read.parameters,
        read.hints,
        read.returns,
    )
    if before is not None:
        seen = (found.parameters, found.hints, found.returns)
        assert seen != (before.parameters, before.hints, before.returns)


def set_init(cls):
    cls.__init__ = lambda self, z: None


def set_new(cls):
    del cls.__init__
    cls.__new__ = lambda cls, z: object.__new__(cls)


def drop_init(cls):
    del cls.__init__


def set_class_signature(cls):
    cls.__signature__ = inspect.signature(other)


def set_class_wrapped(cls):
    cls.__wrapped__ = other


@pytest.mark.parametrize("taken", ["Root", "Child"])
@pytest.mark.parametrize(
    "change",
    [set_init, set_new, drop_init, set_class_signature, set_class_wrapped],
    ids=lambda change: change.__name__,
)
def test_what_makes_a_class_is_seen_when_it_is_replaced_there_or_in_a_base(change, taken):
    every = copied()
    before = takes_of(every[taken])
    change(every["Root"])
    assert_fresh(every[taken], before)


def test_an_init_that_comes_between_and_other_bases_are_seen():
    every = copied()
    child, before = every["Child"], takes_of(every["Child"])
    child.__init__ = lambda self, z: None
    assert list(takes_of(child).parameters) == ["z"]
    del child.__init__
    assert takes_of(child).parameters == before.parameters

    class Between(every["Root"]):
        def __init__(self, between):
            pass

    child.__bases__ = (Between,)
    assert list(takes_of(child).parameters) == ["between"]


def test_a_new_and_a_mark_against_hints_are_seen_when_they_change_alone():
    class Own:
        def __new__(cls, a: int = 1):
            return super().__new__(cls)

    assert takes_of(Own).hints == {"a": int}
    Own.__new__ = lambda cls, z: object.__new__(cls)
    assert takes_of(Own).hints == {"z": Any}
    fn = copied()["inner"]
    for is_off, hint in ((False, int), (True, Any), (False, int)):
        fn.__no_type_check__ = is_off
        assert takes_of(fn).hints["a"] is hint


def test_a_signature_set_again_is_seen():
    fn = copied()["inner"]
    for one in (other, plain, wrapping_a_class):
        fn.__signature__ = inspect.signature(one)
        assert takes_of(fn).parameters == inspect.signature(one).parameters


def test_a_function_that_wraps_another_class_gives_that_class():
    def make(*args):
        return args

    for cls in (type("A", (), {}), type("B", (), {})):
        make.__wrapped__ = cls
        assert takes_of(make).returns is cls


def test_the_fields_of_a_dataclass_made_again_are_seen():
    cls = make_dataclass("Made", [("a", int)])
    takes_of(cls)
    cls.__annotations__ = {"b": str}
    del cls.__init__, cls.__match_args__
    assert takes_of(dataclass(cls)).hints == {"b": str}


def test_a_function_defined_again_is_another():
    one, two = (copied()["inner"] for _ in range(2))
    two.__annotations__ = {"a": str}
    assert [takes_of(fn).hints["a"] for fn in (one, two, one)] == [int, str, int]


class Callable:
    def __call__(self, a: int):
        return a

    def method(self, a: int):
        return a


class Meta(type):
    def __call__(cls, a: int):
        return super().__call__()


class OfMeta(metaclass=Meta):
    pass


def test_what_other_callables_take_is_read_each_time(reads):
    bound, part, ready = Callable().method, functools.partial(plain, 1), Callable()
    for fn in (bound, part, ready, OfMeta, len):
        takes_of(fn)
        takes_of(fn)
    assert len(reads) == 10


def test_changes_to_other_callables_are_seen(monkeypatch):
    bound, part, ready = Callable().method, functools.partial(plain, 1), Callable()
    before = [takes_of(fn) for fn in (bound, part, ready, OfMeta)]
    monkeypatch.setattr(Callable.method, "__annotations__", {"a": str})
    part.__setstate__((other, ("",), {}, {}))
    monkeypatch.setattr(Callable, "__call__", lambda self, z: z)
    monkeypatch.setattr(Meta, "__call__", lambda cls, z: z)
    for fn, known in zip((bound, part, ready, OfMeta), before, strict=True):
        assert_fresh(fn, known)


def test_a_function_that_wraps_itself_is_refused_in_place_of_being_followed():
    def turning(a):
        return a

    turning.__wrapped__ = turning
    with pytest.raises(ValueError, match="wrapper loop"):
        takes_of(turning)


def test_a_class_and_a_function_are_not_kept_by_what_is_known_of_them():
    every = copied()
    for fn in every.values():
        takes_of(fn).read  # noqa: B018
        assert takes_of(fn).gives is not None
    left = [weakref.ref(fn) for fn in every.values()]
    del every, fn
    gc.collect()
    assert [one() for one in left] == [None] * 4


def test_what_names_itself_in_its_hints_is_kept_in_a_bounded_number(monkeypatch):
    monkeypatch.setattr(takes, "_MAX_KEPT", 3)
    for _ in range(10):

        class Node:
            def __init__(self, up=None):
                pass

        Node.__init__.__annotations__["up"] = Node
        takes_of(Node)
        assert len(takes._TAKES) <= 3


@pytest.mark.parametrize("component", [plain, Base, OfAbstract, Row, wrapped])
def test_a_run_reads_its_component_once_and_the_next_run_not_at_all(component, reads):
    takes._TAKES.pop(id(component), None)
    repl_pair.story("x.taken", component=component, args={"a": 1})
    repl_pair.variant("x.taken/One", play=[])
    takes._TAKES.pop(id(component), None)
    reads.clear()
    assert repl_pair.run("x.taken/One").status == "pass"
    assert reads == [component]
    assert repl_pair.run("x.taken/One").status == "pass"
    assert reads == [component]
