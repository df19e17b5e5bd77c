"""Expected against actual: coercion, equality, the first difference."""

import copy
import functools
import sys
import types
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import httpx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel
from starlette.datastructures import Headers, QueryParams

import repl_pair
from repl_pair.runtime.assertions.coercion import Leaves, coerce
from repl_pair.runtime.assertions.comparison import difference, equal
from repl_pair.runtime.assertions.tolerance import Tolerance, apart
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Secret

NAN = float("nan")
MANY = range(300)
HOUR = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
HOUR_LATER = HOUR.replace(fold=1)
EAST = timezone(timedelta(hours=14))


class Color(Enum):
    RED = "red"
    BLUE = 2


class Level(IntEnum):
    LOW = 1


@dataclass
class Line:
    sku: str
    price: Decimal
    seen: Any = field(default=None, compare=False)


@dataclass(eq=False)
class Name:
    text: str

    def __eq__(self, other):
        return self.text.lower() == other.text.lower()


@attrs.define
class Box:
    _size: int
    seen: Any = attrs.field(default=None, eq=False)


class Point(NamedTuple):
    x: int
    y: int


class Customer(BaseModel):
    name: str
    joined: date


class Broken:
    def __eq__(self, other):
        raise OSError("canary")

    __hash__ = None

    def __repr__(self):
        raise OSError


class Opaque:
    pass


class Settings(dict):
    """As those of an app: a method named as those of several values has another meaning."""

    def get_list(self, key):
        return self[key].split(",")


class Counts(dict):
    def getlist(self):
        return list(self.values())


class Twice(dict):
    """Several values of a key, of a class of the person, and some of them have no truth."""

    def getall(self, key):
        return [self[key], self[key] * 2]


class Measured(np.ndarray):
    """As those of astropy: it has a field of its own, and gives no list."""

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)

    def tolist(self):
        raise NotImplementedError


def of(made, **fields):
    for name, value in fields.items():
        setattr(made, name, value)
    return made


METERS = of(np.array([1.0, 2.0]).view(Measured), unit="m")


class Signal(np.ndarray):
    """An array that computes a field once it is asked, and makes another anew."""

    def __array_finalize__(self, other):
        self.callback = lambda: self
        self.on_change = self.sum

    @functools.cached_property
    def size_of_all(self):
        return float(np.linalg.norm(self))


SIGNAL = np.array([3.0, 4.0]).view(Signal)
assert SIGNAL.size_of_all == 5


class Masked(np.ma.MaskedArray):
    pass


LINE = Line("a", Decimal("1.10"))


def nanoseconds(*numbers, kind=None):
    return pl.Series("t", numbers).cast(kind or pl.Datetime("ns"))


def moments(*texts, zone=None, unit="us"):
    return pd.DatetimeIndex(texts, tz=zone).as_unit(unit)


HALF = np.ma.array([1, 99, 3], mask=[0, 1, 0])
FINE = np.array(["2024-01-01T00:00:00.000000900"], "M8[ns]")
PAIR = pd.MultiIndex.from_product([["a"], [1, 2]])

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.decimals(allow_nan=True).filter(lambda d: not d.is_snan())
    | st.datetimes()
    | st.sampled_from([Color.RED, np.float64("nan"), np.int64(3), pd.NaT, pd.Timestamp("2026")])
)
values = st.recursive(
    leaves | st.builds(Line, sku=st.text(), price=st.decimals(allow_nan=False)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.frozensets(st.integers() | st.text(), max_size=4)
    ),
    max_leaves=12,
)
columns = st.lists(st.floats() | st.just(1.0), min_size=2, max_size=2)


@given(values)
def test_every_value_equals_itself_and_its_copy(value):
    assert difference(value, value) is None
    assert difference(value, copy.deepcopy(value)) is None


@given(values)
def test_every_value_equals_its_frozen_form(value):
    assert difference(freeze(value), value) is None


