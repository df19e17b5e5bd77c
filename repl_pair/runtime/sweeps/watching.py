"""Watches: variants that run again by themselves after a cell or registration changed them."""

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from repl_pair.records import Undo, record
from repl_pair.runtime.authoring.shared import SETTINGS
from repl_pair.runtime.capture.own_threads import ServiceThread
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.results.drift import Baseline, DriftCheck, baseline_now, baseline_of
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.raised import text_of_raised
from repl_pair.runtime.store import STORE, Change
from repl_pair.wire import PERSON, Reply, View, may_have

Callback = Callable[[RunRecord], object]


@record
class Watch:
    """Whose variants run again; `choose` returns their ids as of now, as the view may see.

    `what` names the choice in words. `on_run` is called with each record, on the thread of the run.
    `serve` makes a host that takes the runs where there is none, and returns its undo, or None.
    """

    owner: str
    what: str
    choose: Callable[[], Sequence[str]]
    view: View
    on_run: Callback | None = None
    serve: Callable[[], Undo | None] = lambda: None


class Watches:
    """Checks for drift at the end of each cell, and after registrations outside cells.

    Runs go to the main lane one at a time, so a cell of the person's can run between two of them.
    """

    def __init__(self) -> None:
        self._watches: dict[object, Watch] = {}
        self._forget: dict[object, Undo] = {}
        self._baselines: dict[str, Baseline | None] = {}
        """What each watched variant was when it last ran, or when its watch began, if planned."""
        self._due: dict[str, Watch] = {}
        self._running = False
        self._is_due = False
        self._checks = ServiceThread(self._check_all, "worker drift")
        self._lock = threading.RLock()
        """A finalizer that registers something may come here again."""
        self._hooks = ExitStack()

    def baselines(self, principal: str = PERSON) -> Mapping[str, Baseline]:
        """Return what the variants that a principal watches are compared with; the person: all."""
        own = (w for w in tuple(self._watches.values()) if may_have(principal, w.owner))
        ids = {id for watch in own for id in watch.choose()}
        return {id: found for id in ids if (found := self._baselines.get(id)) is not None}

    def add(self, watch: Watch) -> Undo:
        """Begin a watch: what it chooses counts as unchanged, nothing runs. The undo ends it."""
        token, before = object(), self._baselines.copy()
        watched = before.keys() & self._chosen().keys()
        new = {id: baseline_now(id) for id in watch.choose() if id not in watched}
        with self._lock:
            # Other watches may have ended meanwhile, and what was known of them with them.
            self._baselines |= {**before, **self._baselines, **new}
            if not self._watches:
                self._hooks.callback(CELLS.track())
                self._hooks.callback(CELLS.at_end(self.check))
                self._hooks.callback(STORE.subscribe(self._on_change))
            self._watches[token] = watch
        self._forget[token] = OWN_CALLS.hold(watch.owner, lambda: self._end(token))
        return lambda: self._end(token)

    def end(self, owner: str, what: str | None = None) -> list[str]:
        """End an owner's watches of `what`, or all of them; returns what was watched."""
        ended: list[str] = []
        for token, watch in self._watches.copy().items():
            if watch.owner == owner and what in (None, watch.what):
                ended.append(watch.what)
                self._end(token)
        return ended

    def owned(self, owner: str) -> list[str]:
        """Return what an owner watches."""
        return [watch.what for watch in tuple(self._watches.values()) if watch.owner == owner]

    def check(self) -> None:
        """Check for drift on a thread of its own; what changes meanwhile is checked after it."""
        with self._lock:
            self._is_due = bool(self._watches)
            if self._is_due:
                self._checks.start()

    def _end(self, token: object) -> None:
        self._forget.pop(token, lambda: None)()
        hooks = ExitStack()
        with self._lock:
            if self._watches.pop(token, None) is None:
                return
            if not self._watches:
                self._baselines.clear()
                hooks = self._hooks.pop_all()  # another thread may begin a watch meanwhile
        hooks.close()
        self.check()  # what was due may be due for other watches

    def _drop_due(self, watch: Watch) -> None:
        for variant_id, due in self._due.copy().items():
            if due is watch:
                self._due.pop(variant_id, None)

    def _on_change(self, change: Change) -> None:
        """Check after a change, unless a cell runs: then the check comes at the end of the cell."""
        concerns_variants = change.member.startswith("registry/") or change.member in SETTINGS
        if concerns_variants and CELLS.current is None:
            self.check()

    def _check_all(self) -> None:
        while self._take_due():
            check = DriftCheck()
            for variant_id, watch in self._chosen().items():
                if self._has_drifted(variant_id, check):
                    self._due[variant_id] = watch
        self._run_next()

    def _take_due(self) -> bool:
        with self._lock:
            is_due, self._is_due = self._is_due, False
            if not is_due:
                self._checks.end()
            return is_due

    def _has_drifted(self, variant_id: str, check: DriftCheck) -> bool:
        """Return whether a run is due; what cannot be planned may be registered later."""
        before = self._baselines.get(variant_id)
        drifted = before is None or bool(check.drift(before))
        return drifted and baseline_now(variant_id) is not None

    def _chosen(self) -> Mapping[str, Watch]:
        """Return who watches each variant: the person before agents, which may be paused."""
        persons_last = sorted(
            self._watches.copy().values(), key=lambda watch: watch.view.principal == PERSON
        )
        return {id: watch for watch in persons_last for id in watch.choose()}

    def _run_next(self) -> None:
        """Run the next variant that is due, unless another run has covered it meanwhile."""
        while (due := self._next_due()) is not None:
            if self._has_drifted(due[0], DriftCheck()):
                self._run(*due)
                return
            self._running = False

    def _next_due(self) -> tuple[str, Watch] | None:
        with self._lock:
            lasting = set(map(id, self._watches.values()))
            while self._due and not self._running:
                variant_id = next(iter(self._due))
                watch = self._due.pop(variant_id)
                if id(watch) in lasting:
                    self._running = True
                    return variant_id, watch
            return None

    def _run(self, variant_id: str, watch: Watch) -> None:
        if not OWN_CALLS.has_handler:
            undo = watch.serve()
            if undo is None:
                with self._lock:
                    self._running = False
                    self._drop_due(watch)
                self._run_next()
                return
            with self._lock:
                is_over = not self._watches  # they ended meanwhile
                if not is_over:
                    self._hooks.callback(undo)
            if is_over:
                undo()
                self._running = False
                self._run_next()
                return
        OWN_CALLS.run(
            "run_variant",
            {"variant_id": variant_id, "detail": "full"},
            view=watch.view,
            done=lambda reply: self._on_reply(variant_id, watch, reply),
        )

    def _on_reply(self, variant_id: str, due: Watch, reply: Reply) -> None:
        """Record what a run was of; what was not run is checked again after the next cell.

        Nor is then what else is due for that watch: others may run.
        """
        ran = last_result(variant_id) if reply["ok"] and reply["result"].get("identity") else None
        is_gone = not reply["ok"] and reply["error"]["code"] == "not_found"
        with self._lock:
            self._running = False
            if ran is None and not is_gone:
                self._drop_due(due)
        if ran is not None:
            self._baselines[variant_id] = baseline_of(ran)
            for watch in tuple(self._watches.values()):
                if watch.on_run is None or variant_id not in watch.choose():
                    continue
                try:
                    watch.on_run(ran)
                except Exception as error:  # noqa: BLE001  the callback is the person's code
                    why = f"raised {text_of_raised(error)}"
                    warnings.warn(f"The callback of a watch of {variant_id} {why}", stacklevel=1)
        self._run_next()


WATCHES = Watches()
"""The watches of this process."""
