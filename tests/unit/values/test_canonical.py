import copy
import hashlib
import os
import shutil
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, StrEnum
from itertools import combinations
from math import inf, nan
from pathlib import Path, PurePosixPath
from struct import unpack
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx
import numpy
import pandas
import polars
import pydantic
import pytest
from hypothesis import assume, given, strategies as st

from repl_pair.errors import AuthoringError
from repl_pair.runtime.planning.identity import content_hash
from repl_pair.runtime.values import canonical
from repl_pair.runtime.values.classes import TypeRef
from repl_pair.runtime.values.frozen import EnumMember, Record, Ref, Secret

ROOT = Path(__file__).parents[3]


def stream(value: Any) -> bytes:
    pieces: list[bytes] = []
    canonical.write(value, pieces.append)
    return b"".join(pieces)


@dataclass
class Order:
    sku: str
    lines: Any = None
    note: Any = field(default=None, compare=False)


class Point(NamedTuple):
    x: int
    y: int


class Color(Enum):
    RED = 1
    BLUE = 2


class Prices(pandas.DataFrame):
    _metadata = ("currency",)


def noted(table: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(table, name, value)
    return table


class Kind(StrEnum):
    A = "a"


class Right(Flag):
    READ = 1
    WRITE = 2


class Model(pydantic.BaseModel):
    sku: str
    key: pydantic.SecretStr = pydantic.SecretStr("hidden")


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=3)
    | st.sampled_from(["1", "1.0", "n", "True", "[]", "b'x'"])
    | st.binary(max_size=3)
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.timedeltas()
    | st.complex_numbers()
)
hashable = st.recursive(
    scalars, lambda each: st.tuples(each, each) | st.frozensets(each, max_size=3), max_leaves=4
)
values = st.recursive(
    hashable,
    lambda each: (
        st.lists(each, max_size=4)
        | st.dictionaries(st.text(max_size=2), each, max_size=4)
        | st.dictionaries(hashable, each, max_size=3)
        | st.lists(each, max_size=3).map(tuple)
        | st.builds(Order, sku=st.text(max_size=2), lines=each)
    ),
    max_leaves=12,
)


def told_apart(value: Any) -> Any:
    """Name a value by types and content in another way than the stream does, as an oracle."""
    kind = type(value)
    match value:
        case dict():
            pairs = frozenset((told_apart(key), told_apart(each)) for key, each in value.items())
            return kind, pairs
        case list() | tuple():
            return kind, tuple(map(told_apart, value))
        case frozenset():
            return kind, frozenset(map(told_apart, value))
        case float():
            return kind, value.hex()
        case complex():
            return kind, value.real.hex(), value.imag.hex()
        case Order():
            return kind, told_apart(vars(value))
        case _:
            return kind, str(value)


def has_two_nan(value: Any) -> bool:
    """Get whether a dict or set in it holds two NaN, which Python keeps and the oracle merges."""
    match value:
        case dict() if len(set(map(told_apart, value))) == len(value):
            return any(map(has_two_nan, [*value, *value.values()]))
        case frozenset() if len(set(map(told_apart, value))) == len(value):
            return any(map(has_two_nan, value))
        case list() | tuple():
            return any(map(has_two_nan, value))
        case Order():
            return has_two_nan(value.lines)
        case _:
            return isinstance(value, dict | frozenset)


plain = values.filter(lambda value: not has_two_nan(value))


@given(plain, plain)
def test_streams_are_equal_exactly_when_types_and_content_are(one, other):
    assert (stream(one) == stream(other)) == (told_apart(one) == told_apart(other))


@given(st.lists(plain, max_size=3), st.lists(plain, max_size=3))
def test_neighbours_cannot_be_confused_by_concatenation(one, other):
    pair = [one, other]
    moved = [one + other[:1], other[1:]]
    assert (stream(pair) == stream(moved)) == (told_apart(pair) == told_apart(moved))


@given(plain)
def test_shared_references_equal_copies(value):
    assert stream([value, {"again": value}]) == stream([value, {"again": copy.deepcopy(value)}])


