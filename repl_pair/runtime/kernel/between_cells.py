"""What a silent execute between cells would change for the person, left as it was."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import wrap
from repl_pair.wire import USERNAME

_HOOKS = ("pre_execute", "post_execute")


class LastRequest:
    """The person's last request: where the output of their threads goes, whether `input()` may ask.

    An ipykernel takes both from whoever asked last. Where Python cannot set them, as in xeus, the
    output of threads goes astray until the person's next cell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._parent: Any = None
        self._may_ask = True
        self.note()

    def note(self) -> None:
        """Take what stands now for the person's, unless it is ours."""
        parent = self._shell.get_parent() if hasattr(self._shell, "get_parent") else None
        if parent and not _came_from_us(parent):
            self._parent = parent
            self._may_ask = getattr(self._shell.kernel, "_allow_stdin", True)

    def restore(self) -> None:
        """Let what the person started go on as after their own request."""
        if self._parent:
            self._shell.set_parent(self._parent)
        if hasattr(self._shell.kernel, "_allow_stdin"):
            self._shell.kernel._allow_stdin = self._may_ask


def _came_from_us(parent: Mapping[str, Any]) -> bool:
    header: Mapping[str, Any] = parent.get("header") or {}
    return header.get("username") == USERNAME


def hold_hooks(shell: Any, last: LastRequest) -> Undo:
    """Keep our executes from the person's hooks: matplotlib's would show and close their figures.

    Notes each request of the person's on its way.
    """

    def held(own: Callable[..., None]) -> Callable[..., None]:
        def trigger(event: str, *args: Any, **kwargs: Any) -> None:
            if event in _HOOKS and _came_from_us(shell.kernel.get_parent() or {}):
                return
            if event == "pre_execute":
                last.note()
            own(event, *args, **kwargs)

        return trigger

    return wrap(shell.events, "trigger", held)


def keep_errors(shell: Any) -> Undo:
    """Let each cell end with its own error, whatever execute has come behind it.

    xeus keeps one error for all, and forgets it when it takes up the next execute: before it has
    told the person that their cell failed.
    """
    if "done_callback" not in inspect.signature(shell.run_cell_async).parameters:
        return lambda: None
    failed: list[Any] = []

    def noted(show: Callable[..., None]) -> Callable[..., None]:
        def showtraceback(*args: Any) -> None:
            show(*args)
            failed[:] = [shell.last_error]

        return showtraceback

    def restored(run: Callable[..., Any]) -> Callable[..., Any]:
        def run_cell_async(raw_cell: str, done_callback: Callable[[], Any], **options: Any) -> Any:
            def done() -> Any:
                shell.last_error = failed.pop() if failed else None
                return done_callback()

            return run(raw_cell, done, **options)

        return run_cell_async

    undo = ExitStack()
    undo.callback(wrap(shell, "_showtraceback", noted))
    undo.callback(wrap(shell, "run_cell_async", restored))
    return undo.close
