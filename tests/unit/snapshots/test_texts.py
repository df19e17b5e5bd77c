"""A stored text tells values of every kind apart, or the value is refused."""

import array
import asyncio
import collections
import collections.abc
import contextvars
import copyreg
import datetime as dt
import decimal
import email.message
import enum
import fractions
import functools
import io
import ipaddress
import logging
import operator
import pathlib
import queue
import re
import socket
import sys
import threading
import types
import urllib.parse
import uuid
import weakref
import xml.etree.ElementTree as ET
import zoneinfo
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, NamedTuple

import attrs
import httpx
import msgspec
import numpy as np
import pandas as pd
import polars
import pydantic
import pytest
import requests
import sqlalchemy
from sqlalchemy import orm

import repl_pair
from repl_pair.runtime.snapshots import secret_parts
from repl_pair.runtime.snapshots.states import Unstorable
from repl_pair.runtime.snapshots.texts import MAX_PARTS, write_text


class Point(NamedTuple):
    x: int
    y: int = 0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass
class Line:
    sku: str
    _count: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    n: int


@attrs.define
class Defined:
    n: int


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    n: int = 0
    _seen: int = pydantic.PrivateAttr(0)


class Row:
    __slots__ = ("_id", "name")

    def __init__(self, id, name):
        self._id, self.name = id, name


class Private:
    def __init__(self, n):
        self._n = n


class Rows(list):
    def __init__(self, items, total):
        super().__init__(items)
        self.total = total


class Ordered(collections.abc.Set, collections.abc.Sequence):
    def __init__(self, items):
        self.items = dict.fromkeys(items)

    def __contains__(self, item):
        return item in self.items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, at):
        return list(self.items)[at]

    def __reduce__(self):
        return Ordered, (list(self.items),)


class Graph:
    def __init__(self, *edges):
        self._edges = {node: set() for edge in edges for node in edge}
        for one, other in edges:
            self._edges[one].add(other)


def of(made, **fields):
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class Prices(pd.DataFrame):
    _metadata = ("currency",)


class Measured(np.ndarray):
    """As those of astropy: it has fields of its own, and gives no list."""

    word: Annotated[str, repl_pair.Sensitive] = ""

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)

    def tolist(self):
        raise NotImplementedError


class Unit:
    """As those of unyt: what pickle keeps of it grows with what others do."""

    __module__ = "unyt.unit_object"
    count = 0

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name

    def __reduce__(self):
        Unit.count += 1
        return Unit, (self.name, Unit.count)


class Placed(pd.Int64Dtype):
    """As that of geopandas: its columns have a field that it does not name."""


@pytest.fixture(autouse=True)
def geopandas(monkeypatch):
    stub = types.SimpleNamespace(GeometryDtype=Placed)
    monkeypatch.setitem(sys.modules, "geopandas.array", stub)


def placed(crs):
    fields = {"crs": crs, "dtype": Placed()}
    cls = type("Places", (pd.arrays.IntegerArray,), fields)
    return pd.Series(cls(np.ones(2, int), np.zeros(2, bool)), name="place")


class Base(orm.DeclarativeBase):
    pass


class Mapped(Base):
    __tablename__ = "mapped"
    n: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    pin: orm.Mapped[Annotated[str | None, repl_pair.Sensitive]]


class MappedModel(Model):
    """A model that is mapped too, as those of SQLModel are."""

    __mapper__ = Mapped.__mapper__

    def __init__(self, n):
        super().__init__(n=n)
        self.__dict__["_sa_instance_state"] = sqlalchemy.inspect(Mapped(n=n))


def response(status=200, content=b"ok", **headers):
    return httpx.Response(status, content=content, headers=headers)


def buffer(cls, text, at=0):
    made = cls(text)
    made.seek(at)
    return made


MOMENT = dt.datetime(2026, 10, 25, 2, 30)
BERLIN, ROME = zoneinfo.ZoneInfo("Europe/Berlin"), zoneinfo.ZoneInfo("Europe/Rome")


