"""Names in tables: of rows, columns and what stands beside them."""

import numpy
import pandas
import polars
import pytest

from repl_pair.runtime.reading import table_names
from repl_pair.runtime.reading.table_names import A_SECRET, hide_beside, secret_cells
from repl_pair.runtime.reading.table_parts import labels_beside
from repl_pair.runtime.reading.whole_tables import as_rows
from repl_pair.runtime.values.frozen import Secret


@pytest.fixture
def few_names(monkeypatch):
    monkeypatch.setattr(table_names, "MAX_NAMES", 100)


@pytest.mark.usefixtures("few_names")
@pytest.mark.parametrize(("names", "beside"), [("ab" * 51, ["a", "b"]), (range(101), [A_SECRET])])
def test_more_different_names_beside_values_than_are_looked_at_count_as_those_of_secrets(
    names, beside
):
    frame = pandas.DataFrame({"name": map(str, names), "value": 1})
    for table in (frame, frame.astype(object), polars.DataFrame(frame.to_dict("list"))):
        assert sorted(labels_beside(table, "value")) == beside
        assert labels_beside(table, "name") == []


@pytest.mark.usefixtures("few_names")
def test_of_rows_of_names_and_values_only_values_of_secrets_are_hidden():
    frame = pandas.DataFrame({"name": ["password", "region"], "value": ["hun7r", "eu-7"]})
    assert as_rows(frame.T)[1] == {"0": Secret("hun7r"), "1": "eu-7"}
    assert as_rows(frame.T[0]) == ["password", Secret("hun7r")]
    assert as_rows(frame.T[1]) == ["region", "eu-7"]
    assert as_rows(pandas.DataFrame(index=["password", "b"])) == []
    doubled = pandas.concat([frame[["name"]].shift(), frame], axis=1)
    assert [row["value"] for row in as_rows(doubled)] == [Secret("hun7r"), Secret("eu-7")]
    many = pandas.Series(range(202), index=["name", "value"] * 101)
    assert as_rows(many[:200]) == [*range(200)]
    assert as_rows(many)[:4] == [0, Secret(1), 2, Secret(3)]


NAMED = {"name": ["password", "region"], "value": ["hun7r", "eu-7"]}
TABLES = {
    "a frame": pandas.DataFrame(NAMED),
    "levels of labels": pandas.DataFrame({("a", slot): cells for slot, cells in NAMED.items()}),
    "a frame of polars": polars.DataFrame(NAMED),
    "fields": numpy.array([*zip(*NAMED.values(), strict=True)], dtype=[(k, "U9") for k in NAMED]),
    "a column": pandas.DataFrame({"user": ["eu-7"], "password": ["hun7r"]}),
    "a column of polars": polars.DataFrame({"user": ["eu-7"], "password": ["hun7r"]}),
}


@pytest.mark.parametrize("what", TABLES)
def test_cells_under_and_beside_the_names_of_secrets_are_known_and_no_others(what):
    assert secret_cells(TABLES[what], 10) == ["hun7r"]


@pytest.mark.parametrize("cell", [numpy.float64("nan"), numpy.bool_(True), None, False])
def test_a_cell_that_is_missing_or_true_or_false_is_no_secret(cell):
    assert hide_beside(["name", "value"], [["password"], [cell]])[1][0] is cell
