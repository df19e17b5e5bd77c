"""Plays: their steps act on the live object, their assertions are judged and recorded."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.assertions import Raised, Settled
from repl_pair.runtime.dispatching import call_method, dispatch, set_path
from repl_pair.runtime.frame import Frame, thaw_data
from repl_pair.runtime.model import Play, Step
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.run_record import Outcome, StepRecord, Verdict
from repl_pair.runtime.state_copy import copy_state
from repl_pair.runtime.step_names import STEPS
from repl_pair.runtime.stopping import STOPS

RAISES = "raises"
"""The assertion that looks at what was raised, and so goes on behind it."""


async def play_all(frame: Frame) -> None:
    """Walk the plays; a verdict never stops them, what is raised and not expected does."""
    frame.played = len(frame.events)
    for play in frame.plan.plays:
        for index, step in enumerate(play.steps):
            frame.at = play.name, index
            await _walk(frame, play, index, step)
    if frame.error is not None:
        raise frame.error
    frame.at = None


async def _walk(frame: Frame, play: Play, index: int, step: Step) -> None:
    name = str(step[0])
    if frame.error is not None and name != RAISES:
        return
    if name in STEPS:
        await _act(frame, step)
        state = copy_state(frame.state)
        error = "" if frame.error is None else told(frame.error)
        frame.steps.append(
            StepRecord(play=play.name, step=index, line=list(step), state=state, error=error)
        )
        return
    verdict = await judge(frame, step)
    if verdict is not None:
        frame.outcomes.append(_outcome(step, verdict, play.name, index))


async def _act(frame: Frame, step: Step) -> None:
    try:
        frame.last = await _ACTS[str(step[0])](frame, thaw_data(step[1:], f"play {step[0]}"))
    except STOPS:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  a later step may expect it
        frame.error = frame.raised = error


async def _dispatch(frame: Frame, words: list[Any]) -> Any:
    return await dispatch(frame, words[0])


async def _wait(frame: Frame, words: list[Any]) -> None:
    await frame.settle(asyncio.sleep(words[0] / 1000))


async def _set(frame: Frame, words: list[Any]) -> None:
    set_path(frame.live, words[0], words[1])


async def _call(frame: Frame, words: list[Any]) -> Any:
    kwargs: Mapping[str, Any] = words[1] if len(words) > 1 else {}
    return await call_method(frame, words[0], kwargs)


_ACTS: dict[str, Callable[[Frame, list[Any]], Awaitable[Any]]] = {
    "dispatch": _dispatch,
    "wait": _wait,
    "set": _set,
    "call": _call,
}
assert _ACTS.keys() == STEPS.keys()


async def judge(frame: Frame, step: Step) -> Verdict | None:
    """Give an assertion's verdict; None where it could not be asked, with the run's refusal set."""
    name = str(step[0])
    entry = REGISTRY.find("assertion", name)
    if entry is None:
        return Verdict(passed=False, reason=REGISTRY.missing("assertion", name))
    payload = [thaw_data(word, f"play {name}") for word in step[1:]]
    subject = Raised(error=frame.raised) if name == RAISES else settled(frame)
    try:
        found = await frame.value_of(entry.body.component.resolve()(subject, *payload))
    except RequestError as error:
        frame.refusal = frame.refusal or error.message
        return None
    except Exception as error:  # noqa: BLE001  assertions record, they never raise
        return Verdict(passed=False, reason=f"{name} raised {told(error)}")
    verdict = found if isinstance(found, Verdict) else Verdict(passed=bool(found))
    if name == RAISES and verdict.passed:
        frame.error = None
    return verdict


def settled(frame: Frame) -> Settled:
    """Give what assertions look at, as of now."""
    out = frame.captured
    return Settled(
        args=frame.args,
        result=frame.result,
        last=frame.last,
        state=frame.state,
        effects=tuple(frame.scope.emitted),
        events=tuple(frame.events),
        played=tuple(frame.events[frame.played :]),
        stdout="".join(out.kept["stdout"]),
        warnings=tuple(out.kept["warnings"]) if "warnings" in out.kept else None,
        logs=tuple(out.kept["logs"]),
    )


def told(error: BaseException) -> str:
    """Give an exception's class and text."""
    return f"{type(error).__name__}: {text_of(error)}"


def text_of(error: BaseException) -> str:
    """Give an exception's text, which is code of whoever wrote the exception."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  a broken text must not hide what was raised
        return "<unreadable>"


def _outcome(step: Step, verdict: Verdict, play: str, index: int) -> Outcome:
    return Outcome(
        assertion=str(step[0]),
        payload=list(step[1:]),
        passed=verdict.passed,
        expected=verdict.expected,
        actual=verdict.actual,
        reason=verdict.reason,
        play=play,
        step=index,
    )
