"""Captures the output of one run, for as long as the run lasts; and who listens to runs."""

import _warnings
import io
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field
from functools import partial
from typing import Any

from repl_pair.records import holding, mutable
from repl_pair.runtime.capture.captured import (
    CAPTURED,
    PLACE,
    RUN,
    Captured,
    Leaving,
    current_capture,
)


class capture(io.IOBase):
    """Collect the output of this context during the block, in the `Captured` that it yields.

    Warning filters and file descriptors belong to the whole process: a run gets them only if it is
    alone on the main lane (`exclusive`), and no other run has them now; `restores`: so it gets
    the SETTINGS. `leaving` finds out what of a rendered value may leave.

    IOBase's `__exit__` is C code and calls `close`, which here is a generator's, C code too: no
    signal handler can run between the end of the block and the `finally` of `_hold`.
    """

    def __init__(
        self, *, exclusive: bool, leaving: Leaving | None = None, restores: bool = False
    ) -> None:
        captured = Captured(leaving) if leaving else Captured()
        self._held = _hold(captured, exclusive, restores)
        self.close = self._held.close

    def __enter__(self) -> Captured:  # pyright: ignore[reportIncompatibleMethodOverride]  it is never used as a file
        """Begin to capture."""
        try:
            return next(self._held)
        except BaseException:
            self.close()
            raise


def install() -> None:
    """Install the hooks that are missing; they stay until `uninstall`."""
    with _lock:
        _deferred.clear()
        _hooks().install()


def uninstall() -> None:
    """Remove all hooks at the end of the last run; those that somebody has wrapped stay."""
    with _lock:
        _deferred.add("uninstall")
        _uninstall_after_runs()


def _uninstall_after_runs() -> None:
    with _lock:
        if _deferred and not _in_progress:
            _deferred.clear()
            _put_back_show()
            if f"{__package__}.hooks" in sys.modules:  # else none was ever installed
                _hooks().uninstall()


def _hooks() -> Any:
    # `import repl_pair` must not load the hooks: they are needed at the first run.
    from repl_pair.runtime.capture import hooks

    return hooks


def _hold(captured: Captured, exclusive: bool, restores: bool) -> Generator[Captured]:
    try:
        _begin(captured, exclusive=exclusive, restores=restores)
        yield captured
    finally:
        try:
            _end(captured)
        except BaseException:
            _end(captured)
            raise


def _begin(captured: Captured, *, exclusive: bool, restores: bool) -> None:
    """Add each undo before its step: a signal may come between any two steps."""
    hooks = _hooks()

    def end_run() -> None:
        with _lock:
            _in_progress.discard(captured)
            if not _in_progress:
                hooks.release_prompts()
            _uninstall_after_runs()

    captured.at_end.append(end_run)
    with _lock:
        _in_progress.add(captured)
        hooks.install()
        hooks.hook_prompts()
    captured.at_end.append(partial(_leave, CAPTURED.get(), PLACE.get()))
    captured.at_end.append(partial(hooks.close_comms, captured))
    CAPTURED.set(captured)
    PLACE.set(RUN)
    hooks.watch_imports(captured)

    def release() -> None:
        if _exclusive.get("run") is captured:
            del _exclusive["run"]

    captured.at_end.append(release)
    if exclusive and _exclusive.setdefault("run", captured) is captured:
        _record_warnings(captured)
        hooks.redirect(partial(captured.note, "unattributed"), captured.at_end)
        if restores:
            hooks.hold(captured)


def _end(captured: Captured) -> None:
    """Undo what was begun; it is called again if a signal interrupts it."""
    while captured.at_end:
        captured.at_end[-1]()
        captured.at_end.pop()
    captured.close()


_lock = threading.RLock()
_in_progress: set[Captured] = set()
_deferred: set[str] = set()
"""Holds "uninstall" while the hooks are to be removed after the last run."""

_exclusive: dict[str, Captured] = {}
"""The one run, if any, that has the warning filters and descriptors."""


def _leave(before: Captured | None, place: str) -> None:
    CAPTURED.set(before)
    PLACE.set(place)


def _record_warnings(captured: Captured) -> None:
    _put_back_show()
    _shown_by["person"] = warnings.showwarning
    before, filters, imported = warnings.filters, warnings.catch_warnings(), len(sys.modules)
    own: list[Any] = []
    is_alone = len(_in_progress) == 1

    def restore() -> None:
        late = _filters_of(list(sys.modules)[imported:] if len(sys.modules) > imported else (), own)
        is_of_others = warnings.filters is _FIRST_FILTERS or type(warnings.filters) is _Filters
        is_by_run = is_alone and len(_in_progress) == 1 and not is_of_others
        if warnings.filters is own or is_by_run:
            # A signal may have come before there was anything to restore.
            with suppress(RuntimeError, AttributeError):
                filters.__exit__(None, None, None)
            for action, _, category, *_ in reversed(late):
                warnings.simplefilter(action, category)
        # Another thread that is in `catch_warnings` since puts this list and function back later.
        own[:] = [*late, *before]
        _put_back_show()

    captured.at_end.append(restore)
    filters.__enter__()
    warnings.filters = own = _Filters(warnings.filters)
    captured.kept["warnings"] = []
    warnings.simplefilter("always")
    warnings.showwarning = _record_or_show


def _record_or_show(message: Any, category: Any, *args: Any, **named: Any) -> None:
    captured = current_capture()
    if captured is not None and _exclusive.get("run") is captured:
        captured.note_warning(category, str(message))
        if (listener := _LISTENER.get()) is not None:
            listener.warned.append((message, category, *args))
    else:
        _shown_by["person"](message, category, *args, **named)


def _put_back_show() -> None:
    """Show warnings as before all runs; another thread's `catch_warnings` may undo this once."""
    if warnings.showwarning is _record_or_show:
        warnings.showwarning = _shown_by["person"]


_shown_by: dict[str, Callable[..., None]] = {}
_FIRST_FILTERS: Any = _warnings.filters
"""The list of the process; what stands in `warnings` may be that of a thread's `catch_warnings`."""


class _Filters(list[Any]):
    """The list of a run: a thread that entered `catch_warnings` in it puts it back later."""


def _filters_of(modules: Collection[str], filters: Sequence[Any]) -> list[Any]:
    """Return the filters that these modules set for warnings of their own, as they are imported.

    A library sets them once: lost with the run that imported it, they would never come again.
    """
    return [
        one
        for one in (filters if modules else ())
        if one[1] is None and one[3] is None
        if isinstance(one[2], type) and one[2].__module__ in modules
    ]


@mutable
class RunListener:
    """What each run of a block raised, and the arguments of each `warnings.showwarning`."""

    raised: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    warned: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def raised_by(self, variant_id: str, modes: Iterable[str]) -> list[BaseException]:
        """Return what the run of a variant in its modes raised, not what runs within it did."""
        run = (variant_id, *modes)
        return [error for error, *by in self.raised if (*by,) == run]


@contextmanager
def listen_to_runs() -> Generator[RunListener]:
    """Listen to the runs that this context begins during the block."""
    listener = RunListener()
    with holding(_LISTENER, listener):
        yield listener


def report_raised(error: BaseException, variant_id: str, modes: Iterable[str]) -> None:
    """Report what a phase of a run raised."""
    if (listener := _LISTENER.get()) is not None:
        listener.raised.append((error, variant_id, *modes))


_LISTENER: ContextVar[RunListener | None] = ContextVar("repl_pair_listener", default=None)
