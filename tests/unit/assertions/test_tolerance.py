"""What is nearly equal, and what is looked at in arrays and frames."""

import math
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, Inexact, localcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from starlette.datastructures import ImmutableMultiDict

import repl_pair
from repl_pair import check
from repl_pair.runtime.assertions.tolerance import ABS, REL, Tolerance, apart

USUAL = Tolerance.of(None, None)
NUMBERS = st.integers() | st.floats() | st.decimals(allow_nan=False)
DATA = st.recursive(
    NUMBERS | st.text(max_size=5) | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)
TOLERANCES = st.builds(
    Tolerance.of,
    st.none() | st.floats(0, 10),
    st.none() | st.floats(0, 1),
)


def near(expected, actual, tolerance=USUAL):
    return apart(expected, actual, "result", tolerance) is None


@settings(deadline=None)
@given(DATA, TOLERANCES)
def test_all_data_is_near_itself(value, tolerance):
    assert near(value, value, tolerance)


@settings(deadline=None)
@given(NUMBERS, NUMBERS, TOLERANCES)
def test_nearness_of_numbers_goes_both_ways(one, other, tolerance):
    assert near(one, other, tolerance) == near(other, one, tolerance)


@settings(deadline=None)
@given(st.lists(st.floats(), max_size=4), st.lists(st.floats(), max_size=4), TOLERANCES)
def test_an_array_is_near_as_its_items_are(one, other, tolerance):
    arrays = near(np.array(one, float), np.array(other, float), tolerance)
    assert arrays == near(one, other, tolerance) == near(one, np.array(other, float), tolerance)


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1), st.integers(-3, 3), TOLERANCES)
def test_an_array_of_whole_numbers_is_near_as_they_are(one, other, more, tolerance):
    first, near_first = np.array([one]), max(-(2**63), min(one + more, 2**63 - 1))
    for number, dtype in ((near_first, np.int64), (other, np.uint64), (other / 3, float)):
        second = np.array([number], dtype)
        assert near(first, second, tolerance) == near(one, second.tolist()[0], tolerance)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e6), st.floats(-2, 2))
def test_a_number_is_near_just_within_the_tolerance(number, tolerance, share):
    other = number + tolerance * share
    within = abs(number - other) <= tolerance
    assert near(number, other, Tolerance.of(tolerance, None)) == within


@settings(deadline=None)
@given(st.floats(1e-3, 1e9), st.floats(-3, 3))
def test_a_relative_tolerance_is_of_the_larger_number(number, share):
    other = number * (1 + share * REL)
    within = abs(number - other) <= max(ABS, REL * max(number, other))
    assert near(number, other) == within


def test_with_an_absolute_tolerance_alone_there_is_no_relative_one():
    assert near(1e9, 1e9 + 1)
    assert not near(1e9, 1e9 + 1, Tolerance.of(0.5, None))
    assert near(1e9, 1e9 + 1, Tolerance.of(0.5, 1e-6))
    assert not near(1e-14, 0, Tolerance.of(0, 0))


def test_whole_numbers_beyond_floats_infinities_and_nan_are_near_themselves_alone():
    assert not near(10**400, 10**400 + 1)
    assert near(math.inf, math.inf)
    assert not near(math.inf, 1e308, Tolerance.of(None, 1))
    assert near(math.nan, math.nan)
    assert not near(math.nan, 0)
    assert near("NaN", math.nan)
    assert near([complex(math.nan, 1)], np.array([complex(math.nan, 1)]))
    assert not near([complex(math.nan, 1)], np.array([complex(math.nan, 2)]))


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [
        (np.array([1700000000000000001]), np.array([1700000000000000100]), 99),
        (np.array([2**53 + 1]), np.array([2**53]), 1),
        (np.array([2**63 - 1]), np.array([-(2**63)]), 2**64 - 1),
        (np.array([-1]), np.array([2**64 - 1], np.uint64), 2**64),
        (np.array(-3, np.int8), np.array(2**60), 2**60 + 3),
        (
            np.ma.array([2**63, 1], np.uint64, mask=[0, 1]),
            np.ma.array([2**63 - 1, 1], mask=[0, 1]),
            1,
        ),
        (Decimal("100000000000000000.01"), Decimal("100000000000000000.99"), 0.98),
        (Decimal(10**30), 10**30 + 1, 1),
    ],
)
def test_whole_and_decimal_numbers_are_as_far_as_their_exact_difference(one, other, far):
    with localcontext(prec=2, traps=[Inexact]):
        assert not near(one, other, Tolerance.of(far * 0.99, None))
        assert near(one, other, Tolerance.of(far, None))


