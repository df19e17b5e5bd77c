import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath, PureWindowsPath
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import SecretStr

import repl_pair
from repl_pair import check, step
from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.values.classes import TypeRef
from repl_pair.runtime.values.data import json_text, read_data, to_json_data
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import EnumMember, Record, Ref, Secret
from repl_pair.wire import REDACTED


class Colour(Enum):
    RED = 1


class Token(Enum):
    PLUS = 1


@dataclass
class Line:
    sku: str


def take(value=None, **more):
    return value


@pytest.fixture
def story():
    repl_pair.loader("db")(lambda url="": url)
    repl_pair.decorator("quiet", kind="fx_override", effect="mail", response=None)
    repl_pair.tag("slow")
    repl_pair.mode("eur", args={"rate": 2.0})
    repl_pair.derived("done")(lambda state: True)
    return repl_pair.story("data.take", component=take)


def read_slots(data):
    plays = ("play", "plays")
    return {name: read_data(value, name, redacted=name in plays) for name, value in data.items()}


def register_again(id):
    """Register a variant from the text of its data; gives the data."""
    data = repl_pair.to_data("variant", id)
    slots = json.loads(json_text(data)).items()
    plays = ("play", "plays")
    read = {
        name: read_data(value, f"{id}: {name}", redacted=name in plays) for name, value in slots
    }
    repl_pair.variant(id, **read)
    return data


FORMS = {
    "a fraction of ten": (Decimal("1.10"), {"$type": "decimal", "value": "1.10"}),
    "no number": (float("nan"), {"$type": "float", "value": "nan"}),
    "without bounds": (-float("inf"), {"$type": "float", "value": "-inf"}),
    "more than every reader keeps": (-(2**53), {"$type": "int", "value": "-0x20000000000000"}),
    "a plane": (
        1 - 0.5j,
        {"$type": "complex", "value": ["0x1.0000000000000p+0", "-0x1.0000000000000p-1"]},
    ),
    "bytes": (b"\0\xff", {"$type": "bytes", "value": "AP8="}),
    "half a letter": ("\ud800", {"$type": "text", "value": "eda080"}),
    "a key": (UUID(int=1), {"$type": "uuid", "value": "00000000-0000-0000-0000-000000000001"}),
    "a moment": (
        datetime(2026, 1, 2, 3, tzinfo=UTC),
        {"$type": "datetime", "value": "2026-01-02T03:00:00+00:00"},
    ),
    "one of a place, given twice": (
        datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
        {"$type": "datetime", "fold": 1, "value": "2026-10-25T02:30:00", "zone": "Europe/Berlin"},
    ),
    "a span": (timedelta(days=-1, microseconds=1), {"$type": "timedelta", "value": [-1, 0, 1]}),
    "a path": (Path("a/b"), {"$type": "path", "value": "a/b"}),
    "a pure one": (PurePosixPath("/a"), {"$type": "pure_posix_path", "value": "/a"}),
    "one of windows": (PureWindowsPath("c:\\a"), {"$type": "pure_windows_path", "value": "c:/a"}),
    "a tuple": ((1, "a"), {"$type": "tuple", "value": [1, "a"]}),
    "a set": ({"b", "a", 10, 9}, {"$type": "set", "value": ["a", "b", 10, 9]}),
    "keys that are no text": (
        {2: "b", None: "n"},
        {"$type": "map", "value": [[2, "b"], [None, "n"]]},
    ),
    "a key that marks": ({"$ref": 1}, {"$type": "map", "value": [["$ref", 1]]}),
    "a member": (
        Colour.RED,
        {"$type": "enum", "class": f"{__name__}:Colour", "name": "RED"},
    ),
    "a member of a class named as secrets are, as a key": (
        {Token.PLUS: 1},
        {
            "$type": "map",
            "value": [[{"$type": "enum", "class": f"{__name__}:Token", "name": "PLUS"}, 1]],
        },
    ),
    "an instance": (
        Line("a"),
        {"$type": "record", "class": f"{__name__}:Line", "fields": {"sku": "a"}},
    ),
    "a ref": (
        Ref("db", {"url": "x", "at": (1,)}),
        {"$ref": "db", "at": {"$type": "tuple", "value": [1]}, "url": "x"},
    ),
    "a ref with a key that marks": (
        Ref("db", {"$ref": 1}),
        {"$type": "ref", "kwargs": {"$type": "map", "value": [["$ref", 1]]}, "loader": "db"},
    ),
    "plain data": ({"b": [1, 1.0, -0.0], "a": None}, {"a": None, "b": [1, 1.0, -0.0]}),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_type_has_one_form_that_is_read_back(name):
    value, data = FORMS[name]
    frozen = freeze(value)
    assert repr(to_json_data(frozen)) == repr(data)
    read = read_data(json.loads(json_text(data)))
    assert repr(read) == repr(frozen) if isinstance(value, float) else read == frozen
    assert type(read) is type(frozen)


@pytest.mark.parametrize(
    ("value", "marker"),
    [
        (np.zeros((2, 3)), {"$type": "numpy.ndarray", "dtype": "float64", "shape": [2, 3]}),
        (np.int8(3), {"$type": "numpy.int8", "dtype": "int8"}),
        (pd.DataFrame({"a": [1]}), {"$type": "pandas.DataFrame", "shape": [1, 1]}),
        (pd.Timestamp(0), {"$type": "pandas.Timestamp"}),
        (
            datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1), "home")),
            {"$type": "datetime.datetime"},
        ),
    ],
)
def test_what_no_data_carries_is_named_and_refused_when_it_is_read(value, marker):
    data = to_json_data({"x": freeze(value)})
    assert data == {"x": marker}
    with pytest.raises(AuthoringError, match=r"args\.x is of .*, which data does not carry: write"):
        read_data(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"a": [REDACTED]}, r"args\.a\[0\] is a secret, which data does not carry"),
        ({"a": {"$elided": {"type": "list", "size": 9}}}, r"args\.a was cut for its size"),
        ({"$type": "decimal", "value": "x"}, "args is not a valid decimal"),
        ({"$type": "date"}, "args is not a valid date: KeyError"),
        ({"$type": "set", "value": [[]]}, "args is not a valid set"),
        (
            {"$type": "datetime", "value": "2026-01-01T00:00:00", "zone": "America"},
            "args is not a valid datetime",
        ),
        ({"$type": ["decimal"]}, "args is of"),
    ],
)
def test_data_that_stands_for_nothing_is_refused_with_its_place(data, words):
    with pytest.raises(AuthoringError, match=words) as refused:
        read_data(data)
    assert refused.value.code == "bad_body"


