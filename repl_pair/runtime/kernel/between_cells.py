"""Keeps silent executes between cells from changing the person's output, input and errors."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.wrapping import wrap
from repl_pair.wire import USERNAME

_HOOKS = ("pre_execute", "post_execute")


class LastRequest:
    """The person's last request: the target of their threads' output, and whether `input()` works.

    An ipykernel takes both from the latest request, whoever sent it. Where Python cannot set them,
    as in xeus, the output of threads is lost until the person's next cell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._parent: Any = None
        self._may_ask = True
        self.note()

    def note(self) -> None:
        """Remember the current request, unless repl_pair sent it."""
        parent = self._shell.get_parent() if hasattr(self._shell, "get_parent") else None
        if parent and not _is_from_repl_pair(parent):
            self._parent = parent
            self._may_ask = getattr(self._shell.kernel, "_allow_stdin", True)

    def restore(self) -> None:
        """Set the person's last request as the current one again."""
        if self._parent:
            self._shell.set_parent(self._parent)
        if hasattr(self._shell.kernel, "_allow_stdin"):
            self._shell.kernel._allow_stdin = self._may_ask


def _is_from_repl_pair(parent: Mapping[str, Any]) -> bool:
    header: Mapping[str, Any] = parent.get("header") or {}
    return header.get("username") == USERNAME


def hold_hooks(shell: Any, last: LastRequest) -> Undo:
    """Skip the person's hooks in executes of repl_pair: matplotlib's would close their figures.

    Also notes each request of the person in `last`.
    """

    def trigger(own: Callable[..., None], event: str, *args: Any, **kwargs: Any) -> None:
        if event in _HOOKS and _is_from_repl_pair(shell.kernel.get_parent() or {}):
            return
        if event == "pre_execute":
            last.note()
        own(event, *args, **kwargs)

    return wrap(shell.events, "trigger", trigger)


def keep_errors(shell: Any) -> Undo:
    """Report each cell with its own error, also when another execute follows at once.

    xeus has one error for all executes, and clears it when the next one begins: before it has
    reported that the person's cell failed.
    """
    if "done_callback" not in inspect.signature(shell.run_cell_async).parameters:
        return lambda: None
    failed: list[Any] = []

    def show_traceback(own: Callable[..., None], *args: Any) -> None:
        own(*args)
        failed[:] = [shell.last_error]

    def run_cell_async(
        own: Callable[..., Any], raw_cell: str, done_callback: Callable[[], Any], **options: Any
    ) -> Any:
        def done() -> Any:
            shell.last_error = failed.pop() if failed else None
            return done_callback()

        return own(raw_cell, done, **options)

    undo = ExitStack()
    undo.callback(wrap(shell, "_showtraceback", show_traceback))
    undo.callback(wrap(shell, "run_cell_async", run_cell_async))
    return undo.close
