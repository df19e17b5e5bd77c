"""A notebook as CI sees it: what its cells stored, what they show now, and which of them ran."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from repl_pair.errors import count_of
from repl_pair.runtime.registry.ids import name_run
from repl_pair.runtime.registry.tags import ACTING
from repl_pair.runtime.results.forms import text_of
from repl_pair.runtime.results.notebook_results import RESULTS_MIME, RESULTS_VERSION, RunResult


def results_in(outputs: Iterable[Mapping[str, Any]]) -> dict[str, RunResult]:
    """Return the results among a cell's outputs by their names; one shown again counts once.

    Those of a name that differ are distinguished by `#2`, `#3`. ValueError for another version.
    """
    found: dict[str, RunResult] = {}
    for output in outputs:
        data = output.get("data", {}).get(RESULTS_MIME)
        if not data:
            continue
        if (version := data.get("version")) != RESULTS_VERSION:
            raise ValueError(
                f"The results in it are of version {version!r}, and version {RESULTS_VERSION} can "
                "be read: execute the notebook and save it, with the versions of repl_pair that "
                "are here."
            )
        results = [*map(RunResult.from_wire, data["results"])] or [_no_run(data["status"])]
        for result in results:
            name = first = name_run(result.id, result.modes)
            count = 1
            while name in found and found[name] != result:
                count += 1
                name = f"{first}#{count}"
            found[name] = result
    return found


def stored_in(outputs: Iterable[Mapping[str, Any]]) -> dict[str, RunResult]:
    """Return the results of variants among stored outputs, each of which is an item."""
    found = results_in(outputs)
    return {name: result for name, result in found.items() if result.id != NO_VARIANT}


NO_VARIANT = "no variant"
"""What stands for a variant where a sweep chose none."""


def _no_run(status: str) -> RunResult:
    """Return what stands for a sweep that chose nothing, so that nothing is shown to pass."""
    return RunResult(
        id=NO_VARIANT,
        modes=(),
        status=status,
        assertions=0,
        failures=("no variant was chosen, so that none is shown to pass",),
        tags=(),
        content_hash="",
    )


def fault_of_cleared(cells: Sequence["Cell"], cell: "Cell", item: pytest.Item) -> str:
    """Return what is wrong with a cell that has no outputs to be held to; else nothing."""
    if not cell.is_compared or not cell.is_unexecuted:
        return ""
    how = "Execute the notebook and save its outputs: pytest --pair-notebook --pair-update "
    how += item.path.name
    if not item.config.option.pair_cleared:
        return (
            f"{cell.name} was never executed, or was cleared, so there is nothing to hold it to. "
            f"{how} (or --pair-cleared, to hold the variants alone to what they assert)."
        )
    compared = [one for one in cells if one.is_compared and not one.is_skipped]
    held = [one for one in compared if one.source.strip()]
    is_all = all(one.is_unexecuted for one in held)
    if cell is not held[-1] or not is_all or any(one.shown() for one in cells):
        return ""
    return f"No cell has stored outputs, and none shows a variant: nothing is checked. {how}."


def excuse_of(result: RunResult) -> str:
    """Return why a result need not pass, if its tags say so."""
    return next((f"tagged {tag}" for tag in result.tags if tag in ACTING), "")


def describe_unexpected(unexpected: Sequence[RunResult]) -> tuple[str, str]:
    """Report in a line, and at length, which results of a cell are not as they should be."""
    text = "\n".join(map(text_of, unexpected))
    ran = [one for one in unexpected if one.id != NO_VARIANT]
    if not ran:
        return "a sweep chose no variant, so that none is shown to pass", text
    ids = ", ".join(name_run(one.id, one.modes) for one in ran)
    return f"{count_of(len(ran), 'variant')} did not pass: {ids}", text


class CellFailed(Exception):
    """A cell, or a variant in it, is not as it was meant to be; `more` explains it at length."""

    def __init__(self, line: str, more: str = "") -> None:
        super().__init__(line)
        self.more = more


class Cell(ABC):
    """A code cell of one notebook, whose `file` has the kernel that runs now, if one does."""

    def __init__(self, name: str, cell: Any, file: Any) -> None:
        self.name = name
        self.file = file
        self.source: str = cell.source
        self.stored = stored_in(cell.outputs)
        self.error_text = ""
        """What it raised when it ran last; empty where nothing."""
        self.is_unexecuted = cell.execution_count is None and bool(cell.source.strip())
        """There is code in it, and it was never executed, or was cleared."""
        # And what comments of their own line hold, as nbval reads them: `# NBVAL_SKIP`.
        rows = [row.strip() for row in self.source.splitlines()]
        notes = [row.lstrip("# ") for row in rows if row.startswith("#")]
        marks = {*cell.metadata.get("tags", ()), *(n.lower().replace("_", "-") for n in notes)}
        self.is_raising = bool(marks & {"raises-exception", "nbval-raises-exception"})
        """It fails on purpose: its variants are held to how they are stored."""
        self.is_skipped = "nbval-skip" in marks
        self.is_compared = "nbval-ignore-output" not in marks
        self._kernel: Any = None

    @abstractmethod
    def execute(self) -> str:
        """Execute it whatever it raises; return what that is, or nothing."""

    @abstractmethod
    def outputs(self) -> Iterable[Mapping[str, Any]]:
        """Return its outputs in the kernel that runs now."""

    def has_run(self) -> bool:
        """Return whether it ran in the kernel that runs now."""
        return self._kernel is not None and self._kernel is self.file.kernel

    def note_run(self, error_text: str = "") -> None:
        """Note that it ran, and what it raised."""
        self._kernel, self.error_text = self.file.kernel, error_text

    def shown(self) -> dict[str, RunResult]:
        """Return the results that it shows in the kernel that runs now."""
        return results_in(self.outputs())

    def is_sound(self) -> bool:
        """Return whether it raised nothing and its variants passed, but for what is meant to."""
        return not self.unexpected() and (self.is_raising or not self.error_text)

    def unexpected(self) -> list[RunResult]:
        """Return the results it showed that did not pass, and were not meant to end like that.

        What is tagged `skip` or `xfail` fails no cell: its own item is reported so.
        """
        shown = self.shown().items()
        return [found for key, found in shown if not self.fits(key, found) and not excuse_of(found)]

    def fits(self, key: str, result: RunResult) -> bool:
        """Return whether a result is what it should be: passed, or as stored in a raising cell."""
        if not self.is_raising:
            return result.status == "pass"
        return key not in self.stored or self.stored[key].status == result.status


def run_all(cells: Iterable[Cell]) -> None:
    """Run cells, but for those that ran already."""
    for cell in cells:
        if not cell.has_run():
            cell.note_run(cell.execute())


@contextmanager
def out_of_test() -> Generator[None]:
    """Let a kernel be started as at a front end: in a test it would not catch file descriptors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)
        yield
