"""Sweeps as the person starts them, here or over an executor."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from typing import Any, cast

from repl_pair.errors import RequestError
from repl_pair.runtime.registry.ids import check_text
from repl_pair.runtime.results.forms import display_and_check
from repl_pair.runtime.stopping.loops import drive, on_private_loop
from repl_pair.runtime.stopping.stop import defer_stops
from repl_pair.runtime.sweeps.executors import ExecutorSweep
from repl_pair.runtime.sweeps.matrix import pair, select
from repl_pair.runtime.sweeps.sweep import OnRow, Sweep, SweepState, run_one
from repl_pair.wire import View


def run_variants(
    ids: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    changed: bool = False,
    story: str | None = None,
    modes: str | Sequence[str] = "all",
    executor: Executor | None = None,
    fail_fast: bool = False,
    on_progress: OnRow | None = None,
    check: bool = False,
) -> Sweep:
    """Run many variants, each in its modes, and count what came of it.

    Chosen by `ids`, by `tags` (any of them), or as `changed`: never run, or another by now;
    `story` narrows the last two or stands alone. `modes`: "all" combinations of the declared ones
    with at most one of each axis, "each" one at a time, or a list, the one combination for all.
    The runs without modes become their variants' last results; those in modes are in the rows only.

    Runs come one after the other in this thread, or over a `concurrent.futures.Executor`. Its
    processes import what they run, so components of notebook cells are `cannot_run` there unless
    cloudpickle is installed; with threads, stories must be `thread_safe`. A pool that forks this
    process is refused. `on_progress(done, total, row)` is called after each run. `check=True`
    displays the sweep and raises VariantFailed unless it passed. RequestError, and nothing runs:
    `not_found` for an unknown id, `bad_arguments` for a choice that cannot be, and for more than
    100,000 runs. After an interrupt, `repl_pair.last_sweep()` has the rows of what was done.
    """
    named = None if tags is None else _list_of("tags is a list of tags", tags)
    if ids is not None:
        how = f"; `story={ids!r}` runs a story's variants."
        ids = _list_of("ids is a list of variant ids", ids, how)
    if not isinstance(modes, str):
        modes = _list_of("modes is 'all', 'each' or a list of modes", modes)
    if story is not None:
        check_text("story takes the id of a story", story)
    chosen = select(View(), ids=ids, tags=named, changed=changed, story=story)
    state = SweepState(pair(chosen, modes), fail_fast=fail_fast, on_row=on_progress)
    try:
        if executor is not None:
            with closing(ExecutorSweep(executor, state)) as under_way:
                under_way.run()
        else:
            for place, pairing in state.remaining():
                with defer_stops():
                    state.add(place, drive(run_one(pairing, wait_for=on_private_loop)))
    except BaseException as error:
        state.stop_reason = state.stop_reason or f"stopped by {type(error).__name__}"
        done = f"{state.done} of {len(state.pairings)} runs were done"
        error.add_note(f"{done}: repl_pair.last_sweep() has their rows.")
        raise
    finally:
        _LAST["sweep"] = swept = state.summarize()
    if check:
        display_and_check(swept)
    return swept


def _list_of(what: str, given: Any, how: str = ".") -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise RequestError("bad_arguments", f"{what}, not {given!r}{how}")
    return list(cast("Iterable[Any]", given))


def last_sweep() -> Sweep | None:
    """Return the sweep that ended last, also by an interrupt; None before the first."""
    return _LAST.get("sweep")


_LAST: dict[str, Sweep] = {}
