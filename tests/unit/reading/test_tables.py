"""Arrays whose cells are masked, and labels that are moments, as numpy and pandas have them."""

import numpy
import pandas
import pytest

from repl_pair.runtime.reading.table_counts import count_cells
from repl_pair.runtime.reading.table_views import show_array
from repl_pair.runtime.reading.tables import label_positions


def test_a_masked_cell_is_none_and_counts_as_null():
    plain = numpy.array([21.5, -9999.0, 19.0])
    masked = numpy.ma.masked_array(plain, mask=[False, True, False])
    assert show_array(masked)["head"] == [21.5, None, 19.0]
    assert count_cells(masked) == {"nulls": 1, "min": 19.0, "max": 21.5}
    grid = numpy.ma.masked_array(numpy.arange(4).reshape(2, 2), mask=[[0, 1], [0, 0]])
    assert show_array(grid)["head"] == [[0, None], [2, 3]]


@pytest.mark.parametrize("text", ["2024-01-02", "2024-01", "2024-01-02T03", "2024", "2023-01"])
def test_a_text_of_a_moment_means_all_that_stands_in_it_as_in_pandas(text):
    hours = pandas.date_range("2024-01-01", periods=96, freq="h")
    rows = pandas.Series(range(96), index=hours)
    wanted = [] if text == "2023-01" else numpy.atleast_1d(rows.loc[text]).tolist()
    assert label_positions(hours, text) == wanted
