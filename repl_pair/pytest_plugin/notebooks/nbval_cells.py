"""What stands beside nbval: variants as items, failing results that fail their cell, sanitisers."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, cast

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile  # pyright: ignore[reportMissingTypeStubs]  it has none

from repl_pair.pytest_plugin.notebooks.cell_variants import variants_of
from repl_pair.pytest_plugin.notebooks.kernel import out_of_test
from repl_pair.pytest_plugin.notebooks.notebook import (
    Cell,
    CellResult,
    fault_of_cleared,
    is_ours,
    results_in,
    run_all,
    tell_unfit,
)
from repl_pair.pytest_plugin.notebooks.sanitising import PATTERNS
from repl_pair.pytest_plugin.notebooks.subtests import report_new
from repl_pair.wire import MIME, RESULTS_MIME


class NbvalCell(Cell):
    """A cell that nbval collected."""

    def __init__(self, item: Any) -> None:
        super().__init__(item.name, item.cell)
        self.is_compared = bool(item.options["check"])
        self._item = item
        self._kernel: Any = None

    def has_run(self) -> bool:
        """Return whether it ran in the kernel that runs now."""
        return self._kernel is not None and self._kernel is self._item.parent.kernel

    def note(self, trouble: str = "") -> None:
        """Note that it ran, and what went wrong."""
        self._kernel, self.trouble = self._item.parent.kernel, trouble

    def run(self) -> None:
        """Run it without holding its outputs to what is stored: it is another's turn."""
        options, trouble = self._item.options, ""
        options["check"], checked = False, options["check"]
        try:
            self._item.runtest()
        except pytest.skip.Exception:
            pass  # it asks not to be run, and what it would have shown is missed by who needs it
        except Exception as error:  # noqa: BLE001  whose turn it is tells of it
            trouble = _told(error)
        finally:
            options["check"] = checked
        self.note(trouble)

    def has_raised(self) -> bool:
        """Return whether it raised when it ran last, whatever else is wrong with it."""
        return any(out["output_type"] == "error" for out in self._item.test_outputs or ())

    def shown(self) -> Mapping[str, CellResult]:
        """Return the results that it showed when it ran last."""
        return results_in(self._item.test_outputs or ())


class BesideNbval:
    """The hooks of a run of nbval."""

    def __init__(self, config: pytest.Config) -> None:
        self._lets_cleared = bool(config.getoption("--pair-cleared"))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Put the variants of each cell behind it, before others choose among them."""
        report = yield
        if isinstance(collector, IPyNbFile) and report.outcome == "passed":
            try:
                report.result = _with_variants(collector, report.result)
            except ValueError as error:
                report.outcome, report.longrepr = "failed", str(error)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Fail a cell that shows a result which did not pass, or that has nothing to be held to.

        The cells before it run too, where they were not chosen: it needs them. A result that did
        not pass says more than the difference of outputs that comes of it.
        """
        if not isinstance(item, IPyNbCell):
            yield
            return
        file: pytest.Collector = cast("Any", item).parent
        cell, cells = item.stash[_CELL], file.stash[_CELLS]
        if file.stash[_OURS]:
            run_all(cells[: cells.index(cell)])
        try:
            yield
        except Exception as error:
            cell.note(_told(error))
            if cell.has_raised() or not cell.unfit():
                raise
        else:
            cell.note()
        self._judge(item, cell)

    def _judge(self, item: Any, cell: NbvalCell) -> None:
        if unfit := cell.unfit():
            item.raise_cell_error(*tell_unfit(unfit))
        cells = item.parent.stash[_CELLS]
        if not item.parent.stash[_OURS]:
            return
        name = item.path.name
        if fault := fault_of_cleared(cells, cell, name, lets_cleared=self._lets_cleared):
            item.raise_cell_error(fault)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report the variants that no stored output names."""
        report = yield
        if isinstance(item, IPyNbCell) and call.when == "call":
            report_new(item, report, item.stash[_CELL])
        return report


_CELL = pytest.StashKey[NbvalCell]()
_CELLS = pytest.StashKey[list[NbvalCell]]()
_OURS = pytest.StashKey[bool]()


def _with_variants(file: Any, items: list[Any]) -> list[pytest.Item | pytest.Collector]:
    cells = [NbvalCell(item) for item in items]
    file.stash[_CELLS] = cells
    ours = file.stash[_OURS] = is_ours([item.cell for item in items])
    if ours:
        file.skip_compare += (MIME, RESULTS_MIME)
        file.sanitize_patterns.update(PATTERNS)
        file.setup = _as_at_a_front_end(file.setup)
    found: list[pytest.Item | pytest.Collector] = []
    for item, cell in zip(items, cells, strict=True):
        item.stash[_CELL] = cell
        found += [item, *variants_of(file, cells, cell)]
    return found


def _as_at_a_front_end(setup: Callable[[], None]) -> Callable[[], None]:
    """Return the setup of a file, which starts its kernel, without what pytest tells its tests."""

    def set_up() -> None:
        with out_of_test():
            setup()

    return set_up


def _told(error: BaseException) -> str:
    return getattr(error, "inner_traceback", None) or str(error)
