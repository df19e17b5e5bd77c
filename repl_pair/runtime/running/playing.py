"""Plays: their steps act on the live object, their assertions are judged and recorded."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Never

from repl_pair.errors import ReplPairError, error_text
from repl_pair.runtime.authoring.lines import ACTING, STEPS
from repl_pair.runtime.planning.guard import check_set
from repl_pair.runtime.registry.model import Play, Step
from repl_pair.runtime.registry.outcomes import StepRecord
from repl_pair.runtime.running.copies import copy_state
from repl_pair.runtime.running.dispatching import call_method, dispatch, set_path
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.judging import judge
from repl_pair.runtime.stopping.stop import STOPS
from repl_pair.runtime.values.thaw import thaw_data

RAISES = "raises"
"""The assertion that looks at what was raised, and so goes on behind it."""
MOST_STATES = 200
"""How many steps of a run have the state after them recorded."""
NOT_KEPT = f"<not kept: it came after {MOST_STATES} steps>"


async def play_all(frame: Frame) -> None:
    """Walk the plays; a verdict never stops them, what is raised and not expected at once does."""
    frame.played = len(frame.events)
    if any(step[0] in ACTING for step in frame.plan.steps):
        frame.rendered_state = read_state(frame)
    for play in frame.plan.plays:
        for index, step in enumerate(play.steps):
            # What could not be run is nothing that a step may look at.
            may_expect = step[0] == RAISES and not isinstance(frame.error, ReplPairError)
            if frame.error is not None and not may_expect:
                _give_up(frame, frame.error)
            frame.doing = ({"play": play.name} if play.name else {}) | {"step": index}
            await _walk(frame, play, index, step)
    if frame.error is not None:
        _give_up(frame, frame.error)
    frame.doing = {}


def read_state(frame: Frame) -> Any:
    """Copy the state as it is now, bounded; what it raises stands in its place."""
    try:
        return copy_state(frame.state)
    except STOPS:
        raise
    except Exception as error:  # noqa: BLE001  a projection is the person's code
        return f"<unreadable: {error_text(error)}>"


def _give_up(frame: Frame, error: BaseException) -> Never:
    frame.doing = frame.erred_in
    raise error


async def _walk(frame: Frame, play: Play, index: int, step: Step) -> None:
    if step[0] in STEPS:
        await _act(frame, step)
        error = "" if frame.error is None else error_text(frame.error)
        state = read_state(frame) if len(frame.steps) < MOST_STATES else NOT_KEPT
        frame.steps.append(
            StepRecord(play=play.name, step=index, line=list(step), state=state, error=error)
        )
        return
    verdict = await judge(frame, step, play.name, index)
    if verdict is not None and verdict.passed and step[0] == RAISES:
        frame.error = None


async def _act(frame: Frame, step: Step) -> None:
    """Do one step; what it raises is kept for the next one to expect."""
    frame.gave = ()
    try:
        frame.last = await _ACTS[str(step[0])](frame, step[1:])
        frame.last_secrets = frame.gave
    except STOPS:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  the next step may expect it
        frame.keep(error)


async def _set(frame: Frame, words: list[Any]) -> None:
    check = check_set if frame.plan.plays_by_agent else None
    set_path(frame.live, words[0], thaw_data(words[1], "play set"), check=check)


async def _call(frame: Frame, words: list[Any]) -> Any:
    kwargs: Mapping[str, Any] = thaw_data(words[1], "play call") if len(words) > 1 else {}
    return await call_method(frame, words[0], kwargs, from_agent=frame.plan.plays_by_agent)


_ACTS: dict[str, Callable[[Frame, list[Any]], Awaitable[Any]]] = {
    "dispatch": lambda frame, words: dispatch(
        frame, words[0], from_agent=frame.plan.plays_by_agent
    ),
    "wait": lambda frame, words: frame.wait_for(asyncio.sleep(words[0] / 1000)),
    "set": _set,
    "call": _call,
}
assert _ACTS.keys() == STEPS.keys()