class Paired:
    """As a mapping of a library that compares its keys in its own way."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __reduce__(self):
        return Paired, (), None, None, iter(self.pairs)


class Zone(dt.tzinfo):
    def utcoffset(self, moment):
        return dt.timedelta(hours=1)


def of_arrow(name, about=None):
    """Return what has the class and the parts of a table or array of pyarrow."""
    rows = {"Table": ["pw-1"], "Array": [{"api_token": "pw-1"}]}[name]
    column = {"to_pylist": lambda _: rows, "type": "struct<api_token: string>"}
    field = of(Line("api_token"), name="api_token", metadata=about)
    schema = of(Rows([field], 1), metadata={b"token": b"pw-1"})
    whole = {"schema": schema, "columns": [type("ChunkedArray", (), column)()]}
    parts = column if name == "Array" else whole
    return type(name, (), {"__module__": "pyarrow.lib", **parts})()


APART = {
    "bool and int": (True, 1),
    "int and text": (1, "1"),
    "int and float": (1, 1.0),
    "none and text": (None, "None"),
    "zeros": (0.0, -0.0),
    "nan and none": (float("nan"), None),
    "infinities": (float("inf"), float("-inf")),
    "large ints": (7**9000, 7**9000 + 1),
    "complex": (1 + 2j, 1 - 2j),
    "text": ("a", "b"),
    "text of lines": ("a\nb", "a\nb\n"),
    "text with quotes": ("'", '"'),
    "lone surrogates": ("\ud800", "\ud801"),
    "text that looks redacted": ("[redacted]", "redacted"),
    "bytes": (b"a", b"b"),
    "bytes and text": (b"a", "a"),
    "long bytes": (b"a" * 200 + b"b", b"a" * 200 + b"c"),
    "bytearray": (bytearray(b"a"), b"a"),
    "memoryview": (memoryview(b"a"), memoryview(b"b")),
    "BytesIO": (io.BytesIO(b"a"), io.BytesIO(b"b")),
    "place in BytesIO": (buffer(io.BytesIO, b"ab", 0), buffer(io.BytesIO, b"ab", 1)),
    "StringIO": (io.StringIO("a"), io.StringIO("b")),
    "list and tuple": ([1], (1,)),
    "nested tuples": ((1, (2,)), ((1, 2),)),
    "order of a list": ([1, 2], [2, 1]),
    "set and frozenset": ({1}, frozenset({1})),
    "sets of several types": ({1, "a"}, {1, "b"}),
    "empty set and dict": (set(), {}),
    "dict": ({"a": 1}, {"a": 2}),
    "keys": ({1: "a"}, {"1": "a"}),
    "order of an OrderedDict": (
        collections.OrderedDict(a=1, b=2),
        collections.OrderedDict(b=2, a=1),
    ),
    "Counter": (collections.Counter("ab"), collections.Counter("abb")),
    "factory of a defaultdict": (
        collections.defaultdict(list, a=1),
        collections.defaultdict(int, a=1),
    ),
    "order of an ordered set": (Ordered([1, 2]), Ordered([2, 1])),
    "ChainMap": (collections.ChainMap({"a": 1}, {}), collections.ChainMap({}, {"a": 1})),
    "mapping proxy": (types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})),
    "namespace": (types.SimpleNamespace(a=1), types.SimpleNamespace(a=2)),
    "bound of a deque": (collections.deque([1], 2), collections.deque([1], 3)),
    "range": (range(3), range(4)),
    "slice": (slice(1), slice(2)),
    "list of a class with fields": (Rows([1], 1), Rows([1], 2)),
    "enum": (Colour.RED, Colour.BLUE),
    "flag": (Access.READ, Access.READ | Access.WRITE),
    "Decimal exponents": (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    "Fraction": (fractions.Fraction(1, 3), fractions.Fraction(2, 3)),
    "date and datetime": (dt.date(2026, 1, 1), dt.datetime(2026, 1, 1)),
    "zones": (MOMENT.replace(tzinfo=BERLIN), MOMENT.replace(tzinfo=ROME)),
    "folds": (MOMENT.replace(tzinfo=BERLIN), MOMENT.replace(tzinfo=BERLIN, fold=1)),
    "offsets": (MOMENT.replace(tzinfo=dt.UTC), MOMENT),
    "time": (dt.time(1), dt.time(2)),
    "timedelta": (dt.timedelta(1), dt.timedelta(0, 1)),
    "zone": (BERLIN, ROME),
    "UUID": (uuid.UUID(int=1), uuid.UUID(int=2)),
    "class of a column label": (
        pd.DataFrame([[1]], columns=pd.Index([3], dtype="int64")),
        pd.DataFrame([[1]], columns=pd.Index([3], dtype=object)),
    ),
    "path and text": (pathlib.Path("a"), "a"),
    "kind of path": (pathlib.PurePosixPath("a"), pathlib.PureWindowsPath("a")),
    "flags of a pattern": (re.compile("a"), re.compile("a", re.IGNORECASE)),
    "ip_address": (ipaddress.ip_address("1.2.3.4"), ipaddress.ip_address("1.2.3.5")),
    "ip_network": (ipaddress.ip_network("1.2.3.0/24"), ipaddress.ip_network("1.2.0.0/16")),
    "array": (array.array("i", [1]), array.array("h", [1])),
    "class": (int, float),
    "function": (operator.add, operator.sub),
    "builtin": (len, max),
    "partial": (functools.partial(int, "1"), functools.partial(int, "2")),
    "bound method": (Line("a").__eq__, Line("b").__eq__),
    "exception": (ValueError("a"), ValueError("b")),
    "note of an exception": (of(ValueError("a"), __notes__=["b"]), ValueError("a")),
    "exception group": (
        ExceptionGroup("a", [KeyError(1)]),
        ExceptionGroup("a", [KeyError(2)]),
    ),
    "XML": (ET.fromstring("<a><b>1</b></a>"), ET.fromstring("<a><b>2</b></a>")),
    "message": (
        of(email.message.Message(), preamble="a"),
        of(email.message.Message(), preamble="b"),
    ),
    "named tuple": (Point(1), Point(2)),
    "named tuple and tuple": (Point(1), (1, 0)),
    "dataclass": (Line("a"), Line("b")),
    "private field of a dataclass": (Line("a"), Line("a", 1)),
    "slots of a dataclass": (Slotted(1), Slotted(2)),
    "attrs": (Defined(1), Defined(2)),
    "model": (Model(n=1), Model(n=2)),
    "extra field of a model": (Model(a=1), Model(a=2)),
    "private field of a model": (Model(), of(Model(), _seen=1)),
    "private slot": (Row(1, "a"), Row(2, "a")),
    "private field": (Private(1), Private(2)),
    "graph": (Graph("ab"), Graph("ab", "ba")),
    "mapped row": (Mapped(n=1), Mapped(n=2)),
    "mapped model": (MappedModel(1), MappedModel(2)),
    "URL": (httpx.URL("http://a/b"), httpx.URL("http://a/c")),
    "body of a response": (response(), response(content=b"other")),
    "status of a response": (response(), response(404)),
    "header of a response": (response(), response(etag="1")),
    "response of requests": (
        of(requests.Response(), _content=b"a", status_code=200),
        of(requests.Response(), _content=b"b", status_code=200),
    ),
    "numpy scalars": (np.float32(0.1), np.float64(0.1)),
    "dtypes of arrays": (np.array([1], "i4"), np.array([1], "i8")),
    "shapes of arrays": (np.zeros((1, 2)), np.zeros((2, 1))),
    "long arrays": (np.zeros(9000), np.eye(1, 9000, 4000)[0]),
    "structured arrays": (
        np.array([(1, 2)], [("a", int), ("b", int)]),
        np.array([(1, 2)], [("a", int), ("c", int)]),
    ),
    "masked arrays": (np.ma.array([1, 2]), np.ma.array([1, 2], mask=[0, 1])),
    "frame": (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})),
    "frame of polars": (polars.DataFrame({"a": [1]}), polars.DataFrame({"a": [2]})),
    "dtype in polars": (polars.Series([1]), polars.Series([1], dtype=polars.Int8)),
    "nanoseconds in polars": [polars.Series([n]).cast(polars.Datetime("ns")) for n in (1, 7)],
    "rows in the middle of a frame": (
        pd.DataFrame({"a": range(9000)}),
        pd.DataFrame({"a": [*range(4000), 0, *range(4001, 9000)]}),
    ),
    "dtype of a column": (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]})),
    "categories of columns": [
        pd.DataFrame([[1]], columns=columns) for columns in (["a"], pd.CategoricalIndex(["a"]))
    ],
    "types of names of columns": (pd.DataFrame({1: [1]}), pd.DataFrame({"1": [1]})),
    "index": (pd.Series([1]), pd.Series([1], index=["a"])),
    "name of a series": (pd.Series([1]), pd.Series([1], name="a")),
    "name of an index": (pd.Index([1]), pd.Index([1], name="a")),
    "one of many categories": (
        pd.Series(pd.Categorical(["0"], list(map(str, range(300))))),
        pd.Series(pd.Categorical(["0"], [str(n) if n != 150 else "x" for n in range(300)])),
    ),
    "order of categories": (
        pd.Series(pd.Categorical(["a"], ["a"])),
        pd.Series(pd.Categorical(["a"], ["a"], ordered=True)),
    ),
    "categories": (
        pd.Series(pd.Categorical(["a"], ["a"])),
        pd.Series(pd.Categorical(["a"], ["a", "b"])),
    ),
    "levels of an index": (
        pd.MultiIndex.from_tuples([(1, 2)]),
        pd.MultiIndex.from_tuples([(1, 3)]),
    ),
    "missing values": (pd.Series([None, 1.0]), pd.Series([None, 1], dtype="Int64")),
    "moments": (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-01", tz="UTC")),
    "attributes of a frame": (
        pd.DataFrame({"a": [1]}),
        of(pd.DataFrame({"a": [1]}), attrs={"unit": "m"}),
    ),
    "attributes of a series": (pd.Series([1]), of(pd.Series([1]), attrs={"unit": "m"})),
    "field of a class of frames": [of(Prices({"a": [1]}), currency=c) for c in ("EUR", "USD")],
    "field of a class of arrays": [of(np.ones(2).view(Measured), unit=u) for u in ("m", "km")],
    "units": (Unit("m"), Unit("km")),
    "scales of units": [of(Unit("0.333333 m"), scale=1 / 3 + more) for more in (0, 1e-8)],
    "metadata of a column of pyarrow": [of_arrow("Table", {b"unit": u}) for u in (b"m", b"km")],
    "keys without a hash": (Paired([([1], 2)]), Paired([([1], 3)])),
    "field of a series": (placed("x"), placed("y")),
    "field of a column": [pd.DataFrame({"n": [1, 2]}).join(placed(crs)) for crs in ("x", "y")],
}


@pytest.mark.parametrize("kind", APART)
def test_two_values_of_a_kind_have_two_texts_that_stay(kind):
    one, other = [write_text(value, hide=str) for value in APART[kind]]
    assert one != other
    assert [write_text(value, hide=str) for value in APART[kind]] == [one, other]
    assert "0x7" not in one


def generate():
    yield 1


async def wait():
    pass


REFUSED = {
    "generator": generate,
    "lambda": lambda: lambda: 1,
    "lock": threading.Lock,
    "event": threading.Event,
    "thread": threading.Thread,
    "queue": queue.Queue,
    "socket": socket.socket,
    "open file": lambda: io.FileIO(__file__),
    "module": lambda: sys,
    "weak reference": lambda: weakref.ref(Line),
    "context variable": lambda: contextvars.ContextVar("v"),
    "loop": asyncio.new_event_loop,
    "iterator": lambda: iter(generate()),
    "frame of code": sys._getframe,
    "code": lambda: generate.__code__,
    "response to be read": lambda: httpx.Response(200, stream=httpx.ByteStream(b"a")),
    "stream handler": logging.StreamHandler,
    "moment in a zone without a repr": lambda: MOMENT.replace(tzinfo=Zone()),
    "moment of pandas in such a zone": lambda: pd.Timestamp(MOMENT.replace(tzinfo=Zone())),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_has_no_state_is_refused_by_its_place(kind):
    made = REFUSED[kind]()
    with pytest.raises(Unstorable, match=r"result\.held\[0\].* has no state that can be stored"):
        write_text({"held": [made]}, hide=str)
    for end in ("close", "server_close"):
        getattr(made, end, lambda: None)()


def test_a_coroutine_is_refused():
    waiting = wait()
    with pytest.raises(Unstorable, match="coroutine"):
        write_text(waiting, hide=str)
    waiting.close()


def test_a_part_stands_on_a_line_and_many_parts_go_by_their_digest():
    orders = {"b": [{"n": 1, "text": "a\nb\n"}], "a": (1,), "c": {"x": {"y": 2.0}}}
    assert write_text(orders, hide=str) == (
        '{\n  "a": (1,),\n  "b": [\n    {\n      "n": 1,\n      "text": (\n        "a\\n"\n'
        '        "b\\n"\n      ),\n    },\n  ],\n  "c": {"x": {"y": 2.0}},\n}'
    )
    many = list(range(MAX_PARTS + 1))
    text = write_text(many, hide=str)
    assert len(text.splitlines()) == 103
    many[500] = 0
    assert write_text(many, hide=str) != text


def test_what_contains_itself_is_written_by_how_far_it_is():
    held = [1]
    held.append({"again": held})
    text = '[\n  1,\n  {"again": <the list 2 above>},\n]'
    assert write_text(held, hide=str) == text


class Account:
    def __init__(self):
        self.name, self._token = "ann", "not-for-files"


class Login(NamedTuple):
    user: str
    pin: Annotated[str, repl_pair.Sensitive]


def test_secrets_are_placeholders_wherever_they_stand():
    values = {
        "password": "not-for-files",
        "account": Account(),
        "login": Login("ann", "not-for-files"),
        "pair": ("Authorization", "not-for-files"),
        "label": ("API token", "not-for-files"),
        "number": {"token": 4711},
        "beside": {"name": "API_KEY", "value": "not-for-files"},
        "typed": pydantic.SecretStr("not-for-files"),
        "declared": {"at": "not-for-files"},
        "frame": pd.DataFrame({"token": ["not-for-files"], "n": [1]}),
        "row": pd.Series(["not-for-files", "a"], index=["password", "b"]),
        "raw": b"known-to-the-process",
        "text": "known-to-the-process",
    }
    text = write_text(
        values,
        secret=[("declared", "at")],
        hide=lambda text: text.replace("known-to-the-process", "[redacted]"),
    )
    assert "not-for" not in text
    assert "known-to" not in text
    assert "4711" not in text
    assert text.count("[redacted]") == len(values)


class Struct(msgspec.Struct):
    name: str
    api_token: str


class Declared(msgspec.Struct):
    name: str
    word: Annotated[str, repl_pair.Sensitive]


@dataclass(frozen=True, slots=True)
class Frozen:
    name: str
    api_token: str


class Rejected(Exception):
    def __init__(self, name, api_token):
        super().__init__(name, api_token)
        self.api_token = api_token


class Restored:
    def __init__(self, name, api_token):
        self.name, self.api_token = name, api_token

    def __getstate__(self):
        return self.name, self.api_token


class Rebuilt(Restored):
    def __reduce__(self):
        return Rebuilt, (self.name, self.api_token)


class Header(str):
    __slots__ = ()


@dataclass
class Variable:
    name: str
    value: str


Setting = collections.namedtuple("Setting", "name value")


def queried(how):
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        rows = connection.execute(sqlalchemy.text("SELECT 1 AS n, 2 AS n, 'pw-1' AS api_token"))
        found = [*getattr(rows, how)()]
    engine.dispose()
    return found


CLASSES = {
    "named tuple": lambda *names: collections.namedtuple("Made", names),
    "subclass of a named tuple": lambda *names: type(
        "Made", (collections.namedtuple("Base", names),), {"__slots__": ()}
    ),
    "named tuple with a dict": lambda *names: type(
        "Made", (collections.namedtuple("Base", names),), {}
    ),
    "dataclass": lambda *names: make_dataclass("Made", names),
    "frozen dataclass with slots": lambda *names: make_dataclass(
        "Made", names, frozen=True, slots=True
    ),
    "struct": lambda *names: msgspec.defstruct("Made", names),
    "attrs": lambda *names: attrs.make_class("Made", names),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_fields_have_their_names_so_that_one_that_was_renamed_or_swapped_shows(kind, monkeypatch):
    def text_of(*names):
        made = CLASSES[kind](*names)
        monkeypatch.setitem(globals(), "Made", made)
        made.__module__, made.__qualname__ = __name__, "Made"
        return write_text([made(1, 2)], hide=str)

    assert text_of("x", "y") == "[\n  Made(x=1, y=2),\n]"
    assert text_of("x", "width") == "[\n  Made(x=1, width=2),\n]"
    assert "x=2" in text_of("y", "x")


def test_a_path_of_a_class_of_the_persons_is_written_by_its_text():
    shelf = type("Shelf", (pathlib.PurePosixPath,), {})
    assert write_text(shelf("/a/b"), hide=str) == 'Shelf("/a/b")'


class Kept(collections.namedtuple("Base", "x y")):
    def __getnewargs__(self):
        return self.y, self.x


class Stated(NamedTuple):
    x: int
    y: int

    def __getstate__(self):
        return [self.x]


@pytest.mark.parametrize(
    ("value", "text"), [(Kept(1, 2), "Kept(2, 1)"), (Stated(1, 2), "Stated(1, 2, [1])")]
)
def test_what_a_class_itself_says_that_pickle_keeps_has_no_names(value, text):
    assert write_text([value], hide=str) == f"[\n  {text},\n]"


Named = collections.namedtuple("Named", "name api_token")
ROWS = np.array([("ann", "pw-1")], [("name", "U9"), ("api_token", "U9")])
UNNAMED = {
    "struct": Struct("ann", "pw-1"),
    "declared field of a struct": Declared("ann", "pw-1"),
    "slots of a frozen dataclass": Frozen("ann", "pw-1"),
    "named tuple": Named("ann", "pw-1"),
    "arguments of an exception": Rejected("ann", "pw-1"),
    "state": Restored("ann", "pw-1"),
    "reduced": Rebuilt("ann", "pw-1"),
    "nested": {"users": [Struct("ann", "pw-1")]},
    "equal to another field": Struct("pw-1", "pw-1"),
    "URL of a database": sqlalchemy.make_url("postgresql://ann:pw-1@h/db"),
    "URL of httpx": httpx.URL("https://ann:pw-1@h/db"),
    "split URL": urllib.parse.urlsplit("https://ann:pw-1@h/db"),
    "headers": httpx.Headers({"X-Api-Key": "pw-1"}),
    "request": httpx.Request("GET", "https://h/", headers={"Authorization": "Bearer pw-1"}),
    "pair with a name of its own class": [(Header("Authorization"), "pw-1")],
    "key that is a member": {enum.Enum("Col", "API_KEY").API_KEY: "pw-1"},
    "key that is a tuple": {("api_key", 1): "pw-1"},
    "key that is a named tuple": {Setting("API_KEY", 1): "pw-1"},
    "key that is a frozenset": {frozenset({"api_key", 1}): "pw-1"},
    "pair with a name in a named tuple": [(Setting("API_KEY", 1), "pw-1")],
    "key of its own class": {Header("Authorization"): "pw-1"},
    "pair of bytes": [(b"cookie", b"pw-1")],
    "key of bytes": {b"password": b"pw-1"},
    "value of a record": Variable("DB_PASSWORD", "pw-1"),
    "value of a named tuple": Setting("DB_PASSWORD", "pw-1"),
    "URL of yarl, which keeps its parts": [("https", "ann:pw-1@h", "/db", "", "")],
    "row of a query": queried("all"),
    "row of a query as a mapping": queried("mappings"),
    "table of pyarrow": of_arrow("Table"),
    "array of pyarrow": of_arrow("Array"),
    "structured array": (
        ROWS := np.array([("ann", "pw-1")], [("name", "U9"), ("api_token", "U9")])
    ),
    "row of a structured array": ROWS[0],
    "declared field of an array": of(np.ones(1).view(Measured), word="pw-1"),
    "rows of a record array": [*ROWS.view(np.recarray)],
}


@pytest.mark.parametrize("kind", UNNAMED)
def test_a_secret_field_is_a_placeholder_where_its_name_is_not_written(kind):
    text = write_text(UNNAMED[kind], hide=str)
    assert "pw-1" not in text
    assert "[redacted]" in text


def test_fields_are_judged_once_an_array_and_not_once_a_row(monkeypatch):
    asked = []
    is_secret = secret_parts.is_secret_label
    monkeypatch.setattr(
        secret_parts, "is_secret_label", lambda label: asked.append(label) or is_secret(label)
    )
    write_text(np.zeros(100, [("a", "i4"), ("b", [("name", "U9"), ("value", "i4")])]), hide=str)
    assert sorted(asked) == ["a", "b", "name", "value"]


def test_a_mapped_row_is_refused_where_its_columns_are_expired():
    engine = sqlalchemy.create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        row = Mapped(n=1, pin="pw-1")
        session.add(row)
        session.commit()
        with pytest.raises(Unstorable, match="expired: n, pin; refresh it"):
            write_text(row, hide=str)
        session.refresh(row)
    engine.dispose()
    assert write_text([row], hide=str) == "[\n  Mapped(n=1, pin=[redacted]),\n]"
    assert write_text([MappedModel(1)], hide=str) == "[\n  MappedModel(n=1, _seen=0),\n]"


def test_a_secret_of_an_exception_is_a_placeholder_where_a_library_changed_how_it_is_kept():
    def keep(error):
        return Rejected, ({"args": error.args}, None), vars(error)

    copyreg.pickle(Rejected, keep)
    try:
        assert "pw-1" not in write_text(Rejected("ann", "pw-1"), hide=str)
    finally:
        copyreg.dispatch_table.pop(Rejected)


def test_what_is_no_secret_stays_where_no_name_is_written():
    split = urllib.parse.urlsplit("https://ann@h:80/db")
    assert '"ann@h:80"' in write_text(split, hide=str)
    assert write_text([Struct("ann", None)], hide=str) == (
        '[\n  Struct(name="ann", api_token=None),\n]'
    )
    headers = write_text(httpx.Headers({"accept": "*/*"}), hide=str)
    assert "(b'accept', b'accept', b'*/*')" in headers
    assert write_text([("token", 1, 2)], hide=str) == '[\n  ("token", 1, 2),\n]'


@pytest.mark.parametrize(
    "value",
    [
        ("Invalid token", 401),
        ("Invalid token", "refused"),
        ("The password is too short", "error"),
        ("SELECT id FROM users WHERE token IS NULL", [18]),
        ("Password changed", {"Location": "/"}),
        ("token", 4711),
        {"token errors": 4711},
        {"Forgot your password?": "Click here"},
        {"password": float("nan")},
        {"password": np.bool_(True)},
        {"name": "Invalid token", "value": "refused"},
        collections.Counter(["token"]),
    ],
    ids=str,
)
def test_a_sentence_that_has_the_word_of_a_secret_names_none_and_a_count_is_none(value):
    assert "[redacted]" not in write_text([value], hide=str)


class Money:
    def __init__(self, cents):
        self.cents, self.lock = cents, threading.Lock()


def test_a_class_is_written_as_its_serializer_says_and_so_are_its_subclasses():
    with pytest.raises(Unstorable, match=r"@repl_pair\.serializer\(lock\)"):
        write_text(Money(5), hide=str)
    repl_pair.serializer(Money)(lambda money: {"cents": money.cents})
    assert write_text([type("Tip", (Money,), {})(5)], hide=str) == '[\n  Money({"cents": 5}),\n]'
    with pytest.raises(repl_pair.ReplPairError, match="takes a class"):
        repl_pair.serializer("Money")
