"""The runner of notebooks, `--pair-notebook`: cells as items, numbered as the person sees them.

Outputs are compared with the stored ones once all cells ran: a later cell may update a display.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from repl_pair.pytest_plugin.notebooks.artifacts import (
    artifact_of,
    artifacts_folder,
    differing_images,
    read_notebook,
    write_notebook,
)
from repl_pair.pytest_plugin.notebooks.cell_variants import (
    CELL,
    NotebookItem,
    SubtestHooks,
    item_below,
    variants_of,
)
from repl_pair.pytest_plugin.notebooks.kernel import NotebookKernel
from repl_pair.pytest_plugin.notebooks.notebook import (
    Cell,
    CellFailed,
    describe_unexpected,
    fault_of_cleared,
    results_in,
    run_all,
    stored_in,
)
from repl_pair.pytest_plugin.notebooks.outputs import differences, open_widgets, widget_states
from repl_pair.runtime.results.notebook_results import RunResult


class RunnerCell(Cell):
    """A cell that this runner collected; `at` is its place among all cells."""

    file: "NotebookFile"

    def __init__(self, name: str, cell: Any, at: int, file: "NotebookFile") -> None:
        super().__init__(name, cell, file)
        self.at = at
        self.stored = stored_in(open_widgets(cell.outputs, widget_states(file.notebook)))
        self.is_skipped |= "skip-execution" in cell.metadata.get("tags", ())
        self.is_lost = False
        """Whether its kernel ended in it or before it: that is none of what it raises."""

    def execute(self) -> str:
        """Execute it, unless it is skipped; return what it raises, or nothing."""
        raised = "" if self.is_skipped else self.file.running.execute(self.at)
        self.is_lost = bool(self.file.running.gone)
        return raised

    def shown(self) -> dict[str, RunResult]:
        """Return the results that it shows now, also those within widgets."""
        return results_in(open_widgets(self.outputs(), widget_states(self.file.running.notebook)))

    def is_sound(self) -> bool:
        """Return whether its kernel lived, it raised nothing and its variants passed."""
        return not self.is_lost and super().is_sound()

    def outputs(self) -> Sequence[Any]:
        """Return its outputs by now; none where it is skipped."""
        return () if self.is_skipped else self.file.running.notebook.cells[self.at].outputs


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

    def collect(self) -> Iterable[pytest.Item]:
        """Return an item for each cell with code, and behind it one for each variant it shows."""
        notebook = self.notebook = read_notebook(self.path)
        refusal = _refuse_language(self.path, notebook)
        if refusal and self.config.option.pair_kernel is None:
            raise self.CollectError(refusal)
        code = {
            at: cell
            for at, cell in enumerate(notebook.cells)
            if cell.cell_type == "code" and cell.source.strip()
        }
        # Cells are named by their counts as the person sees them, else as a whole run has them.
        counts: Sequence[int | None] = [cell.execution_count for cell in code.values()]
        if None in counts or len(set(counts)) < len(counts):
            counts = range(1, len(code) + 1)
        counted = zip(counts, code.items(), strict=True)
        try:
            self.cells = [RunnerCell(f"In[{n}]", cell, at, self) for n, (at, cell) in counted]
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
        is_sound = all(c.is_skipped or (c.has_run() and c.is_sound()) for c in self.cells)
        self.kernel = None
        kernel.stop()
        if (place := artifact_of(self)) is not None:
            write_notebook(place, kernel.notebook)
        if self.config.option.pair_update and is_sound:
            # Another process of xdist may have stored it too: only what a person edits counts.
            if _edited_parts(read_notebook(self.path)) != _edited_parts(self.notebook):
                what = f"{self.path.name} was changed while it ran, so it was not stored."
                pytest.fail(f"{what} Run it again.", pytrace=False)
            write_notebook(self.path, kernel.notebook)


def _refuse_language(path: Path, notebook: Any) -> str:
    """Return why the kernel of this Python cannot run a notebook, or nothing."""
    spec, about = (
        notebook.metadata.get("kernelspec", {}),
        notebook.metadata.get("language_info", {}),
    )
    language = spec.get("language") or about.get("name") or "python"
    if language.lower() == "python":
        return ""
    how = f"leave it out by --ignore, or give --pair-kernel {spec.get('name') or 'NAME'}"
    return f"{path.name} is written in {language}: {how}"


def _edited_parts(notebook: Any) -> list[tuple[str, str, Any]]:
    return [(cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells]


class CellItem(NotebookItem):
    """A cell held to its stored outputs, and to what it shows of variants."""

    cell: RunnerCell

    def runtest(self) -> None:
        """Run the cell, with all before it; CellFailed for what it should not do or show."""
        cell, file = self.cell, self.cell.file
        if cell.is_skipped:
            pytest.skip("the cell is marked to be skipped")
        run_all(file.cells[: file.cells.index(cell) + 1])
        if file.running.may_still_change(cell.at):
            run_all(file.cells)
        if cell.error_text and (cell.is_lost or not cell.is_raising):
            raise CellFailed(cell.error_text.rstrip().splitlines()[-1], cell.error_text)
        if unexpected := cell.unexpected():
            raise CellFailed(*describe_unexpected(unexpected))
        if self.config.option.pair_update:
            return
        if fault := fault_of_cleared(file.cells, cell, self):
            raise CellFailed(fault)
        if not cell.is_compared or cell.is_unexecuted or not self._differences():
            return
        run_all(file.cells)  # a later cell may still make the outputs alike
        if found := self._differences():
            raise CellFailed("the outputs are not the stored ones", "\n".join(found))

    def _differences(self) -> list[str]:
        cell, file = self.cell, self.cell.file
        return differences(
            file.notebook.cells[cell.at].outputs,
            cell.outputs(),
            compare_images=partial(differing_images, self, cell.name),
            stored_widgets=widget_states(file.notebook),
            widgets=widget_states(file.running.notebook),
        )

    def describe(self, error: CellFailed) -> str:
        """Report what is wrong with the cell, and what stands in it."""
        source = [f"    {row}" for row in self.cell.source.splitlines()]
        return "\n".join([f"{self.cell.name}: {error}", *source, "", error.more])


class Runner(SubtestHooks):
    """The hooks of a run of this runner."""

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
