"""Values opened to their leaves: objects that lead to each other on many ways end too."""

import asyncio
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any

import pandas
import pytest

import repl_pair
from repl_pair import Sensitive, check
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.runtime.reading import expansion
from repl_pair.runtime.reading.expansion import (
    TooManyPartsError,
    declared_fields,
    has_table,
    open_up,
    short_secrets,
)
from repl_pair.runtime.reading.whole_tables import as_rows
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.wire import View

TOKEN = "kQ7-vv2-xxw-91"


class Node:
    """Leads to the next on two ways, so that there are 2 ** 60 ways through sixty of them."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right


@dataclass
class Account:
    pin: Annotated[str, Sensitive]


def many_ways(end: Any) -> Any:
    """Give sixty nodes before `end`, and a way back to the first."""
    first = found = Node(end, end)
    for _ in range(60):
        found = Node(found, found)
    first.back = found  # type: ignore[attr-defined]
    return found


def test_secrets_are_found_at_the_end_of_many_ways():
    value = many_ways({"account": Account("17"), "password": "ab"})
    assert sorted(short_secrets(value)) == ["17", "ab"]
    assert list(declared_fields(value)) == [("pin", "17")]
    assert not has_table(value)
    assert list(short_secrets({"a": {"b": "x"}}, [("a", "b")])) == ["x"]


def test_a_place_in_a_series_that_is_secret_itself_is_no_fault():
    series = pandas.Series(["a1", "b2"], name="password")
    assert set(short_secrets(series, [("0",)])) == {"a1", "b2"}


def test_one_object_is_a_secret_only_where_a_name_makes_it_one():
    part = {"n": "xy"}
    assert list(short_secrets([part, {"token": part}, part])) == ["xy"]
    assert list(short_secrets([part, part])) == []


def test_a_secret_is_found_by_the_name_beside_it():
    named = {"name": "api_key", "value": "hun8r"}, Account(pin="17"), {"value": "plain"}
    pairs = ("password", "hun7r"), ["token", "a list"], ("state", "fine")
    assert sorted(short_secrets([named, pairs])) == ["17", "hun7r", "hun8r"]


def test_a_secret_behind_its_option_and_the_lines_of_a_key_are_found():
    words = ["mysql", "--password", "hun7r", "--user", "ada", "--no-password", "x7"]
    key = ("-----BEGIN RSA PRIVATE KEY-----", "MIIq", "-----END RSA PRIVATE KEY-----", "rest")
    assert sorted(short_secrets([words, key])) == ["MIIq", "hun7r"]


def test_secrets_in_private_fields_are_found_and_other_private_fields_are_not_followed():
    @dataclass
    class Hidden:
        _pin: Annotated[str, Sensitive]
        _password: str
        _engine: Any

    value = Hidden("47x", "pw7", {"token": "of an engine"})
    assert sorted(short_secrets({"of": value})) == ["47x", "pw7"]


@pytest.fixture
def few_parts(monkeypatch):
    monkeypatch.setattr(expansion, "MAX_PARTS", 10_000)


@pytest.mark.usefixtures("few_parts")
def test_what_a_value_is_part_of_is_not_opened_again():
    nodes = [Node(None, None) for _ in range(60)]
    for node in nodes:
        node.left = nodes
    opened = open_up(nodes, as_rows)
    assert opened == [{"left": "<cycle>", "right": None}] * 60


@pytest.mark.usefixtures("few_parts")
def test_what_has_no_end_is_not_opened():
    with pytest.raises(TooManyPartsError, match="more than 10,000 parts"):
        open_up(many_ways(1), as_rows)
    shared = [1]
    assert open_up([shared, {"a": shared}], as_rows) == [[1], {"a": [1]}]


class Raising(dict[str, Any]):
    """A mapping whose code cannot be run now, as a configuration that lacks a value."""

    def items(self) -> Any:
        raise LookupError("not now")

    values = keys = __iter__ = items


class Lazy:
    """Is set up when its class is asked for, as the settings of a framework."""

    @property
    def __class__(self) -> Any:
        raise LookupError("not now")


def in_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


GIVEN = {
    "in itself": in_itself,
    "very deep": lambda: reduce(lambda inner, _: [inner], range(5000), 1),
    "a mapping that raises": lambda: Raising(a=1),
    "a lazy object": Lazy,
}


@pytest.mark.parametrize("make", GIVEN.values(), ids=GIVEN.keys())
def test_whatever_a_loader_gives_is_an_arg_and_is_shown(make):
    repl_pair.loader("given")(make)
    repl_pair.story("taking", component=lambda value=None: value is not None)
    repl_pair.variant("taking/A", args={"value": repl_pair.ref("given")})

    async def run() -> Any:
        link = DirectLink()
        try:
            args = {"variant_id": "taking/A", "detail": "full"}
            return await link.request("run_variant", args, view=View())
        finally:
            await link.close()

    reply = asyncio.run(run())
    assert (reply["ok"], reply["result"]["status"]) == (True, "pass"), reply


@pytest.mark.parametrize(
    "step", [check.result_equals({"a": 1}), check.path_equals("result[0][0]", 1)], ids=["a", "b"]
)
def test_a_lazy_object_in_a_result_is_judged(step):
    repl_pair.story("lazy", component=lambda: [[Lazy()]])
    repl_pair.variant("lazy/A", play=[step])
    record = repl_pair.run("lazy/A")
    assert (record.status, "not now" in record.reason) == ("fail", False), record.reason


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (check.result_equals({"a": 1}), "result: expected {'a': 1}, got <"),
        (check.path_matches("result", {}), "it has more than 10,000 parts"),
        (check.no_secret(), "result: it has more than 10,000 parts"),
    ],
    ids=lambda part: part[0] if isinstance(part, list) else "",
)
@pytest.mark.usefixtures("few_parts")
def test_what_has_no_end_is_judged_and_kept(step, reason):
    repl_pair.story("endless", component=lambda: many_ways(1))
    repl_pair.variant("endless/A", play=[step])
    record = repl_pair.run("endless/A")
    assert (record.status, reason in record.reason) == ("fail", True), record.reason


def test_columns_of_one_name_are_both_looked_at():
    repl_pair.story("twice", component=lambda: pandas.DataFrame([[TOKEN, 1]], columns=["a", "a"]))
    schema = {"items": {"properties": {"a": {"type": "integer"}}}}
    play = [check.no_secret(), check.path_matches("result", schema)]
    repl_pair.variant("twice/A", play=play)
    NEEDLES.add(TOKEN)
    hidden, unfit = (outcome.reason for outcome in repl_pair.run("twice/A").assertions)
    assert "a secret stands at result.columns.a.items[0]" in hidden
    assert "result[0].a: " in unfit
    assert "is not of type 'integer'" in unfit
