"""JSON Schema from signatures, and the validator for it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID

import attrs
import jsonschema
import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field, SecretStr

import repl_pair
from repl_pair.runtime.signatures.arguments import Bounds, check_arguments, read_call_arguments
from repl_pair.runtime.signatures.schema import (
    MAX_CLASSES,
    parameters_schema,
    type_schema,
)
from repl_pair.runtime.values.marks import Sensitive


class Color(Enum):
    RED = "red"
    BLUE = 2


class Access(Flag):
    READ = 1


@dataclass
class Line:
    sku: Annotated[str, "the article"]
    price: Decimal
    quantity: int = 1
    tags: list[str] = field(default_factory=list)


Unhashed = type("Meta", (type,), {"__eq__": lambda cls, other: NotImplemented})("Odd", (), {})
Answering = type("Meta", (type,), {"__getattr__": lambda cls, name: cls})("Odd", (), {})


@dataclass
class Tree:
    value: int
    children: "list[Tree]"


@attrs.define
class Parcel:
    _sku: Annotated[str, "the article"]
    price: Decimal
    quantity: int = 1
    tags: list[str] = attrs.Factory(list)
    number: int = attrs.field(default=0, init=False)


class Address(TypedDict):
    city: str
    zip: NotRequired[str]


class Point(NamedTuple):
    x: int
    y: int = 0


class Customer(BaseModel):
    name: str
    key: SecretStr
    line: Line | None = None


class Aliased(BaseModel):
    item_price: Decimal = Field(alias="itemPrice")


LINE = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "description": "the article"},
        "price": {"type": "string", "format": "decimal"},
        "quantity": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["sku", "price"],
    "additionalProperties": False,
}


def run_variant(
    variant_id: Annotated[str, "id of the variant"],
    modes: list[str] | None = None,
    overrides: dict[str, Any] | None = None,
    timeout_s: float = 30,
    lane: Literal["main", "worker"] = "main",
    key: Annotated[str, Sensitive] = "secret",
): ...


SCHEMA = parameters_schema(run_variant)


def test_a_signature_becomes_a_closed_schema_with_one_type_a_property():
    assert SCHEMA == {
        "type": "object",
        "properties": {
            "variant_id": {"type": "string", "description": "id of the variant"},
            "modes": {"type": "array", "items": {"type": "string"}},
            "overrides": {"type": "object"},
            "timeout_s": {"type": "number", "default": 30},
            "lane": {"type": "string", "enum": ["main", "worker"], "default": "main"},
            "key": {"type": "string", "writeOnly": True},
        },
        "required": ["variant_id"],
        "additionalProperties": False,
    }


def test_skipped_parameters_do_not_show():
    schema = parameters_schema(run_variant, skip={"variant_id", "key"})
    assert "variant_id" not in schema["properties"]
    assert schema["required"] == []


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (bool, {"type": "boolean"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (int | float, {"type": "number"}),
        (int | None, {"type": "integer"}),
        (Decimal, {"type": "string", "format": "decimal"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (time, {"type": "string", "format": "time"}),
        (timedelta, {"type": "number", "description": "seconds"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (Path, {"type": "string", "format": "path"}),
        (Color, {"type": "string", "enum": ["RED", "BLUE"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Literal["a"] | None, {"type": "string", "enum": ["a"]}),
        (SecretStr, {"type": "string", "writeOnly": True}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Annotated[int | None, "how many"], {"type": "integer", "description": "how many"}),
        (list, {"type": "array"}),
        (list[Any], {"type": "array"}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, *tuple[str, ...]], {"type": "array", "items": {"x-partial": True}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (set[int], {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object"}),
        (Line, LINE),
        (Parcel, LINE),
        (list[Line | None], {"type": "array", "items": LINE}),
        (
            Address,
            {
                "type": "object",
                "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        ),
        (
            Point,
            {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
                "required": ["x"],
                "additionalProperties": False,
            },
        ),
        (
            Customer,
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "key": {"type": "string", "writeOnly": True},
                    "line": LINE,
                },
                "required": ["name", "key"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_a_type_becomes_its_schema(hint, schema):
    assert type_schema(hint) == schema
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    "hint", [Any, object, bytes, np.ndarray, int | str, complex, "Missing", Unhashed, Answering]
)
def test_a_type_without_a_schema_is_reported_to_be_partial(hint):
    def component(a: hint): ...

    schema = parameters_schema(component)
    assert schema["properties"] == {"a": {"x-partial": True}}
    assert schema["partial"] is True


def test_a_partial_field_inside_makes_the_whole_partial():
    def component(a: list[Tree]): ...

    schema = parameters_schema(component)
    tree = schema["properties"]["a"]["items"]["properties"]
    assert tree["children"]["items"] == {"type": "object", "x-partial": True}
    assert schema["partial"] is True


def test_a_component_that_takes_any_name_has_an_open_schema():
    def component(a: int, **more: int): ...

    schema = parameters_schema(component)
    assert schema["additionalProperties"] is True
    assert check_arguments(schema, {"a": 1, "b": 2}) == []


def test_defaults_are_given_in_the_form_that_is_taken_for_them():
    def component(
        a: Decimal = Decimal("1.10"),
        b: Color = Color.RED,
        c: date = date(2026, 1, 31),
        d: tuple[int, ...] = (1, 2),
        e: dict[str, int] = {},  # noqa: B006  never changed
        f: timedelta = timedelta(seconds=90),
        g: Point = Point(1, 2),  # noqa: B008  never changed
        h: list[Point] = [Point(1, 2)],  # noqa: B006, B008
        i: tuple[int, int] = Point(1, 2),
        j: Access = Access(0),  # noqa: B008  never changed
    ): ...

    properties = parameters_schema(component)["properties"]
    defaults = {name: schema.get("default") for name, schema in properties.items()}
    point = {"x": 1, "y": 2}
    assert defaults == {
        **{"a": "1.10", "b": "RED", "c": "2026-01-31", "d": [1, 2], "e": None, "f": 90},
        **{"g": point, "h": [point], "i": [1, 2], "j": None},
    }
    for schema in properties.values():
        if "default" in schema:
            jsonschema.validate(schema["default"], schema)


class Credential(NamedTuple):
    user: str
    code: Annotated[str, repl_pair.Sensitive]


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
NOT_GIVEN = {
    "a field that is declared secret": Credential("u", "c"),
    "that field deep in it": [[Credential("u", "c")]],
    "a list that holds itself": CYCLE,
    "a long number": [10**5000],
    "many parts": list(range(1_000_000)),
}


@pytest.mark.parametrize("what", NOT_GIVEN)
def test_a_default_is_not_given_that_has(what):
    def component(a=NOT_GIVEN[what]): ...

    assert "default" not in parameters_schema(component)["properties"]["a"]


def test_a_default_with_a_field_named_as_a_secret_is_given_as_no_list():
    login = NamedTuple("login", [("user", str), ("password", str)])("ann", "c")

    def component(a: tuple[str, str] = login, b: Any = login): ...

    properties = parameters_schema(component)["properties"]
    assert "default" not in properties["a"]
    assert properties["b"]["default"] == {"user": "ann", "password": "c"}  # hidden on its way out


def test_the_schema_of_a_class_is_that_of_its_constructor():
    assert parameters_schema(Line)["required"] == ["sku", "price"]


def test_legal_arguments_have_no_faults():
    assert check_arguments(SCHEMA, {"variant_id": "a/B", "modes": ["dark"], "timeout_s": 3}) == []


def test_none_is_taken_for_an_optional_argument_without_a_stated_default_only():
    assert check_arguments(SCHEMA, {"variant_id": "a/B", "modes": None}) == []
    assert check_arguments(SCHEMA, {"variant_id": None, "timeout_s": None}) == [
        "variant_id: expected string, got null.",
        "timeout_s: expected number, got null.",
    ]


@pytest.mark.parametrize(
    ("args", "faults"),
    [
        ({}, ["variant_id is missing (string)."]),
        (
            {"variant_id": "a/B", "modess": []},
            ["modess is not an argument. Nearest: modes."],
        ),
        (
            {"variant_id": "a/B", "qqq": 1},
            [
                "qqq is not an argument. There are: variant_id, modes, overrides, timeout_s, "
                "lane, key."
            ],
        ),
        ({"variant_id": 5}, ["variant_id: expected string, got int 5."]),
        ({"variant_id": "a", "timeout_s": True}, ["timeout_s: expected number, got bool True."]),
        ({"variant_id": "a", "modes": "dark"}, ["modes: expected array, got str 'dark'."]),
        ({"variant_id": "a", "modes": ["x", 1]}, ["modes[1]: expected string, got int 1."]),
        (
            {"variant_id": "a", "lane": "side"},
            ["lane: expected one of main, worker, got str 'side'."],
        ),
        ({"variant_id": "a", "key": 12345}, ["key: expected string, got int."]),
        (
            {"variant_id": 1, "lane": 1},
            ["variant_id: expected string, got int 1.", "lane: expected string, got int 1."],
        ),
    ],
)
def test_each_fault_is_a_sentence(args, faults):
    assert check_arguments(SCHEMA, args) == faults


BOUNDED = {
    "properties": {
        "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 25},
        "offset": {"type": "integer", "minimum": 0},
        "wait_s": {"type": "number", "minimum": 0, "maximum": 50},
        "name": {"type": "string"},
    },
    "required": ["name"],
}


def test_bounds_of_a_hint_stand_in_the_schema():
    def op(
        limit: Annotated[int, Bounds(1, 200), "Items"] = 25,
        since: Annotated[int | None, Bounds(0)] = None,
    ): ...

    assert parameters_schema(op)["properties"] == {
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 200,
            "description": "Items",
            "default": 25,
        },
        "since": {"type": "integer", "minimum": 0},
    }


@pytest.mark.parametrize(
    ("args", "faults"),
    [
        ({"limit": 1, "offset": 10**9, "wait_s": 50}, []),
        ({"limit": 0}, ["limit: expected 1 to 200, got 0."]),
        ({"limit": 201}, ["limit: expected 1 to 200, got 201."]),
        ({"offset": -1}, ["offset: expected at least 0, got -1."]),
        ({"wait_s": float("nan")}, ["wait_s: expected 0 to 50, got nan."]),
        ({"wait_s": float("inf")}, ["wait_s: expected 0 to 50, got inf."]),
    ],
)
def test_what_is_out_of_its_bounds_is_a_fault(args, faults):
    assert check_arguments(BOUNDED, {"name": "a"} | args) == faults


@pytest.mark.parametrize(
    ("args", "read", "fault"),
    [
        ({"name": "a", "limit": None, "wait_s": None}, {"name": "a"}, ""),
        ({"name": "a", "limit": 5.0, "wait_s": 5.0}, {"name": "a", "limit": 5, "wait_s": 5.0}, ""),
        ({"name": "a", "limit": 5.5}, {"name": "a", "limit": 5.5}, "limit: expected integer"),
        ({"name": "a", "limit": True}, {"name": "a", "limit": True}, "limit: expected integer"),
        ({"name": None}, {"name": None}, "name: expected string, got null"),
        ({"name": "a", "x": None}, {"name": "a", "x": None}, "x is not an argument"),
    ],
)
def test_null_is_absent_and_a_whole_number_may_be_written_as_a_float(args, read, fault):
    schema = BOUNDED | {"additionalProperties": False}
    found = read_call_arguments("op", schema, args)
    assert repr(found) == repr(read)
    faults = check_arguments(schema, found)
    assert faults == [] if not fault else faults[0].startswith(fault)


def test_faults_inside_objects_name_their_place():
    def component(line: Line, by: dict[str, int], pair: tuple[int, str]): ...

    args = {"line": {"sku": "a", "prize": 1}, "by": {"k": "x"}, "pair": [1]}
    assert check_arguments(parameters_schema(component), args) == [
        "line.price is missing (string).",
        "line.prize is not an argument. Nearest: price.",
        "by.k: expected integer, got str 'x'.",
        "pair: expected 2 items, got 1.",
    ]


def test_the_schema_of_classes_that_each_name_all_others_has_a_bound():
    classes = [make_dataclass(f"Part{n}", [f"to_{k}" for k in range(12)]) for n in range(12)]
    for cls in classes:
        cls.__annotations__.update({f"to_{k}": other for k, other in enumerate(classes)})
    assert 0 < json.dumps(type_schema(classes[0])).count('"required"') <= MAX_CLASSES


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["sku", "price", "x", "city"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.sampled_from([int, float, str, bool, Line, Address, list[int], Color, tuple[int, str]]),
    json_values,
)
def test_it_accepts_what_jsonschema_accepts(hint, value):
    def component(a: hint): ...

    schema = parameters_schema(component)
    legal = jsonschema.Draft202012Validator(schema).is_valid({"a": value})
    if not (legal and _has_round_float(value)):
        assert (check_arguments(schema, {"a": value}) == []) is legal


def _has_round_float(value):
    """JSON Schema counts 3.0 as an integer; a Python function that takes an int does not."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(map(_has_round_float, value))
    return isinstance(value, float) and value.is_integer()