@given(st.dictionaries(hashable, plain, max_size=6), st.randoms())
def test_the_order_of_a_dict_does_not_matter(value, chance):
    assume(not has_two_nan(value))
    items = list(value.items())
    chance.shuffle(items)
    assert stream(dict(items)) == stream(value)


@given(st.sets(hashable, max_size=6), st.randoms())
def test_the_order_of_a_set_does_not_matter(value, chance):
    members = list(value)
    chance.shuffle(members)
    assert stream(set(members)) == stream(frozenset(value))


DIFFERENT = [
    *(None, True, False, 0, 1, -1, 10**40, 0.0, -0.0, 1.0, inf, -inf, nan, 1j, -1j, complex(-0.0)),
    *("", "1", "None", "é", "\ud800", b"", b"1", Decimal("1"), Decimal("1.0"), Decimal("NaN")),
    *(date(2026, 1, 1), datetime(2026, 1, 1), datetime(2026, 1, 1, fold=1)),
    *(time(1), time(1, fold=1), time(1, tzinfo=UTC)),
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")),
    datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")),
    datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Paris")),
    datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    *(timedelta(0), timedelta(1), timedelta(microseconds=1), UUID(int=1), PurePosixPath("a")),
    *([], (), {}, set(), [1], (1,), {1}, {"1": 1}, {1: "1"}, {True: "1"}, {1.0: "1"}, {"a": "a"}),
    *(["a", "a"], [["a"], "a"], [["a", "a"]], ["aa"], ["a,a"], ("a", "a"), {"a", "b"}, ["a", "b"]),
    *([b"['a']", "a"], (b"set", []), (b"secret",), [b"\0", 1], {Kind.A: "a"}, {b"a": "a"}),
    *(Color.RED, Color.BLUE, Kind.A, Right.READ, Right.READ | Right.WRITE, Right(0)),
    *(Order("a"), Order("b"), Order("a", []), Order("a", (), None), Order("a", note=1)),
    *(Point(1, 2), (1, 2), {"x": 1, "y": 2}, Model(sku="a"), Model(sku="b")),
    *(Ref("load"), Ref("load", {"n": 1}), Secret("s"), TypeRef("m", "Order")),
    *(numpy.float64(1), numpy.float32(1), numpy.int64(1), numpy.bool_(1), numpy.str_("1")),
    *(numpy.datetime64("2026-01-01"), numpy.datetime64("2026-01-01", "ns")),
    *(numpy.array(1.0), numpy.array([1.0]), numpy.array([[1.0]]), numpy.array([1.0], "f4")),
    *(numpy.array([1.0], ">f8"), numpy.array([1]), numpy.array([0.0]), numpy.array([-0.0])),
    *(numpy.zeros((2, 3)), numpy.zeros((3, 2)), numpy.zeros((0, 3)), numpy.zeros((3, 0))),
    *(numpy.array([1, "1"], object), numpy.array(["1", 1], object), numpy.array(["1", "1"])),
    numpy.zeros(2, [("a", "i4"), ("b", "i4")]),
    numpy.zeros(2, [("b", "i4"), ("a", "i4")]),
    numpy.zeros(2, "V8"),
    *(pandas.Timestamp("2026-01-01"), pandas.Timestamp("2026-01-01", tz="UTC"), pandas.NaT),
    *(pandas.NA, pandas.Timedelta("1ns"), pandas.Timedelta("2ns"), pandas.Period("2026", "Y")),
    *(pandas.Period("2026-01", "M"), pandas.Interval(0, 1), pandas.Interval(0, 1, closed="both")),
    *(pandas.Series([1]), pandas.Series([1.0]), pandas.Series([1], name="a")),
    *(pandas.Series([1], index=[1]), pandas.Series([1], dtype="Int64"), pandas.Index([1])),
    *(pandas.Series([1, None], dtype="Int64"), pandas.Series([1, 0], dtype="Int64")),
    *(pandas.Series(["a"]), pandas.Series(["a"], dtype=object), pandas.Series(["b"])),
    *(pandas.Series(["a"], dtype="category"), pandas.Series(pandas.Categorical(["a"], ["b", "a"]))),
    pandas.Series(pandas.Categorical(["a"], ordered=True)),
    pandas.Series(pandas.to_datetime(["2026-01-01"])),
    pandas.Series(pandas.to_datetime(["2026-01-01"]).tz_localize("UTC")),
    pandas.Series(pandas.period_range("2026", periods=1, freq="M")),
    pandas.Series(pandas.interval_range(0, 1)),
    *(
        pandas.MultiIndex.from_tuples([(1, 2)]),
        pandas.MultiIndex.from_tuples([(1, 2)], names=["a", "b"]),
    ),
    *(polars.DataFrame({"a": [1]}), polars.DataFrame({"b": [1]}), polars.DataFrame({"a": [1.0]})),
    *(polars.Series("a", [1]), polars.Series("a", [2]), polars.Series("b", [1])),
    *(polars.Series([n]).cast(polars.Datetime("ns")) for n in (0, 1, 7, 1000)),
    *(polars.Series([n]).cast(polars.Time) for n in (1, 7)),
    *(polars.Series([[n]]).cast(polars.List(polars.Duration("ns"))) for n in (1, 7)),
    *(httpx.Response(200, text="a"), httpx.Response(200, text="b"), httpx.Response(201, text="a")),
    *(pandas.DataFrame({"a": [1], "b": [2]}), pandas.DataFrame({"b": [2], "a": [1]})),
    *(pandas.DataFrame({"a": [1], "c": [2]}), pandas.DataFrame({"a": [1], "b": [2.0]})),
    *(pandas.DataFrame({"a": [1], "b": [3]}), pandas.DataFrame({"a": [1], "b": [2]}, index=["x"])),
    *(pandas.DataFrame(), pandas.DataFrame(index=[1]), pandas.DataFrame(columns=["a"])),
    *(noted(pandas.DataFrame(), attrs={"unit": unit}) for unit in ("m", "km")),
    *(noted(pandas.Series([1]), attrs={"unit": unit}) for unit in ("m", "km")),
    *(noted(Prices(), currency=currency) for currency in (None, "EUR", "USD")),
]


