"""What `get_value` and `list_variables` show: tables in one look, and parts by their path."""

import json

import pytest

SECRET = "Qz81-door-key-55"
SETUP = f"""
import sqlite3
from collections import deque
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt, numpy, pandas, polars, requests

codes = [f"{SECRET}-{{n}}" for n in range(12)]
frame = pandas.DataFrame(
    {{"sku": list("abcdefghijkl"), "price": [1.5, None] * 6, "token": codes}}, list("mnopqrstuvwx"))
days = pandas.DataFrame({{"sold": range(4)}}, pandas.date_range("2026-11-21", periods=4))
numbered = pandas.Series([5, 6, 7], index=[2, 1, 0])
by_token = pandas.DataFrame({{"n": range(12)}}, index=pandas.Index(codes, name="token"))
rated = pandas.DataFrame({{"name": ["DB_PASSWORD"], "value": [{SECRET!r}]}})
wide = pandas.DataFrame([[n] * 60 for n in range(2)])
array = numpy.arange(40).reshape(4, 10)
tall = polars.DataFrame({{"n": range(12), "secret": codes}})
rows, ends, pair = list(range(1000)), deque(range(10)), ("password", {SECRET!r})
connection, axes = sqlite3.connect(":memory:"), plt.subplots()[1]
session = requests.Session()
texts = {{f"text_{{n}}": "word " * 9_000 for n in range(40)}}
globals().update(texts)
globals().update({{f"list_{{n}}": [{{"a": "x" * 500}}] * 99 for n in range(40)}})
"""


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    with connect("--kernel", kernel.path, "--allow", "inspect", "--toolsets", "values") as agent:
        yield agent
    assert SECRET.encode() not in agent.record.out


def read(agent, path):
    return agent.ask("get_value", path=path)["result"]


def test_a_frame_is_read_in_one_look(inspector):
    assert read(inspector, "frame")["value"] == {
        "type": "DataFrame",
        "shape": [12, 3],
        "columns": {
            "sku": {"dtype": "str"},
            "price": {"dtype": "float64", "nulls": 6, "min": 1.5, "max": 1.5},
            "token": "[redacted]",
        },
        "index": {"dtype": "str", "head": [*"mnopq"], "tail": [*"tuvwx"]},
        "head": [row("a", 1.5), row("b"), row("c", 1.5), row("d"), row("e", 1.5)],
        "tail": [row("h"), row("i", 1.5), row("j"), row("k", 1.5), row("l")],
    }


def row(sku, price=None):
    return {"sku": sku, "price": price, "token": "[redacted]"}


PARTS = {
    'frame.loc["m", "price"]': ('frame.loc["m", "price"]', 1.5),
    "frame.iloc[0, 0]": ("frame.iloc[0, 0]", "a"),
    "frame[0].sku": ("frame.iloc[0].sku", "a"),
    "numbered[0]": ("numbered.loc[0]", 7),
    "numbered.iloc[0]": ("numbered.iloc[0]", 5),
    "frame.columns": ("frame.columns", ["sku", "price", "token"]),
    "frame.dtypes": (
        "frame.dtypes",
        [["sku", "str"], ["price", "float64"], ["token", "[redacted]"]],
    ),
    "frame.shape": ("frame.shape", [12, 3]),
    "wide.columns": ("wide.columns", [*range(49)]),
    "array[3, 9]": ("array[3, 9]", 39),
    "rows[10:13]": ("rows[10:13]", [10, 11, 12]),
    "rows[::-400]": ("rows[::-400]", [999, 599, 199]),
    "ends[-2:]": ("ends[-2:]", [8, 9]),
    "frame.index[11]": ("frame.index[11]", "x"),
    "tall[1]": ("tall[1]", {"n": 1, "secret": "[redacted]"}),
}


@pytest.mark.parametrize("path", PARTS)
def test_a_part_is_read_by_label_position_or_slice_and_the_reply_reports_which(inspector, path):
    reply = read(inspector, path)
    canonical, value = PARTS[path]
    shown = reply["value"][:49] if isinstance(value, list) else reply["value"]
    assert (reply["path"], shown) == (canonical, value)
    again = read(inspector, canonical)
    assert (again["path"], json.dumps(again["value"])[:99]) == (
        canonical,
        json.dumps(reply["value"])[:99],
    )