@given(columns, columns)
def test_tables_equal_their_copies(left, right):
    array, frame = np.array([left, right]), pd.DataFrame({"a": left, "b": right})
    for table in (array, frame, frame["a"], frame.index):
        assert difference(table, table.copy()) is None
        assert difference({"t": [table]}, {"t": [table.copy()]}) is None


@given(values, values)
def test_a_difference_is_reported_if_and_only_if_they_are_unequal(one, other):
    assert equal(one, other) is (difference(one, other) is None)


NAMED = [
    (pd.Series([1.0], name="q"), pd.Series([1.0], name="z"), "r.name: expected 'q', got 'z'"),
    (pd.Series([], name="q", dtype=float), pd.Series([], dtype=float), "r.name: expected 'q'"),
    (pl.Series("q", [1.0]), pl.Series("z", [1.0]), "r.name: expected 'q', got 'z'"),
    (pd.Index([1.0], name="q"), pd.Index([1.0]), "r.names[0]: expected 'q', got None"),
    (pd.RangeIndex(2, name="q"), pd.Index([0, 1]), "r.names[0]: expected 'q', got None"),
    (pd.Series([1.0]).rename_axis("q"), pd.Series([1.0]), "r.index.names[0]: expected 'q'"),
    (
        pd.DataFrame({"a": [1.0]}).rename_axis(columns="q"),
        pd.DataFrame({"a": [1.0]}),
        "r.columns.names[0]: expected 'q', got None",
    ),
]
"""Tables that differ in a name only; JSON has none."""


