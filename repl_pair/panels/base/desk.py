"""What the panels of one shell look at together, and what they have run."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from functools import partial
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.panels.base.batch import Batch
from repl_pair.panels.base.pump import PUMP, Changes, Hear
from repl_pair.records import Undo, record
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.kernel.own_host import serve_own_calls
from repl_pair.runtime.planning.plan import SUBSTRATE
from repl_pair.runtime.results.links import TABS
from repl_pair.wire import Reply, View as Sight, error_reply

Done = Callable[[Reply], None]

WAIT_S = 600.0
"""How long what is asked waits for the running cell."""
PERSON = Sight(principal="person", access=frozenset({"read", "run", "inspect", "write"}))
"""What the person's own panels may ask: they sit at the kernel."""

FOCUS = "desk/focus"
RUNNING = "desk/running"
OPENED = "desk/opened"
BATCH = "desk/batch"


@record
class Focus:
    """What is looked at: one story or one variant, how it is to be run, and a moment of its run."""

    story: str | None = None
    variant: str | None = None
    workspace: str | None = None
    modes: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    substrate: str = SUBSTRATE
    tab: str = TABS[0]
    moment: int | None = None
    """Which line of its plays is looked at, counted over all of them."""


class Desk:
    """Tells its panels what is looked at; runs go to the main lane, and wait for its cells."""

    def __init__(self, focus: Focus | None = None) -> None:
        self.focus = focus or Focus()
        self.running: dict[str, str] = {}
        """What is under way, by variant: `waiting` or `running`."""
        self.refusal = ""
        """Why what is looked at is not run as it stands: an edit that does not fit."""
        self._hearers: dict[object, Hear] = {}
        self._around = ExitStack()
        self.batch = Batch(self.run, partial(PUMP.note, BATCH, None))
        """Runs many variants one after another."""

    def follow(self, hear: Hear) -> Undo:
        """Tell `hear` of changes of the surface and of this desk, on the pump's thread."""
        token = object()
        self._hearers = {**self._hearers, token: hear}
        end = PUMP.follow(hear)

        def undo() -> None:
            self._hearers = {t: h for t, h in self._hearers.items() if t is not token}
            end()

        return undo

    def look_at(self, focus: Focus) -> None:
        """Look at something else."""
        if focus != self.focus:
            self.refusal = self.refusal if focus.variant == self.focus.variant else ""
            self.focus = focus
            self._tell({FOCUS: None})

    def open_panel(self, id: str) -> None:
        """Have the shell show one of its panels."""
        self._tell({OPENED: frozenset({id})})

    def run(
        self,
        variant_id: str,
        *,
        modes: Sequence[str] = (),
        overrides: Mapping[str, Any] | None = None,
        substrate: str = SUBSTRATE,
        plays: Sequence[str] = (),
        done: Done | None = None,
    ) -> None:
        """Run one variant between the person's cells; its record is kept as its last result.

        `plays` names those to run instead of the automatic ones.
        """
        args: dict[str, Any] = {"variant_id": variant_id, "wait_s": WAIT_S}
        args |= {"modes": list(modes)} if modes else {}
        args |= {"overrides": dict(overrides)} if overrides else {}
        args |= {"substrate": substrate} if substrate != SUBSTRATE else {}
        args |= {"plays": list(plays)} if plays else {}
        self.running[variant_id] = "waiting"
        PUMP.note(RUNNING, variant_id)
        self.ask("run_variant", args, done=partial(self._ran, variant_id, done))

    def run_focus(self, done: Done | None = None, *, plays: Sequence[str] = ()) -> None:
        """Run the variant that is looked at, as it is looked at; RequestError for a bad edit."""
        focus = self.focus
        if self.refusal:
            raise RequestError("bad_arguments", f"Nothing was run. {self.refusal}")
        if focus.variant is not None:
            self.run(
                focus.variant,
                modes=focus.modes,
                overrides=focus.overrides,
                substrate=focus.substrate,
                plays=plays,
                done=done,
            )

    def ask(self, op: str, args: Mapping[str, Any], *, done: Done) -> None:
        """Call an op as the person; `done` takes the reply on the pump's thread."""
        if not OWN_CALLS.has_handler:
            undo = serve_own_calls()
            if undo is None:
                PUMP.do(partial(done, error_reply(_nowhere(op))))
                return
            self._around.callback(undo)
        OWN_CALLS.run(op, args, view=PERSON, done=lambda reply: PUMP.do(partial(done, reply)))

    def have_opened(self, opener: str, panel_id: str, *, done: Done) -> None:
        """Have an opener make the widget of a panel of the person's, between their cells."""
        asked = {"opener": opener, "panel_id": panel_id, "wait_s": WAIT_S}
        self.ask("open_panel", asked, done=done)

    def close(self) -> None:
        """Take out what was put in to have things run; what waits to be run is dropped."""
        self.batch.stop()
        self._around.close()

    def _ran(self, variant_id: str, done: Done | None, reply: Reply) -> None:
        self.running.pop(variant_id, None)
        PUMP.note(RUNNING, variant_id)
        if done is not None:
            done(reply)

    def _tell(self, changes: Changes) -> None:
        def tell() -> None:
            for hear in self._hearers.values():
                hear(changes)

        PUMP.do(tell)


def _nowhere(op: str) -> RequestError:
    return RequestError(
        "cannot_run", f"This kernel runs nothing between its cells, so {op} was not called."
    )
