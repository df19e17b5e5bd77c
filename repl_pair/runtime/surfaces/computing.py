"""Values computed from other members by functions of the person, on threads of their own.

Such a function runs when the member is read or watched and its sources changed, never on the
thread that changes them. For those who watch it does so for at most a twentieth of the time,
however often they change; a read waits for no such pause.
"""

import threading
from collections.abc import Callable
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.own_threads import ServiceThread, start_thread
from repl_pair.runtime.secrets.raised import text_of_raised
from repl_pair.runtime.stopping.waiting import WaitEvent
from repl_pair.runtime.store import NOTHING
from repl_pair.runtime.surfaces.fitting import is_same
from repl_pair.runtime.surfaces.state import LOCK, STATES, State, watch
from repl_pair.runtime.values.classes import type_name
from repl_pair.wire import monotonic

PAUSE_S, PAUSES = 0.05, 19
"""Least pause after a computation, and how many times its own length the pause is."""
LINGER_S = 0.2
"""How long a thread stays that has nothing to compute."""
TURN_S = 0.5
"""How long a computation keeps the others of its projection waiting: then it is left behind."""

Step = Callable[[], bool]
"""Brings a state up to what its sources hold; returns whether that changed it."""


class Worker:
    """Computes what it is asked for, each on a thread of its own, in turn while none takes long.

    What takes longer than `TURN_S` runs on beside the others, and never twice at once.
    """

    def __init__(self, name: str) -> None:
        self._asked: dict[Computation, None] = {}
        self._running: dict[Computation, threading.Thread] = {}
        self._changed = threading.Condition()
        self._name = f"projection {name}"
        self._thread = ServiceThread(self._run, self._name)
        self._free_at = 0.0

    def ask(self, computation: "Computation") -> None:
        """Let something be computed soon; asking again before it began changes nothing."""
        with self._changed:
            self._asked[computation] = None
            self._changed.notify()
            self._thread.start()

    def _run(self) -> None:
        while (turn := self._begin_next()) is not None:
            turn.join(TURN_S)

    def _begin_next(self) -> threading.Thread | None:
        with self._changed:
            while self._changed.wait_for(lambda: self._asked, LINGER_S):
                pause_s = self._free_at - monotonic()
                if (chosen := self._choose(pause_s)) is not None:
                    del self._asked[chosen]
                    self._running[chosen] = start_thread(self._compute, chosen, name=self._name)
                    return self._running[chosen]
                self._changed.wait(pause_s if pause_s > 0 else None)
            self._thread.end()
            return None

    def _choose(self, pause_s: float) -> "Computation | None":
        for one in self._asked:
            thread = self._running.get(one)  # a forked process has none of its parent's
            is_free = thread is None or not thread.is_alive()
            if is_free and (pause_s <= 0 or one.is_awaited):
                return one
        return None

    def _compute(self, computation: "Computation") -> None:
        is_awaited, began = computation.is_awaited, monotonic()
        computation.compute()
        ended = monotonic()
        with self._changed:
            if not is_awaited:  # else a member that is read all the time would hold up the others
                self._free_at = max(self._free_at, ended + max(PAUSE_S, PAUSES * (ended - began)))
            del self._running[computation]
            self._changed.notify()


class Computation:
    """One computed state: which members it is made of, and how."""

    def __init__(
        self, state: State, sources: tuple[str, ...], compute: Step, worker: Worker, *, hides: bool
    ) -> None:
        self.sources = sources
        self._state, self._compute, self._worker, self._hides = state, compute, worker, hides
        self._seen: list[tuple[State | None, int]] = []
        self._is_asked = False
        self._waiting: list[WaitEvent] = []
        self._unwatch: Undo | None = None

    @property
    def is_awaited(self) -> bool:
        """Return whether a read waits for it."""
        return bool(self._waiting)

    def begin(self) -> None:
        """Follow the sources, from when its member is registered."""
        self._unwatch = watch(self.sources, self.note, asks=False)

    def end(self) -> None:
        """Follow them no longer, when its member has left."""
        if self._unwatch is not None:
            self._unwatch()

    def note(self, _id: str) -> None:
        """Take a change of a source, as its watcher: it is computed only for those who watch."""
        if not self._is_asked and self._is_watched():
            try:
                self._ask()
            except RuntimeError:  # no thread can be started: the next change asks again
                self._is_asked = False

    def _is_watched(self) -> bool:
        """Return whether anybody watches it, or what is computed from it."""
        owners = (getattr(fn, "__self__", None) for _, fn in self._state.watchers)
        return any(not isinstance(own, Computation) or own._is_watched() for own in owners)

    def ask(self) -> None:
        """Let it be computed soon, and first its sources, if what these are made of changed."""
        for source in self.sources:
            state = STATES.get(source)
            if state is not None and state.computed is not None:
                state.computed.ask()
        self._ask()

    def _ask(self) -> None:
        self._is_asked = True
        self._worker.ask(self)

    async def refresh(self, timeout_s: float) -> bool:
        """Wait until it is computed from what its sources hold now; False where that takes longer.

        A failure of its function is no exception here: it is the state's `error`.
        """
        until = monotonic() + timeout_s
        for source in self.sources:
            state = STATES.get(source)
            if state is not None and state.computed is not None:
                await state.computed.refresh(until - monotonic())
        if self._seen == self._look():
            return True
        computed = WaitEvent()
        self._waiting.append(computed)
        self._ask()
        is_computed = await computed.wait(until - monotonic())
        self._waiting.remove(computed)
        return is_computed

    def compute(self) -> None:
        """Compute it, on the thread of the worker; what the person's function raises is kept."""
        self._is_asked = False
        waiting, seen = tuple(self._waiting), self._look()
        if seen != self._seen:
            try:
                changed = self._compute()
            except BaseException as error:  # noqa: BLE001  it is the person's code; nothing ends this thread
                changed = self._fail(error)
            self._seen = seen
            if changed:
                self._state.announce()
        for computed in waiting:
            computed.set()

    def _look(self) -> list[tuple[State | None, int]]:
        states = [STATES.get(source) for source in self.sources]
        return [(state, -1 if state is None else state.revision) for state in states]

    def _fail(self, error: BaseException) -> bool:
        """Note why there is no value: its source too may be a secret, and stand in a message."""
        text = type_name(error) if self._hides else text_of_raised(error)
        return set_value(self._state, NOTHING, error=text)


def set_value(state: State, value: Any, *, error: str = "") -> bool:
    """Give a computed state its value, or why it has none; False where it is as it was."""
    with LOCK:
        if is_same(state.value, value) and state.error == error:
            return False
        state.value, state.error = value, error
        state.revision += 1
    return True


def held_by(id: str) -> Any:
    """Return what a source holds, as its function takes it: a value, a dict or a list of entries.

    NOTHING before the first value; ValueError where the source itself could not be computed. It
    names no source: who reads what is computed may not see that.
    """
    state = STATES.get(id)
    if state is None:
        return NOTHING
    if state.error:
        raise ValueError("what it is computed from could not be computed")
    with LOCK:
        if state.kind == "collection":
            return state.items.copy()
        return state.value if state.kind == "cell" else [value for _, value in state.entries]