@pytest.mark.parametrize(
    ("expected", "actual", "taken"),
    [
        ("1.10", Decimal("1.1"), Decimal("1.10")),
        (13.0, Decimal("13.00"), Decimal("13.0")),
        (13, Decimal("13.00"), Decimal(13)),
        ("NaN", 1.5, NAN),
        ("-Infinity", 1.5, float("-inf")),
        ("2026-01-31T12:00:00", datetime(2026, 1, 1), datetime(2026, 1, 31, 12)),
        ("2026-01-31", date(2026, 1, 1), date(2026, 1, 31)),
        ("RED", Color.BLUE, Color.RED),
        ("red", Color.BLUE, Color.RED),
        (2, Color.RED, Color.BLUE),
        (1, Level.LOW, Level.LOW),
        ([1, 2], (3, 4), (1, 2)),
        ("a/b", Path("c"), Path("a/b")),
        (90, timedelta(), timedelta(seconds=90)),
        ("2026-01-31", np.datetime64("2026-01-01"), np.datetime64("2026-01-31")),
        (freeze(LINE), LINE, {"sku": "a", "price": Decimal("1.10"), "seen": None}),
        ("no date", date(2026, 1, 1), "no date"),
        ("GREEN", Color.RED, "GREEN"),
        (True, Decimal(1), True),
        (1, True, 1),
        ("1", 1, "1"),
    ],
)
def test_a_json_form_is_taken_to_the_actual_type(expected, actual, taken):
    found = coerce(expected, actual)
    assert type(found) is type(taken)
    assert repr(found) == repr(taken)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (13.0, Decimal("13.00")),
        (13, 13.0),
        (NAN, NAN * 1),
        (None, None),
        ("NaN", NAN),
        ([1, [2]], (1, [2])),
        ([1, 2], {2, 1}),
        ([[1, 2]], {(1, 2)}),
        (["RED"], {Color.RED}),
        ({"sku": "a", "price": "1.1"}, LINE),
        ({"sku": "a", "price": "1.1", "seen": None}, LINE),
        ([{"sku": "a", "price": 1.1}], [LINE]),
        (Line("a", Decimal("1.1"), seen=5), LINE),
        ({"x": 1, "y": 2}, Point(1, 2)),
        (Name("ann"), Name("Ann")),
        ([1, 2], Point(1, 2)),
        ({"name": "ann", "joined": "2026-01-31"}, Customer(name="ann", joined=date(2026, 1, 31))),
        ({"a": 1}, OrderedDict(a=1)),
        ({"a": ["1", "2"], "b": "3"}, QueryParams("a=1&a=2&b=3")),
        (QueryParams("a=1&a=2"), QueryParams("a=1&a=2")),
        ({"a": "1, 2"}, httpx.Headers([("a", "1"), ("a", "2")])),
        ({"a": ["x1", "x2"]}, Headers(raw=[(b"a", b"x1"), (b"a", b"x2")])),
        ({"hosts": "a,b", "port": 5}, Settings(hosts="a,b", port=5)),
        (Settings(hosts="a,b"), Settings(hosts="a,b")),
        ({"a": 1}, Counts(a=1)),
        ({"a": [2, 4]}, Twice(a=np.int64(2))),
        ({"RED": 1}, {Color.RED: 1}),
        ({"1": "x"}, {1: "x"}),
        (1.5, np.float64(1.5)),
        (True, np.bool_(True)),
        ([1, 2], np.array([1, 2])),
        ([1, 2], METERS),
        (METERS, METERS.copy()),
        (np.array([3.0, 4.0]), SIGNAL),
        (SIGNAL, SIGNAL.copy()),
        (SIGNAL.copy(), SIGNAL),
        (HALF, HALF.view(Masked)),
        (HALF.view(Masked), HALF.view(Masked)[:]),
        ([1, 2], np.array([1.0, 2.0], dtype="f4")),
        ([[1, "NaN"]], np.array([[1.0, NAN]])),
        (["2026-01-31"], np.array(["2026-01-31"], dtype="M8[ns]")),
        (["1.1"], np.array([Decimal("1.10")], dtype=object)),
        ([{"a": 1, "b": "x"}], pd.DataFrame({"a": [1], "b": ["x"]})),
        ({"a": [1], "b": ["x"]}, pd.DataFrame({"a": [1], "b": ["x"]})),
        ([1, "NaN"], pd.Series([1.0, NAN])),
        ({"k": 1}, pd.Series({"k": 1})),
        (["2026-01-31"], pd.Series(pd.to_datetime(["2026-01-31"]))),
        ([1, 2], pd.Index([1, 2])),
        ([1, 2], pd.Series([1, 2], index=["a", "a"])),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame([[1, 2]], columns=["a", "a"])),
        (pd.Series([1], index=pd.Index(["a"], dtype=object)), pd.Series([1], index=["a"])),
        (pd.Series([[True], "a", None]), pd.Series([[True], "a", None])),
        (pd.Series([1, 2], index=PAIR), pd.Series([1, 2], index=PAIR.copy())),
        (pd.Index([]), pd.RangeIndex(0)),
        (pd.RangeIndex(2), pd.Index([0, 1])),
        ([1, None, 3], HALF),
        (HALF, np.ma.array([1, 0, 3], mask=[0, 1, 0])),
        (np.array([1]), np.ma.array([1])),
        (np.ma.masked_all(2), np.ma.masked_all(2)),
        (["2024-01-01T00:00:00.000000900"], FINE),
        ([["2024-01-01", None]], np.array([["2024-01-01", "NaT"]], "M8[ns]")),
        ([None, "2024-01-01T00:00:00.000000900"], np.append(np.datetime64("NaT", "ns"), FINE)),
        (nanoseconds(7, None), nanoseconds(7, None)),
        (["1970-01-01T00:00:00.000001"], nanoseconds(1000)),
        (
            [{"t": "1970-01-01T00:00:00.000001", "n": 1}],
            pl.DataFrame([nanoseconds(1000)]).with_columns(n=1),
        ),
        ({True: "a", 2: "b"}, {True: "a", 2: "b"}),
        (Box(1), Box(1, seen=2)),
        ({"size": 1}, Box(1, seen=2)),
        ({"size": 1, "seen": 2}, Box(1, seen=2)),
        ({1.0: "a"}, {1: "a"}),
        ({"1": 5, 1: 6}, {1: 6, "1": 5}),
        ({timedelta(0): 5, 0: 6}, {timedelta(0): 5, 0: 6}),
        ({NAN: 5, complex(NAN, 1): 6}, {NAN * 1: 5, complex(NAN, 1): 6}),
        (["a", Path("a")], {Path("a"), "a"}),
        ([Path("a"), "a"], {Path("a"), "a"}),
        (complex(NAN, 1), complex(NAN, 1)),
        (np.array([complex(NAN, 1)]), np.array([complex(NAN, 1)])),
        ("2024-10-27T02:30:00+02:00", HOUR),
        (["2024-10-27T00:30:00Z"], {HOUR}),
        (pd.Timestamp(HOUR), HOUR),
        ({HOUR: 1}, {HOUR.astimezone(UTC): 1}),
        (datetime.min.replace(tzinfo=EAST), datetime.min.replace(tzinfo=EAST)),
        (
            {"12345678123456781234567812345678": 1},
            {UUID(int=0x12345678123456781234567812345678): 1},
        ),
    ],
)
def test_these_are_equal(expected, actual):
    assert difference(expected, actual) is None


