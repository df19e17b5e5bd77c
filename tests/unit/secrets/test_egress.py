import base64
import binascii
import html
import json
import math
import os
import re
import urllib.parse
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from pathlib import PurePosixPath
from threading import Event, Thread
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Annotated, Any, NewType, TypeVar
from uuid import UUID

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from repl_pair.runtime.reading import parts
from repl_pair.runtime.reading.fields import steady
from repl_pair.runtime.secrets import redaction
from repl_pair.runtime.secrets.egress import WINDOW, send_out
from repl_pair.runtime.secrets.handles import Handles
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.values.classes import TypeRef
from repl_pair.runtime.values.frozen import EnumMember, Record, Ref, Secret
from repl_pair.runtime.values.marks import Sensitive, is_needle
from repl_pair.wire import ELIDED, REDACTED

CANARY = "hunter2-prod"


def sent(value, **options):
    """Send with needles of its own; what leaves must be JSON and stay as it is when sent again."""
    options.setdefault("needles", Needles())
    out = send_out(value, **options)
    again = send_out(out.value, needles=options["needles"], limits=options.get("limits", Limits()))
    assert json.loads(json.dumps(out.value, allow_nan=False)) == out.value
    json.dumps(out.value, ensure_ascii=False).encode()
    assert again.value == out.value
    return out


def value_of(value, **options):
    return sent(value, **options).value


# What leaves, by type


class Colour(Enum):
    RED = 1


class Name(StrEnum):
    ANN = "ann"


class Level(IntEnum):
    HIGH = 3


class Rights(Flag):
    READ = 1
    WRITE = 2


@dataclass
class Line:
    sku: str
    price: Decimal
    _cache: int = 0


@dataclass(slots=True)
class Slotted:
    zeta: int
    alpha: int


class Plain:
    def __init__(self):
        self.shown, self._hidden = 1, 2


class Text(str):
    def __str__(self):
        raise AssertionError

    __repr__ = __eq__ = __len__ = __iter__ = __getitem__ = __format__ = __str__
    __hash__ = str.__hash__


class Odd(int):
    def __index__(self):
        raise AssertionError

    __repr__ = __str__ = __int__ = __index__


Point = namedtuple("Point", "x y")


