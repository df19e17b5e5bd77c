"""The benchmarks give rows in the form that the table takes; their figures are not judged."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
NAMES = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
SLOTS = {"what", "measured", "unit", "baseline", "baseline_what", "ratio"}


@pytest.fixture(scope="module")
def program():
    """The program that prints the table, with little work to do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        patch.setenv("REPL_PAIR_BENCH_QUICK", "1")
        yield importlib.import_module("run")


def check_shape(row):
    assert row.keys() - {"budget"} == SLOTS
    assert row["measured"] >= 0
    assert row["ratio"] == (row["measured"] / row["baseline"] if row["baseline"] else None)
    assert all(isinstance(row[slot], str) and row[slot] for slot in ("what", "unit"))


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_gives_rows_of_figures_with_their_baselines(program: ModuleType, name):
    rows = list(program.measure_all([name]))
    assert rows
    for row in rows:
        check_shape(row)
    assert len({row["what"] for row in rows}) == len(rows)
    lines = program.table(rows).splitlines()
    assert len(lines) == len(rows) + 2
    assert {line.count("|") for line in lines} == {len(program.HEAD) + 1}


@pytest.mark.parametrize(
    ("measured", "budget", "mark"),
    [
        (3.0, "<= 3", "ok"),
        (3.1, "<= 3", "**over**"),
        (3.0, ">= 3", "ok"),
        (2.9, ">= 3", "**over**"),
        (4.0, "ratio <= 2", "ok"),
        (4.1, "ratio <= 2", "**over**"),
        (4.1, None, ""),
    ],
)
def test_a_row_shows_whether_it_is_within_its_budget(program: ModuleType, measured, budget, mark):
    measure = importlib.import_module("measure")
    row = measure.row("x", measured, "ms", baseline=2.0, baseline_what="y", budget=budget)
    assert program.cells(row)[-1] == mark


def test_the_figures_are_put_between_their_marks_and_nothing_else_changes(
    program: ModuleType, tmp_path
):
    page = tmp_path / "figures.md"
    page.write_text("before\n<!-- figures -->\nold\n<!-- /figures -->\nafter\n")
    program.write(page, f"| new |\n\n{program.stamp()}")
    assert page.read_text() == (
        f"before\n<!-- figures -->\n| new |\n\n{program.stamp()}\n<!-- /figures -->\nafter\n"
    )