def test_no_series_is_made_of_the_columns_of_frames_that_are_equal_or_frozen(monkeypatch):
    one, other = [pd.DataFrame({"a": [1.0], "b": pd.array([2])}) for _ in range(2)]
    stub = types.SimpleNamespace(GeometryDtype=Opaque)
    monkeypatch.setitem(sys.modules, "geopandas.array", stub)
    for name in ("items", "iloc", "__getitem__"):
        monkeypatch.setattr(pd.DataFrame, name, None)
    assert difference(one, other) is None
    assert freeze(one) is not one


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        ("a", "b", "r: expected 'a', got 'b'"),
        (1, True, "r: expected 1, got True"),
        (True, 1, "r: expected True, got 1"),
        (0, False, "r: expected 0, got False"),
        (True, np.int64(1), "r: expected True, got "),
        ("1", 1, "r: expected '1', got 1"),
        (None, NAN, "r: expected None, got nan"),
        (NAN, 1.0, "r: expected nan, got 1.0"),
        ("GREEN", Color.RED, "r: expected 'GREEN', got <Color.RED: 'red'>"),
        ([1, 2], [1], "r: expected 2 items, got 1"),
        ([1, [2]], [1, [3]], "r[1][0]: expected 2, got 3"),
        ((1,), [1], "r: expected (1,), got [1]"),
        ({"a": 1}, {}, "r: expected a key 'a', there is none"),
        ({"a": "2"}, QueryParams("a=1&a=2"), "r.a: expected '2', got ['1', '2']"),
        ({"a": 1}, Twice(a=np.ones(2)), "r.a: expected 1, got [array"),
        (QueryParams("a=2"), QueryParams("a=1&a=2"), "r.a: expected '2', got ['1', '2']"),
        ({}, {"a": 1}, "r: the key 'a' was not expected"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "r.a.b: expected 1, got 2"),
        ({"a b": 1}, {"a b": 2}, 'r["a b"]: expected 1, got 2'),
        ([1, 3], {1, 2}, "r: expected the member 3, there is none"),
        ([1], {1, 2}, "r: the member 2 was not expected"),
        ({"sku": "b", "price": "1.1"}, LINE, "r.sku: expected 'b', got 'a'"),
        ({"sku": "a"}, LINE, "r: the key 'price' was not expected"),
        ({"sku": "a", "price": 1, "x": 1}, LINE, "r.price: expected Decimal('1'), got Decimal"),
        (Line("b", Decimal(1)), LINE, "r.sku: expected 'b', got 'a'"),
        ({"x": 1, "y": 3}, Point(1, 2), "r.y: expected 3, got 2"),
        (Opaque(), Opaque(), "r: expected <"),
        ([1, 3], np.array([1, 2]), "r[1]: expected 3, got 2"),
        ([1], np.array([1, 2]), "r: expected 1 items, got 2"),
        (METERS, of(METERS.copy(), unit="km"), "r.unit: expected 'm', got 'km'"),
        (METERS, of(METERS + 1, unit="m"), "r[0]: expected "),
        (SIGNAL, of(SIGNAL.copy(), unit="m"), "r: the key 'unit' was not expected"),
        (HALF, of(HALF.view(Masked), unit="m"), "r: the key 'unit' was not expected"),
        (of(pd.Series([1]), attrs={"unit": "m"}), pd.Series([1]), "r: expected a key 'attrs'"),
        (
            of(pd.DataFrame({"a": [1]}), attrs={"unit": "m"}),
            of(pd.DataFrame({"a": [1]}), attrs={"unit": "km"}),
            "r.attrs.unit: expected 'm', got 'km'",
        ),
        (np.array([[1, 2]]), np.array([[1, 3]]), "r[0][1]: expected "),
        (np.array([1.0]), np.array([1]), "r: expected dtype float64, got int64"),
        (np.array([1]), np.array([1, 1]), "r: expected shape (1,), got (2,)"),
        (np.array([1]), [1], "r: expected array, got list"),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0]), "r[1]: expected "),
        (np.array([1.0, NAN]), np.array([NAN, 1.0]), "r[0]: expected "),
        ([{"a": 2}], pd.DataFrame({"a": [1]}), "r[0].a: expected 2, got 1"),
        ({"a": [2]}, pd.DataFrame({"a": [1]}), "r.a[0]: expected 2, got 1"),
        ({"b": [1]}, pd.DataFrame({"a": [1]}), "r: expected a key 'b', there is none"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), "r.columns[0]: expected 'a', got 'b'"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]}), "r.a[0]: expected 1, got 2"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]}), "r.a: expected dtype int64"),
        (pd.DataFrame({"a": [1]}), pd.Series([1]), "r: expected frame, got series"),
        (pd.Series([1], ["x"]), pd.Series([1], ["y"]), "r.index[0]: expected 'x', got 'y'"),
        (pd.Series([1]), pd.Series([2]), "r[0]: expected 1, got 2"),
        ({"a": 2}, pd.Series([1, 2], index=["a", "a"]), "r: the label 'a' stands there twice"),
        ([{"a": 2}], pd.DataFrame([[1, 2]], columns=["a", "a"]), "r: the label 'a' stands there"),
        ({"a": [2]}, pd.DataFrame([[1, 2]], columns=["a", "a"]), "r: the label 'a' stands there"),
        (
            pd.Series([1], index=moments("2024-01-01", zone="UTC")),
            pd.Series([1], index=moments("2024-01-01 01:00", zone="Europe/Paris")),
            "r.index: expected dtype datetime64[us, UTC], got datetime64[us, Europe/Paris]",
        ),
        (
            pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_product([[1], ["a"]])),
            pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_product([[1.0], ["a"]])),
            "r.index: expected dtype int64, got float64",
        ),
        (pd.Index([1.0, 2.0]), pd.Index([1, 2]), "r: expected dtype float64, got int64"),
        (pd.Index([], dtype="int64"), pd.DatetimeIndex([]), "r: expected dtype int64, got "),
        (
            pd.DataFrame([[1]], columns=[1]),
            pd.DataFrame([[1]], columns=[1.0]),
            "r.columns: expected d",
        ),
        (
            pd.Series([1, 0], dtype=object),
            pd.Series([True, False], dtype=object),
            "r[0]: expected 1",
        ),
        (
            pd.DataFrame({"a": [[1]]}),
            pd.DataFrame({"a": [[True]]}),
            "r.a[0][0]: expected 1, got True",
        ),
        (
            pd.Series([1], index=pd.Index([1], dtype=object)),
            pd.Series([1], index=pd.Index([True], dtype=object)),
            "r.index[0]: expected 1, got True",
        ),
        (np.array([1, 99, 3]), HALF, "r[1]: expected an item, got a mask"),
        (HALF, np.array([1, 99, 3]), "r[1]: expected a masked item, got one that is not"),
        (["2024-01-01T00:00:00"], FINE, "r[0]: expected "),
        (FINE, np.array(["2024-01-01"], "M8[ns]"), "r[0]: expected "),
        (nanoseconds(1), nanoseconds(7), "r[0][1]: expected 1, got 7"),
        (nanoseconds(1, kind=pl.Time), nanoseconds(7, kind=pl.Time), "r[0][1]: expected 1, got 7"),
        (
            nanoseconds([1], kind=pl.List(pl.Duration("ns"))),
            nanoseconds([7], kind=pl.List(pl.Duration("ns"))),
            "r[0][1][0]: expected 1, got 7",
        ),
        (
            pl.DataFrame([nanoseconds(1)]).select(pl.struct("t").alias("u")),
            pl.DataFrame([nanoseconds(7)]).select(pl.struct("t").alias("u")),
            "r.u[0][1].t: expected 1, got 7",
        ),
        (["1970-01-01T00:00:00"], nanoseconds(7), "r[0]: expected '1970-01-01T00:00:00', got ("),
        ({1: "a"}, {True: "a"}, "r: expected a key 1, there is none"),
        ({np.int64(1): "a"}, {True: "a"}, "r: expected a key np.int64(1), there is none"),
        ({"7": "a"}, {10**5_000: "a"}, "r: expected a key '7', there is none"),
        ({"1": 5, 1: 5}, {1: 5}, "r: expected a key 1, there are not two"),
        ({True: "a"}, {1: "a"}, "r: expected a key True, there is none"),
        (complex(NAN, 1), complex(NAN, 2), "r: expected (nan+1j), got (nan+2j)"),
        (np.array([complex(NAN, 1)]), np.array([complex(NAN, 2)]), "r[0]: expected "),
        (pd.Series([complex(NAN, 1)]), pd.Series([complex(NAN, 2)]), "r[0]: expected (nan+1j)"),
        (
            pd.DataFrame({"a": [complex(NAN, 1)]}),
            pd.DataFrame({"a": [complex(NAN, 2)]}),
            "r.a[0]: expected (nan+1j)",
        ),
        (NAN, np.datetime64("NaT"), "r: expected nan, got "),
        (np.timedelta64("NaT"), np.datetime64("NaT"), "r: expected "),
        (HOUR, HOUR_LATER, "r: expected datetime.datetime(2024, 10, 27, 2, 30, tz"),
        ({HOUR: 1}, {HOUR_LATER: 1}, "r: expected a key datetime.datetime(2024, 10, 27, 2, 30"),
        (Box(1), Box(2), "r.size: expected 1, got 2"),
        ({"size": 1, "seen": 3}, Box(1, seen=2), "r.seen: expected 3, got 2"),
    ],
)
def test_the_first_difference_is_reported_with_its_path(expected, actual, words):
    found = difference(expected, actual, "r")
    assert found is not None
    assert found.startswith(words)
    assert not equal(expected, actual)


