"""What stands beside nbval: variants as items, failing results that fail their cell, sanitisers."""

from collections.abc import Generator, Mapping
from typing import Any, cast

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile  # pyright: ignore[reportMissingTypeStubs]  it has none

from repl_pair.pytest_plugin.notebooks.cell_variants import variants_of
from repl_pair.pytest_plugin.notebooks.kernel import out_of_test
from repl_pair.pytest_plugin.notebooks.notebook import (
    Cell,
    describe_unexpected,
    fault_of_cleared,
    results_in,
    run_all,
    uses_repl_pair,
)
from repl_pair.pytest_plugin.notebooks.outputs import PATTERNS
from repl_pair.pytest_plugin.notebooks.subtests import CELL, SubtestHooks
from repl_pair.wire import MIME, RESULTS_MIME, RunResult


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

    def note(self, error_text: str = "") -> None:
        """Note that it ran, and what went wrong."""
        self._kernel, self.error_text = self._item.parent.kernel, error_text

    def run(self) -> None:
        """Run it without holding its outputs to what is stored: it is another's turn."""
        options, error_text = self._item.options, ""
        options["check"], checked = False, options["check"]
        try:
            self._item.runtest()
        except pytest.skip.Exception:
            pass  # it asks not to be run, and what it would have shown is missed by who needs it
        except Exception as error:  # noqa: BLE001  its own turn reports it
            error_text = _error_text(error)
        finally:
            options["check"] = checked
        self.note(error_text)

    def has_raised(self) -> bool:
        """Return whether it raised when it ran last, whatever else is wrong with it."""
        return any(out["output_type"] == "error" for out in self._item.test_outputs or ())

    def shown(self) -> Mapping[str, RunResult]:
        """Return the results that it showed when it ran last."""
        return results_in(self._item.test_outputs or ())


class NbvalHooks(SubtestHooks):
    """The hooks of a run of nbval."""

    def __init__(self, config: pytest.Config) -> None:
        self._allows_cleared = bool(config.getoption("--pair-cleared"))

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
        not pass explains more than the difference of outputs that comes of it.
        """
        if not isinstance(item, IPyNbCell):
            yield
            return
        file: pytest.Collector = cast("Any", item).parent
        cells, uses_pair = file.stash[_CELLS], file.stash[_USES_PAIR]
        cell = cast("NbvalCell", item.stash[CELL])
        if uses_pair:
            run_all(cells[: cells.index(cell)])
        try:
            yield
        except Exception as error:
            cell.note(_error_text(error))
            if cell.has_raised() or not cell.unexpected():
                raise
        else:
            cell.note()
        nbval_item: Any = item
        if unexpected := cell.unexpected():
            nbval_item.raise_cell_error(*describe_unexpected(unexpected))
        name, allows = item.path.name, self._allows_cleared
        if uses_pair and (fault := fault_of_cleared(cells, cell, name, allows_cleared=allows)):
            nbval_item.raise_cell_error(fault)


_CELLS = pytest.StashKey[list[NbvalCell]]()
_USES_PAIR = pytest.StashKey[bool]()


def _with_variants(file: Any, items: list[Any]) -> list[pytest.Item | pytest.Collector]:
    cells = [NbvalCell(item) for item in items]
    file.stash[_CELLS] = cells
    uses_pair = file.stash[_USES_PAIR] = uses_repl_pair([item.cell for item in items])
    if uses_pair:
        file.skip_compare += (MIME, RESULTS_MIME)
        file.sanitize_patterns.update(PATTERNS)
        file.setup = out_of_test()(file.setup)  # it starts the kernel
    found: list[pytest.Item | pytest.Collector] = []
    for item, cell in zip(items, cells, strict=True):
        item.stash[CELL] = cell
        found += [item, *variants_of(file, cells, cell)]
    return found


def _error_text(error: BaseException) -> str:
    return getattr(error, "inner_traceback", None) or str(error)
