"""Our own runner of notebooks, `--pair-notebook`: cells as items, numbered as the person sees them.

Outputs are compared with the stored ones once all cells ran: a later cell may update a display.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from repl_pair.pytest_plugin.notebooks.artifacts import (
    Artifacts,
    artifacts_folder,
    read_notebook,
    write_notebook,
)
from repl_pair.pytest_plugin.notebooks.cell_variants import item_below, variants_of
from repl_pair.pytest_plugin.notebooks.kernel import NotebookKernel
from repl_pair.pytest_plugin.notebooks.notebook import (
    Cell,
    CellFailed,
    describe_unexpected,
    fault_of_cleared,
    results_in,
    run_all,
)
from repl_pair.pytest_plugin.notebooks.outputs import differences, widget_states
from repl_pair.pytest_plugin.notebooks.subtests import CELL, SubtestHooks
from repl_pair.wire import RunResult


class RunnerCell(Cell):
    """A cell that our own runner collected; `at` is its place among all cells."""

    def __init__(self, name: str, cell: Any, at: int, file: "NotebookFile") -> None:
        super().__init__(name, cell)
        self.at = at
        self._file = file
        self._kernel: NotebookKernel | None = None

    def has_run(self) -> bool:
        """Return whether it ran in the kernel that runs now."""
        return self._kernel is not None and self._kernel is self._file.kernel

    def run(self) -> None:
        """Run it whatever it raises; what that is stands in `error_text`."""
        self._kernel = self._file.running
        self.error_text = "" if self.is_skipped else self._kernel.execute(self.at)

    def shown(self) -> Mapping[str, RunResult]:
        """Return the results that it shows by now."""
        return results_in(() if self.is_skipped else self._file.running.outputs(self.at))


class NotebookFile(pytest.File):
    """A notebook; its kernel runs from its first item to its last."""

    notebook: Any = None
    cells: Sequence[RunnerCell] = ()
    kernel: NotebookKernel | None = None

    @property
    def running(self) -> NotebookKernel:
        """Return the kernel, which runs while an item does."""
        assert self.kernel is not None
        return self.kernel

    @property
    def artifacts(self) -> Artifacts:
        """Return the place for what is kept of a run."""
        return Artifacts(config=self.config, path=self.path)

    def collect(self) -> Iterable[pytest.Item]:
        """Return an item for each cell with code, and behind it one for each variant it shows."""
        notebook = self.notebook = read_notebook(self.path)
        code = {
            at: cell
            for at, cell in enumerate(notebook.cells)
            if cell.cell_type == "code" and cell.source.strip()
        }
        named = zip(_names(list(code.values())), code.items(), strict=True)
        try:
            self.cells = [RunnerCell(name, cell, at, self) for name, (at, cell) in named]
        except ValueError as error:
            raise self.CollectError(str(error)) from error
        for cell in self.cells:
            item: CellItem = item_below(self, CellItem, cell.name)
            item.cell = item.stash[CELL] = cell
            yield item
            yield from variants_of(self, self.cells, cell)

    def setup(self) -> None:
        """Start the kernel."""
        self.kernel = NotebookKernel(
            self.notebook,
            folder=self.path.parent,
            timeout=self.config.option.pair_cell_timeout,
            kernel=self.config.option.pair_kernel,
        )
        self.kernel.start()

    def teardown(self) -> None:
        """Stop the kernel; keep the executed notebook, and store it, where that is asked for."""
        kernel = self.kernel
        if kernel is None:
            return
        is_sound = all(cell.has_run() and cell.is_sound() for cell in self.cells)
        self.kernel = None
        kernel.stop()
        self.artifacts.keep_notebook(kernel.notebook)
        if is_updated(self.config) and is_sound:
            write_notebook(self.path, kernel.notebook)


class CellItem(pytest.Item):
    """A cell held to its stored outputs, and to what it shows of variants."""

    cell: RunnerCell

    def runtest(self) -> None:
        """Run the cell, with all before it; CellFailed for what it should not do or show."""
        cell, file = self.cell, self._file
        if cell.is_skipped:
            pytest.skip("the cell is marked to be skipped")
        run_all(file.cells[: file.cells.index(cell) + 1])
        if cell.error_text and not cell.is_raising:
            raise CellFailed(cell.error_text.rstrip().splitlines()[-1], cell.error_text)
        if unexpected := cell.unexpected():
            raise CellFailed(*describe_unexpected(unexpected))
        if not is_updated(self.config):
            self._compare()

    @property
    def _file(self) -> NotebookFile:
        assert isinstance(self.parent, NotebookFile)
        return self.parent

    def _compare(self) -> None:
        """Hold the outputs to the stored ones; a later cell may still make them alike."""
        cell, cells = self.cell, self._file.cells
        allows_cleared: bool = self.config.option.pair_cleared
        if fault := fault_of_cleared(cells, cell, self.path.name, allows_cleared=allows_cleared):
            raise CellFailed(fault)
        if not cell.is_compared or cell.is_unexecuted or not self._differences():
            return
        run_all(cells)
        if differences_found := self._differences():
            raise CellFailed("the outputs are not the stored ones", "\n".join(differences_found))

    def _differences(self) -> list[str]:
        file, at = self._file, self.cell.at
        return differences(
            file.notebook.cells[at].outputs,
            file.running.outputs(at),
            compare_images=partial(file.artifacts.compare_images, self.cell.name),
            stored_widgets=widget_states(file.notebook),
            widgets=widget_states(file.running.notebook),
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is wrong with the cell, and what stands in it."""
        error = excinfo.value
        if not isinstance(error, CellFailed):
            return super().repr_failure(excinfo, style)
        source = [f"    {row}" for row in self.cell.source.splitlines()]
        return "\n".join([f"{self.cell.name}: {error}", *source, "", error.more])

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the item as its id does."""
        return self.path, 0, self.name


class Runner(SubtestHooks):
    """The hooks of a run of our own runner."""

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Collect notebooks, but for those that an earlier run kept."""
        kept = artifacts_folder(parent.config)
        is_kept = kept is not None and file_path.is_relative_to(kept)
        if file_path.suffix != ".ipynb" or is_kept:
            return None
        make: Any = NotebookFile
        return make.from_parent(parent, path=file_path)


def is_updated(config: pytest.Config) -> bool:
    """Return whether notebooks are stored as they are executed, not held to what is stored."""
    return bool(config.getoption("--pair-update", default=False))


def _names(cells: Sequence[Any]) -> Sequence[str]:
    """Return cells' names: their counts as the person sees them, else as a whole run has them."""
    counts = [cell.execution_count for cell in cells]
    if None in counts or len(set(counts)) < len(counts):
        counts = list(range(1, len(cells) + 1))
    return [f"In[{count}]" for count in counts]