@pytest.mark.parametrize(("expected", "actual", "words"), NAMED)
def test_names_count_between_live_tables_and_not_for_json(expected, actual, words):
    about = functools.partial(apart, tolerance=Tolerance.of(None, None))
    for find in (difference, about):
        found = find(expected, actual, "r")
        assert found is not None
        assert found.startswith(words)
        assert find(copy.copy(expected), expected, "r") is None
        plain = {"a": [1.0]} if isinstance(expected, pd.DataFrame) else list(expected)
        assert find(plain, expected, "r") is None


def test_a_secret_expectation_is_compared_and_never_shown():
    assert difference({"key": Secret("canary")}, {"key": "canary"}) is None
    found = difference({"key": Secret("canary")}, {"key": "other"}, "r")
    assert found == "r.key: it is not the expected secret"


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({str(n): n for n in MANY}, {n: n for n in MANY}),
        ({f"{n}.5": n for n in MANY}, {Decimal(f"{n}.50"): n for n in MANY}),
        ([str(n) for n in MANY], {str(n) for n in MANY}),
        ([[n, "RED"] for n in MANY], {(np.int64(n), "RED") for n in MANY}),
        ({n / 7 for n in MANY}, frozenset(n / 7 for n in reversed(MANY))),
    ],
    ids=["digits", "decimals", "texts", "rows", "floats"],
)
def test_many_keys_and_members_are_compared_in_the_time_of_their_number(expected, actual):
    calls: list[str] = []
    sys.setprofile(lambda _frame, event, _arg: calls.append(event))
    try:
        found = difference(expected, actual)
    finally:
        sys.setprofile(None)
    assert found is None
    assert len(calls) < 1000 * len(MANY)