LEAVES: list[tuple[Any, Any]] = [
        (None, None),
        (True, True),
        (7, 7),
        (1.5, 1.5),
        ("é", "é"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (1 + 2j, "(1+2j)"),
        (10**400, {ELIDED: {"type": "int", "size": 401}}),
        (b"abc", {ELIDED: {"type": "bytes", "size": 3}}),
        (bytearray(b"abc"), {ELIDED: {"type": "bytes", "size": 3}}),
        (memoryview(b"abc"), {ELIDED: {"type": "bytes", "size": 3}}),
        (Text("abc"), "abc"),
        (Odd(4), 4),
        ((1, "a"), [1, "a"]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({(2, "b"), (1, "a")}, [[1, "a"], [2, "b"]]),
        (deque([1, 2]), [1, 2]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(int, {"a": 1}), {"a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({1: "a", None: "b", 2.5: "d"}, {"1": "a", "null": "b", "2.5": "d"}),
        ({True: 1, False: 2}, {"true": 1, "false": 2}),
        ({1: "int", "1": "str"}, {"1": "int", "1 (2)": "str"}),
        ({(1, "a"): 2, Colour.RED: 3, object: 4}, {"(1, a)": 2, "RED": 3, "<type>": 4}),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Line("a", Decimal("1.20")), {"sku": "a", "price": "1.20"}),
        (Slotted(1, 2), {"zeta": 1, "alpha": 2}),
        (Plain(), {"shown": 1}),
        (SimpleNamespace(a=1), {"a": 1}),
        (UserDict(a=1), {"data": {"a": 1}}),
        (Colour.RED, "RED"),
        (Name.ANN, "ANN"),
        (Level.HIGH, "HIGH"),
        (Rights.READ | Rights.WRITE, "READ|WRITE"),
        (date(2026, 11, 21), "2026-11-21"),
        (datetime(2026, 11, 21, 8, tzinfo=UTC), "2026-11-21T08:00:00+00:00"),
        (time(8, 30), "08:30:00"),
        (timedelta(hours=1), "1:00:00"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (PurePosixPath("a/b"), "a/b"),
        (range(3), "range(0, 3)"),
        (object(), "<object>"),
        (len, "<builtin_function_or_method>"),
        (sent, "<function>"),
        (math, "<module>"),
        (Plain, "<type>"),
        (Colour, "<EnumType>"),
        (ValueError("bad", 3), {"type": "ValueError", "message": "('bad', 3)"}),
        (KeyError("k"), {"type": "KeyError", "message": "'k'"}),
        (OSError(28, "No", "f"), {"type": "OSError", "message": "[Errno 28] No: 'f'"}),
        (Ref("frame", {"rows": 3}), {"$ref": "frame", "rows": 3}),
        (Record(TypeRef("m", "C"), {"a": 1}), {"a": 1}),
        (EnumMember(TypeRef("m", "C"), "RED"), "RED"),
        (TypeRef("m", "C"), "m.C"),
        ("\ud800x", "�x"),
        ({"\ud800": "a"}, {"�": "a"}),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(LEAVES)), ids=[repr(out)[:40] for _, out in LEAVES])
def test_a_value_of_this_type_leaves_as(at):
    value, expected = LEAVES[at]
    assert value_of(value) == expected


def test_what_is_no_json_leaves_as_the_name_of_its_class_and_the_rest_as_it_is(monkeypatch):
    class Odd:
        pass

    monkeypatch.setitem(parts._READERS, id(Odd), lambda _: date(2026, 11, 24))
    assert value_of({"a": Odd(), "b": 1}) == {"a": "<date>", "b": 1}


def test_arrays_leave_as_their_type_shape_ends_and_extremes():
    np = pytest.importorskip("numpy")
    outline = {"type": "ndarray", "dtype": "int64", "shape": [12], "min": 0, "max": 11}
    assert value_of(np.arange(12)) == outline | {"head": [0, 1, 2, 3, 4], "tail": [*range(7, 12)]}
    assert value_of(np.eye(2))["head"] == [[1.0, 0.0], [0.0, 1.0]]
    assert value_of(np.eye(30))["tail"][4][:3] == [0.0, 0.0, 0.0]
    holes = value_of(np.array([1.5, float("nan"), 3.0]))
    assert (holes["head"], holes["nulls"], holes["max"]) == ([1.5, None, 3.0], 1, 3.0)
    days = value_of(np.array(["2026-11-24", "NaT"], dtype="datetime64[D]"))
    assert (days["head"], days["nulls"], days["min"]) == (["2026-11-24", None], 1, "2026-11-24")
    assert value_of([np.float64(1.5), np.bool_(True), np.str_("a")]) == [1.5, True, "a"]
    moments = [np.datetime64("2026-11-24"), np.datetime64(5, "ns"), np.datetime64("NaT")]
    assert value_of(moments) == ["2026-11-24", "1970-01-01T00:00:00.000000005", None]
    spans = [np.timedelta64(1, "D"), np.timedelta64(5, "ns"), np.complex128(1 + 2j)]
    assert value_of(spans) == ["1 day, 0:00:00", 5, "(1+2j)"]
    table = np.array([("bob", CANARY)], dtype=[("user", "U9"), ("password", "U20")])
    assert value_of(table)["head"] == [{"user": "bob", "password": REDACTED}]


def test_frames_leave_as_their_columns_index_and_rows_of_both_ends():
    pd = pytest.importorskip("pandas")
    prices = [1.5, None, 4.0] * 4
    frame = pd.DataFrame({"price": prices, "n": range(12)}, index=list("abcdefghijkl"))
    shown = value_of(frame)
    assert (shown["type"], shown["shape"]) == ("DataFrame", [12, 2])
    assert shown["columns"] == {
        "price": {"dtype": "float64", "nulls": 4, "min": 1.5, "max": 4.0},
        "n": {"dtype": "int64", "min": 0, "max": 11},
    }
    assert (shown["index"]["head"], shown["index"]["tail"]) == ([*"abcde"], [*"hijkl"])
    assert shown["head"][:2] == [{"price": 1.5, "n": 0}, {"price": None, "n": 1}]
    assert (len(shown["head"]), len(shown["tail"]), shown["tail"][4]["n"]) == (5, 5, 11)
    assert "index" not in value_of(frame.reset_index(drop=True))
    wide = value_of(pd.DataFrame([range(300)]))
    assert (len(wide["columns"]), wide["more_columns"]) == (20, 280)
    days = pd.Series(range(3), pd.date_range("2026-11-24", periods=3, name="day"), name="n")
    index = value_of(days)["index"]
    assert (index["name"], index["head"][0]) == ("day", "2026-11-24T00:00:00")


def test_frames_of_polars_leave_as_their_columns_and_rows_of_both_ends():
    shown = value_of(pl.DataFrame({"n": [1.0, float("nan"), None] * 4, "password": [CANARY] * 12}))
    assert shown["columns"] == {
        "n": {"dtype": "Float64", "nulls": 8, "min": 1.0, "max": 1.0},
        "password": REDACTED,
    }
    assert (shown["head"][1]["n"], shown["tail"][4]["password"]) == (None, REDACTED)


def test_frames_leave_with_secret_columns_redacted():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"user": ["bob"], "token": [CANARY], "note": [f"is {CANARY}"]})
    expected = {
        "type": "DataFrame",
        "shape": [1, 3],
        "columns": {"user": {"dtype": "str"}, "token": REDACTED, "note": {"dtype": "str"}},
        "head": [{"user": "bob", "token": REDACTED, "note": f"is {REDACTED}"}],
    }
    assert value_of(frame) == expected
    assert value_of(frame["token"])["head"] == REDACTED
    assert value_of([frame["user"], CANARY, frame.token])[1] == REDACTED
    long = pd.concat([frame] * 12)
    shown = value_of({"f": long}, sensitive=[("f", "user")])["f"]
    assert {row["user"] for row in shown["head"] + shown["tail"]} == {REDACTED}
    assert shown["columns"]["user"] == REDACTED


PIN = 918273645


def secret_numbers():
    pd, np = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    pins = [*range(20), PIN]
    names = [*"abcdefghijklmnopqrst", "password"]
    return {
        "a column": pd.DataFrame({"n": range(21), "password": pins}),
        "a series": pd.Series(pins, name="password"),
        "an index": pd.Index(pins, name="password"),
        "labels of rows": pd.DataFrame({"n": pins}, index=names),
        "labels of items": pd.Series(pins, index=names),
        "a level of labels": pd.DataFrame(
            {"n": [1]}, index=pd.MultiIndex.from_tuples([(PIN, 2)], names=["password", "b"])
        ),
        "names and values": pd.DataFrame({"name": names, "value": pins}),
        "a field of a record": np.array([(1, PIN)], dtype=[("a", "i8"), ("password", "i8")]),
    }


@pytest.mark.parametrize("what", secret_numbers())
def test_of_a_secret_number_no_least_or_greatest_leaves(what):
    value = secret_numbers()[what]
    text = json.dumps(value_of(value))
    assert str(PIN) not in text
    assert REDACTED in text


def test_marks_of_missing_values_and_moments_leave_as_text():
    pd = pytest.importorskip("pandas")
    assert value_of([pd.NaT, pd.NA, pd.Timestamp("2026-11-21")]) == [
        "NaT",
        "NA",
        "2026-11-21T00:00:00",
    ]


def test_intervals_and_periods_leave_as_text_without_code_of_a_subclass():
    np, pd = map(pytest.importorskip, ("numpy", "pandas"))

    class Bin(pd.Interval):
        left = property(pytest.fail)
        __str__ = __repr__ = pytest.fail

    class Edge(int):
        __str__ = __repr__ = pytest.fail

    days = pd.Timestamp("2026-11-21"), pd.Timestamp("2026-11-22")
    intervals = Bin(0, 1.5, "left"), pd.Interval(Edge(1), np.int8(4)), pd.Interval(*days, "both")
    assert value_of([*intervals, pd.Period("2026-11", "M")]) == [
        *("[0, 1.5)", "(1, 4]", "[2026-11-21T00:00:00, 2026-11-22T00:00:00]", "2026-11"),
    ]
    counts = pd.cut(pd.Series([1, 15]), [0, 10, 20]).value_counts()
    assert value_of(counts)["index"]["head"] == ["(0, 10]", "(10, 20]"]


# The four ways to redact


@dataclass
class Login:
    user: str
    word: Annotated[str, Sensitive]
    other: "Annotated[str, Sensitive()] | None" = None


class Marked(Sensitive):
    pass


aliases = ModuleType("aliases")
aliases.Word = Annotated[str, Sensitive]
aliases.Base = type("Base", (), {"Word": aliases.Word})
aliases.Below = type("Below", (aliases.Base,), {})
NewWord = NewType("NewWord", aliases.Word)
AnyWord = TypeVar("AnyWord", bound=aliases.Word)
ONE_FIELD = {
    "dotted text": "aliases.Word | None",
    "a text with a name of a base": "aliases.Below.Word",
    "a text with a name of the class itself": "OwnWord",
    "a new type": NewWord,
    "a type variable": "AnyWord",
    "a subclass": Annotated[str, Marked()],
}


OWN_NAMES = {"__module__": __name__, "OwnWord": aliases.Word}


@dataclass(slots=True)
class SlottedLogin:
    word: Annotated[str, Sensitive]


class PrivateLogin:
    def __init__(self):
        self._password = CANARY
        self.shown = f"logged in with {CANARY}"


class SecretKey:
    def __init__(self):
        self.__secret = CANARY


def pydantic_secret():
    return pytest.importorskip("pydantic").SecretStr(CANARY)


WAYS: dict[str, Any] = {
    "by type": lambda: ({"s": Secret(CANARY)}, ()),
    "by type in pydantic": lambda: ({"s": pydantic_secret()}, ()),
    "by annotation": lambda: (Login("bob", CANARY), ()),
    "by annotation as text": lambda: (Login("bob", "x", CANARY), ()),
    **{
        f"by annotation as {how}": lambda hint=hint: (
            make_dataclass("Made", [("word", hint)], namespace=OWN_NAMES)(CANARY),
            (),
        )
        for how, hint in ONE_FIELD.items()
    },
    "by annotation in slots": lambda: (SlottedLogin(CANARY), ()),
    "by path": lambda: ({"args": {"a": CANARY}}, [("args", "a")]),
    "by path through a list": lambda: ([[1, CANARY]], [("0", "1")]),
    "by path with any index": lambda: ({"a": [{"b": CANARY}]}, [("a", "*", "b")]),
    "by path to a parent": lambda: ({"a": [{"b": CANARY}]}, [("a",)]),
    "by key": lambda: ({"password": CANARY}, ()),
    "by key of a parent": lambda: ({"credentials": [{"a": {"b": (CANARY,)}}]}, ()),
    "by key, as bytes": lambda: ({"password": CANARY.encode()}, ()),
    "by key, as an object": lambda: ({"auth": Line(CANARY, Decimal(1))}, ()),
    "by field": lambda: (SimpleNamespace(api_key=CANARY), ()),
    "by field of a named tuple": lambda: (namedtuple("L", "user password")("bob", CANARY), ()),
    "by private field": lambda: (PrivateLogin(), ()),
    "by mangled field": lambda: (SecretKey(), ()),
    "by url": lambda: ({"url": f"postgres://me:{CANARY}@db/x"}, ()),
    "deep down": lambda: (deep({"password": CANARY}, 500), ()),
    "at the end of a long list": lambda: ([*range(WINDOW - 1), {"token": CANARY}], ()),
}


def deep(value, levels):
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_secret_known(way):
    value, paths = way()
    before = {"text": f"saw {CANARY} here", CANARY: ["as a key"], "plain": CANARY[:-1]}
    out = value_of(
        {"before": before, "value": value, "after": [CANARY]},
        sensitive=[("value", *path) for path in paths],
    )
    assert CANARY not in json.dumps(out)
    assert out["before"] == {
        "text": f"saw {REDACTED} here",
        REDACTED: ["as a key"],
        "plain": CANARY[:-1],
    }
    assert out["after"] == [REDACTED]


def test_a_column_that_holds_the_name_of_its_secret_hides_no_such_name():
    class Column:
        def __init__(self):
            self.name = self.key = "api_token"

    out = sent({"api_token": Column(), "text": f'{{"api_token": "{CANARY}"}}'})
    assert out.value["text"] == f'{{"api_token": "{CANARY}"}}'  # the byte gate goes by the name


def test_a_short_secret_is_redacted_where_it_stands_and_nowhere_else():
    out = sent({"password": "total", "pin": Secret(1234), "text": "total 1234"})
    assert (out.value, out.redacted) == (
        {"password": REDACTED, "pin": REDACTED, "text": "total 1234"},
        2,
    )


@pytest.mark.parametrize(
    "made",
    [
        lambda text: {"The token is not valid": text},
        lambda text: {"The token is not valid": [text]},
        lambda text: ("Password changed", {"Location": text}),
        lambda text: ("Invalid token", text),
    ],
)
def test_what_stands_beside_a_sentence_is_redacted_there_and_nowhere_else(made):
    out = sent({"made": made("/accounts/ann-1"), "text": "see /accounts/ann-1"})
    assert (out.redacted, out.value["text"]) == (1, "see /accounts/ann-1")
    nested = sent({"made": made({"token": CANARY}), "text": f"see {CANARY}"})
    assert (nested.redacted, nested.value["text"]) == (2, f"see {REDACTED}")


@pytest.mark.parametrize("label", ["Root password", "The password of the database"])
def test_one_word_beside_a_sentence_that_names_a_secret_is_one_elsewhere_too(label):
    for made in ((label, CANARY), {label: CANARY}):
        assert sent({"made": made, "text": f"see {CANARY}"}).value["text"] == f"see {REDACTED}"


class Word(str):
    pass


ALONE = {
    "in a list": [CANARY],
    "deep": {"value": ({"of": {"ann": CANARY}},)},
    "bytes": CANARY.encode(),
    "bytes in a list": [bytearray(CANARY.encode())],
    "of a subclass": Word(CANARY),
    "in an object's private field": SimpleNamespace(_text=CANARY),
    "in a URL": f"see https://ann:{CANARY}@db/x for it",
    "in a list that contains itself": (lambda items: items.append(items) or items)([CANARY]),
}


@pytest.mark.parametrize("label", ["Passwords of the two admins", "Your password?"])
@pytest.mark.parametrize("given", ALONE.values(), ids=ALONE)
def test_a_word_alone_beside_a_sentence_is_a_secret_elsewhere_however_deep_it_stands(label, given):
    for made in ((label, given), {label: given}, {"name": label, "value": given}):
        assert sent({"made": made, "text": f"see {CANARY}"}).value["text"] == f"see {REDACTED}"


@pytest.mark.parametrize(
    "secret",
    [
        8675309123,
        "/wJalrXUtnFEMIK7MDENGbPx",
        "https://hooks.slack.com/services/T000/B000/XXXXabcdXX12",
        "/reset/9f86d081884c7d659a2feaa0c55ad015",
        "-----BEGIN KEY-----\nMIIabcdefghijk\n-----END KEY-----",
    ],
)
def test_what_looks_random_beside_a_sentence_is_a_secret_elsewhere(secret):
    made = {"The private key and the token of the server": [secret]}
    assert sent({"made": made, "text": f"see {secret}"}).value["text"] == f"see {REDACTED}"


def test_a_long_random_word_in_a_text_beside_a_sentence_is_one_elsewhere_and_the_others_are_not():
    made = {"How is the token sent to the server?": "As Bearer bG9naW46aHVudGVyMg, by post."}
    text = "bG9naW46aHVudGVyMg was sent by post."
    assert sent({"made": made, "text": text}).value["text"] == f"{REDACTED} was sent by post."


ORDINARY: dict[str, Any] = {
    "/settings": "/settings",
    "/files/report-2024/4f9c6a7e-9a51-4c8e-b1a4-0f6f2a9f1e3b": "a path with a UUID",
    "https://docs.example.com/vault/setup2": "a URL",
    "in the vault of the team": "words",
    "refused": "a word of letters",
    4711: "a short number",
}


@pytest.mark.parametrize("given", ORDINARY, ids=list(ORDINARY.values()))
def test_a_path_a_url_words_and_short_numbers_beside_a_sentence_are_no_secrets_elsewhere(given):
    for held in (given, [given], {"at": (given,)}):
        out = sent({"made": {"Where is the password kept?": held}, "text": f"see {given}"})
        assert out.value == {
            "made": {"Where is the password kept?": REDACTED},
            "text": f"see {given}",
        }


def test_what_stands_beside_a_sentence_and_alone_too_is_shown_where_it_stands_alone():
    path = ["/accounts/ann-1"]
    out = sent({"made": {"Password changed to a new one": path}, "path": path})
    assert out.value["path"] == path


def test_whether_a_secret_is_set_may_be_seen():
    value = {"password": None, "token": True, "secret": False}
    assert sent(value).value == value


def test_a_secret_inside_a_traceback_is_redacted():
    needles = Needles()
    needles.add(CANARY)
    error = ConnectionError(f"cannot log in with {CANARY!r}")
    assert value_of(error, needles=needles) == {
        "type": "ConnectionError",
        "message": f"cannot log in with '{REDACTED}'",
    }


class Refused(Exception):
    pass


HOLDING = {
    "an attribute": {"password": CANARY},
    "an attribute's part": {"login": {"password": CANARY}},
    "an argument": {"args": (CANARY, Secret(CANARY))},
    "an argument's part": {"args": (CANARY, {"password": CANARY})},
}


@pytest.mark.parametrize("cls", [Refused, ValueError])
@pytest.mark.parametrize("held", HOLDING.values(), ids=HOLDING)
def test_what_an_exception_holds_in_secret_is_redacted_in_its_text(cls, held):
    error = cls(CANARY)
    for slot, value in held.items():
        setattr(error, slot, value)
    out = sent([error])
    assert CANARY not in str(out.value)
    assert out.value[0]["message"].startswith(REDACTED)


def test_a_secret_number_is_redacted_as_a_number_too():
    out = sent({"token": 4815162342, "n": [4815162342, 4815162342.5, "id-4815162342", 4815]})
    assert out.value["n"] == [REDACTED, REDACTED, f"id-{REDACTED}", 4815]


def test_a_secret_that_is_a_class_name_is_redacted():
    needles = Needles()
    needles.add("S3cretClassName")
    out = value_of([type("S3cretClassName", (), {})(), *deep([[]], 9)], needles=needles)
    assert out[0] == f"<{REDACTED}>"


def test_two_keys_that_become_one_by_redaction_both_stay():
    needles = Needles()
    needles.add("first-canary-1")
    needles.add("other-canary-2")
    out = value_of({"first-canary-1": 1, "other-canary-2": 2}, needles=needles)
    assert out == {REDACTED: 1, f"{REDACTED} (2)": 2}


def test_a_secret_met_once_is_known_to_later_replies():
    needles = Needles()
    sent({"password": CANARY}, needles=needles)
    assert value_of(f"log: {CANARY}", needles=needles) == f"log: {REDACTED}"


def test_a_value_with_more_secrets_than_can_be_looked_for_does_not_leave():
    value = [{"token": f"tok-{n}-abcdef", "copy": f"tok-{n}-abcdef"} for n in range(60)]
    out = sent(value, needles=Needles(limit=50))
    assert out.value == {ELIDED: {"type": "value", "size": 1}}
    assert sent(value[:50], needles=Needles(limit=50)).redacted == 100


def test_a_whole_value_may_be_sensitive():
    out = sent([CANARY], sensitive=[()])
    assert (out.value, out.redacted) == (REDACTED, 1)


# Bounds


def test_a_wide_list_keeps_its_head_and_states_the_rest():
    out = sent(list(range(1000)), limits=Limits(width=4))
    assert out.value == [0, 1, 2, {ELIDED: {"type": "list", "size": 1000}}]
    assert out.elided == 1


def test_a_wide_dict_keeps_its_head_and_states_the_rest():
    out = value_of({str(n): n for n in range(9)}, limits=Limits(width=3))
    assert out == {"0": 0, "1": 1, ELIDED: {"type": "dict", "size": 9}}


def test_what_is_too_deep_is_reported_by_type_and_size():
    out = value_of([[Slotted(1, 2)], {"a": set()}], limits=Limits(depth=2))
    assert out == [[{ELIDED: {"type": "Slotted", "size": 2}}], {"a": []}]


def test_nodes_are_bounded_in_all():
    out = value_of([[1, 2, 3] for _ in range(30)], limits=Limits(nodes=20))
    assert len(re.findall(r"\d", json.dumps(out))) < 40
    assert ELIDED in out[-1]


def test_a_long_text_shows_its_head():
    out = value_of("abc" * 1000, limits=Limits(text=5))
    assert out == {ELIDED: {"type": "str", "size": 3000, "head": "abcab"}}


@settings(deadline=None)
@given(at=st.integers(0, 40), text=st.integers(1, 40), whole=st.integers(41, 60))
def test_a_slice_through_a_secret_leaves_no_half(at, text, whole):
    kept: list[Any] = []
    needles = Needles()
    needles.add(CANARY)
    out = send_out(
        "." * at + CANARY + "." * 90,
        limits=Limits(text=text, whole=whole),
        needles=needles,
        keep=lambda value: kept.append(value) or "h-1",
    )
    body = out.value[ELIDED]
    marker = "." * at + REDACTED
    assert (marker + "." * 90)[:text].startswith(body["head"])
    assert len(body["head"]) >= min(text, at + 1)
    assert kept[0].startswith(marker)
    assert not set(kept[0].partition("\n")[0].replace(REDACTED, "")) - {"."}


def test_a_text_that_grows_by_redaction_is_still_bounded():
    needles = Needles()
    needles.add("8chars-x")
    assert value_of("8chars-x" * 3 + "-", needles=needles, limits=Limits(text=24)) == f"{REDACTED}-"
    out = value_of(" 8chars-x" * 3, needles=needles, limits=Limits(text=28))
    assert out[ELIDED]["head"] == f" {REDACTED}" * 2 + " "


def test_what_is_elided_is_kept_redacted_to_read_on():
    handles, needles = Handles(needles=Needles()), Needles()
    value = {"rows": [{"password": CANARY, "n": n, "s": f"{CANARY} {n}"} for n in range(100)]}
    value["log"] = f"{CANARY} " * 1000
    out = send_out(value, needles=needles, keep=lambda whole: handles.keep(whole, "agent"))
    rows = handles.read(out.value["rows"][-1][ELIDED]["handle"], 98, 9, "agent")
    assert rows == {
        "type": "list",
        "offset": 98,
        "items": [{"password": REDACTED, "n": n, "s": f"{REDACTED} {n}"} for n in (98, 99)],
        "total": 100,
    }
    text = handles.read(out.value["log"][ELIDED]["handle"], 0, 99_999, "agent")
    assert text["text"] == f"{REDACTED} " * 1000
    assert text["total"] == out.value["log"][ELIDED]["size"]


def test_what_is_kept_is_bounded_and_reports_it():
    kept: list[Any] = []
    limits = Limits(whole=500, width=5)
    keep = lambda value: kept.append(value) or "h-1"  # noqa: E731
    send_out(["x" * 90] * 30, limits=limits, keep=keep, needles=Needles())
    send_out([deep([1], 90)], limits=Limits(depth=2), keep=keep, needles=Needles())
    send_out("x" * 3000, limits=limits, keep=keep, needles=Needles())
    assert kept[0] == ["x" * 90] * 5 + [{ELIDED: {"type": "list", "size": 30}}]
    assert len(json.dumps(kept[1])) < 200
    assert kept[2] == "x" * 500 + "\n[2500 more characters were not kept]"


def test_long_keys_are_cut_after_redaction():
    needles = Needles()
    needles.add(CANARY)
    out = value_of({"k" * 195 + CANARY: 1, "k" * 300: 2, "k" * 301: 3}, needles=needles)
    assert out == {"k" * 195 + "[red…": 1, "k" * 199 + "…": 2, "k" * 196 + " (2)": 3}


# Hostile values


def explode(*_args, **_more):
    raise AssertionError("code of the value's class ran")


class Hostile:
    __repr__ = __str__ = __getattr__ = __getattribute__ = __hash__ = __eq__ = explode
    __len__ = __iter__ = __getitem__ = __bool__ = __dir__ = __format__ = __reduce_ex__ = explode
    __class__ = property(explode)
    value = property(explode)


class HostileMeta(type):
    __hash__ = __eq__ = __repr__ = __instancecheck__ = __subclasscheck__ = explode
    __name__ = property(explode)
    __mro__ = property(explode)
    __module__ = property(explode)
    __dict__ = property(explode)
    __annotations__ = property(explode)


def hostile_class():  # in a module's namespace, pytest would stumble over it
    class WithHostileMeta(metaclass=HostileMeta):
        pass

    return WithHostileMeta


class HostileDict(dict):
    items = keys = values = get = copy = __iter__ = __len__ = __getitem__ = __contains__ = explode
    __repr__ = __eq__ = __or__ = explode
    __class__ = property(explode)


class HostileList(list):
    __iter__ = __len__ = __getitem__ = __repr__ = copy = __eq__ = __contains__ = explode


class HostileTuple(tuple):
    __slots__ = ()
    __iter__ = __len__ = __getitem__ = __repr__ = explode
    _fields = property(explode)


class HostileSet(set):
    __iter__ = __len__ = __contains__ = copy = __repr__ = explode


class HostileKey:
    def __init__(self, calm):
        self.calm = calm

    def __hash__(self):
        return 1 if self.calm else explode()

    def __eq__(self, other):
        return self is other or explode()


class OwnDict:
    __dict__ = property(explode)


class LyingClass:
    __class__ = dict


class Zone(tzinfo):
    utcoffset = dst = tzname = explode


class Member(Enum):
    ONE = 1

    name = property(explode)
    __str__ = __repr__ = __hash__ = explode


class LoudError(Exception):
    __str__ = __repr__ = explode
    args = property(explode)


class FakeDecimal(Decimal):
    __str__ = __repr__ = __format__ = explode


def with_hash(key):
    mapping = {key: 1}
    key.calm = False
    return mapping


def cyclic(make, put):
    value = make()
    put(value)
    return value


HOSTILE: dict[str, Any] = {
    "an object whose every method raises": (object.__new__(Hostile), "<Hostile>"),
    "a class whose metaclass raises": (hostile_class()(), "<WithHostileMeta>"),
    "that class itself": (hostile_class(), "<HostileMeta>"),
    "a dict subclass": (HostileDict(a=1), {"a": 1}),
    "a list subclass": (HostileList([1]), [1]),
    "a tuple subclass": (HostileTuple([1]), [1]),
    "a set subclass": (HostileSet([1]), [1]),
    "a key with a hash that raises": (with_hash(HostileKey(True)), {"<HostileKey>": 1}),
    "a __dict__ that is a property": (OwnDict(), "<OwnDict>"),
    "a __class__ that lies": (LyingClass(), "<LyingClass>"),
    "a zone that raises": (datetime(2026, 1, 1, tzinfo=Zone()), "2026-01-01T00:00:00 <Zone>"),
    "a time in that zone": (time(1, tzinfo=Zone()), "<time>"),
    "an enum that raises": (Member.ONE, "ONE"),
    "an exception that raises": (
        LoudError("x", object()),
        {"type": "LoudError", "message": "x, <object>"},
    ),
    "an error that holds such": (
        OSError(2, "No", object.__new__(Hostile)),
        {"type": "FileNotFoundError", "message": "2, No"},
    ),
    "a decimal that raises": (FakeDecimal("1.5"), "1.5"),
    "a list in itself": (cyclic(list, lambda v: v.append(v)), ["<cycle>"]),
    "a dict in itself": (cyclic(dict, lambda v: v.update(a=[v])), {"a": ["<cycle>"]}),
    "an object in itself": (
        cyclic(SimpleNamespace, lambda v: setattr(v, "me", v)),
        {"me": "<cycle>"},
    ),
    "a proxy of a hostile mapping": (MappingProxyType(HostileDict(a=1)), {"a": 1}),
    "a proxy of what is no dict": (MappingProxyType(UserDict(a=1)), "<mappingproxy>"),
    "deep nesting": (deep([], 100_000), deep({ELIDED: {"type": "list", "size": 1}}, 8)),
    "a slot never set": (object.__new__(Slotted), {}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_values_leave_without_their_code_being_run(name):
    value, expected = HOSTILE[name]
    assert value_of(value) == expected
    assert value_of({"k": value, "password": [value]})["password"] == REDACTED
    assert sent(value, limits=Limits(depth=1, width=1, nodes=1, text=1)) is not None


@pytest.mark.parametrize("make", [object, lambda: hostile_class()(), lambda: LyingClass()])
def test_hostile_values_as_keys_and_members_leave_too(make):
    text = f"<{type.__dict__['__name__'].__get__(type(make()))}>"
    assert value_of({make(): 1, (make(), 2): 3}) == {text: 1, f"({text}, 2)": 3}
    assert value_of({make(), make()}) == [text, text]


def test_a_doubling_structure_costs_what_it_holds_not_what_it_unfolds_to():
    value: list[Any] = ["x"]
    for _ in range(200):
        value = [value, value]
    assert ELIDED in json.dumps(value_of(value))


@pytest.mark.parametrize("kind", [list, tuple, deque, set, dict, OrderedDict])
def test_of_a_large_container_its_first_parts_and_its_size_leave(kind):
    count = 3 * redaction.SCAN
    large = kind.fromkeys(range(count)) if issubclass(kind, dict) else kind(range(count))
    (shown,) = value_of([large])
    marker = shown.pop(ELIDED) if issubclass(kind, dict) else shown.pop()[ELIDED]
    assert marker == {"type": kind.__name__, "size": count}
    first = list(map(int, shown))
    assert len(first) == Limits().width - 1
    assert kind is set or first == list(range(len(first)))


def test_of_a_large_container_what_is_kept_ends_with_its_size():
    kept = []
    sent(list(range(3 * redaction.SCAN)), keep=lambda whole: kept.append(whole) or "h")
    ((*first, last),) = kept
    assert first == list(range(len(first)))
    assert len(first) > 10 * Limits().width
    assert last == {ELIDED: {"type": "list", "size": 3 * redaction.SCAN}}


def test_a_secret_is_learned_in_the_parts_that_are_read_and_not_in_all():
    def shown_beside(place):
        rows = [None] * 1_000_000
        rows[place] = {"password": CANARY}
        return value_of([CANARY, rows])[0]

    assert shown_beside(WINDOW - 1) == REDACTED
    assert shown_beside(WINDOW) == CANARY


def test_an_explosion_of_properties_is_bounded():
    class Node:
        def __init__(self, level):
            for name in "abcdefgh" if level else "":
                setattr(self, name, Node(level - 1))

    out = sent(Node(5), limits=Limits(depth=3, nodes=100))
    assert len(json.dumps(out.value)) < 10_000


def test_objects_below_the_depth_are_not_opened():
    class Link:
        def __init__(self, next_one):
            self.next_one = next_one

    chain = None
    for _ in range(50_000):
        chain = Link(chain)
    assert "Link" in json.dumps(value_of(chain))


def test_a_mapping_that_changes_under_the_walk_still_leaves():
    shared, stop = {str(n): n for n in range(2000)}, Event()

    def change():
        n = 0
        while not stop.is_set():
            shared[f"new{n % 5000}"] = n
            shared.pop(f"new{(n - 50) % 5000}", None)
            n += 1

    holder = Plain()
    holder.__dict__ = shared
    writer = Thread(target=change)
    writer.start()
    try:
        for value in (shared, holder, MappingProxyType(shared)) * 30:
            out = send_out(value, needles=Needles()).value
            assert type(out) is dict or out.startswith("<")
    finally:
        stop.set()
        writer.join()


def test_a_container_that_never_holds_still_is_given_up():
    calls = []

    def restless():
        calls.append(1)
        raise RuntimeError("dictionary changed size during iteration")

    with pytest.raises(RuntimeError, match="changes all the time"):
        steady(restless)
    assert 1 < len(calls) < 100


REPRS: dict[str, Any] = {
    "raises": explode,
    "exits": lambda self: exit(3),
    "gives no text": lambda self: 3,
    "gives megabytes": lambda self: "x" * 5_000_000,
    "gives a text that lies": lambda self: Text(f"<{CANARY}>"),
    "recurses": lambda self: repr(self),
}


@pytest.mark.parametrize("method", REPRS.values(), ids=REPRS.keys())
def test_no_repr_is_called_that(method):
    quiet = type("Quiet", (), {"__repr__": method, "__slots__": ()})()
    assert value_of([quiet]) == ["<Quiet>"]


def test_the_persons_stop_is_not_swallowed(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(parts, "read_fields", interrupt)
    with pytest.raises(KeyboardInterrupt):
        send_out(Plain(), needles=Needles())


def test_the_kernels_own_machinery_is_not_opened():
    zmq = pytest.importorskip("zmq")
    session = pytest.importorskip("jupyter_client.session").Session(key=CANARY.encode())
    context = zmq.Context.instance()
    assert value_of([session, context, os.environ]) == [
        "<Session>",
        "<Context>",
        value_of(os.environ),
    ]
    assert CANARY not in json.dumps(value_of(session))
    assert "PATH" not in json.dumps(value_of(os.environ))


# Laws

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30).filter(
        lambda text: "://" not in text
    ),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text("abcde_é", max_size=9), inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(PLAIN)
def test_small_plain_json_without_secrets_passes_unchanged(value):
    out = sent(value, limits=Limits(depth=40))
    assert (out.value, out.redacted, out.elided) == (value, 0, 0)


KEYS = st.text(max_size=9) | st.sampled_from(
    ["password", "token", ELIDED, "$overflow", REDACTED, "a" * 300]
)
MARKERS = st.fixed_dictionaries(
    {"type": st.text(max_size=3), "size": st.integers()},
    optional={"head": st.text(max_size=9), "handle": st.just("h-1"), "more": st.none()},
)  # fmt: skip
ANYTHING = st.recursive(
    SCALARS | st.sampled_from([CANARY, REDACTED, f"x://u:{CANARY}@h", b"x", "a" * 300]) | MARKERS,
    lambda inner: (
        st.lists(inner, max_size=9)
        | st.dictionaries(KEYS, inner, max_size=9)
        | st.builds(Secret, inner)
        | st.tuples(inner, inner)
        | st.builds(Login, inner, inner)
        | st.builds(lambda body: {ELIDED: body}, inner)
    ),
    max_leaves=30,
)
LIMITS = st.builds(
    Limits,
    depth=st.integers(0, 6),
    width=st.integers(0, 9),
    text=st.integers(0, 30),
    nodes=st.integers(0, 60),
    whole=st.integers(0, 99),
)


def markers_in(value):
    if type(value) is list:
        return sum((markers_in(item) for item in value), Counter())
    if type(value) is dict:
        found = sum((markers_in(item) for item in value.values()), Counter())
        texts = Counter({REDACTED: sum(key.count(REDACTED) for key in value)})
        return found + texts + Counter({ELIDED: ELIDED in value})
    return Counter({REDACTED: value.count(REDACTED)} if type(value) is str else {})


@settings(deadline=None)
@given(ANYTHING, LIMITS)
def test_sending_what_was_sent_changes_nothing(value, limits):
    needles = Needles()
    once = send_out(value, limits=limits, needles=needles, keep=lambda _: "h-2")
    again = send_out(once.value, limits=limits, needles=needles)
    assert again.value == once.value
    assert again.redacted == 0
    assert again.elided == 0


@settings(deadline=None)
@given(ANYTHING.filter(lambda v: not markers_in(send_out(v, needles=Needles()).value)[ELIDED]))
def test_the_counts_are_the_markers_that_were_put_in(value):
    spare = send_out(value, needles=Needles()).value
    if REDACTED in repr(value):
        return
    out = send_out(value, needles=Needles())
    assert out.value == spare
    assert markers_in(out.value) == Counter({REDACTED: out.redacted, ELIDED: out.elided})


CANARIES = st.text("abxyzABXYZ0189-_.~!*'()/+&%=?#@:$\"\\<> é漢", min_size=9, max_size=40).filter(
    lambda text: text == text.strip() and is_needle(text)
)
ENCODERS = st.sampled_from(
    [
        str,
        urllib.parse.quote,
        urllib.parse.quote_plus,
        lambda s: json.dumps(s),
        lambda s: json.dumps(s, ensure_ascii=False),
        repr,
        html.escape,
        lambda s: s.encode().hex(),
        lambda s: s.encode().hex().upper(),
        lambda s: base64.b64encode(s.encode()).decode(),
        lambda s: base64.b64encode(b"u:" + s.encode() + b"\n").decode(),
        lambda s: base64.urlsafe_b64encode(b"u" + s.encode()).decode(),
        lambda s: f"postgres://me:{urllib.parse.quote(s, safe='')}@db/x",
        lambda s: str(ValueError(s)),
        lambda s: repr(KeyError(s)),
    ]
)
CARRIERS = st.sampled_from(
    [
        lambda s: {"password": s},
        lambda s: {"a": {"api_key": [s]}},
        lambda s: Secret(s),
        lambda s: Login("bob", s),
        lambda s: {"cookies": {"sid": s.encode()}},
        lambda s: SimpleNamespace(token=s),
        lambda s: namedtuple("Pair", "user password")("bob", s),
    ]
)


def unfolded(text):
    """Every reading of a text that an attentive reader would try."""
    yield text
    yield urllib.parse.unquote(text)
    yield urllib.parse.unquote_plus(text)
    yield html.unescape(text)
    for part in (text, text.replace("'", '"')):
        yield re.sub(r'\\(["\\/])', r"\1", part)
        try:
            yield part.encode("latin-1", "backslashreplace").decode("unicode_escape")
        except UnicodeDecodeError:
            pass
    for run in re.findall(r"[0-9a-fA-F]{16,}", text):
        for start in (0, 1):
            even = run[start : start + (len(run) - start) // 2 * 2]
            yield bytes.fromhex(even).decode("utf-8", "replace")
    for run in re.findall(r"[\w+/-]{8,}", text, re.A):
        for start in range(4):
            body = run[start:].replace("-", "+").replace("_", "/")
            body = body[: len(body) // 4 * 4]
            try:
                yield binascii.a2b_base64(body).decode("utf-8", "replace")
            except binascii.Error:
                pass


def texts_in(value):
    if type(value) is str:
        yield value
    elif type(value) is list:
        for item in value:
            yield from texts_in(item)
    elif type(value) is dict:
        for key, item in value.items():
            yield from (key, *texts_in(item))


@settings(deadline=None)
@given(
    canary=CANARIES, carrier=CARRIERS, encoders=st.lists(ENCODERS, min_size=1, max_size=4),
    around=st.text("abc \n", max_size=5), deeper=st.integers(0, 12), late=st.booleans(),
    as_key=st.booleans(), limits=LIMITS | st.just(Limits()),
)  # fmt: skip
def test_no_form_of_a_planted_secret_leaves(
    canary, carrier, encoders, around, deeper, late, as_key, limits
):
    planted = [f"{around}{encode(canary)}{around}" for encode in encoders]
    traces: Any = {text: n for n, text in enumerate(planted)} if as_key else planted
    source = deep(carrier(canary), deeper)
    kept: list[Any] = []
    out = send_out(
        [traces, source] if late else {"a": source, "b": traces},
        limits=limits,
        needles=Needles(),
        keep=lambda value: kept.append(value) or "h-1",
    )
    for text in texts_in([out.value, kept]):
        assert not any(canary in reading for reading in unfolded(text)), text
    assert not any(text in json.dumps([out.value, kept]) for text in map(json.dumps, planted))


@dataclass
class Settings:
    """What a real app's settings look like."""

    database: str = f"postgresql://app:{CANARY}@db.internal:5432/app"
    debug: bool = False
    aws_secret_access_key: str = "wJalrXUtnFEMI/K7MDENG"
    hosts: list[str] = field(default_factory=lambda: ["db.internal"])


def test_real_settings_leave_readable():
    seen = {"settings": Settings(), "log": f"connect {CANARY} wJalrXUtnFEMI/K7MDENG db.internal"}
    assert value_of(seen) == {
        "settings": {
            "database": f"postgresql://app:{REDACTED}@db.internal:5432/app",
            "debug": False,
            "aws_secret_access_key": REDACTED,
            "hosts": ["db.internal"],
        },
        "log": f"connect {REDACTED} {REDACTED} db.internal",
    }