def test_whoever_may_name_no_class_writes_plain_json():
    for name in ("a member", "an instance"):
        with pytest.raises(AuthoringError, match=r"names the class .*: write plain JSON for it"):
            read_data({"x": FORMS[name][1]}, classes=False)
    assert read_data(FORMS["a tuple"][1], classes=False) == (1, "a")


def test_a_variant_is_given_as_the_arguments_that_register_it(story):
    repl_pair.variant("data.take/Base", args={"value": 1})
    written = {
        "args": {"value": {"a": [1, 2]}, "go": 4},
        "argtypes": {"value": {"control": "text"}},
        "args_to_events": [["go", "move"]],
        "decorators": [["quiet", {}]],
        "doc": "Whole.",
        "events": [["add", {"qty": 2}]],
        "extends": "data.take/Base",
        "loaders": ["db"],
        "loaders_complete_when": "done",
        "loaders_teardown": [["close", {}]],
        "modes": ["eur"],
        "plays": [
            {"name": "second", "steps": [["wait", 1]], "auto_run": True},
            {"name": "first", "steps": [["path_equals", "result", 1]], "auto_run": False},
        ],
        "substrates": ["html"],
        "tags": ["slow", "!slow"],
    }
    repl_pair.variant("data.take/Whole", **written)
    assert repl_pair.to_data("variant", "data.take/Whole") == written
    assert repl_pair.to_data("variant", "data.take/Base") == {"args": {"value": 1}}


def test_plays_are_taken_as_a_mapping_and_as_a_list(story):
    repl_pair.variant("data.take/Mapped", plays={"b": [step.wait(1)], "a": [check.no_warnings()]})
    before = repl_pair.snapshot_identity("data.take/Mapped")
    data = register_again("data.take/Mapped")
    assert [play["name"] for play in data["plays"]] == ["b", "a"]
    assert [play["auto_run"] for play in data["plays"]] == [True, False]
    assert repl_pair.snapshot_identity("data.take/Mapped") == before


def test_the_order_of_args_that_are_events_is_kept(story):
    repl_pair.variant(
        "data.take/Moves", args={"a": 1, "b": 2}, args_to_events={"b": "turn", "a": "move"}
    )
    before = repl_pair.snapshot_identity("data.take/Moves")
    assert register_again("data.take/Moves")["args_to_events"] == [["b", "turn"], ["a", "move"]]
    assert repl_pair.snapshot_identity("data.take/Moves") == before


def test_a_workspace_is_given_as_the_arguments_that_register_it(story):
    repl_pair.variant("data.take/Base")
    written = {
        "content": [{"prose": "See:"}, {"variant": "data.take/Base"}],
        "doc": "Told.",
        "layout": "prose",
    }
    repl_pair.workspace("data.desk/Told", **written)
    assert repl_pair.to_data("workspace", "data.desk/Told") == written
    grid = {"layout": "variants_grid", "story": "data.take", "isolation": "shared", "columns": 2}
    repl_pair.workspace("data.desk/Grid", **grid)
    assert repl_pair.to_data("workspace", "data.desk/Grid") == grid


def test_a_secret_is_not_carried_and_not_read(story):
    repl_pair.variant("data.take/Secret", args={"value": {"pin": SecretStr("hunter2-hunter2")}})
    data = repl_pair.to_data("variant", "data.take/Secret")
    assert data == {"args": {"value": {"pin": REDACTED}}}
    with pytest.raises(AuthoringError, match=r"args\.value\.pin is a secret"):
        read_slots(data)


