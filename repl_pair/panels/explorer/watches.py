"""What the person watches from a panel: a variant, all under a path, or all there are."""

from collections.abc import Sequence
from functools import partial

from repl_pair.errors import RequestError
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.explorer.tree import TOP, paths_above
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.clients.own_calls import PERSON
from repl_pair.runtime.kernel.own_host import can_serve_own_calls, serve_own_calls
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.sweeps.watching import WATCHES, Watch
from repl_pair.wire import View

WATCHED = "watches"
"""The member that changes where a watch begins or ends in a panel."""
ALL = "all variants"


def variants_under(key: str) -> Sequence[str]:
    """Return the variants of a row, as of now: itself, or all at or under a path, in order."""
    if key == TOP:
        return REGISTRY.ids("variant")
    if "/" in key:
        return [key] if REGISTRY.find("variant", key) is not None else []
    return [*REGISTRY.ids("variant", f"{key}."), *REGISTRY.ids("variant", f"{key}/")]


def watched_keys() -> frozenset[str]:
    """Return the rows whose variants the person watches, from here or from a cell."""
    return frozenset(TOP if what == ALL else what for what in WATCHES.owned(PERSON))


def is_watched(key: str, watched: frozenset[str]) -> bool:
    """Return whether a row is watched, by itself or by what stands above it."""
    return not watched.isdisjoint((TOP, key, *paths_above(key.partition("/")[0])))


def set_watch(key: str, on: bool) -> None:
    """Begin or end the person's watch of a row, on a thread of its own.

    RequestError `cannot_run` where the kernel runs nothing between cells.
    """
    if on and not can_serve_own_calls():
        raise RequestError("cannot_run", "This kernel runs nothing between its cells.")
    # Identifying thousands of variants takes seconds, which every other panel would wait for.
    start_thread(partial(_change, key, on), name="worker watch")


def _change(key: str, on: bool) -> None:
    if not on:
        WATCHES.end(PERSON, key or ALL)
    elif key not in watched_keys():
        choose = partial(variants_under, key)
        watch = Watch(
            owner=PERSON, what=key or ALL, choose=choose, view=View(), serve=serve_own_calls
        )
        WATCHES.add(watch)
    PANEL_THREAD.mark_changed(WATCHED, None)
