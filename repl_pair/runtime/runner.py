"""The runner: walks the phases, records everything, never raises for the variant's own fault."""

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.capture import capture
from repl_pair.runtime.declared import secret_line, takers_of
from repl_pair.runtime.effects import effects_of_run
from repl_pair.runtime.failures import as_raised, describe, told_in
from repl_pair.runtime.frame import Frame
from repl_pair.runtime.identity import identify
from repl_pair.runtime.judging import secret_places
from repl_pair.runtime.loops import Settle, drive, on_private_loop, on_this_loop
from repl_pair.runtime.outcomes import PhaseRecord
from repl_pair.runtime.phases import PHASES, Phase
from repl_pair.runtime.plan import SUBSTRATE, Plan, plan_variant
from repl_pair.runtime.playing import read_state
from repl_pair.runtime.results import keep_result, registered_at
from repl_pair.runtime.run_record import RunRecord, refused
from repl_pair.runtime.shapes import class_of_value
from repl_pair.runtime.stopping import STOPS, set_apart, this_section, while_live
from repl_pair.runtime.twin import one_twin
from repl_pair.runtime.witness import tell_raised


def run(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    plays: Sequence[str] | None = None,
    substrate: str = SUBSTRATE,
    check: bool = False,
    loop: str = "private",
) -> RunRecord:
    """Run one variant here and now and return its record.

    What is asynchronous runs on a private loop thread; `loop="nested"`, for objects bound to the
    loop that runs now, nests that one. `plays` names those to run instead of the automatic ones;
    `substrate` is the rendering that is asked for. `check=True` displays the
    record and raises VariantFailed for anything but `pass`. An unknown id raises RequestError.
    """
    settle = _nested if loop == "nested" else on_private_loop
    try:
        plan = plan_variant(
            variant_id, modes=modes, overrides=overrides, plays=plays, substrate=substrate
        )
    except RequestError as error:
        return _checked(refused(variant_id, error), check)
    with set_apart():
        record = drive(execute(plan, settle=settle))
    return _checked(record, check)


async def arun(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    plays: Sequence[str] | None = None,
    substrate: str = SUBSTRATE,
    check: bool = False,
) -> RunRecord:
    """Run one variant on the caller's loop; otherwise as `run`."""
    try:
        plan = plan_variant(
            variant_id, modes=modes, overrides=overrides, plays=plays, substrate=substrate
        )
    except RequestError as error:
        return _checked(refused(variant_id, error), check)
    with set_apart():
        record = await execute(plan, settle=on_this_loop)
    return _checked(record, check)


async def execute(
    plan: Plan,
    *,
    settle: Settle,
    exclusive: bool = True,
    keep: Callable[[RunRecord], object] = keep_result,
) -> RunRecord:
    """Walk the phases of a plan; only an interrupt and its kin come through.

    Must be called in a section that is not live; it is while the phases are walked.
    """
    started = time.perf_counter()
    phases: list[PhaseRecord] = []
    section = this_section()
    with capture(exclusive=exclusive) as captured, effects_of_run() as scope, one_twin():
        frame = Frame(plan=plan, settle=settle, captured=captured, scope=scope)
        try:
            torn = await while_live(section, lambda: _walk_all(frame, phases))
        except BaseException as error:
            frame.failure = frame.failure or error
            section.take()
            await while_live(section, lambda: _walk(frame, PHASES[-1], phases))
            raise
    record = _record(frame, torn, phases, (time.perf_counter() - started) * 1e3)
    keep(record)
    return record


async def _walk_all(frame: Frame, phases: list[PhaseRecord]) -> BaseException | None:
    """Walk the phases until one fails, then tear down; gives what failed in that."""
    *before, last = PHASES
    for phase in before:
        if frame.failure is None:
            frame.failure = await _walk(frame, phase, phases)
            frame.failed_in = frame.doing
    if _has_state(frame):
        frame.left_state = read_state(frame)
    return await _walk(frame, last, phases)


