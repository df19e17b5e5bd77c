"""Plays: their steps act on the live object, their assertions are judged and recorded."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import ReplPairError, RequestError, error_text
from repl_pair.records import replace, to_dict
from repl_pair.runtime.assertions.verdicts import (
    places_repeating,
    places_within,
    secret_place,
    secret_within,
    without_secrets,
)
from repl_pair.runtime.assertions.view import Places, Read, RunView, watch
from repl_pair.runtime.authoring.lines import signature_of, unknown_step
from repl_pair.runtime.reading.exceptions import short_class_name
from repl_pair.runtime.registry.model import AssertionSignature, Play, Step
from repl_pair.runtime.registry.outcomes import Outcome, StepRecord, Verdict
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.steps import ACTING, STEPS, plain_words
from repl_pair.runtime.running.copies import copy_judged, copy_state
from repl_pair.runtime.running.dispatching import call_method, dispatch, set_path
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.secrets.raised import text_for_run
from repl_pair.runtime.snapshots.provenance import describe_about
from repl_pair.runtime.stopping.stop import is_stop
from repl_pair.runtime.values.classes import (
    is_instance_of,
    is_of,
    real_class,
    same_class,
    type_name,
)
from repl_pair.runtime.values.paths import Place, format_path
from repl_pair.runtime.values.thaw import thaw_data

RAISES = "raises"
"""The assertion that looks at what was raised, and so goes on behind it."""
MAX_STATES = 200
"""How many steps of a run have the state after them recorded."""
NOT_KEPT = f"<not kept: it came after {MAX_STATES} steps>"


async def play_all(frame: Frame) -> None:
    """Walk the plays; a verdict never stops them, what is raised and not expected at once does."""
    frame.played = len(frame.events)
    if any(step[0] in ACTING for step in frame.plan.steps):
        frame.rendered_state = read_state(frame)
    lines = [(play, at, step) for play in frame.plan.plays for at, step in enumerate(play.steps)]
    for play, index, step in lines:
        # What could not be run is nothing that a step may look at.
        may_expect = step[0] == RAISES and not isinstance(frame.error, ReplPairError)
        if frame.error is not None and not may_expect:
            break
        frame.doing = ({"play": play.name} if play.name else {}) | {"step": index}
        await _walk(frame, play, index, step)
    if frame.error is not None:
        frame.doing = frame.erred_in
        raise frame.error
    frame.doing = {}


def read_state(frame: Frame) -> Any:
    """Copy the state as it is now, bounded; what it raises stands in its place."""
    try:
        return copy_state(frame.state)
    except Exception as error:  # noqa: BLE001  a projection is the person's code
        return f"<unreadable: {text_for_run(error)}>"


async def _walk(frame: Frame, play: Play, index: int, step: Step) -> None:
    if step[0] in STEPS:
        await _act(frame, step)
        error = "" if frame.error is None else error_text(frame.error)
        state = read_state(frame) if len(frame.steps) < MAX_STATES else NOT_KEPT
        frame.steps.append(
            StepRecord(play=play.name, step=index, line=list(step), state=state, error=error)
        )
        return
    verdict = await _judge(frame, step, play.name, index)
    if verdict is not None and verdict.passed and step[0] == RAISES:
        frame.error = None


async def _act(frame: Frame, step: Step) -> None:
    """Do one step; what it raises is kept for the next one to expect."""
    frame.gave, frame.raised = (), None
    try:
        frame.last = await _ACTS[str(step[0])](frame, step[1:])
        frame.last_secrets = frame.gave
    except BaseException as error:
        if is_stop(error):
            raise
        frame.keep(error)


async def _set(frame: Frame, words: list[Any]) -> None:
    value = thaw_data(words[1], "play set")
    set_path(frame.live, words[0], value, from_agent=frame.plan.plays_by_agent)


async def _call(frame: Frame, words: list[Any]) -> Any:
    kwargs: Mapping[str, Any] = thaw_data(words[1], "play call") if len(words) > 1 else {}
    return await call_method(frame, words[0], kwargs)


_ACTS: dict[str, Callable[[Frame, list[Any]], Awaitable[Any]]] = {
    "dispatch": lambda frame, words: dispatch(
        frame, words[0], from_agent=frame.plan.plays_by_agent
    ),
    "wait": lambda frame, words: frame.wait_for(asyncio.sleep(words[0] / 1000)),
    "set": _set,
    "call": _call,
}
assert _ACTS.keys() == STEPS.keys()


async def _judge(frame: Frame, step: Step, play: str, index: int) -> Verdict | None:
    """Ask an assertion and record its outcome.

    None where it could not be asked, with the run's refusal set: a play that an agent wrote may
    not look at what is secret, since its verdict would reveal it.
    """
    name = str(step[0])
    entry = REGISTRY.find("assertion", name)
    if entry is None:
        unknown = unknown_step(name, REGISTRY.ids("assertion"))
        return _record(frame, step, Verdict(passed=False, reason=unknown), play, index)
    looks, secrets = list[Read](), _secrets(frame)
    try:
        now = settled(frame, secrets)
        verdict = await _ask(frame, entry.body.component.resolve(), watch(now, looks), step)
        signature: AssertionSignature | None = entry.body.signature
        reveals = frame.plan.plays_by_agent and (signature is None or signature.compares)
        if reveals and (place := secret_within(looks, secrets)):
            raise RequestError(
                "cannot_run",
                f"{name} looks at {place}, where a secret stands: only the person's play may.",
            )
    except RequestError as error:
        frame.refusal = frame.refusal or error.message
        return None
    except Exception as error:  # noqa: BLE001  assertions record, they never raise
        verdict = Verdict(passed=False, reason=f"{name} raised {text_for_run(error)}")
    try:
        return _record(frame, step, _hide(frame, step, verdict, looks, secrets), play, index)
    except Exception as error:  # noqa: BLE001  what is judged may have code of its own
        # The words of the step may repeat a secret that cannot be looked for.
        _mark(frame, _words(step))
        why = f"{name} looked at what raises {short_class_name(type(error))} where it is read"
        return _record(frame, step, Verdict(passed=False, reason=why), play, index)


def settled(frame: Frame, secrets: Places) -> RunView:
    """Return what assertions look at, as of now."""
    out, plan = frame.captured, frame.plan
    return RunView(
        args=frame.args,
        result=frame.result,
        last=frame.last,
        state=frame.state,
        effects=frame.scope.emitted,
        events=tuple(frame.events),
        played=tuple(frame.events[frame.played :]),
        stdout=out.so_far("stdout"),
        stderr=out.so_far("stderr"),
        outputs=out.bundles(),
        warnings=tuple(out.kept["warnings"]) if "warnings" in out.kept else None,
        warned=tuple(out.warned),
        logs=tuple(out.kept["logs"]),
        raised=frame.raised,
        render_ms=sum(one.elapsed_ms for one in frame.phases if one.phase == "render"),
        secrets=secrets,
        identify=lambda: plan.identity,
        about=lambda: describe_about(plan),
        by_agent=plan.plays_by_agent,
    )


def _secrets(frame: Frame) -> Places:
    """Return the secret places among what is settled; events count since play began too."""
    places = frame.secret_places()
    events = [place[1:] for place in places if place[0] == "events"]
    return (*places, *(("played", str(int(at) - frame.played), *rest) for at, *rest in events))


async def _ask(frame: Frame, fn: Any, watched: RunView, step: Step) -> Verdict:
    name = str(step[0])
    shape = signature_of(fn)
    words, options = shape.split([thaw_data(word, f"play {name}") for word in step[1:]])
    if fault := shape.fault([*words, *([options] if options else [])]):
        return Verdict(passed=False, reason=f"{name}: {fault}")
    found = await frame.value_of(fn(watched, *words, **options))
    if isinstance(found, Verdict):
        return found
    # What is true and is no bool, as a pair of a bool and a reason, may mean a failure.
    if not found or type(found) is bool or is_instance_of(found, "numpy", "bool_"):
        return Verdict(passed=bool(found))
    own = " of this import of repl_pair" if same_class(real_class(found), Verdict) else ""
    why = f"{name} gave a {type_name(found)}, no bool and no Verdict{own}"
    return Verdict(passed=False, reason=why)


def _hide(
    frame: Frame, step: Step, verdict: Verdict, looks: Sequence[Read], secrets: Places
) -> Verdict:
    """Mark what the outcome that comes next holds of a secret, and give it with safe texts.

    What it holds is for the person; its texts go many ways, so no secret is in them.
    """
    place, inner = secret_place(looks, secrets), places_within(looks, secrets)
    slots = [*_words(step), ("expected",), ("actual",)]
    if place or (inner and not plain_words(step)):
        _mark(frame, slots)
        where = place or format_path(looks[0].steps)
        return replace(verdict, reason=f"{where}: a secret stands there" if verdict.reason else "")
    compared = {"payload": step[1:], "expected": verdict.expected, "actual": verdict.actual}
    _mark(frame, places_repeating(compared, looks))
    # Beside a secret all may be shown: what is hidden whole would be taken for a secret elsewhere.
    _mark(frame, ((*slot, *below) for slot in slots for below in inner))
    found = [(slot, getattr(verdict, slot)) for slot in ("expected", "actual", "reason")]
    texts = {slot: text for slot, text in found if is_of(text, str)}
    if inner:  # a word of the step may hold a short secret of what was looked at
        given = {str(n): word for n, word in enumerate(step[1:]) if isinstance(word, str)}
        safe = without_secrets(given, looks, secrets)
        _mark(frame, [("payload", n) for n, word in given.items() if word != safe.get(n, word)])
    wanted = [Read(steps=look.steps, value=verdict.expected) for look in looks]
    safe = without_secrets(texts, [*looks, *wanted], secrets)
    return replace(verdict, **safe) if safe else verdict


def _words(step: Step) -> list[Place]:
    """Return the places of the words of a step, in its outcome, that may hold anything."""
    return [("payload", str(word)) for word in range(plain_words(step), len(step) - 1)]


def _mark(frame: Frame, places: Iterable[Place]) -> None:
    """Mark places of the outcome that comes next as secret."""
    at = str(len(frame.outcomes))
    frame.sensitive.extend(("assertions", at, *place) for place in places)


def _record(frame: Frame, step: Step, verdict: Verdict, play: str, index: int) -> Verdict:
    line = {"assertion": str(step[0]), "payload": list(step[1:]), "play": play, "step": index}
    sides = {side: copy_judged(getattr(verdict, side)) for side in ("expected", "actual")}
    frame.outcomes.append(Outcome(**line, **to_dict(verdict) | sides))
    return verdict
