"""What stands beside nbval: variants as items, failing results that fail their cell, sanitisers."""

import time
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from queue import Empty
from typing import Any, cast

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile  # pyright: ignore[reportMissingTypeStubs]  it has none

from repl_pair.pytest_plugin.notebooks.cell_variants import CELL, SubtestHooks, variants_of
from repl_pair.pytest_plugin.notebooks.notebook import (
    Cell,
    describe_unexpected,
    fault_of_cleared,
    out_of_test,
    run_all,
)
from repl_pair.pytest_plugin.notebooks.outputs import PATTERNS
from repl_pair.runtime.results.notebook_results import RESULTS_MIME
from repl_pair.wire import MIME


class NbvalCell(Cell):
    """A cell that nbval collected."""

    def __init__(self, item: Any) -> None:
        super().__init__(item.name, item.cell, item.parent)
        self.is_compared = bool(item.options["check"])
        self._item = item

    def execute(self) -> str:
        """Execute it without holding its outputs to what is stored: it is another's turn."""
        options = self._item.options
        options["check"], checked = False, options["check"]
        try:
            self._item.runtest()
        except pytest.skip.Exception:
            pass  # it asks not to be run, and what it would have shown is missed by who needs it
        except Exception as error:  # noqa: BLE001  its own turn reports it
            return _error_text(error)
        finally:
            options["check"] = checked
        return ""

    def outputs(self) -> Iterable[Mapping[str, Any]]:
        """Return its outputs when it ran last."""
        return self._item.test_outputs or ()


class KernelDied(Exception):
    """The kernel of a notebook ended while one of its cells was waited for."""


class NbvalHooks(SubtestHooks):
    """The hooks of a run of nbval."""

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
        nbval_item: Any = item
        file: pytest.Collector = nbval_item.parent
        cells = file.stash[_CELLS]
        uses_pair = _use_repl_pair(cells)
        cell = cast("NbvalCell", item.stash[CELL])
        if uses_pair:
            run_all(cells[: cells.index(cell)])
        try:
            yield
        except Exception as error:
            cell.note_run(_error_text(error))
            if isinstance(error, KernelDied):
                nbval_item.raise_cell_error(str(error))
            has_raised = any(out["output_type"] == "error" for out in cell.outputs())
            if has_raised or not cell.unexpected():
                raise
        else:
            cell.note_run()
        if unexpected := cell.unexpected():
            nbval_item.raise_cell_error(*describe_unexpected(unexpected))
        if uses_pair and (fault := fault_of_cleared(cells, cell, item)):
            nbval_item.raise_cell_error(fault)


LOOKS_S = 1.0
"""How often it is asked whether a kernel that sends nothing is alive."""
_CELLS = pytest.StashKey[list[NbvalCell]]()


def _with_variants(file: Any, items: list[Any]) -> list[pytest.Item | pytest.Collector]:
    cells = [NbvalCell(item) for item in items]
    file.stash[_CELLS] = cells
    if _use_repl_pair(cells):
        file.skip_compare += (MIME, RESULTS_MIME)
        file.sanitize_patterns.update(PATTERNS)
        file.setup = partial(_set_up, file, file.setup)
    found: list[pytest.Item | pytest.Collector] = []
    for item, cell in zip(items, cells, strict=True):
        item.stash[CELL] = cell
        found += [item, *variants_of(file, cells, cell)]
    return found


def _set_up(file: Any, start: Callable[[], None]) -> None:
    with out_of_test():
        start()
    # nbval waits for a kernel that has died until the time of the cell is over.
    file.kernel.get_message = partial(_get_message, file.kernel, file.kernel.get_message)


def _get_message(
    kernel: Any, get: Callable[..., Any], stream: str, timeout: float | None = None
) -> Any:
    until = float("inf") if timeout is None else time.monotonic() + timeout
    while True:
        try:
            return get(stream, timeout=max(0.0, min(LOOKS_S, until - time.monotonic())))
        except Empty:
            if not kernel.is_alive():
                raise KernelDied("the kernel died in it") from None
            if time.monotonic() >= until:
                raise


def _use_repl_pair(cells: Iterable[Cell]) -> bool:
    return any("repl_pair" in cell.source or cell.stored for cell in cells)


def _error_text(error: BaseException) -> str:
    return getattr(error, "inner_traceback", None) or str(error)
