"""The phases of a run, as data; each walks its part of one run and raises what went wrong."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from repl_pair.errors import ReplPairError
from repl_pair.runtime.authoring.decorator_uses import Used
from repl_pair.runtime.capture.showing import show_open, show_value
from repl_pair.runtime.planning.plan import PlannedEvent
from repl_pair.runtime.registry.model import Event
from repl_pair.runtime.registry.steps import ACTING
from repl_pair.runtime.running.calling import check_required
from repl_pair.runtime.running.copies import copy_live
from repl_pair.runtime.running.decorating import apply_decorators
from repl_pair.runtime.running.dispatching import dispatch, set_path
from repl_pair.runtime.running.frame import Frame, TeardownStep
from repl_pair.runtime.running.loading import check_complete, load_args
from repl_pair.runtime.running.playing import RAISES, play_all
from repl_pair.runtime.stopping.stop import is_stop
from repl_pair.runtime.values.thaw import thaw_data


async def load(frame: Frame) -> None:
    """Make the args; construct what is a class, and check that all has come."""
    frame.live = frame.args
    try:
        frame.args = frame.live = await load_args(frame)
        if frame.is_class:
            await _make(frame)
        if frame.error is None:
            await check_complete(frame)
    finally:
        frame.loaded = len(frame.undo)
        frame.undo.extend(_later(frame, e) for e in reversed(frame.plan.after_loading))


async def send_events(frame: Frame) -> None:
    """Patch and set up as the decorators say, then dispatch the variant's events."""
    if frame.error is not None:
        return
    uses = frame.uses
    # What ends a setup comes after the loaders' teardown, and the innermost setup ends first.
    ends = [_planned(event, used) for used in uses for event in reversed(used.body.teardown)]
    frame.undo[frame.loaded : frame.loaded] = [_later(frame, planned) for planned in ends]
    for used in uses:
        for path, value in used.body.patch.items():
            frame.doing = {"patch": path}
            fresh = thaw_data(value, f"decorator {used.id}: patch {path}")
            set_path(frame.live, path, fresh, from_agent=used.by_agent)
    frame.doing = {}
    begins = [_planned(event, used) for used in uses for event in used.body.init]
    for planned in (*begins, *frame.plan.before_render):
        frame.last = await dispatch(frame, planned.event, from_agent=planned.by_agent)
        frame.last_secrets = frame.gave


def _planned(event: Event, setup: Used) -> PlannedEvent:
    return PlannedEvent(event=event, by_agent=setup.by_agent)


async def render(frame: Frame) -> None:
    """Call the component, or show the instance; what is raised is kept for a play to expect."""
    if frame.error is not None:
        return
    if not frame.is_class:
        await _make(frame)
    if frame.is_made:
        show_value(frame.captured, frame.result)


async def play(frame: Frame) -> None:
    """Walk the plays, then show the figures that they left open."""
    try:
        await play_all(frame)
    finally:
        show_open(frame.captured)


async def tear_down(frame: Frame) -> None:
    """Undo in reverse; the first failure is raised when all are undone."""
    failed: list[tuple[BaseException, Mapping[str, Any]]] = []
    cut: TeardownStep | None = None
    while frame.undo:
        undo = frame.undo[-1]
        frame.doing = {}
        try:
            await frame.value_of(undo())
        except BaseException as error:  # noqa: BLE001  one loader's clean-up must not stop another's
            failed.append((error, frame.doing))
            if is_stop(error) and cut is not undo:
                # It may have come before the undo began.
                cut = undo
                continue
        frame.undo.remove(undo)
    if failed:
        stops = (one for one in failed if is_stop(one[0]))
        first, frame.doing = next(stops, failed[0])
        raise first


PHASES: Mapping[str, Callable[[Frame], Awaitable[None]]] = {
    "setup": apply_decorators,
    "load": load,
    "events": send_events,
    "render": render,
    "play": play,
    "teardown": tear_down,
}
"""In their order; teardown is walked even after a failure."""


async def _make(frame: Frame) -> None:
    """Call the component; what it raises is kept if the first step of a play may expect it."""
    assert frame.component is not None
    if not any(used.body.wrap for used in frame.uses):  # a wrap may give more
        check_required(frame.plan.component, frame.args)
    try:
        frame.result = await frame.value_of(frame.component(**frame.args))
    except BaseException as error:
        if is_stop(error):
            raise
        show_open(frame.captured)
        frame.raised = error
        first = next(iter(frame.plan.steps), None)
        is_expected = first is not None and first[0] == RAISES
        if isinstance(error, ReplPairError) or not is_expected:
            raise
        frame.doing = {"raised_in": "load" if frame.is_class else "render"}
        frame.keep(error)
        return
    frame.is_made = True
    frame.live = frame.last = frame.result
    frame.last_secrets = frame.given_secrets
    if not frame.is_class and any(step[0] in ACTING for step in frame.plan.steps):
        frame.live = copy_live(frame.result)


def _later(frame: Frame, planned: PlannedEvent) -> TeardownStep:
    waiting = [planned.event]

    async def send() -> None:
        while waiting:
            await dispatch(frame, waiting.pop(), from_agent=planned.by_agent)

    return send
