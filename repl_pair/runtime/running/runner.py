"""The runner: walks the phases, records everything, never raises for the variant's own fault."""

import asyncio
import importlib
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import replace, to_dict
from repl_pair.runtime.capture.capture import capture, report_raised
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.outcomes import PhaseRecord
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.forms import display_and_check
from repl_pair.runtime.results.last import keep_result, registered_at
from repl_pair.runtime.results.record import RunRecord, refused
from repl_pair.runtime.running.effects import effects_of_run
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.phases import PHASES
from repl_pair.runtime.running.playing import read_state
from repl_pair.runtime.running.raised import as_raised, bounded, describe, text_in
from repl_pair.runtime.secrets.known import CallSecrets, made_of
from repl_pair.runtime.secrets.places import secret_line, takers_of
from repl_pair.runtime.secrets.renderings import leaving_form
from repl_pair.runtime.stopping.loops import (
    WaitFor,
    close_unstarted,
    drive,
    on_private_loop,
    on_this_loop,
    pair_contexts,
)
from repl_pair.runtime.stopping.stop import (
    STOPS,
    Stop,
    defer_stops,
    stop_of,
    this_section,
    while_live,
)
from repl_pair.runtime.values.classes import real_class


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
    `substrate` is the rendering asked for. `check=True` displays the record and raises
    VariantFailed for anything but `pass`. An unknown id raises RequestError.
    """
    wait_for = _nested if loop == "nested" else on_private_loop
    wanted = {"modes": modes, "overrides": overrides, "plays": plays, "substrate": substrate}
    return drive(_run(variant_id, wanted, check, wait_for))


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
    wanted = {"modes": modes, "overrides": overrides, "plays": plays, "substrate": substrate}
    return await _run(variant_id, wanted, check, on_this_loop)


async def _run(
    variant_id: str, wanted: Mapping[str, Any], check: bool, wait_for: WaitFor
) -> RunRecord:
    _check_text(variant_id)
    try:
        plan = plan_variant(variant_id, **wanted)
    except RequestError as error:
        _check_variant_id(variant_id)
        record = refused(variant_id, error)
    else:
        with defer_stops():
            record = await execute(plan, wait_for=wait_for)
            keep_result(record)
    if check:
        display_and_check(record)
    return record


def _check_text(id: Any) -> None:
    if not isinstance(id, str):
        raise RequestError(
            "bad_arguments", f"run takes the id of a variant, and no {type(id).__name__}."
        )


def _check_variant_id(id: str) -> None:
    """Refuse what the person may have meant as a variant: a story, a pattern."""
    if REGISTRY.find("story", id) is not None:
        known = ", ".join(REGISTRY.ids("variant", f"{id}/")[:3]) or "none is registered"
        what = f"{id!r} is a story. Run one of its variants: {known}"
    elif any(sign in id for sign in "*?["):
        what = f"{id!r} is a pattern. Run one variant by its id"
    else:
        return
    raise RequestError("not_found", f"{what}; `run_variants` takes `story`, `tags` or `ids`.")


async def execute(
    plan: Plan, *, wait_for: WaitFor, exclusive: bool = True, records_stops: bool = False
) -> RunRecord:
    """Walk the phases of a plan; only an interrupt and its kin come through.

    With `records_stops` these are a record too: without a verdict, with the output so far, and
    where in the person's code the run stood.

    Must be called in a section that is not live; it is while the phases are walked.
    """
    started = time.perf_counter()
    section = this_section()
    with (
        capture(exclusive=exclusive, leaving=leaving_form, restores=True) as captured,
        effects_of_run() as scope,
        pair_contexts(),
        made_of(plan.sent, plan.sent_by_others) as secrets,
    ):
        frame = Frame(plan=plan, wait_for=wait_for, captured=captured, scope=scope)
        stop, torn = None, None
        try:
            torn = await while_live(section, lambda: _walk_all(frame))
        except BaseException as error:
            frame.failure = frame.failure or error
            section.begin_teardown()
            close_unstarted(error)
            stop = stop_of(error) if records_stops and isinstance(error, STOPS) else None
            await while_live(section, lambda: _walk(frame, "teardown"))
            if stop is None:
                raise
    elapsed_ms = (time.perf_counter() - started) * 1e3
    record = _record(frame, torn, secrets, elapsed_ms)
    return record if stop is None else replace(record, assertions=(), total=0, **to_dict(stop))


async def _walk_all(frame: Frame) -> BaseException | None:
    """Walk the phases until one fails, then tear down; gives what failed in that."""
    for name in PHASES:
        if frame.failure is None and name != "teardown":
            frame.failure = await _walk(frame, name)
            frame.failed_in = frame.doing
    is_projected = frame.plan.story.state is not None
    has_acted = frame.rendered_state is not None
    if frame.is_made and (frame.is_class or is_projected or has_acted):
        frame.left_state = read_state(frame)
    return await _walk(frame, "teardown")


async def _walk(frame: Frame, phase: str) -> BaseException | None:
    started = time.perf_counter()
    failed: BaseException | None = None
    frame.doing = {}
    try:
        await PHASES[phase](frame)
    except BaseException as error:  # noqa: BLE001  a run records what its component raises
        failed = as_raised(error)
        if not isinstance(failed, STOPS):
            report_raised(failed)
    elapsed_ms = round((time.perf_counter() - started) * 1e3, 3)
    error = None if failed is None else describe(failed, frame.doing)
    frame.phases.append(PhaseRecord(phase=phase, elapsed_ms=elapsed_ms, error=error))
    if isinstance(failed, STOPS):
        raise failed
    return failed


def _record(
    frame: Frame, torn: BaseException | None, secrets: CallSecrets, elapsed_ms: float
) -> RunRecord:
    plan, out = frame.plan, frame.captured
    status, reason = _status(frame, torn)
    return RunRecord(
        variant_id=plan.variant_id,
        status=status,
        reason=bounded(reason),
        assertions=tuple(frame.outcomes),
        total=len(frame.outcomes),
        elapsed_ms=round(elapsed_ms, 3),
        effective_args={**plan.args, **frame.args},
        active_modes=plan.modes,
        identity=plan.identity,
        result=frame.result,
        last=frame.last,
        state=frame.left_state,
        events=tuple(frame.events),
        effects=tuple(frame.scope.emitted),
        plays=tuple(play.name for play in plan.plays),
        steps=tuple(frame.steps),
        rendered_state=frame.rendered_state,
        outputs=out.bundles(),
        phases=tuple(frame.phases),
        stdout=out.text("stdout"),
        stderr=out.text("stderr"),
        unattributed=out.text("unattributed"),
        warnings=(*_lost_name(plan), *out.entries("warnings")),
        logs=out.entries("logs"),
        restored=tuple(out.restored.values()),
        sensitive=_sensitive(frame),
        secrets=secrets,
        what_if=plan.what_if,
        registered=registered_at(plan),
        rests_on=(*plan.rests_on, *frame.scope.rests_on()),
    )


def _lost_name(plan: Plan) -> Iterable[str]:
    component = plan.story.component
    return [f"{component.shown}: what was registered has run."] if component.is_lost else []


def stopped_record(plan: Plan, stop: Stop) -> RunRecord:
    """Return the record of a run that was stopped."""
    return RunRecord(
        **to_dict(stop),
        variant_id=plan.variant_id,
        active_modes=plan.modes,
        effective_args=plan.args,
        identity=plan.identity,
        sensitive=tuple(("effective_args", *place) for place in plan.secret_places),
        what_if=plan.what_if,
        registered=registered_at(plan),
        rests_on=plan.rests_on,
    )


def _sensitive(frame: Frame) -> tuple[tuple[str, ...], ...]:
    takers = [*takers_of(frame.plan.component), real_class(frame.live)]
    lines = [
        ("steps", str(at), "line", *place)
        for at, step in enumerate(frame.steps)
        for place in secret_line(takers, step.line)
    ]
    slots = {"args": "effective_args"}
    places = [(slots.get(root, root), *rest) for root, *rest in frame.secret_places()]
    return (*places, *lines)


def _status(frame: Frame, torn: BaseException | None) -> tuple[str, str]:
    # A component may have caught what an effect could not do; what follows from it is no verdict.
    failed = frame.scope.fault or frame.failure
    if failed is not None:
        return _blame(failed, frame.failed_in)
    missed = [one for one in frame.outcomes if not one.passed]
    for one in sorted(missed, key=lambda one: not one.compared):
        return "fail" if one.compared else "cannot_run", f"{one.assertion}: {one.reason}"
    if frame.refusal:
        return "cannot_run", frame.refusal
    return ("pass", _left_out(frame.plan)) if torn is None else _blame(torn, frame.doing)


def _left_out(plan: Plan) -> str:
    """Name the plays of the variant that are no part of this run: what they assert is unknown."""
    left = [play.name for play in plan.variant.plays if play not in plan.plays]
    return f"not run: the named plays {', '.join(left)}" if left else ""


def _blame(error: BaseException, doing: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(error, RequestError):
        return "cannot_run", error.message
    return "error", text_in(error, doing)


async def _nested(awaitable: Awaitable[Any]) -> Any:
    # Patching the loop is what the person asked for by name; no other run pays the import.
    nesting = importlib.import_module("nest_asyncio2")
    nesting.apply()
    return asyncio.get_event_loop().run_until_complete(awaitable)
