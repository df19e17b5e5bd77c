"""The context of the panels of one shell: what they show, what runs and how, and calls of ops."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import field
from functools import partial
from typing import Any, TypedDict

from repl_pair.errors import RequestError
from repl_pair.panels.base.batch import Batch
from repl_pair.panels.base.describing import hide_of
from repl_pair.panels.base.panel_thread import PANEL_THREAD, Follows, Listener
from repl_pair.records import Undo, record
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.kernel.own_host import serve_own_calls
from repl_pair.runtime.planning.plan import SUBSTRATE
from repl_pair.runtime.results.drift import is_stale
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.results.links import TABS
from repl_pair.runtime.results.record import RunRecord
from repl_pair.wire import Reply, View as Principal, error_reply

Done = Callable[[Reply], None]

WAIT_S = 600.0
"""How long a call waits for the running cell."""
PERSON = Principal(principal="person", access=frozenset({"read", "run", "inspect", "write"}))
"""What the person's own panels may call: they sit at the kernel."""

FOCUS = "panels/focus"
RUNNING = "panels/running"
OPENED = "panels/opened"
BATCH = "panels/batch"
BODIES = ("registry/", "global_")
"""How members of the store begin by which a result may become stale."""


@record
class Focus:
    """What all panels show: one story or variant, how it is to be run, one line of its plays."""

    story: str | None = None
    variant: str | None = None
    workspace: str | None = None
    modes: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    substrate: str = SUBSTRATE
    tab: str = TABS[0]
    moment: int | None = None
    """The line of its plays that is shown, counted over all of them."""

    @property
    def target(self) -> tuple[str, str] | None:
        """Return the kind and id of what is shown: a variant, else a workspace, else a story."""
        ids = {"variant": self.variant, "workspace": self.workspace, "story": self.story}
        return next(((kind, id) for kind, id in ids.items() if id is not None), None)


FOLLOWED: ContextVar[Follows | None] = ContextVar("repl_pair_followed", default=None)
"""What ends with the panel whose `render` is called."""


_CALLERS: set[object] = set()
"""The open contexts that called ops, and the calls of closed ones: one host serves all of them."""
_SERVED = ExitStack()
_SERVING = threading.RLock()


