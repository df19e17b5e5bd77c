"""Arrays whose cells are masked, and labels that are moments, as numpy and pandas have them."""

import numpy
import pandas
import pytest

from repl_pair.runtime.reading.expansion import open_up
from repl_pair.runtime.reading.table_counts import count_cells
from repl_pair.runtime.reading.table_views import show_array, show_more
from repl_pair.runtime.reading.tables import dtype_text, label_positions, shape_of_table
from repl_pair.runtime.reading.whole_tables import as_columns, as_rows
from repl_pair.runtime.snapshots.texts import write_text


def test_a_masked_cell_is_none_and_counts_as_null():
    plain = numpy.array([21.5, -9999.0, 19.0])
    masked = numpy.ma.masked_array(plain, mask=[False, True, False])
    assert show_array(masked)["head"] == [21.5, None, 19.0]
    assert count_cells(masked) == {"nulls": 1, "min": 19.0, "max": 21.5}
    grid = numpy.ma.masked_array(numpy.arange(4).reshape(2, 2), mask=[[0, 1], [0, 0]])
    assert show_array(grid)["head"] == [[0, None], [2, 3]]


def test_a_masked_field_within_a_field_is_none():
    dtype = [("at", [("city", "U4"), ("n", "i4")]), ("b", "i4", 2)]
    rows = numpy.ma.array([(("Rome", 1), 2)] * 2, dtype)
    rows.mask[0]["at"]["city"] = True
    assert [row["at"] for row in as_rows(rows)] == [
        {"city": None, "n": 1},
        {"city": "Rome", "n": 1},
    ]
    assert [row and row["at"] for row in show_array(rows)["head"]] == [None, as_rows(rows)[1]["at"]]
    assert all("((None, 1), " in write_text(some, hide=str) for some in (rows, rows[0]))


def test_a_masked_item_of_an_array_in_a_field_is_none():
    rows = numpy.ma.array(numpy.zeros(2, [("at", [("x", "i4")], 2), ("b", "i4", 2)]), mask=False)
    rows.mask["b"][0, 1] = rows.mask["at"]["x"][1, 0] = True
    assert open_up(rows, as_columns)["items"] == [
        {"at": {"items": [{"x": 0}, {"x": 0}]}, "b": {"items": [0, None]}},
        {"at": {"items": [{"x": None}, {"x": 0}]}, "b": {"items": [0, 0]}},
    ]


def test_a_dtype_as_text_shows_the_length_of_no_text():
    dtype = numpy.dtype([("code", "U20", (3,)), ("pin", "S4"), ("n", "f8")])
    assert dtype_text(dtype) == "code: ('<U', (3,)), pin: |S, n: float64"


@pytest.mark.parametrize("text", ["2024-01-02", "2024-01", "2024-01-02T03", "2024", "2023-01"])
def test_a_text_of_a_moment_means_all_that_stands_in_it_as_in_pandas(text):
    hours = pandas.date_range("2024-01-01", periods=96, freq="h")
    rows = pandas.Series(range(96), index=hours)
    wanted = [] if text == "2023-01" else numpy.atleast_1d(rows.loc[text]).tolist()
    assert label_positions(hours, text) == wanted


@pytest.mark.parametrize("text", ["2024-01-01T00:00Z", "2024-01-01T00+01:00", "now"])
@pytest.mark.filterwarnings("error")
def test_a_moment_with_a_zone_or_of_now_is_no_label_and_makes_no_warning(text):
    assert label_positions(pandas.date_range("2024-01-01", periods=2, freq="h"), text) == []


class Name(str):
    """A label whose code counts the calls of it."""

    calls = 0

    def __hash__(self):
        Name.calls += 1
        return str.__hash__(self)

    def __eq__(self, other):
        Name.calls += 1
        return str.__eq__(self, other)


HOSTILE = {
    "a frame": lambda name: pandas.DataFrame({"a": [1]}, index=pandas.Index([5], name=name)),
    "a series": lambda name: pandas.Series([1], name=name),
    "an index": lambda name: pandas.Index([5], name=name),
    "a range": lambda name: pandas.RangeIndex(3, name=name),
    "a tuple": lambda name: pandas.Index([5], name=("a", name)),
    "columns": lambda name: pandas.DataFrame(
        [[1]], columns=pandas.MultiIndex.from_tuples([("a", "b")], names=[name, None])
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_no_code_of_a_name_runs_where_a_table_is_shown(what):
    value, plain = HOSTILE[what](Name("x")), HOSTILE[what]("x")
    before = Name.calls
    assert show_more(value) is None
    assert shape_of_table(value) is None
    assert Name.calls == before
    assert show_more(plain) is not None
