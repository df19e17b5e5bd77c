"""The phases of a run, as data; each walks its part of one run and raises what went wrong."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from repl_pair.errors import ReplPairError
from repl_pair.records import record
from repl_pair.runtime.decorating import (
    init_events,
    patches,
    put_around,
    resolve_uses,
    teardown_events,
)
from repl_pair.runtime.dispatching import dispatch, set_path
from repl_pair.runtime.frame import Frame, thaw_data
from repl_pair.runtime.loading import check_complete, load_args, load_events
from repl_pair.runtime.model import Event
from repl_pair.runtime.playing import RAISES, play_all
from repl_pair.runtime.rendering import is_figure, rich_values
from repl_pair.runtime.stopping import STOPS


@record
class Phase:
    """One phase: `always` is walked even after a failure."""

    name: str
    walk: Callable[[Frame], Awaitable[None]]
    always: bool = False


async def set_up(frame: Frame) -> None:
    """Refuse what cannot be run before anything of the person's is called, then decorate it."""
    inspect.signature(frame.plan.component)
    frame.undo.append(frame.around.close)
    put_around(frame, resolve_uses(frame.plan.decorators))


async def load(frame: Frame) -> None:
    """Make the args; construct what is a class, and check that all has come."""
    frame.args = await load_args(frame)
    frame.live = frame.args
    if frame.is_class:
        assert frame.component is not None
        frame.live = await frame.value_of(frame.component(**frame.args))
    await check_complete(frame)


async def send_events(frame: Frame) -> None:
    """Patch and set up as the decorators say, then dispatch the variant's events."""
    uses = resolve_uses(frame.plan.decorators)
    ends = list(teardown_events(uses))
    frame.undo.extend(_later(frame, event) for event in reversed(ends))
    frame.undo.extend(_later(frame, e) for e in reversed(frame.plan.variant.loaders_teardown))
    for path, value in patches(uses):
        set_path(frame.live, path, value)
    for event in init_events(uses):
        frame.last = await dispatch(frame, thaw_data(event, "event"))
    for event in await load_events(frame):
        frame.last = await dispatch(frame, event)


async def render(frame: Frame) -> None:
    """Call the component, or show the instance; what is raised is kept for a play to expect."""
    try:
        frame.result = frame.live if frame.is_class else await _call(frame)
    except STOPS:
        raise
    except (Exception, SystemExit) as error:
        frame.error = frame.raised = error
        show_outputs(frame)
        if isinstance(error, ReplPairError) or not _expects(frame):
            raise
        return
    frame.live = frame.last = frame.result
    show_outputs(frame)


async def play(frame: Frame) -> None:
    """Walk the plays, then show the figures that they left open."""
    try:
        await play_all(frame)
    finally:
        show_figures(frame)


async def tear_down(frame: Frame) -> None:
    """Undo in reverse; the first failure is raised when all are undone."""
    failed: list[BaseException] = []
    while frame.undo:
        undo = frame.undo[-1]
        try:
            await frame.value_of(undo())
        except BaseException as error:  # noqa: BLE001  one loader's clean-up must not stop another's
            failed.append(error)
        frame.undo.remove(undo)
    if failed:
        raise next((error for error in failed if isinstance(error, STOPS)), failed[0])


PHASES: tuple[Phase, ...] = (
    Phase(name="setup", walk=set_up),
    Phase(name="load", walk=load),
    Phase(name="events", walk=send_events),
    Phase(name="render", walk=render),
    Phase(name="play", walk=play),
    Phase(name="teardown", walk=tear_down, always=True),
)


def show_outputs(frame: Frame) -> None:
    """Show the rich values of the result, and the figures that are left open."""
    rich = rich_values(frame.result)
    for _, bundle in rich:
        frame.captured.show(bundle)
    show_figures(frame, drawn=[value for value, _ in rich if is_figure(value)])


def show_figures(frame: Frame, *, drawn: Sequence[Any] = ()) -> None:
    """Show and close the figures that are left open; those `drawn` already are only closed."""
    if frame.captured.figures is not None:
        frame.captured.figures.show_open(drawn=drawn)


async def _call(frame: Frame) -> Any:
    assert frame.component is not None
    return await frame.value_of(frame.component(**frame.args))


def _expects(frame: Frame) -> bool:
    return any(step[0] == RAISES for step in frame.plan.steps)


def _later(frame: Frame, event: Event) -> Callable[[], Any]:
    return lambda: dispatch(frame, thaw_data(event, "event"))