HEADS = {
    "frame[1:3]": [row("b"), row("c", 1.5)],
    'frame.loc["m":"o", "sku"]': ["a", "b", "c"],
    'frame.loc["m"]': ["a", 1.5, "[redacted]"],
    "frame.price[0:2]": [1.5, None],
    'days.loc["2026-11-22"]': [1],
    'days.loc["2026-11-22":, "sold"]': [1, 2, 3],
    "array[3, :5]": [30, 31, 32, 33, 34],
    "array[:2, 3]": [3, 13],
    "tall[1:2]": [{"n": 1, "secret": "[redacted]"}],
    "frame.index[10:]": ["w", "x"],
    "frame.index": ["m", "n", "o", "p", "q"],
}


@pytest.mark.parametrize("path", HEADS)
def test_a_slice_of_a_table_is_shown_as_a_table(inspector, path):
    assert read(inspector, path)["value"]["head"] == HEADS[path]


SECRET_PARTS = [
    *('frame.loc["m", "token"]', "frame.iloc[0, 2]", "frame.iloc[:, 2]", "frame[0].token"),
    *("frame.token[3:5]", "by_token", "by_token.index", "by_token.index[0]", "by_token.index[2:4]"),
    *("by_token[0]", "by_token.iloc[3:4]"),
    *("by_token.iloc[0]", "rated", "rated.value[0]", "rated.iloc[0:1]", "tall.secret"),
    *("tall[0:2].secret", "pair[1:]", "pair[0:2]", "tall[3:]", "frame.iloc[9:]"),
]


@pytest.mark.parametrize("path", SECRET_PARTS)
def test_no_path_leads_around_the_name_of_a_secret(inspector, path):
    assert "[redacted]" in json.dumps(read(inspector, path))


MISSES = {
    "array[9]": ("not_found", "There is no 9 in array."),
    "array[0, 1, 2]": ("not_found", "There is no [0, 1, 2] in array."),
    'frame.loc["z"]': ("not_found", 'There is no "z" in frame.loc.'),
    "numbered[5]": ("not_found", "There is no 5 in numbered."),
    'rows["a":]': ("not_found", 'There is no ["a":] in rows.'),
    "frame.prise": ("not_found", "There is no 'prise' in frame. Nearest: price."),
    "rows[1:2:0]": ("bad_arguments", "as in [10:20]"),
    "rows[len(rows)]": ("bad_arguments", "as in [10:20]"),
}


@pytest.mark.parametrize("path", MISSES)
def test_a_part_that_is_not_there_leads_back_to_the_value_it_is_no_part_of(inspector, path):
    reply = inspector.ask("get_value", path=path)
    code, words = MISSES[path]
    assert reply["error"]["code"] == code
    assert words.replace('no "z"', "no 'z'") in reply["error"]["message"]
    for step in reply.get("next_steps", ()):
        assert inspector.ask(step["op"], **step["args"])["ok"]
    assert ("next_steps" in reply) == (code == "not_found")


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("rows", {"rows[49:98]"}),
        ("frame", {"frame.iloc[5:15]"}),
        ("wide", {"wide.columns"}),
        ("tall", {"tall[5:15]"}),
        ("ends", set()),
    ],
)
def test_what_is_not_shown_whole_names_the_part_to_read(inspector, path, more):
    steps = inspector.ask("get_value", path=path).get("next_steps", [])
    assert {step["args"]["path"] for step in steps} == more
    for step in steps:
        assert inspector.ask(step["op"], **step["args"])["ok"]


def test_objects_of_libraries_are_a_type_and_one_line(inspector):
    shown = {name: read(inspector, name)["value"] for name in ("connection", "axes", "session")}
    assert shown == {"connection": "<Connection>", "axes": "<Axes>", "session": "<Session>"}


def test_a_list_bounds_each_value_and_overflows_by_none(inspector):
    reply = inspector.ask("list_variables", values=True, limit=200)
    items = {item["id"]: item for item in reply["result"]["items"]}
    assert len(items) > 95
    assert items["frame"]["value"] == {"columns": ["sku", "price", "token"]}
    assert items["array"]["value"] == {"dtype": "int64"}
    assert items["list_3"]["value"]["$elided"]["size"] == 99
    assert all(len(json.dumps(item)) < 600 for item in items.values())
