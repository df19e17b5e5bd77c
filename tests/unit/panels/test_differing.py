"""How two values are differ apart, and how any value is shown: bounded, and without its code."""

import json
import math

import pandas as pd
from hypothesis import given, strategies as st
from pydantic import SecretStr

from repl_pair.panels.base.describing import call_phrase, phrase, to_json
from repl_pair.panels.base.differing import difference, text_difference
from repl_pair.runtime.reading.bounded import Bounds
from repl_pair.wire import REDACTED

TEXT = st.text(max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_plain_data_is_shown_as_it_is_and_differs_from_itself_in_nothing(value):
    assert to_json(value) == value
    assert difference(value, value)["kind"] == "same"


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_sides_of_a_text_difference_give_both_texts_again(before, after):
    rows = [row for row in text_difference(before, after)["rows"] if "skip" not in row]
    if any("skip" in row for row in text_difference(before, after)["rows"]):
        return
    for side, text in (("left", before), ("right", after)):
        lines = ["".join(part for part, _ in row[side]["parts"]) for row in rows if row[side]]
        assert lines == text.splitlines()


def test_no_code_of_a_value_runs_and_what_is_cut_reports_it():
    class Loud:
        def __init__(self):
            self.n = 1

        def __repr__(self):
            raise AssertionError

        __len__ = __iter__ = __eq__ = __repr__
        __hash__ = None

    assert to_json(Loud()) == {"n": 1}
    assert to_json(list(range(9)), Bounds(width=3)) == [0, 1, 2, "… 6"]
    assert to_json({"a": {"b": {"c": 1}}}, Bounds(depth=2)) == {"a": {"b": "… <dict>"}}
    assert to_json("x" * 9, Bounds(text=4)) == "xxxx… 5"
    assert to_json([SecretStr("hidden-one"), math.nan, 1 << 60]) == [REDACTED, "nan", str(1 << 60)]


def test_a_value_that_holds_itself_is_shown_to_a_depth():
    value = [1]
    value.append(value)
    assert json.dumps(to_json(value)).count("[") <= 9


def test_lines_are_reported_as_a_person_would_write_them():
    assert phrase(["result.total", 4, {"abs": 1}]) == "result.total, 4, abs=1"
    assert phrase([["add", {"n": 1, "who": "x"}]]) == "add(n=1, who='x')"
    assert call_phrase("mail/send", {"to": ["a"]}) == "mail/send(to=['a'])"


def test_numbers_report_how_far_they_are_apart():
    assert difference(4, 3) == {"kind": "number", "delta": -1, "ratio": 0.75}
    assert difference(0, 3.5) == {"kind": "number", "delta": 3.5, "ratio": None}
    assert difference(True, 1)["kind"] == "values"


def test_data_is_distinguished_by_path():
    differ = difference({"a": [1, {"b": "x"}], "gone": 0}, {"a": [2, {"b": "y"}, 3]})
    assert differ == {
        "kind": "values",
        "more": 0,
        "changes": [
            {"path": "a[0]", "before": "1", "after": "2", "delta": 1},
            {"path": "a[1].b", "before": "'x'", "after": "'y'"},
            {"path": "a[2]", "after": "3"},
            {"path": "gone", "before": "0"},
        ],
    }


def test_texts_are_distinguished_by_line_and_word():
    differ = difference("one\ntwo pears\nthree", "one\ntwo figs\nthree\nfour")
    assert [row for row in differ["rows"] if not row["same"]] == [
        {
            "same": False,
            "left": {"line": 2, "parts": [("two ", False), ("pears", True)]},
            "right": {"line": 2, "parts": [("two ", False), ("figs", True)]},
        },
        {"same": False, "left": None, "right": {"line": 4, "parts": [("four", False)]}},
    ]


def test_equal_lines_that_are_far_from_a_change_are_left_out():
    lines = [str(n) for n in range(40)]
    differ = difference("\n".join(lines), "\n".join([*lines[:20], "new", *lines[21:]]))
    assert [row["skip"] for row in differ["rows"] if "skip" in row] == [17, 16]
    assert len(differ["rows"]) == 9


def test_tables_are_distinguished_by_cell():
    before = pd.DataFrame({"name": ["pear", "fig"], "price": [1.5, 2.0]}, index=["a", "b"])
    after = pd.DataFrame({"name": ["pear", "fig", "plum"], "price": [1.5, 2.5, 3.0]})
    differ = difference(before, after.set_index(pd.Index(["a", "b", "c"])))
    assert (differ["kind"], differ["changed"]) == ("table", 3)
    assert [(row["label"], row["row"]) for row in differ["rows"]] == [
        ("a", "kept"), ("b", "kept"), ("c", "added"),
    ]  # fmt: skip
    assert differ["rows"][1]["cells"][1] == {"before": ["2.0"], "after": ["2.5"], "changed": True}
    assert differ["columns"] == [
        {"name": "name", "state": "kept"},
        {"name": "price", "state": "kept"},
    ]


def test_rows_of_equal_mappings_are_a_table():
    differ = difference([{"n": 1, "to": "a"}], [{"n": 1, "to": "b"}])
    assert differ["kind"] == "table"
    assert [cell["changed"] for cell in differ["rows"][0]["cells"]] == [False, True]