def test_a_decimal_number_is_near_the_float_of_its_text():
    assert near(Decimal("0.1"), 0.1, Tolerance.of(0, 0))
    assert near(Decimal("NaN"), math.nan)


NOTED = pd.Series([1.0])
NOTED.attrs["unit"] = "m"
SEVERAL = ImmutableMultiDict([("a", 1), ("a", 2.0)])
FRAME = pd.DataFrame({"sku": ["a", "b"], "price": [1.0, 2.5]}, index=[10, 11])


@pytest.mark.parametrize(
    ("expected", "actual", "reason"),
    [
        (np.array([[1.0, 2.0]]), np.array([[1.0, 2.0 + 1e-9]]), None),
        (np.array([1, 2]), np.array([1.0, 2.0]), None),
        (
            np.array([[1.0, 2.0]]),
            np.array([[1.0, 3.0]]),
            "result[0][1]: expected about np.float64(2.0), got np.float64(3.0)",
        ),
        (np.array(1.0), np.array(1.0 + 1e-9), None),
        (
            np.array(1.0),
            np.array(2.0),
            "result: expected about np.float64(1.0), got np.float64(2.0)",
        ),
        (np.array([1.0]), np.array([[1.0]]), "result: expected shape (1,), got (1, 1)"),
        (np.array(["a"]), np.array(["b"]), "result[0]: expected 'a', got 'b'"),
        (FRAME, FRAME + {"sku": "", "price": 1e-9}, None),
        (
            FRAME,
            FRAME.assign(price=[1.0, 2.6]),
            "result[1].price: expected about 2.5, got 2.6",
        ),
        (
            FRAME,
            FRAME.rename(columns={"price": "cost"}),
            "result.columns[1]: expected 'price', got 'cost'",
        ),
        (FRAME, FRAME.reset_index(drop=True), "result.index[0]: expected 10, got 0"),
        (FRAME.index, FRAME.index + 1e-9, None),
        (NOTED, NOTED + 1e-9, None),
        (NOTED, pd.Series([1.0]), "result: expected a key 'attrs', there is none"),
        (FRAME.index, FRAME.index + 1, "result[0]: expected about 10, got 11"),
        (pd.MultiIndex.from_product([[1.0], ["a", "b"]]), [[1.0000001, "a"], [1, "b"]], None),
        ({"sku": ["a", "b"], "price": [1, 2.5000001]}, FRAME, None),
        ([{"sku": "a", "price": 1}, {"sku": "b", "price": 2.5}], FRAME, None),
        ([1, 2.5000001], FRAME.price, None),
        (
            {"a": {"b": [1, 2]}},
            {"a": {"b": [1, 2.1]}},
            "result.a.b[1]: expected about 2, got 2.1",
        ),
        ({"a": 1}, {"b": 1}, "result.keys[0]: expected 'a', got 'b'"),
        ([1, 2], [1], "result: expected 2 items, got 1"),
        ({"a": 1}, 3, "result: expected {'a': 1}, got 3"),
        ({"a": 2}, SEVERAL, "result.a: expected 2, got [1, 2.0]"),
        ({"a": [1, 2.0000001]}, SEVERAL, None),
        (True, 1, "result: expected True, got 1"),
    ],
)
def test_numbers_in_data_arrays_and_frames_are_near(expected, actual, reason):
    found = apart(expected, actual, "result", USUAL)
    if reason is not None and "np.float64" in reason and np.__version__ < "2":
        reason = reason.replace("np.float64(", "").replace(")", "")
    assert found == reason


def moments(*numbers, kind=pl.Datetime):
    return pl.Series("a", numbers).cast(kind("ns"))


