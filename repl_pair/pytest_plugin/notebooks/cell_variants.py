"""A variant that a cell shows, as an item of its own behind the cell's."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from repl_pair.pytest_plugin.marks import marks_of, properties_of
from repl_pair.pytest_plugin.notebooks.notebook import Cell, CellFailed, run_all
from repl_pair.runtime.results.forms import text_of
from repl_pair.wire import RunResult


class CellVariant(pytest.Item):
    """One variant of one cell; the cell runs with all before it, unless they ran already."""

    variant_tags: tuple[str, ...] = ()
    _cells: Sequence[Cell]
    _cell: Cell
    _key: str

    def stand_for(self, cells: Sequence[Cell], cell: Cell, key: str) -> None:
        """Take the cells up to its own, and the name of its result there."""
        self._cells, self._cell, self._key = cells[: cells.index(cell) + 1], cell, key
        self.variant_tags = cell.stored[key].tags
        for mark in marks_of(self.variant_tags, self.config):
            self.add_marker(mark)

    def runtest(self) -> None:
        """Check the result that the cell shows of the variant."""
        if self._cell.is_skipped:
            pytest.skip(f"{self._cell.name} is marked to be skipped")
        run_all(self._cells)
        result = self._cell.shown().get(self._key)
        if result is None:
            raised = [f"{c.name} raised:\n{c.error_text}" for c in self._cells if c.error_text]
            why = f"The stored outputs of {self._cell.name} show it; those of this run do not."
            raise CellFailed(f"{self._key}: the cell did not show it", "\n".join([why, *raised]))
        self.user_properties.extend(properties_in(result))
        if not self._cell.fits(self._key, result):
            first = result.failures[0].partition("\n")[0] if result.failures else result.status
            raise CellFailed(f"{self._key}: {first}", f"{text_of(result)}\n{self._cell.name}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return how the run ended; a traceback into pytest would not help."""
        error = excinfo.value
        if not isinstance(error, CellFailed):
            return super().repr_failure(excinfo, style)
        flags = ("--nbval", "--nbval-lax", "--pair-notebook")
        given = [flag for flag in flags if self.config.getoption(flag, default=False)]
        return f"{error}\n\n{error.more}\nAgain: pytest {' '.join(given)} '{self.nodeid}'"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the item as its id does."""
        return self.path, 0, self.name


def variants_of(
    parent: pytest.Collector, cells: Sequence[Cell], cell: Cell
) -> Iterable[pytest.Item]:
    """Return an item for each variant that the stored outputs of a cell show."""
    for key in cell.stored:
        item: CellVariant = item_below(parent, CellVariant, f"{cell.name}[{key}]")
        item.stand_for(cells, cell, key)
        yield item


def item_below(parent: pytest.Collector, kind: Any, name: str) -> Any:
    """Make an item; pytest would not know the brackets in its name for what they are."""
    return kind.from_parent(parent, name=name, nodeid=f"{parent.nodeid}::{name}")


def properties_in(result: RunResult) -> list[tuple[str, str]]:
    """Return what is kept of a result beside its verdict, for JUnit files and their kin."""
    more = {"content_hash": result.content_hash, "tags": ",".join(result.tags)}
    return properties_of(result.id, result.modes, result.status, result.assertions, **more)
