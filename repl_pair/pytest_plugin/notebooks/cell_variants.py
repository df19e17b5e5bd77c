"""The variants that a cell shows: items where its stored outputs name them, else subtests."""

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from repl_pair.pytest_plugin.marks import properties_of
from repl_pair.pytest_plugin.notebooks.notebook import Cell, CellFailed, excuse_of, run_all
from repl_pair.runtime.results.forms import text_of
from repl_pair.runtime.results.notebook_results import RunResult

try:
    # pytest names the report in public, but not what it is subtest with; pytest 8 has neither.
    from _pytest.subtests import SubtestContext, SubtestReport
except ImportError:
    SubtestContext = SubtestReport = None

CELL = pytest.StashKey[Cell]()
"""The cell that an item runs."""


class NotebookItem(pytest.Item):
    """An item below a notebook."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is wrong; a traceback into pytest would not help."""
        if isinstance(excinfo.value, CellFailed):
            return self.describe(excinfo.value)
        return super().repr_failure(excinfo, style)

    def describe(self, error: CellFailed) -> str:
        """Report what is wrong."""
        raise NotImplementedError

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the item as its id does."""
        return self.path, 0, self.name


class CellVariant(NotebookItem):
    """One variant of one cell; the cell runs with all before it, unless they ran already."""

    variant_tags: tuple[str, ...] = ()
    cells: Sequence[Cell]
    """The cells up to its own."""
    key: str
    """The name of its result in its cell."""

    def runtest(self) -> None:
        """Check the result that the cell shows of the variant."""
        cell, key = self.cells[-1], self.key
        if cell.is_skipped:
            pytest.skip(f"{cell.name} is marked to be skipped")
        run_all(self.cells)
        result = cell.shown().get(key)
        if result is None:
            raised = [f"{c.name} raised:\n{c.error_text}" for c in self.cells if c.error_text]
            why = f"The stored outputs of {cell.name} show it; those of this run do not."
            raise CellFailed(f"{key}: the cell did not show it", "\n".join([why, *raised]))
        self.user_properties.extend(properties_in(result))
        if not cell.fits(key, result):
            first = result.failures[0].partition("\n")[0] if result.failures else result.status
            raise CellFailed(f"{key}: {first}", f"{text_of(result)}\n{cell.name}")

    def describe(self, error: CellFailed) -> str:
        """Report how the run ended, and how to repeat it."""
        flags = ("--nbval", "--nbval-lax", "--pair-notebook")
        given = [flag for flag in flags if self.config.getoption(flag, default=False)]
        return f"{error}\n\n{error.more}\nAgain: pytest {' '.join(given)} '{self.nodeid}'"


def variants_of(
    parent: pytest.Collector, cells: Sequence[Cell], cell: Cell
) -> Iterable[pytest.Item]:
    """Return an item for each variant that the stored outputs of a cell show."""
    for key, stored in cell.stored.items():
        item: CellVariant = item_below(parent, CellVariant, f"{cell.name}[{key}]")
        item.cells, item.key = cells[: cells.index(cell) + 1], key
        item.variant_tags = stored.tags
        yield item


def item_below(parent: pytest.Collector, kind: Any, name: str) -> Any:
    """Make an item; pytest would not know the brackets in its name for what they are."""
    return kind.from_parent(parent, name=name, nodeid=f"{parent.nodeid}::{name}")


def properties_in(result: RunResult) -> list[tuple[str, str]]:
    """Return what is kept of a result beside its verdict, for JUnit files and similar."""
    more = {"content_hash": result.content_hash, "tags": ",".join(result.tags)}
    return properties_of(result.id, result.modes, result.status, result.assertions, **more)


class SubtestHooks:
    """Reports the variants of a cell that no stored output names."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report them where the report of their cell is made."""
        report = yield
        cell = item.stash.get(CELL, None)
        if cell is None or call.when != "call":
            return report
        for key, result in cell.shown().items():
            if key in cell.stored:
                continue
            if SubtestReport is None:
                report.sections.append((f"variant {key}", text_of(result)))
                continue
            fits = cell.fits(key, result)
            excuse = (str(item.path), 0, excuse_of(result)) if excuse_of(result) else None
            make: Any = SubtestReport
            context: Any = SubtestContext
            subtest = make(
                nodeid=report.nodeid,
                location=report.location,
                keywords=report.keywords,
                outcome="passed" if fits else "skipped" if excuse else "failed",
                longrepr=None if fits else excuse or text_of(result),
                when="call",
                sections=(),
                duration=0,
                start=report.start,
                stop=report.stop,
                user_properties=properties_in(result),
                context=context(msg=key, kwargs={}),
            )
            item.ihook.pytest_runtest_logreport(report=subtest)
        return report
