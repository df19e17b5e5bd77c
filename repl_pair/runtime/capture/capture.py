"""What one run puts out is taken from where it would go, for as long as the run lasts."""

import io
import sys
import threading
import warnings
from collections.abc import Generator
from functools import partial
from typing import Any

from repl_pair.runtime.capture.captured import CAPTURED, PLACE, RUN, Captured, current_capture
from repl_pair.runtime.capture.listeners import report_warning


class capture(io.IOBase):
    """Collect what this context puts out during the block; gives the frame that takes it.

    The filters of warnings and the file descriptors are the process's: a run has them only if it
    has the main lane to itself (`exclusive`), and no other run has them now.

    The exit of IOBase is C and calls `close`, here a generator's and C too: no signal comes between
    the end of the block and the `finally` of `_hold`.
    """

    def __init__(self, *, exclusive: bool) -> None:
        self._held = _hold(exclusive)
        self.close = self._held.close

    def __enter__(self) -> Captured:  # pyright: ignore[reportIncompatibleMethodOverride]  nobody takes it for a file
        """Take what comes from now on."""
        try:
            return next(self._held)
        except BaseException:
            self.close()
            raise


def install() -> None:
    """Put the dispatchers in, where they are not yet; they stay until `take_out`."""
    with _lock:
        _to_go.clear()
        _doors().install()


def uninstall() -> None:
    """Take every dispatcher out again, except those that somebody has put another one over.

    While runs are under way they stay, and go out with the last of them.
    """
    with _lock:
        _to_go.add("doors")
        _take_out_behind_runs()


def _take_out_behind_runs() -> None:
    with _lock:
        if _to_go and not _under_way:
            _to_go.clear()
            if f"{__package__}.hooks" in sys.modules:  # else none was ever put in
                _doors().uninstall()


def _doors() -> Any:
    from repl_pair.runtime.capture import hooks

    return hooks


def _hold(exclusive: bool) -> Generator[Captured]:
    captured = Captured()
    try:
        _begin(captured, exclusive=exclusive)
        yield captured
    finally:
        try:
            _end(captured)
        except BaseException:
            _end(captured)
            raise


def _begin(captured: Captured, *, exclusive: bool) -> None:
    """Describe what is to be undone, then do it: a signal may come between any two steps."""
    hooks = _doors()
    captured.at_end.append(partial(_end_under_way, captured))
    with _lock:
        _under_way.add(captured)
        hooks.install()
    captured.at_end.append(partial(_leave, CAPTURED.get(), PLACE.get()))
    CAPTURED.set(captured)
    PLACE.set(RUN)
    hooks.watch_imports(captured)
    captured.at_end.append(partial(_give_way, captured))
    if exclusive and _exclusive.setdefault("run", captured) is captured:
        _record_warnings(captured)
        hooks.redirect(captured)


def _end(captured: Captured) -> None:
    """Undo what was begun; called again where a signal cut it short."""
    while captured.at_end:
        captured.at_end[-1]()
        captured.at_end.pop()
    captured.close()


def _end_under_way(captured: Captured) -> None:
    with _lock:
        _under_way.discard(captured)
        _take_out_behind_runs()


_lock = threading.RLock()
_under_way: set[Captured] = set()
_to_go: set[str] = set()
"""Holds something while the dispatchers are to go out."""

_exclusive: dict[str, Captured] = {}
"""The one run, if any, that has what is the process's."""


def _leave(before: Captured | None, place: str) -> None:
    CAPTURED.set(before)
    PLACE.set(place)


def _give_way(captured: Captured) -> None:
    if _exclusive.get("run") is captured:
        del _exclusive["run"]


def _restore(filters: "warnings.catch_warnings[None]") -> None:
    try:
        filters.__exit__(None, None, None)
    except (RuntimeError, AttributeError):
        return  # a signal came before there was anything to restore


def _record_warnings(captured: Captured) -> None:
    filters = warnings.catch_warnings()
    captured.at_end.append(partial(_restore, filters))
    filters.__enter__()
    captured.kept["warnings"] = []
    warnings.simplefilter("always")
    show = warnings.showwarning

    def show_or_record(message: Any, category: Any, *args: Any, **named: Any) -> None:
        if current_capture() is captured:
            captured.note("warnings", f"{category.__name__}: {message}")
            report_warning(message, category, *args)
        else:
            show(message, category, *args, **named)

    warnings.showwarning = show_or_record