def test_values_of_different_type_or_content_differ():
    streams = [(stream(value), value) for value in DIFFERENT]
    equal = [(one, other) for (a, one), (b, other) in combinations(streams, 2) if a == b]
    assert equal == []


def not_a_number(bits: int) -> float:
    return unpack(">d", bits.to_bytes(8, "big"))[0]


ODD_NAN = not_a_number(0xFFF8_0000_0000_0BAD)
GRID = numpy.arange(24.0).reshape(4, 6)
PADDED = numpy.dtype({"names": ["a", "b"], "formats": ["i1", "i4"], "offsets": [0, 4]})

EQUAL = {
    "NaN": (nan, ODD_NAN),
    "NaN in a list": ([1.0, nan], [1.0, ODD_NAN]),
    "NaN in a complex": (complex(nan, 1), complex(ODD_NAN, 1)),
    "NaN in an array": (numpy.array([nan, 1]), numpy.array([ODD_NAN, 1])),
    "NaN in a complex array": (numpy.array([complex(nan, 1)]), numpy.array([complex(ODD_NAN, 1)])),
    "NaN scalars": (numpy.float64(nan), numpy.float64(ODD_NAN)),
    "NaN in a frame": (pandas.DataFrame({"a": [nan]}), pandas.DataFrame({"a": [ODD_NAN]})),
    "Fortran order": (GRID, numpy.asfortranarray(GRID)),
    "a strided view": (GRID[::2, ::3], GRID[::2, ::3].copy()),
    "a reversed view": (GRID[::-1, ::-1], GRID[::-1, ::-1].copy()),
    "a transposed view": (GRID.T, GRID.T.copy()),
    "a broadcast view": (numpy.broadcast_to(1.0, (2, 2)), numpy.ones((2, 2))),
    "a frozen array": (numpy.broadcast_to(GRID, GRID.shape), GRID),
    "sets": ({1, "a", (2,)}, frozenset({(2,), 1, "a"})),
    "ordered dict": (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
    "default dict": (defaultdict(list, a=[1]), {"a": [1]}),
    "counter": (Counter("aab"), {"b": 1, "a": 2}),
    "mapping proxy": (MappingProxyType({"a": 1}), {"a": 1}),
    "secrets": (Secret("one"), Secret({"another": 1})),
    "secrets of pydantic": (pydantic.SecretStr("one"), Secret(2)),
    "a model's secret": (Model(sku="a"), Model(sku="a", key=pydantic.SecretStr("other"))),
    "records of two modules": (
        Record(TypeRef("here", "Order"), {"sku": 1}),
        Record(TypeRef("there", "Order"), {"sku": 1}),
    ),
    "record and instance": (
        Record(TypeRef("other", "Order"), {"note": None, "lines": [1], "sku": "a"}),
        Order("a", [1]),
    ),
    "record and model": (
        Record(TypeRef("other", "Model"), {"sku": "a", "key": Secret(1)}),
        Model(sku="a"),
    ),
    "member": (EnumMember(TypeRef("other", "Color"), "RED"), Color.RED),
    "a range index": (pandas.Series([1, 2]), pandas.Series([1, 2], index=pandas.Index([0, 1]))),
    "blocks": (
        pandas.DataFrame(numpy.ones((2, 2)), columns=["a", "b"]),
        pandas.DataFrame({"a": [1.0, 1.0], "b": [1.0, 1.0]}),
    ),
    "a sliced frame": (
        pandas.DataFrame({"a": range(6), "b": "x"})[::2],
        pandas.DataFrame({"a": [0, 2, 4], "b": "x"}, index=[0, 2, 4]),
    ),
    "what a mask hides": (
        pandas.Series(pandas.arrays.IntegerArray(numpy.array([1, 7]), numpy.array([False, True]))),
        pandas.Series([1, None], dtype="Int64"),
    ),
}


@pytest.mark.parametrize("what", EQUAL)
def test_what_is_no_content_does_not_show(what):
    one, other = EQUAL[what]
    assert stream(one) == stream(other)
    assert stream([one, {"k": one}]) == stream([other, {"k": other}])


def test_padding_between_fields_does_not_show():
    one, other = (numpy.frombuffer(bytes([1, gap, gap, gap, 2, 0, 0, 0]), PADDED) for gap in (0, 9))
    assert stream(one) == stream(other)


def test_a_secret_leaves_no_trace_in_the_stream():
    text = stream({"a": Secret("correct horse"), "b": [pydantic.SecretBytes(b"battery")]})
    assert b"correct" not in text
    assert b"battery" not in text


def test_a_secret_differs_from_what_stands_in_its_place():
    assert stream({"a": Secret("x")}) != stream({"a": "x"})
    assert stream({"a": Secret("x")}) != stream({})


def test_a_field_that_was_never_set_does_not_count_as_none():
    @dataclass
    class Lazy:
        cache: Any = field(init=False)

    unset, empty = Lazy(), Lazy()
    empty.cache = None
    assert stream(unset) != stream(empty)


class Text(str):
    __slots__ = ()


class Plain:
    pass


CYCLE: list[Any] = [1, {"again": []}]
CYCLE[1]["again"].append(CYCLE)
RING = Order("a")
RING.lines = {"back": RING}


@pytest.mark.parametrize(
    ("value", "path", "shown"),
    [
        ({"a": [1, {"b": len}]}, "a[1].b", "builtin_function_or_method"),
        ({"a": {3: {"x y": object()}}}, "a[3]['x y']", "type object"),
        ({"a": lambda: 1}, "a", "function"),
        ({"a": (1, Plain())}, "a[1]", "Plain"),
        ({"a": Plain}, "a", "type type"),
        ({"a": Text("x")}, "a", "Text"),
        ({"a": Order("x", lines=[Plain()])}, "a.lines[0]", "Plain"),
        ({"a": numpy.array([1, Plain()], object)}, "a[1]", "Plain"),
        ({"a": pandas.DataFrame({"c": [1, 2], "d": [1, Plain()]})}, "a[1][1]", "Plain"),
        ({"a": numpy.ma.array([1])}, "a", "numpy.ma.MaskedArray"),
        ({"a": numpy.longdouble(1)}, "a", "float64"),
        ({"a": {(1, Plain())}}, "a[1]", "Plain"),
        ({"a": {Plain(): 1}}, "a", "Plain"),
        ({"a": {nan: 1, ODD_NAN: 2}}, "a", "cannot be distinguished"),
        ({"a": 10**5000}, "", "too long"),
        ({"a": (each for each in "ab")}, "a", "generator"),
        ({"a": CYCLE}, "a[1].again[0]", "this list contains itself"),
        ({"a": RING}, "a.lines.back.lines", "this dict contains itself"),
        (Plain(), "", "Plain"),
    ],
)
def test_what_is_no_data_is_refused_by_path_and_type(value, path, shown):
    with pytest.raises(AuthoringError, match=shown) as refusal:
        stream(value)
    assert (refusal.value.code, refusal.value.detail) == ("bad_body", {"path": path})
    assert refusal.value.message.startswith(path)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def test_nesting_is_bounded():
    assert stream(nested(canonical.MAX_DEPTH))
    with pytest.raises(AuthoringError, match="nested deeper") as refusal:
        stream(nested(canonical.MAX_DEPTH + 1))
    assert len(refusal.value.message) < 300


def test_no_key_of_a_long_path_is_cut_in_half():
    key = "k" * 190 + " Zq7kW2mXv9LbT4nRp6Ys"
    value: Any = object()
    for name in ("beyond", key, "first"):
        value = {name: value}
    with pytest.raises(AuthoringError) as refusal:
        stream(value)
    assert refusal.value.detail == {"path": f"first[{key!r}]..."}


def test_a_refused_value_reaches_no_digest():
    pieces: list[bytes] = []
    with pytest.raises(AuthoringError):
        canonical.write([1, Plain()], pieces.append)
    assert pieces == []


CORPUS = """
import sys
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from uuid import UUID
from repl_pair.runtime.planning.identity import content_hash
from repl_pair.runtime.values.frozen import Ref, Secret

@dataclass
class Order:
    sku: str
    lines: tuple

class Color(Enum):
    RED = 1

print(content_hash({
    "set": {"a", "b", 1, 2.5, None, ("x", frozenset({"y", "z"})), Color.RED},
    "texts": {str(at) for at in range(99)},
    "dict": {"é": 1, "b": -0.0, 3: float("nan"), None: 0.1 + 0.2, (1, "a"): 10 ** 30},
    "order": Order("s\\ud800\\n'", (Color.RED, Decimal("1.10"), 2 ** 64, 1e300, 5e-324)),
    "when": [date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=timezone.utc), timedelta(1, 2, 3)],
    "rest": [UUID(int=7), PurePosixPath("a/b"), b"\\x00\\xff", 1j, Secret(1), Ref("x", {"n": 1})],
}))
"""
PINNED = "rp1:d149ed6bf1dda06436d186dc63bd0329edc6eb9a88b8715e2f841a5cdd96d632"


def pythons() -> list[str]:
    """This Python and, where they are installed, the other versions that the package supports."""
    named = (shutil.which(f"python3.{minor}") for minor in range(11, 16))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*filter(None, named), *map(str, pyenv.glob("3.1[1-9]*/bin/python"))]
    return [sys.executable, *filter(starts, found)]


def starts(python: str) -> bool:
    done = subprocess.run([python, "-c", ""], capture_output=True, timeout=60)
    return done.returncode == 0


def test_every_process_and_python_gives_one_hash():
    given = {}
    for python in pythons():
        for seed in ("0", "1", "4711"):
            environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
            done = subprocess.run(
                [python, "-c", CORPUS], env=environment, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, done.stderr
            given[python, seed] = done.stdout.strip()
    print(f"{len(given)} processes")
    assert set(given.values()) == {PINNED}


def test_the_hash_is_the_scheme_and_sha256_of_the_stream():
    slots = {"args": {"n": 1}, "tags": ("a",)}
    assert content_hash(slots) == "rp1:" + hashlib.sha256(stream(slots)).hexdigest()