def test_without_a_path_the_sentence_stands_alone():
    assert difference(1, 2) == "expected 1, got 2"


def test_a_comparison_that_raises_is_a_difference_that_reports_it():
    assert difference(1, Broken(), "r") == "r: comparing with 1 raised OSError"
    assert "raised OSError" in difference([Broken()], [Broken()], "r")
    assert equal(Broken(), 1) is False


def test_a_mapping_that_raises_is_a_difference_that_reports_it():
    class Hostile(dict):
        def __contains__(self, key):
            raise OSError

    assert difference({"a": 1}, Hostile(a=1), "r") == ("r: the two could not be compared: OSError")


def test_data_that_holds_itself_does_not_hang():
    one: list[Any] = []
    one.append(one)
    other: list[Any] = []
    other.append(other)
    assert difference(one, one) is None
    assert "could not be compared: RecursionError" in difference(one, other)


def test_long_values_are_shortened():
    assert len(difference("a" * 10_000, ["b" * 10_000] * 1000)) < 500


def test_instances_of_a_class_that_was_redefined_are_compared_by_fields(monkeypatch):
    module = types.ModuleType("redefined_for_compare")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    source = (
        "from dataclasses import dataclass\nfrom enum import Enum\n"
        "class Shade(Enum):\n    DARK = 1\n"
        "@dataclass\nclass Item:\n    size: int\n    shade: Shade = Shade.DARK\n"
    )
    exec(source, vars(module))
    old = module.Item(1)
    exec(source, vars(module))
    assert difference(old, module.Item(1)) is None
    assert difference(old, module.Item(2)) == "size: expected 1, got 2"