MOMENTS = {
    "moments of polars": moments,
    "durations": lambda *numbers: moments(*numbers, kind=pl.Duration),
    "in a frame": lambda *numbers: pl.DataFrame({"a": moments(*numbers)}),
    "in structs": lambda *numbers: pl.DataFrame({"a": moments(*numbers)}).to_struct(),
    "of numpy": lambda *numbers: np.array(numbers, "M8[ns]"),
    "one of numpy": lambda *numbers: np.datetime64(numbers[1], "ns"),
    "of pandas": lambda *numbers: pd.Series(numbers, dtype="M8[ns]"),
    "in an index": lambda *numbers: pd.Index(numbers, dtype="M8[ns]"),
}


@pytest.mark.parametrize("made", MOMENTS.values(), ids=MOMENTS)
def test_no_tolerance_is_for_moments_whose_nanoseconds_differ(made):
    assert near(made(1, 10**15), made(1, 10**15))
    assert not near(made(1, 10**15), made(1, 10**15 + 1))


def test_moments_in_python_are_near_those_of_tables_that_they_are():
    python = [datetime(1970, 1, 1, 0, 0, 0, 1)]
    for made in (moments, MOMENTS["of numpy"]):
        assert near(python, made(1000))
        assert not near(python, made(1001))


class Measured(np.ndarray):
    """As those of astropy: it gives no list."""

    def tolist(self):
        raise NotImplementedError


TABLES = [
    check.approx("result.index", [1, 2.0000001]),
    check.path_matches("result.index", {"type": "array", "items": {"type": "number"}}),
    check.approx("result.array", [1, 2, 3.0000001]),
    check.approx("result.frame", {"sku": ["a", "b"], "price": [1, 2.5]}),
    check.compare("result.array", ">", 0),
    check.compare("result.frame.price", "<=", 2.5),
    check.contains("result.array", 3),
    check.contains("result.measured", 3),
    check.approx("result.measured", [1, 2, 3.0000001]),
    check.contains("result.frame", "price"),
    check.contains("result.frame.sku", "b"),
    check.length("result.frame", 2),
    check.path_matches("result.frame", {"items": {"required": ["sku"]}, "maxItems": 2}),
    check.path_matches("result.array", {"type": "array", "items": {"type": "number"}}),
    check.path_matches("result.scalar", {"const": 1.5}),
    check.no_secret(),
]
WRONG = [
    (check.compare("result.array", ">", 1), "expected a value > 1"),
    (check.contains("result.array", 9), "9 is not in it"),
    (check.contains("result.frame", "cost"), "'cost' is not in it"),
    (check.path_matches("result.frame", {"items": {"required": ["cost"]}}), "'cost' is a required"),
]


def test_assertions_look_into_arrays_and_frames():
    def made():
        return {"array": np.array([1.0, 2.0, 3.0]), "frame": FRAME, "scalar": np.float64(1.5),
                "index": pd.Index([1.0, 2.0]),
                "measured": np.array([1.0, 2.0, 3.0]).view(Measured)}  # fmt: skip

    repl_pair.story("tables", component=made)
    repl_pair.variant("tables/Right", play=TABLES)
    repl_pair.variant("tables/Wrong", play=[line for line, _ in WRONG])
    assert repl_pair.run("tables/Right").reason == ""
    found = repl_pair.run("tables/Wrong").assertions
    for outcome, (_, reason) in zip(found, WRONG, strict=True):
        assert not outcome.passed
        assert reason in outcome.reason


@dataclass
class Counter:
    name: str
    hits: int = field(default=0, init=False)
    seen: float = field(default=0.0, compare=False)


def test_of_two_records_the_fields_that_are_compared_count():
    one, other = Counter("a"), Counter("a", seen=5.0)
    assert apart(one, other, "it", Tolerance(REL, ABS)) is None
    other.hits = 2
    assert apart(one, other, "it", Tolerance(REL, ABS)) == "it.hits: expected about 0, got 2"


def test_no_library_is_imported_for_values_that_are_not_its_own():
    code = (
        "import sys, repl_pair; from repl_pair import check;"
        "repl_pair.story('a', component=lambda: {'n': 1.0, 'l': [1]});"
        "repl_pair.variant('a/B', play=[check.approx('result.n', 1), check.contains('result.l', 1),"
        "check.compare('result.n', '<', 2), check.no_secret(), check.matches_snapshot()]);"
        "repl_pair.run('a/B'); print(sorted({'numpy', 'pandas', 'jsonschema'} & set(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert out.stdout == "[]\n"
