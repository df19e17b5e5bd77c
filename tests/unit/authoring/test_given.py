"""Instances as data: what a run builds of them is equal to what was given, or they are refused."""

import itertools
import threading
from collections import namedtuple
from dataclasses import InitVar, dataclass, field

import attrs
import pytest
from pydantic import BaseModel, field_validator

import repl_pair
from repl_pair import check
from repl_pair.errors import AuthoringError
from repl_pair.runtime.authoring.given import freeze_given, freeze_response
from repl_pair.runtime.values.frozen import Given, Record
from repl_pair.runtime.values.thaw import thaw_data

NUMBERS = itertools.count()
BUILT = []


@dataclass
class Gross:
    amount: int

    def __post_init__(self):
        self.amount += self.amount // 10


@dataclass
class Grown:
    items: list[int]

    def __post_init__(self):
        self.items.append(len(self.items))


@dataclass
class Account:
    owner: str
    balance: int = field(default=0, init=False)


@dataclass
class Scaled:
    by: InitVar[int] = 2
    factor: int = field(default=0, init=False)

    def __post_init__(self, by):
        self.factor = by


@dataclass
class Needs:
    by: InitVar[int]

    def __post_init__(self, by):
        self.factor = by


@dataclass
class Named:
    name: str
    number: int = field(default_factory=lambda: next(NUMBERS), init=False)
    lock: object = field(default_factory=threading.Lock, init=False)

    def __post_init__(self):
        self.name = self.name.strip().upper()


@dataclass
class Node:
    inner: "Node | None"

    def __post_init__(self):
        BUILT.append(1)


@attrs.define
class Padded:
    _text: str

    def __attrs_post_init__(self):
        self._text += "!"


class Doubled(BaseModel):
    price: int

    @field_validator("price")
    @classmethod
    def double(cls, price):
        return price * 2


class Pair(namedtuple("Pair", "left right")):
    def __new__(cls, left, right):
        return super().__new__(cls, right, left)


def rich():
    account = Account("a")
    account.balance = 50
    return account


CHANGED = {
    "field": (Gross(100), "amount"),
    "in_place": (Grown([7]), "items"),
    "set_later": (rich(), "balance"),
    "init_var": (Scaled(3), "factor"),
    "model": (Doubled(price=2), "price"),
    "attrs": (Padded("a"), "_text"),
    "named_tuple": (Pair(1, 2), "left"),
}


@pytest.mark.parametrize(("value", "name"), CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("place", ["args", "args.orders[1].order"])
def test_an_instance_that_its_constructor_makes_another_one_is_refused(value, name, place):
    is_deep = place != "args"
    whole = {"orders": [1, {"order": value}]} if is_deep else value
    for hint in (object,) if is_deep else (object, type(value)):
        with pytest.raises(AuthoringError, match=f"makes another {name} of them") as refused:
            freeze_given(whole, hint)
        assert refused.value.detail["path"] == place
    assert freeze_response(whole, "response") == Given(whole)


def test_an_instance_that_its_constructor_does_not_build_is_refused_where_it_is_given():
    with pytest.raises(AuthoringError, match="Needs cannot be built"):
        freeze_given(Needs(2))


@pytest.mark.parametrize("value", [Named(" ada "), Account("a"), Scaled(2)])
def test_what_a_constructor_makes_again_or_anew_each_time_is_data(value):
    frozen = freeze_given([value])
    assert type(frozen[0]) is Record
    (again,) = thaw_data(frozen, "args")
    assert type(again) is type(value)
    assert not isinstance(value, Named) or again.name == "ADA"


def test_the_constructor_is_given_no_list_of_the_persons():
    items = [7]
    grown = Grown(items)
    with pytest.raises(AuthoringError):
        freeze_given(grown)
    assert items == [7, 1]


def test_deeply_nested_instances_are_checked_in_the_time_of_their_number():
    node = None
    for _ in range(40):
        node = Node(node)
    BUILT.clear()
    freeze_given(node)
    assert len(BUILT) <= 40 * 41


def test_an_expectation_that_would_be_another_value_is_refused():
    repl_pair.story("till", component=lambda: Gross(110))
    with pytest.raises(AuthoringError, match="another amount"):
        repl_pair.variant("till/It", play=[check.result_equals(Gross(100))])
    repl_pair.variant("till/It", play=[check.result_equals({"amount": 121})])
    assert repl_pair.run("till/It").status == "pass"