async def _walk(frame: Frame, phase: Phase, phases: list[PhaseRecord]) -> BaseException | None:
    started = time.perf_counter()
    failed: BaseException | None = None
    frame.doing = {}
    try:
        await phase.walk(frame)
    except STOPS:
        raise
    except BaseException as error:  # noqa: BLE001  a run records what its component raises
        failed = as_raised(error)
        tell_raised(failed)
    elapsed = frame.took[phase.name] = (time.perf_counter() - started) * 1e3
    error = None if failed is None else describe(failed, frame.doing)
    phases.append(PhaseRecord(phase=phase.name, elapsed_ms=round(elapsed, 3), error=error))
    return failed


def _record(
    frame: Frame, torn: BaseException | None, phases: list[PhaseRecord], elapsed_ms: float
) -> RunRecord:
    plan, out = frame.plan, frame.captured
    status, reason = _status(frame, torn)
    return RunRecord(
        variant_id=plan.variant_id,
        status=status,
        reason=reason,
        assertions=tuple(frame.outcomes),
        total=len(frame.outcomes),
        elapsed_ms=round(elapsed_ms, 3),
        effective_args={**plan.args, **frame.args},
        active_modes=plan.modes,
        identity=identify(plan),
        result=frame.result,
        last=frame.last,
        state=frame.left_state,
        events=tuple(frame.events),
        effects=tuple(frame.scope.emitted),
        plays=tuple(play.name for play in plan.plays),
        steps=tuple(frame.steps),
        rendered_state=frame.rendered_state,
        outputs=out.bundles(),
        phases=tuple(phases),
        stdout=out.text("stdout"),
        stderr=out.text("stderr"),
        unattributed=out.text("unattributed"),
        warnings=out.entries("warnings"),
        logs=out.entries("logs"),
        sensitive=_sensitive(frame),
        registered=registered_at(plan),
        rests_on=(*plan.rests_on, *frame.scope.rests_on()),
    )


def _sensitive(frame: Frame) -> tuple[tuple[str, ...], ...]:
    """Give the places in the record that are declared secret."""
    slots = {"args": "effective_args"}
    takers = [*takers_of(frame.plan.component), class_of_value(frame.live)]
    lines = [
        ("steps", str(at), "line", *place)
        for at, step in enumerate(frame.steps)
        for place in secret_line(takers, step.line)
    ]
    places = [(slots.get(root, root), *rest) for root, *rest in secret_places(frame)]
    return (*places, *frame.sensitive, *lines)


def _has_state(frame: Frame) -> bool:
    """Tell whether a run has a state beside its result."""
    is_projected = frame.plan.story.state is not None
    has_acted = frame.rendered_state is not None
    return frame.is_made and (frame.is_class or is_projected or has_acted)


def _status(frame: Frame, torn: BaseException | None) -> tuple[str, str]:
    """Give the status after what went wrong first; teardown comes last."""
    # A component may have caught what an effect could not do; what follows from it is no verdict.
    failed = frame.scope.fault or frame.failure
    if failed is not None:
        return _blame(failed, frame.failed_in)
    for outcome in frame.outcomes:
        if not outcome.passed:
            return "fail", f"{outcome.assertion}: {outcome.reason}"
    if frame.refusal:
        return "cannot_run", frame.refusal
    return ("pass", "") if torn is None else _blame(torn, frame.doing)


def _blame(error: BaseException, doing: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(error, RequestError):
        return "cannot_run", error.message
    return "error", told_in(error, doing)


def _checked(record: RunRecord, check: bool) -> RunRecord:
    if check:
        # Only who has results shown pays for the room.
        from repl_pair.runtime.result_forms import checked

        checked(record)
    return record


async def _nested(awaitable: Awaitable[Any]) -> Any:
    # Patching the loop is what the person asked for by name; nobody else pays the import.
    nesting = importlib.import_module("nest_asyncio2")
    nesting.apply()
    return asyncio.get_event_loop().run_until_complete(awaitable)