@pytest.mark.parametrize(
    "value",
    [
        ("password", "zq41"),
        [("X-Api-Key", "zq41")],
        {1: "x", "api_key": "zq41"},
        {("x", "y", "password"): "zq41"},
        frozenset({("token", "zq41")}),
    ],
)
def test_a_secret_beside_its_name_is_not_carried_where_json_has_only_lists(story, value):
    events = [["take", {"value": value}]]
    repl_pair.variant("data.take/Pair", args={"value": value}, events=events)
    written = str(repl_pair.to_data("variant", "data.take/Pair"))
    assert (written.count(REDACTED), "zq41" in written) == (2, False)


def test_that_a_secret_is_redacted_may_be_expected(story):
    expected = [check.path_equals("args.value", REDACTED)]
    repl_pair.variant("data.take/Hidden", play=expected)
    before = repl_pair.snapshot_identity("data.take/Hidden")
    register_again("data.take/Hidden")
    assert repl_pair.snapshot_identity("data.take/Hidden") == before


def test_an_unknown_id_is_refused_with_the_nearest(story):
    repl_pair.variant("data.take/Base")
    with pytest.raises(RequestError, match=r"Nearest: data\.take/Base"):
        repl_pair.to_data("variant", "data.take/Bsae")


def test_a_story_is_named_where_data_cannot_hold_it(story):
    assert repl_pair.to_data("story", "data.take") == {
        "component": {"$type": "component", "name": f"{__name__}.take"}
    }


EVERYWHERE = """
import json, sys
import repl_pair
from repl_pair.runtime.registry.as_data import to_data
repl_pair.story("data.take", component=lambda **more: None)
words = {w: {w, w + "x", 1.5, (w,)} for w in "the quick brown fox jumps over it".split()}
repl_pair.variant("data.take/Words", args=words if sys.argv[1] == "on" else
                  dict(reversed(list(words.items()))))
sys.stdout.write(json.dumps(to_data("variant", "data.take/Words")))
"""


def test_the_text_is_the_same_in_every_process_and_for_every_order():
    texts = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(EVERYWHERE), order],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed, order in (("1", "on"), ("2", "back"), ("3", "on"))
    ]
    assert len(set(texts)) == 1
    assert len(texts[0]) > 500


KEYS = st.one_of(st.text(max_size=4), st.integers(), st.booleans(), st.none())
WORDS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.binary(max_size=4),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.dates(),
    st.times(),
    st.datetimes(
        timezones=st.one_of(st.none(), st.just(UTC), st.sampled_from([ZoneInfo("Asia/Tokyo")]))
    ),
    st.timedeltas(),
    st.complex_numbers(),
    st.sampled_from([Colour.RED, PurePosixPath("/x"), Path("y/z")]),
)
HASHABLE = st.one_of(st.text(max_size=3), st.integers(), st.tuples(st.text(max_size=2), st.dates()))
VALUES = st.recursive(
    WORDS | st.frozensets(HASHABLE, max_size=4),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(KEYS | st.tuples(KEYS), inner, max_size=3),
        st.builds(
            lambda kwargs: Ref("db", kwargs),
            st.dictionaries(st.text(max_size=4), inner, max_size=2),
        ),
        st.builds(
            lambda f: Record(TypeRef("m", "C"), f),
            st.dictionaries(st.text(max_size=4), inner, max_size=2),
        ),
    ),
    max_leaves=8,
)
PAYLOADS = st.dictionaries(st.text("abc", min_size=1, max_size=3), VALUES, max_size=3)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "args": PAYLOADS,
        "events": st.lists(st.tuples(st.sampled_from("xyz"), PAYLOADS).map(list), max_size=3),
        "play": st.lists(
            st.tuples(st.just("path_equals"), st.just("result"), VALUES).map(list), max_size=2
        ),
        "decorators": st.lists(
            st.tuples(st.just("quiet"), st.just({"response": 1})).map(list), max_size=1
        ),
        "loaders": st.sampled_from([["db"], []]),
        "loaders_complete_when": st.sampled_from(["done", ["x", "y"], None]),
        "tags": st.sampled_from([["slow"], ["!slow"], []]),
        "args_to_events": st.permutations(["a", "b", "c"]).map(lambda names: {n: n for n in names}),
        "substrates": st.sampled_from([[], ["html", "text"]]),
    },
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(body=BODIES)
def test_a_variant_registered_again_from_its_data_is_the_same(story, body):
    repl_pair.variant("data.take/Same", **body)
    before = repl_pair.snapshot_identity("data.take/Same")
    data = register_again("data.take/Same")
    assert repl_pair.snapshot_identity("data.take/Same") == before
    again = repl_pair.to_data("variant", "data.take/Same")
    assert json_text(again) == json_text(data)
    assert json.dumps(data) == json.dumps(data, sort_keys=True)


def test_an_enum_member_and_a_secret_are_what_they_are_in_data():
    assert read_data(FORMS["a member"][1]) == EnumMember(TypeRef(__name__, "Colour"), "RED")
    assert type(to_json_data(Secret("x"))) is Secret
    assert json_text({"a": Secret("x")}) == f'{{"a":"{REDACTED}"}}'