class PanelContext:
    """The shared focus of the panels; runs go to the main lane, and wait for its cells."""

    def __init__(self, focus: Focus | None = None) -> None:
        self.focus = focus or Focus()
        self.running = Counter[str]()
        """How many runs of each variant have not ended; they may wait still."""
        self.refusal = ""
        """Why the focus cannot be run as it stands: an edit that does not fit."""
        self._follows = Follows()
        self.batch = Batch(
            lambda id, modes, done: self.run(id, Focus(modes=modes), done=done),
            lambda: PANEL_THREAD.mark_changed(BATCH, None),
        )
        """Runs many variants one after another."""

    def follow(self, listener: Listener) -> Undo:
        """Call `listener` with changes of the store and of this context, on the panel thread.

        It ends with the undo, with the panel whose `render` calls this or began the task that does,
        or with the context.
        """
        undo = PANEL_THREAD.subscribe(listener, self)
        return (FOLLOWED.get() or self._follows).add(undo)

    def set_focus(self, focus: Focus) -> None:
        """Have all panels show something else."""
        if focus != self.focus:
            self.refusal = self.refusal if focus.variant == self.focus.variant else ""
            self.focus = focus
            PANEL_THREAD.publish({FOCUS: None}, self)

    def focus_on(self, **slots: Any) -> None:
        """Have all panels show something else, with the same modes, rendering and tab."""
        was = self.focus
        self.set_focus(Focus(modes=was.modes, substrate=was.substrate, tab=was.tab, **slots))

    def open_panel(self, id: str) -> None:
        """Have the shell show one of its panels."""
        PANEL_THREAD.publish({OPENED: frozenset({id})}, self)

    @property
    def last_run(self) -> RunRecord | None:
        """The last run of the variant in focus; None before any."""
        return None if self.focus.variant is None else last_result(self.focus.variant)

    def run(
        self,
        variant_id: str,
        how: Focus | None = None,
        *,
        plays: Sequence[str] = (),
        done: Done | None = None,
    ) -> None:
        """Run one variant between the person's cells; its record is kept as its last result.

        `how` has its modes, overrides and rendering; `plays` those to run, not the automatic ones.
        """
        how = how or Focus()
        asked = {"modes": list(how.modes), "overrides": dict(how.overrides), "plays": list(plays)}
        args: dict[str, Any] = {"variant_id": variant_id, "wait_s": WAIT_S}
        args |= {"substrate": how.substrate} | {name: some for name, some in asked.items() if some}

        def end(reply: Reply) -> None:
            self.running[variant_id] -= 1
            if not self.running[variant_id]:
                del self.running[variant_id]
            PANEL_THREAD.mark_changed(RUNNING, variant_id)
            if done is not None:
                done(_with_refusal(variant_id, reply))

        self.running[variant_id] += 1
        PANEL_THREAD.mark_changed(RUNNING, variant_id)
        self.call("run_variant", args, done=end)

    def run_focus(self, done: Done | None = None, *, plays: Sequence[str] = ()) -> None:
        """Run the variant in focus, as it is shown; RequestError `bad_arguments` for a bad edit."""
        if self.refusal:
            raise RequestError("bad_arguments", f"Nothing was run. {self.refusal}")
        if self.focus.variant is not None:
            self.run(self.focus.variant, self.focus, plays=plays, done=done)

    def call(self, op: str, args: Mapping[str, Any], *, done: Done) -> None:
        """Call an op as the person; `done` takes the reply on the panel thread.

        A widget of a panel that was closed may still call: what serves it ends with its reply.
        """

        def end(reply: Reply) -> None:
            if caller is not self:
                _end_serving(caller)
            done(reply)

        submit = PANEL_THREAD.submit
        with _SERVING:
            caller = object() if self._follows.is_closed else self
            _CALLERS.add(caller)
            if not OWN_CALLS.has_handler:
                undo = serve_own_calls()
                if undo is None:
                    why = f"This kernel runs nothing between its cells, so {op} was not called."
                    submit(partial(end, error_reply(RequestError("cannot_run", why))))
                    return
                _SERVED.callback(undo)
        OWN_CALLS.run(op, args, view=PERSON, done=lambda reply: submit(partial(end, reply)))

    def request_widget(self, host: str, panel_id: str, *, done: Done) -> None:
        """Have a host make the widget of a panel of the person's, between their cells."""
        args = {"host": host, "panel_id": panel_id, "wait_s": WAIT_S}
        self.call("open_panel", args, done=done)

    def close(self) -> None:
        """End what follows it; with the last context, what serves runs: those that wait go too."""
        self.batch.stop()
        self._follows.close()
        _end_serving(self)


def _end_serving(caller: object) -> None:
    with _SERVING:
        _CALLERS.discard(caller)
        if not _CALLERS:
            _SERVED.close()


def _with_refusal(variant_id: str, reply: Reply) -> Reply:
    """Return a reply of a run; an error where it cannot be planned, and no record says why."""
    run: Mapping[str, Any] = reply["result"] if reply["ok"] else {}
    kept = last_result(variant_id)
    if run.get("status") != "cannot_run" or (kept is not None and kept.status == "cannot_run"):
        return reply
    return error_reply(RequestError("bad_arguments", str(run.get("reason", ""))))


class RunState(TypedDict, total=False):
    """How a run ended; without any slot where nothing was run.

    `what_if`: it had args or modes of its own, so it is no verdict of the variant.
    """

    status: str
    reason: str
    stale: bool
    what_if: bool
    total: int
    passed: int
    modes: Sequence[str]
    elapsed_ms: float


class Head(RunState):
    """The variant in focus, how its last run ended, and whether another runs or waits."""

    variant: str | None
    running: bool


def run_state(run: RunRecord | None) -> RunState:
    """Return how a run ended."""
    if run is None:
        return {}
    return {
        "status": run.status,
        "reason": run.reason and hide_of(run)(run.reason),
        "stale": is_stale(run),
        "what_if": bool(run.what_if),
        "total": run.total,
        "passed": sum(outcome.passed for outcome in run.assertions),
        "modes": list(run.active_modes),
        "elapsed_ms": run.elapsed_ms,
    }


def head_of(context: PanelContext, run: RunRecord | None) -> Head:
    """Return the variant in focus, with how a run of it ended."""
    variant = context.focus.variant
    return {"variant": variant, "running": variant in context.running, **run_state(run)}
