"""Watches: variants that run again by themselves, once a cell or registration changed them."""

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from repl_pair.records import Undo, record
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.results.drift import Baseline, Glance, baseline_now, baseline_of
from repl_pair.runtime.results.last import last_result
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.surface import STORE, Change
from repl_pair.wire import Reply, View

Callback = Callable[[RunRecord], object]

ELSEWHERE = ("global_args", "global_decorators")
"""What variants rest on beside the registries."""


def _do_nothing() -> None:
    return None


def _served_by_an_agents_host() -> Undo | None:
    return _do_nothing if OWN_CALLS.has_handler else None


@record
class Watch:
    """Who wants which variants run again; `choose` gives their ids as of now, as the view may see.

    `what` names the choice in words. `told` is called with each record, on the thread of the run.
    `serve` makes sure that a host takes the runs, and gives its undo; None where there is none.
    """

    owner: str
    what: str
    choose: Callable[[], Sequence[str]]
    view: View
    told: Callback | None = None
    serve: Callable[[], Undo | None] = _served_by_an_agents_host


class Watches:
    """Looks for drift at the end of each cell, and behind registrations outside cells.

    Runs go to the main lane one at a time, so a cell of the person's comes between two of them.
    """

    def __init__(self) -> None:
        self._watches: dict[object, Watch] = {}
        self._forget: dict[object, Undo] = {}
        self._seen: dict[str, Baseline] = {}
        """What each watched variant was when it last ran, or when its watch began."""
        self._due: dict[str, Watch] = {}
        self._running = False
        self._looking = False
        self._again = False
        self._lock = threading.Lock()
        self._around = ExitStack()

    def seen(self, variant_id: str) -> Baseline | None:
        """Return what a variant is compared with; None if nobody watches it."""
        return self._seen.get(variant_id)

    def add(self, watch: Watch) -> Undo:
        """Begin a watch: what it chooses is taken as it is, and nothing runs. The undo ends it."""
        token = object()
        for variant_id in set(watch.choose()).difference(self._chosen()):
            self._seed(variant_id)
        with self._lock:
            if not self._watches:
                self._begin()
            self._watches[token] = watch
        self._forget[token] = OWN_CALLS.hold(watch.owner, lambda: self._end(token))
        return lambda: self._end(token)

    def end(self, owner: str, what: str | None = None) -> list[str]:
        """End an owner's watch of something, or all of theirs; names what was watched."""
        ended: list[str] = []
        for token, watch in tuple(self._watches.items()):
            if watch.owner == owner and what in (None, watch.what):
                ended.append(watch.what)
                self._end(token)
        return ended

    def owned(self, owner: str) -> list[str]:
        """Name what an owner watches."""
        return [watch.what for watch in tuple(self._watches.values()) if watch.owner == owner]

    def look(self) -> None:
        """Look for drift, on a thread of its own; what comes meanwhile is looked at behind it."""
        with self._lock:
            self._again = self._looking
            if self._looking or not self._watches:
                return
            self._looking = True
        threading.Thread(target=self._look, name="repl_pair worker look", daemon=True).start()

    def _begin(self) -> None:
        self._around.callback(CELLS.track())
        self._around.callback(CELLS.at_end(self.look))
        self._around.callback(STORE.subscribe(self._note))

    def _end(self, token: object) -> None:
        self._forget.pop(token, _do_nothing)()
        with self._lock:
            if self._watches.pop(token, None) is None or self._watches:
                return
            self._seen.clear()
            self._due.clear()
        self._around.close()

    def _note(self, change: Change) -> None:
        """Look behind a change, unless a cell runs: its end is when the registries are settled."""
        is_theirs = change.member.startswith("registry/") or change.member in ELSEWHERE
        if is_theirs and CELLS.current is None:
            self.look()

    def _seed(self, variant_id: str) -> None:
        now = baseline_now(variant_id)
        if now is None:
            self._seen.pop(variant_id, None)
        else:
            self._seen[variant_id] = now

    def _look(self) -> None:
        while True:
            glance = Glance()
            for variant_id, watch in self._chosen().items():
                if self._has_drifted(variant_id, glance):
                    self._due.setdefault(variant_id, watch)
            with self._lock:
                self._looking, self._again = self._again, False
                if not self._looking:
                    break
        self._go_on()

    def _has_drifted(self, variant_id: str, glance: Glance) -> bool:
        """Get whether a run is due; not of what cannot be planned, which may be registered yet."""
        before = self._seen.get(variant_id)
        drifted = before is None or bool(glance.drift(before))
        return drifted and baseline_now(variant_id) is not None

    def _chosen(self) -> Mapping[str, Watch]:
        watches = tuple(self._watches.values())
        return {id: watch for watch in watches for id in watch.choose()}

    def _go_on(self) -> None:
        """Run the next one that is due, unless a run that was under way has seen to it."""
        while (due := self._take()) is not None:
            if self._has_drifted(due[0], Glance()):
                self._run(*due)
                return
            self._running = False

    def _take(self) -> tuple[str, Watch] | None:
        with self._lock:
            if self._running or not self._due or not self._watches:
                return None
            self._running = True
            variant_id = next(iter(self._due))
            return variant_id, self._due.pop(variant_id)

    def _run(self, variant_id: str, watch: Watch) -> None:
        undo = watch.serve()
        if undo is None:
            self._running = False
            return
        self._around.callback(undo)
        OWN_CALLS.run(
            "run_variant",
            {"variant_id": variant_id},
            view=watch.view,
            done=lambda reply: self._done(variant_id, reply),
        )

    def _done(self, variant_id: str, reply: Reply) -> None:
        """Take note of a run; what found no turn is looked at again behind the next cell."""
        found = last_result(variant_id)
        is_gone = not reply["ok"] and reply["error"]["code"] == "not_found"
        ran = reply["ok"] and bool(reply["result"].get("identity")) and found is not None
        with self._lock:
            self._running = False
            if not ran and not is_gone:
                self._due.clear()
        if ran and found is not None and (now := baseline_of(found)) is not None:
            self._seen[variant_id] = now
            self._tell(found)
        self._go_on()

    def _tell(self, found: RunRecord) -> None:
        for watch in tuple(self._watches.values()):
            if watch.told is not None and found.variant_id in watch.choose():
                _tell(watch.told, found)


WATCHES = Watches()
"""The watches of this process."""


def _tell(told: Callback, found: RunRecord) -> None:
    try:
        told(found)
    except Exception as error:  # noqa: BLE001  the callback is the person's code
        warnings.warn(
            f"The callback of a watch of {found.variant_id} raised {type(error).__name__}: {error}",
            stacklevel=2,
        )
