"""Leaf types: a type that is added to the one table is known wherever data goes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from repl_pair.errors import AuthoringError
from repl_pair.runtime.assertions.comparison import difference
from repl_pair.runtime.planning.identity import content_hash
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.signatures.schema import parameters_schema
from repl_pair.runtime.values.data import read_data, to_json_data
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.leaf import Leaf, Marker, PythonText
from repl_pair.runtime.values.leaves import LEAVES, show_exactly
from repl_pair.runtime.values.python_text import Writer
from repl_pair.runtime.values.thaw import thaw_data


@dataclass(frozen=True)
class Money:
    cents: int
    currency: str

    @classmethod
    def read(cls, text: str) -> "Money":
        cents, currency = text.split()
        return cls(int(cents), currency)

    def __str__(self) -> str:
        return f"{self.cents} {self.currency}"


MONEY = Leaf(
    form="cents and currency as text",
    takes=(str,),
    read=Money.read,
    schema={"type": "string", "format": "money"},
    to_json=str,
    made_of=(b"money", lambda value: (value.cents, value.currency)),
    marker=Marker("money", lambda value: {"value": str(value)}, lambda s: Money.read(s["value"])),
    python=lambda value: PythonText(f'Money.read("{value}")', "from shop import Money"),
    show=show_exactly,
)
PRICE = Money(250, "EUR")


@pytest.fixture
def money(monkeypatch):
    monkeypatch.setitem(LEAVES, Money, MONEY)


@pytest.mark.usefixtures("money")
def test_a_type_that_is_added_to_the_table_is_a_leaf_everywhere():
    def pay(price: Money, tip: Money = PRICE): ...

    frozen = freeze({"price": PRICE})
    assert frozen == {"price": PRICE}
    assert content_hash(frozen) != content_hash({"price": Money(250, "USD")})
    data = to_json_data(frozen)
    assert data == {"price": {"$type": "money", "value": "250 EUR"}}
    assert read_data(data) == frozen
    assert thaw_data(frozen, "args") == frozen
    writer = Writer()
    assert writer.value(frozen, "args") == '{"price": Money.read("250 EUR")}'
    assert writer.imports == {"from shop import Money"}
    assert parameters_schema(pay)["properties"] == {
        "price": {"type": "string", "format": "money"},
        "tip": {"type": "string", "format": "money", "default": "250 EUR"},
    }
    assert difference("250 EUR", PRICE) is None
    assert difference("251 EUR", PRICE) is not None
    assert send_out({"price": PRICE}, needles=Needles()).value == {"price": "250 EUR"}


VALUES: Mapping[str, Any] = {
    "a large int": 2**80,
    "infinity": math.inf,
    "complex": 1 - 2j,
    "a lone surrogate": "\ud800",
    "bytes": b"\x00\xff",
    "decimal": Decimal("1.10"),
    "uuid": UUID(int=7),
    "date": date(2026, 1, 31),
    "datetime": datetime(2026, 1, 31, 12, fold=1),
    "datetime in UTC": datetime(2026, 1, 31, 12, tzinfo=UTC),
    "time": time(12, 30),
    "timedelta": timedelta(days=-1, microseconds=5),
    "posix path": PurePosixPath("a/b"),
    "windows path": PureWindowsPath("a\\b"),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_each_leaf_comes_back_from_data_and_from_python(value):
    again = read_data(to_json_data(value))
    assert (type(again), again) == (type(value), value)
    writer = Writer()
    text = writer.value(value, "args")
    names: dict[str, Any] = {}
    exec("\n".join(writer.imports), names)
    assert eval(text, names) == value
    assert writer.odd == []


class Shelf(PurePosixPath):
    pass


def test_the_python_text_of_a_set_within_a_set_and_of_a_subclass_can_run():
    nested = {frozenset({1}), (2, frozenset[int]())}
    assert eval(Writer().value(freeze(nested), "args")) == nested
    writer = Writer()
    assert writer.value(Shelf("a"), "args") == "fill_in_Shelf"
    assert writer.odd == ["args: Shelf"]


@pytest.mark.parametrize(
    ("marker", "why"),
    [
        ({"$type": "ref", "loader": 5, "kwargs": {}}, "loader is no str"),
        ({"$type": "ref", "loader": "a/b", "kwargs": 5}, "kwargs is no dict"),
        ({"$type": "tuple", "value": {"a": 1}}, "value is no list"),
        ({"$type": "record", "class": 5, "fields": {}}, "class is no str"),
        ({"$type": "int", "value": "0x" + "f" * 20_000}, "over 4,200 digits"),
    ],
)
def test_a_marker_with_slots_of_another_type_is_refused(marker, why):
    with pytest.raises(AuthoringError, match=why):
        read_data({"a": marker})


def test_a_moment_of_an_unknown_zone_is_named_but_not_carried():
    class Odd(UTC.__class__.__base__):
        def utcoffset(self, _):
            return timedelta(0)

    moment = datetime(2026, 1, 31, tzinfo=Odd())
    assert to_json_data(moment) == {"$type": "datetime.datetime"}
    zoned = datetime(2026, 1, 31, tzinfo=ZoneInfo("UTC"))
    assert read_data(to_json_data(zoned)).tzinfo.key == "UTC"
