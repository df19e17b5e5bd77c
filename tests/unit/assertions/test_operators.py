"""Operators over arrays and tables: each element has to stand to the value so."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

from repl_pair.runtime.assertions import operators
from repl_pair.runtime.assertions.comparison import equal
from repl_pair.runtime.assertions.operators import unlike

NAN, DAY = float("nan"), date(2024, 1, 1)


class Color(Enum):
    RED = 1


KINDS = {
    "array": np.array,
    "series": pd.Series,
    "index": pd.Index,
    "polars": pl.Series,
    "frame": lambda numbers: pd.DataFrame({"a": numbers}),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    ("op", "holds", "x"), [("!=", [1, 2], 0), ("<", [1, 2], 3), (">=", [1, 2], 1)]
)
def test_an_operator_holds_where_it_holds_for_each_element(make, op, holds, x):
    assert unlike(make(holds), op, x, "result") is None
    nothing = unlike(make(holds)[:0], op, x, "result")
    assert nothing.endswith(f" has no element that is {op} {x}")
    broken = {"!=": 0, "<": 3, ">=": 0}[op]
    found = unlike(make([1, broken]), op, x, "result")
    assert found.startswith(f"result: expected a value {op} {x}, got ")


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_what_differs_from_a_whole_differs_anywhere_in_it(make):
    assert unlike(make([1, 2]), "!=", make([1, 3]), "result") is None
    assert unlike(make([1, 2]), "!=", make([1, 2]), "result") is not None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_what_is_missing_in_a_column_differs_and_stands_in_no_order(library):
    module = pytest.importorskip(library)
    column = module.Series([1, None], dtype="Int64" if library == "pandas" else module.Int64)
    assert unlike(column, "!=", 2, "result") is None
    assert "expected a value <" in unlike(column, "<", 2, "result")
    assert "expected a value !=" in unlike(column, "!=", 1, "result")


@pytest.mark.parametrize(
    ("make", "items", "x"),
    [
        (np.array, [NAN, 1.0], NAN),
        (np.array, [NAN], "NaN"),
        (np.array, ["2024-01-01"], "2024-01-01"),
        (lambda items: np.array(items, "M8[D]"), ["2024-01-01"], "2024-01-01"),
        (np.array, [[2, 1]], 1),
        (pd.Series, [NAN, 1.0], NAN),
        (pd.Series, [DAY], "2024-01-01"),
        (pd.Series, [Color.RED], "RED"),
        (pd.Series, [None], None),
        (pd.Series, [1, True], True),
        (pd.Series, [[1], Decimal("sNaN"), DAY], "2024-01-01"),
        (pd.Index, [DAY], "2024-01-01"),
        (pd.DataFrame, {"a": [1.5], "b": ["x"]}, "x"),
        (pl.Series, [None, DAY], "2024-01-01"),
        (pl.DataFrame, {"a": [1.5], "b": ["x"]}, 1.5),
    ],
)
def test_an_element_differs_from_what_it_is_not_equal_to(make, items, x):
    assert unlike(make(items), "!=", x, "result").startswith("result: expected a value != ")
    assert unlike(make(items), "!=", "other", "result") is None


def test_an_element_that_numpy_takes_for_a_number_differs_from_it_if_it_is_none():
    assert unlike(np.array([2**53 + 1]), "!=", 2.0**53, "result") is None
    assert unlike(np.array([True]), "!=", 1, "result") is None
    assert unlike(np.array([1.0]), "!=", 10**400, "result") is None


@pytest.mark.parametrize(
    ("column", "x"),
    [
        (pd.Series(["a", "b", None] * 9), "q"),
        (pd.Series([NAN, 1.0] * 9, dtype=object), "q"),
        (pd.Series(["a", "b", None] * 9, dtype="category"), "q"),
        (pd.Series(pd.date_range("2020", periods=9)), "2019-01-01"),
        (pl.Series([None, DAY, "a"] * 9, dtype=pl.Object), Color.RED),
    ],
    ids=["texts", "numbers", "categories", "dates", "objects"],
)
def test_of_many_elements_those_are_asked_that_may_equal_the_value(column, x, monkeypatch):
    asked: list[Any] = []
    monkeypatch.setattr(operators, "equal", lambda *pair: asked.append(pair) or equal(*pair))
    assert unlike(column, "!=", x, "result") is None
    assert len(asked) < 5


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_each_element_may_be_close_to_a_number(make):
    assert unlike(make([0.1 + 0.2, 0.3]), "is_close", 0.3, "result") is None
    assert unlike(make([0.3, 0.4]), "is_close", 0.3, "result") is not None
    assert unlike(make([0.3])[:0], "is_close", 0.3, "result").endswith(" that is is_close 0.3")


def test_an_hour_that_comes_twice_is_in_order():
    first = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    second = first.replace(fold=1)
    assert unlike(first, "<", second, "result") is None
    assert unlike(first, ">=", second, "result") is not None
    assert unlike(first, "in", [second], "result") is not None


@pytest.mark.parametrize("op", ["<=", ">="])
def test_a_number_of_numpy_stands_in_the_order_that_numpy_gives_it(op):
    for number in (np.float32(0.1), np.array([0.1], "f4")):
        assert unlike(number, op, 0.1, "result") is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("number", "op", "x"),
    [
        (np.int64(2**53 + 1), ">", float(2**53)),
        (np.int64(2**63 - 1), "<", 2.0**63),
        (np.uint64(2**64 - 1), "<", 2.0**64),
        (np.float32("inf"), ">", 1e39),
        (np.float32(1), "<", 1e39),
        (np.float16(1), "<", 10**400),
    ],
)
def test_a_number_of_numpy_is_in_exact_order_with_what_its_type_cannot_hold(number, op, x):
    assert unlike(number, op, x, "result") is None
    opposite = {"<": ">=", ">": "<="}[op]
    assert "expected a value" in str(unlike(number, opposite, x, "result"))


def test_a_complex_number_of_numpy_has_no_order():
    assert "raised TypeError" in str(unlike(np.complex128(1 + 5j), "<", 2, "result"))