@dataclass
class Fit:
    coef: Any


def test_records_are_compared_by_their_fields_whatever_their_generated_equality_says():
    assert difference(Fit(True), Fit(1), "it") == "it.coef: expected True, got 1"
    assert difference(Fit(np.array([1.0, 2.0])), Fit(np.array([1.0, 2.0]))) is None
    assert "2.0" in (difference(Fit(np.array([1.0, 2.0])), Fit(np.array([1.0, 3.0]))) or "")


def test_values_whose_metaclass_compares_and_does_not_hash_are_compared():
    meta = type("Meta", (type,), {"__eq__": lambda one, other: one is other, "__hash__": None})
    kept = meta("Kept", (dict,), {})(a=1)
    assert difference({"a": 1}, kept) is None
    assert difference({"a": 2}, kept).startswith("a:")
    point = dataclass(meta("Point", (), {"x": 1, "__annotations__": {"x": int}}))
    assert difference({"x": 1}, point()) is None
    assert difference(1, point()).startswith("expected 1")
    repl_pair.story("points", component=lambda at=None: at)
    repl_pair.variant("points/A", args={"at": point()})


def test_texts_of_numpy_are_looked_up_and_not_asked_one_by_one():
    texts = {np.str_("a"), np.str_("b"), np.bytes_(b"c")}
    leaves = Leaves(texts)
    assert [leaves.find("b"), leaves.find(b"c"), leaves.others("b")] == ["b", b"c", []]
    assert difference(["a", "b", b"c"], texts) is None
