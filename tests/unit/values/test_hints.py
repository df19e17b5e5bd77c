"""Hints that stand in themselves and unions of many classes: each part is looked into once."""

import sys
import types
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar, Unpack

import pytest
import typing_extensions
from typing_extensions import TypeAliasType

from repl_pair.errors import RequestError
from repl_pair.runtime.secrets.places import hinted_places
from repl_pair.runtime.signatures import schema
from repl_pair.runtime.signatures.schema import type_schema
from repl_pair.runtime.surfaces.fitting import checker
from repl_pair.runtime.values.declared_fields import names_sensitive
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.hints import declares_secret, item_hint, read_hint
from repl_pair.runtime.values.marks import Sensitive
from repl_pair.runtime.values.takes import takes_of
from repl_pair.runtime.values.thaw import thaw


def recursive(make) -> Any:
    """Return an alias of what is made of it; `type` reads its right side late, on 3.12."""
    alias = TypeAliasType("Alias", None)
    vars(alias)["__value__"] = make(alias)
    return alias


JSON = recursive(lambda alias: dict[str, alias] | list[alias] | str | int)
ROWS = recursive(lambda alias: list[alias])
SECRETS = recursive(lambda alias: list[alias] | Annotated[str, Sensitive])


@pytest.mark.parametrize(
    ("hint", "is_secret", "made"),
    [
        (JSON, False, {"x-partial": True}),
        (ROWS, False, {"type": "array", "items": {"x-partial": True}}),
        (dict[str, JSON], False, {"type": "object", "additionalProperties": {"x-partial": True}}),
        (SECRETS, True, {"x-partial": True, "writeOnly": True}),
        (recursive(lambda alias: alias), False, {"x-partial": True}),
        (recursive(lambda alias: alias | int), False, {"x-partial": True}),
    ],
)
def test_an_alias_in_itself_is_looked_into_once(hint, is_secret, made):
    def component() -> hint: ...

    assert type_schema(hint) == made
    assert declares_secret(read_hint(hint)) is is_secret
    assert takes_of(component).gives_secret is is_secret
    assert (hinted_places(read_hint(hint)) == []) is not is_secret


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`type` statements are of Python 3.12")
def test_an_alias_of_an_undefined_name_takes_any_value():
    space: dict[str, Any] = {}
    exec("type Alias = Undefined\ndef component[T: Undefined](x: T) -> Alias: ...", space)
    assert type_schema(space["Alias"]) == type_schema(Any)
    assert not takes_of(space["component"]).gives_secret
    assert not names_sensitive(space["Alias"], {})


T = TypeVar("T")
MARKED = {
    "a mark below Sensitive": Annotated[str, type("Mark", (Sensitive,), {})],
    "an alias with an arg": TypeAliasType("Tok", Annotated[T, Sensitive], type_params=(T,))[str],
    "an unpacked part": tuple[int, *tuple[Annotated[str, Sensitive], ...]],
    "Unpack of typing_extensions": tuple[
        int, typing_extensions.Unpack[tuple[Annotated[str, Sensitive], ...]]  # noqa: UP044
    ],
    "Unpack": tuple[int, Unpack[tuple[Annotated[str, Sensitive], ...]]],  # noqa: UP044
}


@pytest.mark.parametrize("what", MARKED)
def test_a_mark_is_found_however_it_is_written(what):
    hint = read_hint(MARKED[what])
    assert declares_secret(hint)
    places = [("*",)] if hint.containers else [()]
    assert hinted_places(hint) == places
    assert names_sensitive(MARKED[what], {})


def test_a_hint_whose_class_has_a_metaclass_that_does_not_hash_is_read():
    class Meta(type):
        def __hash__(self):
            raise RuntimeError("hashed")

    class Box(Generic[T], metaclass=Meta): ...

    hint = read_hint(types.GenericAlias(Box, (int,)))
    assert str(item_hint(hint, 0)) == "int"
    assert hinted_places(hint) == []


def test_values_of_an_alias_in_itself_are_frozen_and_checked_at_any_depth():
    value: Any = 1
    for _ in range(30):
        value = {"a": [value]}
    assert freeze(value, JSON) == value
    assert freeze(["a"], list[SECRETS]) == [Secret("a")]
    check = checker(JSON)
    assert check(value, "it") == ""
    assert "it takes dict" in check({"a": [{"b": None}]}, "it")


MADE: list[Any] = []


@dataclass
class Add:
    right: "Expr"
    left: "Expr"
    sign: Literal["+"] = "+"

    def __post_init__(self):
        MADE.append(self)


@dataclass
class Sub(Add):
    sign: Literal["-"] = "-"


Expr = Add | Sub | int


def nested(leaf, more):
    value = leaf
    for _ in range(8):
        value = {"right": {"right": 1, "left": 1}, "left": value} | more
    return value


@pytest.mark.parametrize(("leaf", "more", "made"), [(1, {"sign": "-"}, 16), ("x", {}, 8)])
def test_each_alternative_of_a_union_is_tried_once_at_each_place(leaf, more, made):
    frozen = freeze(nested(leaf, more), Expr)
    MADE.clear()
    with suppress(RequestError):
        thaw(frozen, Expr, load=id)
    assert len(MADE) == made


def test_the_hint_of_an_item_has_each_alternative_once():
    hint = read_hint(Expr)
    assert item_hint(hint, "left").arms == hint.arms


def test_a_class_beside_others_has_no_schema_and_none_is_looked_for_in_it(monkeypatch):
    monkeypatch.setattr(schema, "_fields_schema", None)
    assert type_schema(Expr) == {"x-partial": True}


def test_a_class_without_a_hash_is_a_hint_as_any_other():
    odd = type("Meta", (type,), {"__eq__": lambda cls, other: NotImplemented})("Odd", (), {})
    assert thaw([{"a": 1}], list[odd], load=id) == [{"a": 1}]
    assert not declares_secret(read_hint(list[odd]))
