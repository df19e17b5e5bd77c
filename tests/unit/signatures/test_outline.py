"""What the type of an answer names."""

from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

import pytest

from repl_pair.runtime.signatures.outline import outline, parts_of, typed_slots

Item = TypeVar("Item")


class Row(TypedDict):
    id: str
    size: NotRequired[int | None]


class Items(TypedDict, Generic[Item]):
    items: list[Item]


class Page(Items[Row]):
    cursor: NotRequired[str]
    by_name: dict[str, float]
    raw: dict[str, Any]
    last: Literal["pass", "fail"]
    any: Any


@pytest.mark.parametrize(
    ("hint", "line"),
    [
        (Row, "{id, size?: integer or null}"),
        (Items[str], "{items: [string]}"),
        (
            Page,
            "{items: [{id, size?: integer or null}], cursor?, by_name: {…: number}, raw: {…}, "
            "last: pass or fail, any}",
        ),
        (list[bool], "[boolean]"),
    ],
)
def test_a_type_is_one_line(hint, line):
    assert outline(hint) == line


def test_the_slots_of_a_generic_type_have_what_it_is_given():
    assert typed_slots(Items[Row]) == {"items": (list[Row], True)}
    assert typed_slots(Page)["items"] == (list[Row], True)
    assert typed_slots(dict[str, int]) is None


@pytest.mark.parametrize(
    ("hint", "parts"),
    [
        (Any, ({}, Any, set())),
        (Row | None, ({"id": str, "size": int | None}, Any, set())),
        (list[Row] | None, ({}, Row, set())),
        (dict[str, Row], ({}, Row, set())),
        (Literal["pass", "fail"] | None, ({}, Any, {"pass", "fail"})),
    ],
)
def test_a_type_names_slots_and_words(hint, parts):
    assert parts_of(hint) == parts
