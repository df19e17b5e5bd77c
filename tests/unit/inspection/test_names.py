"""Names of the namespace: chosen by glob, type and kind, and in order."""

import collections
import math

import pytest

import repl_pair
from repl_pair.errors import RequestError
from repl_pair.runtime.inspection.names import first_of, names_of_kinds
from repl_pair.runtime.reading.sizes import bytes_of
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Rank


class Outer:
    class Inner:
        pass


SPACE = {
    "sales": [1] * 50,
    "Sales_2": collections.OrderedDict(),
    "inner": Outer.Inner(),
    "text": "x" * 10,
    "clean": lambda: 1,
    "sqrt": math.sqrt,
    "Outer": Outer,
    "math": math,
    "rp": repl_pair,
    "story": repl_pair.story,
    "_own": 1,
    "In": [],
}
CASES = [
    ({}, ["sales", "Sales_2", "inner", "text"]),
    ({"match": "SALE"}, ["sales", "Sales_2"]),
    ({"match": "s*s"}, ["sales"]),
    ({"match": "*_?"}, ["Sales_2"]),
    ({"match": "[it]*"}, ["inner", "text"]),
    ({"match": "sale?"}, ["sales"]),
    ({"type_name": "Inner"}, ["inner"]),
    ({"type_name": "outer.inner"}, ["inner"]),
    ({"type_name": "dict"}, []),
    ({"match": "nothing"}, []),
]


@pytest.mark.parametrize(("question", "names"), CASES)
def test_names_are_chosen(question, names):
    assert names_of_kinds(SPACE, **question)["data"] == names


def test_functions_classes_and_modules_are_kinds_of_their_own():
    found = names_of_kinds(SPACE)
    assert (found["function"], found["class"]) == (["clean", "sqrt"], ["Outer"])
    assert found["module"] == ["math"]


def test_a_pattern_of_many_stars_takes_no_longer_than_the_name_is_long():
    space = {"a" * 100_000: 1}
    for pattern in ("*a" * 99 + "b", "*?[ab]a" * 28 + "b", "a*" * 99 + "b"):
        assert names_of_kinds(space, pattern)["data"] == []


def test_a_pattern_is_bounded():
    with pytest.raises(RequestError, match="over 200 characters"):
        names_of_kinds(SPACE, "a" * 201)


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("name", ["Sales_2", "inner", "sales", "text"]),
        ("bytes", ["sales", "text", "Sales_2", "inner"]),
        ("recent", ["text", "inner", "Sales_2", "sales"]),
    ],
)
def test_names_stand_in_the_order_that_is_asked_for(sort, names):
    def text(name):
        return bytes_of(SPACE[name]) or 0

    assert list(first_of(text, names_of_kinds(SPACE)["data"], sort, 4)) == names


def test_the_first_of_many_names_are_those_of_all_of_them_in_order():
    space = {f"v{n * 7919 % 1000}": n for n in range(1000)}
    assert list(first_of(len, list(space), "name", 5)) == sorted(space)[:5]


@pytest.mark.parametrize("pattern", ["q7kw2", "is_q*", "is_[!a]*", "IS_?7*"])
def test_no_pattern_finds_out_a_secret_in_a_name(pattern):
    secrets = "q7kW2mXv9LbT4nRp6Ys", "h3kW2mXv9LbT4nRp6Ys"
    for secret in secrets:
        NEEDLES.add(secret, rank=Rank.HELD)
    found = [names_of_kinds({f"is_{secret}": 1}, pattern)["data"] == [] for secret in secrets]
    assert len({*found}) == 1
