"""The person's pause: while it lasts, every request of an agent is refused."""

import time

from repl_pair.errors import KernelError
from repl_pair.runtime.surface import PERSONS, Cell
from repl_pair.wire import PERSON, View

PAUSED = Cell(name="paused", doc="When the person paused agents, epoch seconds; else None.")
PERSONS.declare(PAUSED)


def pause() -> None:
    """Refuse every request of an agent, reads too, until `resume`.

    Runs under way continue, and calls that wait for approval keep waiting.
    """
    if PERSONS.get(PAUSED.name) is None:
        PERSONS.set(PAUSED.name, time.time())


def resume() -> None:
    """Accept requests of agents again."""
    if PERSONS.get(PAUSED.name) is not None:
        PERSONS.set(PAUSED.name, None)


def paused_since() -> float | None:
    """Return when the person paused agents, in epoch seconds; None where they did not."""
    return PERSONS.get(PAUSED.name)


def check_pause(view: View) -> None:
    """Refuse an agent's request while agents are paused; KernelError `paused`."""
    since = PERSONS.get(PAUSED.name)
    if since is None or view.principal == PERSON:
        return
    at = time.strftime("%H:%M", time.localtime(since))
    raise KernelError(
        "paused",
        f"The person paused agents in this kernel at {at}: nothing is read or run until they "
        "resume. Nothing was run.",
        next_steps=(
            "Ask the person to run `%pair resume` there, or `repl-pair resume`, then call again.",
        ),
    )
