"""One notebook in a kernel of its own: its cells are executed one by one, through nbclient."""

import re
from contextlib import ExitStack
from copy import deepcopy
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from repl_pair.pytest_plugin.notebooks.notebook import out_of_test
from repl_pair.pytest_plugin.notebooks.outputs import WIDGET_VIEW


class NotebookKernel:
    """A kernel, and the copy of a notebook that is filled with what its cells show there.

    Outputs of a cell may change as later ones run: they update displays and widgets.
    """

    def __init__(self, notebook: Any, *, folder: Path, timeout: int, kernel: str | None) -> None:
        self.notebook = deepcopy(notebook)
        self.gone = ""
        """Why the kernel runs no more; empty while it does."""
        self._open = ExitStack()
        self._folder, self._timeout, self._name = folder, timeout, kernel
        self._client: Any = None

    def start(self) -> None:
        """Start the kernel; once more where another process took a port that it was given."""
        try:
            self._start()
        except RuntimeError:
            self._start()

    def _start(self) -> None:
        self._client = NotebookClient(
            self.notebook,
            timeout=self._timeout,
            kernel_name=self._name or "python3",  # which each Python with ipykernel has
            record_timing=False,
            resources={"metadata": {"path": str(self._folder)}},
        )
        if self._name is None:
            # An installed kernel of the same name would hide that of this Python.
            self._client.create_kernel_manager().kernel_spec_manager.kernel_dirs = []
        with out_of_test():
            self._open.enter_context(self._client.setup_kernel())

    def stop(self) -> None:
        """Stop the kernel, if it still runs."""
        self._open.close()

    def execute(self, at: int) -> str:
        """Execute the cell at a place among all cells; return its traceback, or nothing."""
        self.notebook.cells[at].outputs = []
        if self.gone:
            return self.gone
        try:
            self._client.execute_cell(self.notebook.cells[at], at)
        except CellExecutionError as error:
            outputs = self.notebook.cells[at].outputs
            raised = [out for out in outputs if out["output_type"] == "error"]
            text = "\n".join(raised[-1]["traceback"]) if raised else str(error)
            return _COLOR.sub("", text)
        except CellTimeoutError:
            return self._leave(f"it took more than {self._timeout} s")
        except DeadKernelError:
            return self._leave("the kernel died in it")
        finally:
            self._client.set_widgets_metadata()
        return ""

    def may_still_change(self, at: int) -> bool:
        """Return whether later cells may change what a cell shows: a display, or a widget."""
        shown = self.notebook.cells[at].outputs
        has_display = any(at in places for places in self._client._display_id_map.values())
        return has_display or any(WIDGET_VIEW in output.get("data", {}) for output in shown)

    def _leave(self, why: str) -> str:
        self.gone = f"not run: the kernel was stopped at an earlier cell, since {why}"
        self.stop()
        return why


_COLOR = re.compile(r"\x1b\[[0-9;]*m")
