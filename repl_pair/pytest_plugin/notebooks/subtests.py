"""Variants that no stored output names: subtests of their cell, where pytest has such."""

from collections.abc import Generator
from typing import Any

import pytest

from repl_pair.pytest_plugin.notebooks.cell_variants import properties_in
from repl_pair.pytest_plugin.notebooks.notebook import Cell
from repl_pair.runtime.results.forms import text_of

try:
    # pytest names the report in public, but not what it is subtest with; pytest 8 has neither.
    from _pytest.subtests import SubtestContext, SubtestReport
except ImportError:
    SubtestContext = SubtestReport = None


CELL = pytest.StashKey[Cell]()
"""The cell that an item runs."""


class SubtestHooks:
    """Reports the variants of a cell that no stored output names."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report them where the report of their cell is made."""
        report = yield
        cell = item.stash.get(CELL, None)
        if cell is not None and call.when == "call":
            _report_new(item, report, cell)
        return report


def _report_new(item: pytest.Item, report: pytest.TestReport, cell: Cell) -> None:
    for key, result in cell.shown().items():
        if key in cell.stored:
            continue
        if SubtestReport is None:
            report.sections.append((f"variant {key}", text_of(result)))
            continue
        fits = cell.fits(key, result)
        make: Any = SubtestReport
        context: Any = SubtestContext
        subtest = make(
            nodeid=report.nodeid,
            location=report.location,
            keywords=report.keywords,
            outcome="passed" if fits else "failed",
            longrepr=None if fits else text_of(result),
            when="call",
            sections=(),
            duration=0,
            start=report.start,
            stop=report.stop,
            user_properties=properties_in(result),
            context=context(msg=key, kwargs={}),
        )
        item.ihook.pytest_runtest_logreport(report=subtest)
