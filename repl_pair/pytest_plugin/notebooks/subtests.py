"""Variants that no stored output names: subtests of their cell, where pytest has such."""

from typing import Any

import pytest

from repl_pair.pytest_plugin.notebooks.cell_variants import properties_of
from repl_pair.pytest_plugin.notebooks.notebook import Cell
from repl_pair.runtime.results.forms import text_of
from repl_pair.wire import RunResult

try:
    # pytest names the report in public, but not what it is subtest with; pytest 8 has neither.
    from _pytest.subtests import SubtestContext, SubtestReport
except ImportError:
    SubtestContext = SubtestReport = None


def report_new(item: pytest.Item, report: pytest.TestReport, cell: Cell) -> None:
    """Report what a cell showed of variants that its stored outputs do not, beside its report."""
    for key, result in cell.shown().items():
        if key in cell.stored:
            continue
        if SubtestReport is None:
            report.sections.append((f"variant {key}", text_of(result)))
        else:
            subtest = _subtest(report, key, result, cell.fits(key, result))
            item.ihook.pytest_runtest_logreport(report=subtest)


def _subtest(report: pytest.TestReport, key: str, result: RunResult, fits: bool) -> Any:
    make: Any = SubtestReport
    context: Any = SubtestContext
    return make(
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
        user_properties=properties_of(result),
        context=context(msg=key, kwargs={}),
    )
