"""Which last results are of code that changed since, looked for while somebody follows that."""

import threading
import time
from contextlib import ExitStack
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.own_threads import ServiceThread
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.results.drift import is_current, is_stale
from repl_pair.runtime.results.last_results import RESULTS, last_verdict
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.store import STORE, Collection
from repl_pair.wire import monotonic

OUTDATED = Collection(
    name="outdated", doc="The order of the last run of each variant whose code changed since."
)
STORE.declare(OUTDATED)
OF_RUNS = (RESULTS.name, OUTDATED.name)
"""The collections whose keys are those of variants."""

_SHARE = 10
"""A check may take a tenth of the time: it shares the interpreter with the person's cells."""


def is_outdated(record: RunRecord) -> bool:
    """Return whether a check has found that the code of a run, or its file, changed since."""
    return STORE.item(OUTDATED.name, record.variant_id) == record.order


class _Checks:
    """Checks at the end of each cell, on a thread of its own, while there is a follower."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followers = set[object]()
        self._hooks = ExitStack()
        self._is_due = False
        self._thread = ServiceThread(self._check_while_due, "worker outdated")

    def follow(self) -> Undo:
        """Keep OUTDATED up to date from now on, until the undo: its changes are in the store.

        Code that changes while no cell runs is found at the end of the next cell.
        """
        follower = object()
        with self._lock:
            if not self._followers:
                self._hooks.callback(CELLS.track())
                self._hooks.callback(CELLS.at_end(self._check))
            self._followers.add(follower)
        self._check()

        def undo() -> None:
            with self._lock:
                self._followers.discard(follower)
                hooks = ExitStack() if self._followers else self._hooks.pop_all()
            hooks.close()

        return undo

    def _check(self) -> None:
        with self._lock:
            self._is_due = True
            self._thread.start()

    def _check_while_due(self) -> None:
        while self._take_due():
            began = monotonic()
            _check_results()
            time.sleep((monotonic() - began) * (_SHARE - 1))

    def _take_due(self) -> bool:
        with self._lock:
            is_due, self._is_due = self._is_due and bool(self._followers), False
            if not is_due:
                self._thread.end()
            return is_due


def _check_results() -> None:
    """Note which last results are of other code; what was registered again is stale as it is."""
    hashes = dict[tuple[Any, ...], str]()
    for variant_id in STORE.snapshot(RESULTS.name):
        run = last_verdict(variant_id)
        if run is None or run.identity is None or is_stale(run):
            continue
        was, now = is_outdated(run), not is_current(run, hashes)
        if now and not was:
            STORE.put(OUTDATED.name, variant_id, run.order)
        elif was and not now:
            STORE.remove(OUTDATED.name, variant_id)


follow_code = _Checks().follow
